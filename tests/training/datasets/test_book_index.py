"""The index of pages: what it finds is what JSON says, and it is kept, brought up to date and made anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from dataset_files import add_book
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.training.datasets import Mapping, open_dataset, read_dataset
from tongguocr.training.datasets import book_index as index_module
from tongguocr.training.datasets.book_index import INDEX, find_pages

values = st.recursive(
    st.none() | st.integers() | st.booleans() | st.text(max_size=6) | st.floats(allow_nan=False, width=16),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6), values, max_size=3),
    st.dictionaries(st.text(max_size=6), values, max_size=3),
    st.lists(values, max_size=5),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_every_page_is_found_wherever_it_stands(
    before: dict[str, Any],
    after: dict[str, Any],
    pages: list[Any],
    indent: int | None,
    ascii_only: bool,
    marked: bool,
    bare: bool,
) -> None:
    data: Any = (
        pages if bare else {**before, "pages": pages, **{k: v for k, v in after.items() if k != "pages"}}
    )
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    written = text.encode("utf-8-sig" if marked else "utf-8")
    spans = find_pages(written, "" if bare else "pages").tolist()
    assert [json.loads(written[at : at + length]) for at, length in spans] == pages


@pytest.mark.parametrize(
    "text",
    [
        '{"pages": 3}',
        '{"other": []}',
        '{"pages": []} x',
        '{"pages": [1,]}',
        '{"pages": [1 2]}',
        '{"pages": [1',
        "3",
        "",
        '{"pages" []}',
        '{"pages": [], }',
        '{"a": 1 "pages": []}',
        "[" * 100_000,
    ],
)
def test_what_is_no_list_of_pages_is_not_taken_for_one(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        find_pages(text.encode(), "pages")
    with pytest.raises(UnicodeDecodeError):
        find_pages(b'{"pages": ["\xff"]}', "pages")


def test_of_several_members_of_one_name_the_last_counts() -> None:
    spans = find_pages(b'{"pages": [1, 2], "pages": [33]}', "pages")
    assert spans.tolist() == [[28, 2]]


def books(root: Path, count: int = 3) -> None:
    for book in range(count):
        lines = [{"text": f"天{book}", "box": [0, 0, 10, 20], "order": 1}]
        add_book(
            root, f"b{book}", {"n": "書", "pages": [{"page": k + 5, "lines": lines} for k in range(book)]}
        )


def drawn(root: Path, **given_: Any) -> list[Any]:
    pages = open_dataset("hisdoc1b", root, **given_)
    return [pages.read(number) for number in range(len(pages))]


def test_drawn_pages_are_those_read_one_after_another(tmp_path: Path) -> None:
    books(tmp_path)
    assert drawn(tmp_path) == list(read_dataset("hisdoc1b", tmp_path))
    assert [page.image for page in drawn(tmp_path)] == ["b1#page=5", "b2#page=5", "b2#page=6"]


def test_the_index_is_kept_and_follows_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books(tmp_path)
    first = drawn(tmp_path)
    assert (tmp_path / INDEX).is_file()
    scanned: list[str] = []
    own = index_module._scan

    def scan(path: Path, key: str) -> Any:
        scanned.append(path.name)
        return own(path, key)

    monkeypatch.setattr(index_module, "_scan", scan)
    assert drawn(tmp_path) == first and scanned == []
    add_book(tmp_path, "b1", {"pages": [{"lines": []}, {"lines": []}]})
    add_book(tmp_path, "a", {"pages": [{"lines": []}]})
    (tmp_path / "annos" / "b2.json").unlink()
    assert [page.image for page in drawn(tmp_path)] == ["a#page=1", "b1#page=1", "b1#page=2"]
    assert sorted(scanned) == ["a.json", "b1.json"]
    (tmp_path / INDEX).write_bytes(b"PK\x03\x04 damaged")
    assert len(drawn(tmp_path)) == 3 and len(scanned) == 5
    assert drawn(tmp_path) and len(scanned) == 5, "it was written again"
    # Another name of the list of pages is another index.
    with pytest.raises(InputError, match="has no key 'sheets'"):
        drawn(tmp_path, mapping=Mapping(pages="sheets"))


def test_without_leave_to_write_it_is_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books(tmp_path)

    def refused(*_: object) -> None:
        raise InputError("no leave")

    monkeypatch.setattr(index_module, "_save", refused)
    assert len(drawn(tmp_path)) == len(drawn(tmp_path)) == 3
    assert not (tmp_path / INDEX).exists()
    said: list[str] = []
    monkeypatch.setattr(index_module, "MANY", 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    pages = open_dataset("hisdoc1b", tmp_path, say=said.append)
    assert len(pages) == 3, "several processes find the same"
    assert "finding the pages of 3 books" in said[0] and said[1] == "The index of pages is not kept: no leave"


def test_a_book_that_cannot_be_read_is_told_each_time(tmp_path: Path) -> None:
    books(tmp_path)
    (tmp_path / "annos" / "b1.json").write_text('{"pages": [')
    for _ in range(2):
        errors: list[InputError] = []
        pages = open_dataset("hisdoc1b", tmp_path, on_error=errors.append)
        assert len(pages) == 2
        assert [str(e).partition(" (")[0] for e in errors] == [
            f"{tmp_path / 'annos' / 'b1.json'}: this is not JSON"
        ]


def test_a_file_that_changed_meanwhile_is_an_error_of_its_page(tmp_path: Path) -> None:
    books(tmp_path)
    pages = open_dataset("hisdoc1b", tmp_path)
    (tmp_path / "annos" / "b1.json").write_text('{"pages": []}')
    (tmp_path / "annos" / "b2.json").unlink()
    for number in range(3):
        with pytest.raises(InputError, match=r"b[12]\.json"):
            pages.read(number)
