"""Sources to pages: no name twice, and none that hangs on chance."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_readers import pages_of, write_pages

from tongguocr.batch import list_pages
from tongguocr.batch.listing import SourceListing, name_pages
from tongguocr.errors import InputError
from tongguocr.page import Pixels
from tongguocr.sources import SourcePage


def no_pixels() -> Pixels:
    raise AssertionError("names need no pixels")


def listed(source: str, *names: str) -> SourceListing:
    pages = (SourcePage(name, source, number, no_pixels) for number, name in enumerate(names, 1))
    return SourceListing(source, tuple(pages))


def names(*sources: SourceListing) -> list[str]:
    return [page.name for page in name_pages(sources)]


def test_one_source_keeps_its_names(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "vol1", {"p1": 1, "p2": 2})
    assert [page.name for page in pages_of(folder)] == ["p1", "p2"]
    assert [page.name for page in pages_of(folder / "p1.png")] == ["p1"]


def test_folders_are_kept_apart(tmp_path: Path) -> None:
    one, two = (write_pages(tmp_path / name, {"p1": 1, "p2": 2}) for name in ("vol1", "vol2"))
    assert [page.name for page in pages_of(one, two)] == ["vol1_p1", "vol1_p2", "vol2_p1", "vol2_p2"]
    found, _ = list_pages([str(tmp_path)], recursive=True)
    assert [page.name for page in found] == ["vol1_p1", "vol1_p2", "vol2_p1", "vol2_p2"], "the same names"
    deep, other = (write_pages(tmp_path / name / "scans", {"p1": 1}) for name in ("a", "b"))
    assert [page.name for page in pages_of(deep, other)] == ["a_scans_p1", "b_scans_p1"]


def test_files_of_the_same_name() -> None:
    assert names(listed("/b/x.jpg", "x"), listed("/b/y.jpg", "y")) == ["x", "y"]
    assert names(listed("/b/x.jpg", "x"), listed("/c/x.jpg", "x"), listed("/c/y.jpg", "y")) == [
        "b_x",
        "c_x",
        "y",
    ]
    assert names(listed("/b/x.jpg", "x"), listed("/b/x.png", "x")) == ["x.jpg", "x.png"]
    # All pages of a book change their names, or none.
    assert names(listed("/b/x.pdf", "x-0001", "x-0002"), listed("/c/x.pdf", "x-0001")) == [
        "b_x-0001",
        "b_x-0002",
        "c_x-0001",
    ]
    web = (listed(f"https://example.org/iiif/{n}/manifest.json", "史記-0001") for n in (12, 13))
    assert names(*web) == ["12_史記-0001", "13_史記-0001"]


def test_the_order_does_not_matter() -> None:
    sources = [listed("/b/x.jpg", "x"), listed("/c/X.jpg", "X"), listed("/d/y.jpg", "y")]
    assert sorted(names(*sources)) == sorted(names(*reversed(sources)))


@given(st.lists(st.text("aAbB_/.", min_size=1, max_size=6), min_size=1, max_size=8))
def test_no_name_comes_twice(paths: list[str]) -> None:
    sources = [listed(path, "x", f"x_{len(path)}", "A") for path in paths]
    found = names(*sources)
    assert len(found) == 3 * len(paths)
    assert len({name.casefold() for name in found}) == len(found)


def test_what_cannot_be_opened_is_told_and_costs_nothing_else(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 1, "p1.overlay": 2})
    (tmp_path / "no.pdf").write_bytes(b"%PDF-1.4 junk")
    (tmp_path / "empty.jpg").touch()
    sources = [folder, tmp_path / "no.pdf", tmp_path / "empty.jpg", tmp_path / "none", folder]
    pages, problems = list_pages([str(source) for source in sources])
    assert [page.name for page in pages] == ["in_p1"], (
        "pictures of results are no pages; a source is read once"
    )
    assert [problem.source for problem in problems] == [str(source) for source in sources[1:4]]
    assert all(one.problem.startswith(one.source) and "\n" not in one.problem for one in problems)


def test_a_range_that_is_none() -> None:
    with pytest.raises(InputError, match="3-x"):
        list_pages(["a.pdf", "b.pdf"], "3-x")
