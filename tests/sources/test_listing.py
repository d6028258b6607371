"""Page ranges and names: what a reader writes, and what strangers do."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.page import Pixels
from tongguocr.sources.listing import (
    NAME_BYTES,
    SourcePage,
    natural_key,
    page_name,
    parse_pages,
    pick_pages,
    safe_name,
)


def nothing() -> Pixels:
    return np.zeros((1, 1), np.uint8)


def picked(written: str, count: int) -> list[int]:
    pages = (SourcePage(f"p{n}", "book", n, nothing) for n in range(1, count + 1))
    return [page.number for page in pick_pages(pages, parse_pages(written), "book")]


def test_ranges() -> None:
    assert picked("1-3,7,12-", 14) == [1, 2, 3, 7, 12, 13, 14]
    assert picked(" 7 , 1 - 3 ", 9) == [1, 2, 3, 7], "in the source's order"
    assert picked("2,2,1-2", 9) == [1, 2], "each page once"
    assert picked("2-500", 3) == [2, 3]


@pytest.mark.parametrize(
    "written",
    ["", " ", ",", "1,", "0", "0-3", "5-3", "-3", "-", "1--3", "1-2-3", "1 2", "x", "１", "1.5", "1" * 10],
)
def test_bad_ranges(written: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pages(written)
    assert str(caught.value).startswith(repr(written)) and str(caught.value).endswith(".")


def test_pages_that_are_not_there() -> None:
    with pytest.raises(InputError, match="book: it ends with page 3"):
        picked("4-", 3)


def test_later_pages_are_not_even_listed() -> None:
    def pages() -> object:
        yield SourcePage("p1", "book", 1, nothing)
        yield SourcePage("p2", "book", 2, nothing)
        raise AssertionError("listed too far")

    assert len(list(pick_pages(pages(), ((1, 1),), "book"))) == 1  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.integers(1, 30), st.none() | st.integers(0, 10)), min_size=1), st.integers(30, 45)
)
def test_ranges_pick_what_they_say(ranges: list[tuple[int, int | None]], count: int) -> None:
    parts, wanted = [], set()
    for first, more in ranges:
        last = count if more is None else first + more
        parts.append(str(first) if more == 0 else f"{first}-" if more is None else f"{first}-{last}")
        wanted |= set(range(first, min(last, count) + 1))
    assert picked(",".join(parts), count) == sorted(wanted)


@given(st.text(max_size=20))
def test_any_range_is_read_or_refused_in_a_sentence(written: str) -> None:
    try:
        ranges = parse_pages(written)
    except InputError:
        return
    assert all(first >= 1 and (last is None or last >= first) for first, last in ranges)


@given(st.text() | st.text(alphabet="./\\~: \0a注\u202e\ud800CON", max_size=12))
def test_names_are_one_harmless_part_of_a_path(written: str) -> None:
    name = page_name(safe_name(written), 3, 9)
    assert PurePosixPath(name).parts == (name,) and PureWindowsPath(name).parts == (name,)
    assert safe_name(written).split(".")[0].upper() not in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT1")
    assert name == name.strip() and not name.startswith((".", "-"))
    assert len(safe_name(written).encode()) <= NAME_BYTES + 1
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in name)


def test_names_of_titles() -> None:
    assert safe_name("四庫全書 卷一") == "四庫全書_卷一"
    assert safe_name("../../etc/passwd") == "etc_passwd"
    assert safe_name("..") == safe_name("") == "page"
    assert safe_name("nul.txt") == "_nul.txt"
    assert safe_name("\U0002ebf0葛\U000e0100") == "\U0002ebf0葛\U000e0100", (
        "rare characters and their variants"
    )
    assert safe_name("が") == "が" and safe_name("が") == "が", "nothing is normalised"
    assert safe_name("註" * 100) == "註" * (NAME_BYTES // 3)


def test_page_numbers() -> None:
    assert [page_name("b", 1, 1), page_name("b", 1, 2), page_name("b", 12345, 20000)] == [
        "b",
        "b-0001",
        "b-12345",
    ]


@given(st.lists(st.integers(0, 10**6), unique=True))
def test_names_sort_as_people_count(numbers: list[int]) -> None:
    names = [f"page{n}" for n in numbers]
    assert sorted(names, key=natural_key) == [f"page{n}" for n in sorted(numbers)]


@given(st.lists(st.text(max_size=10), unique=True))
def test_sorting_any_names_is_total(names: list[str]) -> None:
    backwards = names[::-1]
    assert sorted(names, key=natural_key) == sorted(backwards, key=natural_key)
