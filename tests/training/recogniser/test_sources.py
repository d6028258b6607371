"""Where labelled pages come from, how they are split, and the stages that train on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_files import LINE, add_book, add_page
from labelled_pages import write_pages
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.training.recogniser.labelled import parse_source, read_pages
from tongguocr.training.recogniser.stage import PageStage
from tongguocr.training.run import Limits
from tongguocr.training.stage import SHIPPED_STAGES, find_stage, load_stage


def test_every_tenth_page_is_for_validation_where_nothing_is_said(tmp_path: Path) -> None:
    write_pages(tmp_path / "many", 12, columns=1, length=1)
    pages = read_pages([("folder", tmp_path / "many")])
    names = [labelled.image.name for labelled in pages.validation]
    assert names == ["p0.png", "p8.png"] and len(pages.train) == 10, "by name, p10 is the third"
    said: list[str] = []
    write_pages(tmp_path / "one", 1)
    pages = read_pages([("folder", tmp_path / "one")], say=said.append)
    assert len(pages.train) == len(pages.validation) == 1 and "trained on" in said[0]


def test_official_splits_are_kept_and_choose(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        add_page(tmp_path, "regular", name, LINE.format("天"))
    for split, names in (("train", "a\nb"), ("val", "c"), ("test", "d")):
        (tmp_path / f"split_{split}.txt").write_text(names)
    write_pages(tmp_path / "mine", 3)
    sources = [("m5hisdoc", tmp_path), ("folder", tmp_path / "mine")]
    pages = read_pages(sources, validated_on=("m5hisdoc",))
    assert [labelled.image.stem for labelled in pages.train] == ["a", "b", "p0", "p1", "p2"]
    assert [labelled.image.stem for labelled in pages.validation] == ["c"]
    assert [p.image.stem for p in read_pages(sources).validation] == ["c"]
    assert [p.image.stem for p in read_pages(sources[1:], validated_on=("m5hisdoc",)).validation] == ["p0"]
    said: list[str] = []
    read_pages(sources[:1], kinds=("mthv2", "m5hisdoc"), say=said.append)
    assert said == ["This stage also trains on mthv2, which is not given."]
    with pytest.raises(InputError, match="mine: this stage trains on m5hisdoc, not on folder"):
        read_pages(sources, kinds=("m5hisdoc",))


def test_books_have_their_pages_as_images(tmp_path: Path) -> None:
    line = {"text": "天", "box": [0, 0, 10, 20]}
    add_book(tmp_path, "v.1", {"pages": [{"lines": [line]}, {"lines": [line]}]}, "v.1.pdf")
    said: list[str] = []
    with pytest.raises(InputError, match="no page to train on"):
        read_pages([("hisdoc1b", tmp_path)], say=said.append)
    assert said == [f"2 pages of {tmp_path} have no image. The first one: v.1.pdf#page=1."]
    (tmp_path / "images" / "v.1").mkdir(parents=True)
    Image.new("L", (10, 20)).save(tmp_path / "images" / "v.1" / "page-002.png")
    pages = read_pages([("hisdoc1b", tmp_path)], say=said.append)
    assert [labelled.image.name for labelled in pages.train] == ["page-002.png"]


def test_pages_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 3)
    (tmp_path / "mine" / "p1.json").write_text("{")
    said: list[str] = []
    pages = read_pages([("folder", tmp_path / "mine")], say=said.append)
    assert len(pages.train) == len(pages.validation) == 1
    assert said[0].startswith("1 pages of") and "p1.json" in said[0]
    for name in ("p0", "p2"):
        (tmp_path / "mine" / f"{name}.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"p0\.json"):
        read_pages([("folder", tmp_path / "mine")])


@pytest.mark.parametrize("written", ["mine", "folder=", "parquet=mine", "=mine", ""])
def test_sources_with_mistakes(written: str) -> None:
    with pytest.raises(InputError, match="KIND=DIR"):
        parse_source(written)


@pytest.mark.parametrize(
    ("name", "granularity", "side", "tokens", "rate", "epochs"),
    [
        ("1", "page", 768, 6144, 3e-5, 3),
        ("2", "page", 1024, 8192, 1e-5, 10),
        ("3", "block", 1024, 8192, 1e-5, 15),
        ("tune", "block", 1024, 8192, 1e-4, 8),
    ],
)
def test_stages_are_the_papers(
    name: str, granularity: str, side: int, tokens: int, rate: float, epochs: int
) -> None:
    stage = load_stage(find_stage(name))
    assert isinstance(stage, PageStage)
    run, pages = stage.run, stage.pages
    assert (pages.granularity, pages.longest_side, pages.longest) == (granularity, side, tokens)
    assert (run.learning_rate, run.matrix_rate, run.limits) == (rate, 0, Limits(epochs=epochs))
    assert (run.betas, run.clip, run.warm_up) == ((0.9, 0.999), 1.0, 0.1)
    assert run.rate(5, 0.05) == pytest.approx(0.5) and run.rate(5, 0.1) == 1 and run.rate(5, 1) < 0.03
    if name != "tune":
        assert run.rate(5, 1) < 1e-9 and run.loss_mean == "sequences" and pages.validation_pages == 0
        assert run.keep == ("last" if name == "1" else "best") and pages.validation_mean == "pages"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\n[pages]", "needs a limit: steps, minutes or epochs"),
        ("[run]\nepochs = -3\n[pages]", "needs a limit: steps, minutes or epochs"),
        ("[run]\nepochs = 0.5\n[pages]", "wrong value for epochs"),
        ("[run]\nepochs = 3\nbetas = [0.9]\n[pages]", "wrong value for betas"),
        ("[run]\nepochs = 3\nclip = true\n[pages]", "wrong value for clip"),
        ('[run]\nepochs = 3\n[pages]\nvalidation_mean = "lines"', "pages or characters"),
        ('[run]\nepochs = 3\nkeep = "first"\n[pages]', "keep is best or last"),
        ('[run]\nepochs = 3\nloss_mean = "pages"\n[pages]', "loss_mean is sequences or tokens"),
        ('[run]\nepochs = 3\n[pages]\ngranularity = "line"', "page or block"),
        ("[run]\nepochs = 3\n[pages]\nlongest_side = 100", "a multiple of 64"),
        ("[run]\nepochs = 3\n[pages]\nkinds = 3", "wrong value for kinds"),
        ("[run]\nepochs = 3\n[pages]\n[model]", "not model"),
        ("epochs = 3\n[pages]", "outside of any table"),
    ],
)
def test_page_stages_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    with pytest.raises(InputError, match=rf"stage\.toml: .*{said}"):
        load_stage(tmp_path / "stage.toml")


def test_settings_may_have_their_old_names(tmp_path: Path) -> None:
    (tmp_path / "stage.toml").write_text(
        '[run]\nepochs = 1\njudge_every = 3\nkept = ["stem"]\n[pages]\njudge_pages = 7\njudged = ["mthv2"]'
    )
    stage = load_stage(tmp_path / "stage.toml")
    assert isinstance(stage, PageStage)
    assert (stage.run.validate_every, stage.run.frozen) == (3, ("stem",))
    assert (stage.pages.validation_pages, stage.pages.validated_on) == (7, ("mthv2",))


def test_stages_have_names_or_are_files(tmp_path: Path) -> None:
    assert find_stage("3").parent == SHIPPED_STAGES and find_stage("0").is_file()
    assert find_stage("mine.toml") == Path("mine.toml") and find_stage("../3") == Path("../3")
