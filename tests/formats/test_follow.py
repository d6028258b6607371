"""Corrected text: characters, boxes, JSON, ALTO and the table of doubts follow a line's text."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_strategies import any_text, example_page, floats, pages

from tongguocr.formats import read_page, render_page, write_page
from tongguocr.formats.follow import follow_line, follow_text
from tongguocr.geometry import height, width
from tongguocr.page import DIRECTIONS, Char, Direction, Line, Page


def line_of(old: str, new: str, direction: Direction = "top-to-bottom") -> Line:
    """A line of characters forty pixels long, with an edited text."""
    upright = direction in ("top-to-bottom", "bottom-to-top")
    back = direction in ("bottom-to-top", "right-to-left")
    chars = []
    for n, c in enumerate(old):
        at = 40 * (len(old) - 1 - n if back else n)
        box = (0, at, 30, at + 40) if upright else (at, 0, at + 40, 30)
        chars.append(Char(c, box, 0.5, (("某", 0.25),), picture="某", surprise=12.0))
    end = 40 * len(old)
    return Line(
        "a", (0, 0, 30, end) if upright else (0, 0, end, 30), new, "main", direction, 0.9, None, tuple(chars)
    )


def test_a_kept_character_keeps_all_and_a_replaced_one_only_its_box() -> None:
    line = line_of("天地玄黃", "天他玄黃")
    found = follow_line(line)
    assert [char.text for char in found.chars] == list("天他玄黃")
    assert [found.chars[n] for n in (0, 2, 3)] == [line.chars[n] for n in (0, 2, 3)]
    assert found.chars[1] == Char("他", line.chars[1].box), "no confidence, no stale candidates"
    assert found.confidence is None, "it was that of another text"


def test_a_dropped_character_leaves_the_others_where_they_are() -> None:
    line = line_of("天地玄黃", "天玄黃")
    assert follow_line(line).chars == (line.chars[0], *line.chars[2:])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("place", range(4))
def test_a_new_character_stands_between_its_neighbours(place: int, direction: Direction) -> None:
    text = "天地玄"
    line = line_of(text, text[:place] + "新" + text[place:], direction)
    found = follow_line(line)
    assert found.chars[:place] + found.chars[place + 1 :] == line.chars
    reach = 0 if line.is_vertical else 1
    assert (found.chars[place].box[reach], found.chars[place].box[reach + 2]) == (0, 30)
    start, stop = ends(found.chars[place], line)
    middles = [sum(ends(char, line)) / 2 for char in found.chars]
    assert middles == sorted(middles) and len(set(middles)) == 4
    assert start < stop and stop - start <= 40


def ends(char: Char, line: Line) -> tuple[float, float]:
    """From where to where a character stands, counted the way the line is read."""
    at = 1 if line.is_vertical else 0
    start, stop = char.box[at], char.box[at + 2]
    return (-stop, -start) if line.direction in ("bottom-to-top", "right-to-left") else (start, stop)


def test_a_new_character_fills_a_gap_where_there_is_one() -> None:
    line = line_of("天地玄", "天玄")
    with_gap = follow_line(line)
    again = follow_line(replace(with_gap, text="天新玄"))
    assert again.chars[1] == Char("新", (0, 40, 30, 80))


def test_more_characters_share_the_place_of_fewer() -> None:
    found = follow_line(line_of("天地玄", "天他也玄"))
    assert [char.box for char in found.chars[1:3]] == [(0, 40, 30, 60), (0, 60, 30, 80)]


def test_characters_that_were_only_detected_get_the_text() -> None:
    line = line_of("天地玄", "")
    found = replace(line, text="宇宙洪", chars=tuple(Char("", char.box) for char in line.chars))
    followed = follow_line(found)
    assert [(char.text, char.box) for char in followed.chars] == [
        (c, char.box) for c, char in zip("宇宙洪", line.chars, strict=True)
    ]
    assert follow_line(replace(found, text="")) == replace(found, text=""), "not read yet"


def test_white_space_costs_no_confidence() -> None:
    found = follow_line(line_of("天地", "天　地"))
    assert found.confidence == 0.9 and "".join(char.text for char in found.chars) == "天　地"


def test_a_character_keeps_its_variation_selector() -> None:
    found = follow_line(line_of("天大地", "天大󠄀地"))
    assert [char.text for char in found.chars] == ["天", "大󠄀", "地"]


@given(pages(any_text, floats))
def test_characters_spell_the_text_or_there_are_none(page: Page) -> None:
    followed = follow_text(page)
    for line, before in zip(followed.lines, page.lines, strict=True):
        assert "".join(char.text for char in line.chars) == line.text or not before.chars
        assert (line.text, line.box, line.id) == (before.text, before.box, before.id)
    assert follow_text(followed) is followed


@given(st.text("天地玄黃宇", max_size=8), st.text("天地玄黃宇", max_size=8), st.sampled_from(DIRECTIONS))
def test_order_and_line_are_kept(old: str, new: str, direction: Direction) -> None:
    line = line_of(old, new, direction)
    found = follow_line(line).chars
    starts = [ends(char, line) for char in found]
    assert all(a[0] <= b[0] + 20 for a, b in pairwise(starts))
    for char in found:
        assert line.box[0] <= char.box[0] and char.box[3] <= line.box[3]
        assert width(char.box) > 0 and height(char.box) > 0


EDITS = {
    "json": lambda data: data.replace('"text": "天地玄"', '"text": "大地玄"'),
    "page": lambda data: data.replace("<Unicode>天地玄</Unicode>", "<Unicode>大地玄</Unicode>"),
    "alto": lambda data: data.replace('CONTENT="天地玄"', 'CONTENT="大地玄"'),
}


@pytest.mark.parametrize("format", EDITS)
def test_a_line_corrected_in_a_file_is_corrected_everywhere(format: str, tmp_path: Path) -> None:
    path = tmp_path / "corrected"
    before = render_page(example_page(), path, format).decode()
    path.write_text(EDITS[format](before), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != before
    page = read_page(path)
    old, line = example_page().lines[0], page.lines[0]
    assert line.text == "大地玄" and line.chars == (Char("大", old.chars[0].box), *old.chars[1:])
    for name in ("json", "page", "alto", "csv", "hocr"):
        written = render_page(page, tmp_path / "out", name).decode()
        assert "天" not in written and "夫" not in written, name
    assert list(csv.DictReader(io.StringIO(render_page(page, tmp_path / "out", "csv").decode()))) == []
    glyphs = re.findall('Glyph CONTENT="(.)"', render_page(page, tmp_path / "out", "alto").decode())
    assert "".join(glyphs) == "大地玄"


def test_a_page_changed_in_python_is_written_as_its_text_says(tmp_path: Path) -> None:
    page = example_page()
    lines = (replace(page.lines[0], text="天他玄"), *page.lines[1:])
    write_page(replace(page, lines=lines), tmp_path / "a.json")
    chars = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["lines"][0]["chars"]
    assert [char["text"] for char in chars] == ["天", "他", "玄"] and "confidence" not in chars[1]
