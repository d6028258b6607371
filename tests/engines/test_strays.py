"""Characters that were read outside of their line: each of the four things that may become of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import char_at, column, spread

from tongguocr.engines.strays import StrayRule, outside, settle_strays
from tongguocr.geometry import union
from tongguocr.page import Char, Line, Page


def filled(name: str, x: float, text: str, *more: Char) -> Line:
    line = column(name, x, 0, 40, 400)
    chars = (*spread(text, line.box), *more)
    return replace(line, text="".join(char.text for char in chars), chars=chars, confidence=0.9)


def page(*lines: Line) -> Page:
    return Page("p.png", 400, 500, lines)


def stray(text: str, x: float, y: float, confidence: float | None = 0.9) -> Char:
    return replace(char_at(text, x, y), confidence=confidence)


KNOWN = {"r", "l", "f"}


def texts(read: Page) -> list[tuple[str, str]]:
    return [(line.id, line.text) for line in settle_strays(read, KNOWN).lines]


def test_a_page_without_strays_is_passed_on() -> None:
    read = page(filled("r", 200, "一二三"), filled("l", 140, "四五"))
    assert settle_strays(read, KNOWN) is read


def test_what_stands_in_an_empty_line_goes_there_in_its_place() -> None:
    read = page(filled("r", 200, "一二", stray("四", 160, 300), stray("三", 160, 100)), filled("l", 140, ""))
    settled = settle_strays(read, KNOWN)
    assert [line.text for line in settled.lines] == ["一二", "三四"]
    assert settled.lines[0].box == read.lines[0].box and settled.lines[1].confidence == 0.9


def test_what_was_read_twice_goes() -> None:
    left = filled("l", 140, "四")
    assert texts(page(filled("r", 200, "一", stray("四", 162, 205)), left)) == [("r", "一"), ("l", "四")]


def test_what_is_not_sure_goes_and_what_has_no_confidence_stays() -> None:
    assert texts(page(filled("r", 200, "一", stray("四", 320, 100, 0.3)))) == [("r", "一")]
    assert texts(page(filled("r", 200, "一", stray("四", 320, 100, 0.0)))) == [("r", "一")]
    assert texts(page(filled("r", 200, "一", stray("四", 320, 100, None)))) == [("r", "一"), ("r+1", "四")]


def test_the_rest_is_a_line_of_its_own_with_its_kind_and_box() -> None:
    fold = replace(filled("f", 200, "一二", stray("三", 220, 460), stray("四", 220, 490)), kind="fold")
    before = replace(fold, chars=(stray("序", 220, -60), *fold.chars))
    first, own, last = settle_strays(page(before), KNOWN).lines
    assert (first.id, first.text, own.id, own.text, last.id, last.text) == (
        "f+1",
        "序",
        "f",
        "一二",
        "f+2",
        "三四",
    )
    assert first.kind == last.kind == "fold" and last.box == union(char.box for char in last.chars)
    assert last.confidence == 0.9


def test_surplus_is_held_to_the_same_rule() -> None:
    surplus = Line("r+1", (300, 80, 340, 120), "四", chars=(stray("四", 320, 100, 0.2),))
    sure = replace(surplus, id="r+2", chars=(stray("五", 320, 200),), text="五")
    read = page(filled("r", 200, "一"), surplus, sure)
    assert texts(read) == [("r", "一"), ("r+2", "五")]


@given(st.lists(st.tuples(st.floats(-50, 450), st.floats(-50, 550), st.floats(0, 1)), max_size=8))
def test_no_character_is_left_outside_of_its_line(places: list[tuple[float, float, float]]) -> None:
    strays = [stray("天", *place) for place in places]
    read = page(filled("r", 200, "一二", *strays), filled("l", 140, "四五"))
    for rule in (StrayRule(), StrayRule(least=0.0, same=0.0)):
        settled = settle_strays(read, KNOWN, rule)
        assert all(outside(char, line) <= rule.far for line in settled.lines for char in line.chars)
        assert len({line.id for line in settled.lines}) == len(settled.lines)
        assert all(line.text == "".join(char.text for char in line.chars) for line in settled.lines)
    assert sum(len(line.chars) for line in settled.lines) == 4 + len(places), "nothing is lost if all is kept"
    assert np.isfinite([value for line in settled.lines for value in line.box]).all()
