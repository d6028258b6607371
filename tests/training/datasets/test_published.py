"""The paper's three data sets together: pages to train on, to choose by, to test on, as counted by hand."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from published_sets import PublishedSets, write_sets

from tongguocr.errors import InputError
from tongguocr.training.datasets import read_dataset
from tongguocr.training.recogniser import labelled
from tongguocr.training.recogniser.labelled import (
    LabelledPage,
    PageList,
    parse_source,
    read_pages,
    read_test,
)
from tongguocr.training.recogniser.pages import with_pixels
from tongguocr.training.stage import find_stage, load_glm_page_stage

ALL = ("hisdoc1b", "mthv2", "m5hisdoc")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> PublishedSets:
    return write_sets(tmp_path_factory.mktemp("sets"))


def texts(pages: Sequence[LabelledPage]) -> list[str]:
    return [one.page.text for one in pages]


def test_each_set_has_its_official_splits_and_texts(sets: PublishedSets) -> None:
    counted = {
        ("mthv2", "train"): 8,
        ("mthv2", "test"): 4,
        ("m5hisdoc", "train"): 6,
        ("m5hisdoc", "val"): 3,
        ("m5hisdoc", "test"): 3,
        ("m5hisdoc-hard", "test"): 3,
    }
    for (kind, split), count in counted.items():
        found = [page.text for page in read_dataset(kind, sets.folder(kind), split)]
        assert len(found) == count and found == sets.split(kind, split)
        assert sum(len(text.replace("\n", "")) for text in found) == 6 * count
    for kind, count in (("mthv2", 12), ("m5hisdoc", 12), ("m5hisdoc-both", 24), ("hisdoc1b", 12)):
        assert len(list(read_dataset(kind, sets.folder(kind)))) == count
    assert [p.text for p in read_dataset("hisdoc1b", sets.folder("hisdoc1b"))] == sets.texts["hisdoc1b"]
    assert all(line.chars for page in read_dataset("mthv2", sets.folder("mthv2")) for line in page.lines)


@pytest.mark.parametrize(
    ("name", "kinds", "train", "validation"),
    [
        ("full-1", ALL, 12 + 8 + 6, 3),
        ("full-2", ALL[1:], 8 + 6, 3),
        ("full-3", ALL[1:], 8 + 6, 3),
        # Where M5HisDoc is not given nobody has a validation split: the first page, and each tenth after it.
        ("full-1", ALL[:2], 12 + 8 - 2 - 1, 3),
        ("full-2", ALL[1:2], 8 - 1, 1),
    ],
)
def test_the_stages_train_on_whole_training_splits(
    sets: PublishedSets, name: str, kinds: tuple[str, ...], train: int, validation: int
) -> None:
    stage = load_glm_page_stage(find_stage(name))
    sources = [parse_source(sets.source(kind)) for kind in kinds]
    pages = read_pages(sources, stage.pages.kinds, stage.pages.validated_on, stage.mapping, lambda _: None)
    assert (len(pages.train), len(pages.validation)) == (train, validation)
    held = set(sets.split("mthv2", "test")) | set(sets.split("m5hisdoc", "test"))
    assert not held & set(texts(pages.train) + texts(pages.validation))
    assert not set(texts(pages.train)) & set(texts(pages.validation))
    if "m5hisdoc" in kinds:
        wanted = [sets.texts["hisdoc1b"]] if "hisdoc1b" in kinds else []
        wanted += [sets.split(kind, "train") for kind in ("mthv2", "m5hisdoc")]
        assert texts(pages.train) == [text for part in wanted for text in part]
        assert texts(pages.validation) == sets.split("m5hisdoc", "val")


def test_m5hisdoc_is_the_regular_half_unless_another_is_named(sets: PublishedSets) -> None:
    folder = sets.folder("m5hisdoc")
    found = {
        kind: texts(read_pages([(kind, folder)]).train)
        for kind in ("m5hisdoc", "m5hisdoc-regular", "m5hisdoc-hard", "m5hisdoc-both")
    }
    regular, hard = (sets.split(kind, "train") for kind in ("m5hisdoc", "m5hisdoc-hard"))
    assert found["m5hisdoc"] == found["m5hisdoc-regular"] == regular
    assert found["m5hisdoc-hard"] == hard and found["m5hisdoc-both"] == regular + hard
    assert texts(read_test(("m5hisdoc", folder))) == sets.split("m5hisdoc", "test")
    assert texts(read_test(("m5hisdoc-hard", folder))) == sets.split("m5hisdoc-hard", "test")


def test_a_half_that_is_not_there_is_told(sets: PublishedSets, tmp_path: Path) -> None:
    (tmp_path / "M5HisDoc_regular").symlink_to(sets.folder("m5hisdoc") / "M5HisDoc_regular")
    assert len(list(read_dataset("m5hisdoc", tmp_path))) == 12
    with pytest.raises(InputError, match="no folder M5HisDoc_hard"):
        list(read_dataset("m5hisdoc-both", tmp_path))


def test_where_a_stage_is_validated_on_a_set_without_a_split_its_own_pages_are_held_out(
    sets: PublishedSets,
) -> None:
    sources = [parse_source(sets.source(kind)) for kind in ALL]
    pages = read_pages(sources, validated_on=("mthv2",))
    assert (len(pages.train), len(pages.validation)) == (12 + 7 + 6, 1)
    assert texts(pages.validation) == sets.split("mthv2", "train")[:1]


def test_a_list_of_pages_holds_numbers_and_reads_pages(sets: PublishedSets) -> None:
    pages = read_pages([parse_source(sets.source(kind)) for kind in ALL], validated_on=("m5hisdoc",)).train
    wanted = sets.texts["hisdoc1b"] + sets.split("mthv2", "train") + sets.split("m5hisdoc", "train")
    assert [pages[k].page.text for k in range(-26, 26)] == wanted * 2
    assert texts(pages[10:14]) == wanted[10:14] and texts(pages[::5][1:]) == wanted[5::5]
    assert texts(pages[20:][-2:]) == wanted[-2:] and not pages[26:]
    assert isinstance(pages, PageList) and texts(pages[24:] + pages[:1]) == [*wanted[24:], wanted[0]]
    with pytest.raises(IndexError):
        pages[26]


def test_a_large_set_is_looked_at_here_and_there(
    sets: PublishedSets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "hisdoc1b"
    shutil.copytree(sets.folder("hisdoc1b"), root)
    damaged = root / "annos" / "book0.json"
    damaged.write_text(damaged.read_text("utf-8").replace('"box"', '"bux"', 1), encoding="utf-8")
    (root / "images" / "book1" / "0003.png").unlink()
    said: list[str] = []
    pages = read_pages([("hisdoc1b", root)], say=said.append)
    assert len(pages.train) + len(pages.validation) == 10 and len(said) == 2
    monkeypatch.setattr(labelled, "LOOKED_THROUGH", 11)
    monkeypatch.setattr(labelled, "SAMPLED", 4)
    told: list[str] = []
    pages = read_pages([("hisdoc1b", root)], say=told.append)
    assert len(pages.train) + len(pages.validation) == 12
    assert "1 pages of 4 looked at in" in told[0] and len(told) == 2
    drawn = [labelled.draw(part, k) for part in (pages.train, pages.validation) for k in range(len(part))]
    assert [one for one in drawn if isinstance(one, str)] == ["pages whose labels cannot be read"]
    left_out = [with_pixels(one) for one in drawn if not isinstance(one, str)]
    assert [one for one in left_out if isinstance(one, str)] == ["pages without a readable image"]
    shutil.rmtree(root / "images")
    with pytest.raises(InputError, match="no page to train on"):
        read_pages([("hisdoc1b", root)], say=told.append)
