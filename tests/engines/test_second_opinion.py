"""Two engines as one: what becomes surer, what is listed, and that nothing either of them read is lost."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import EXAMPLES
from recognise_pages import FakeEngine, char_at, inputs_of, make_page, read_as

from tongguocr.engines import open_engine
from tongguocr.engines.base import BlockReading, LineReading, Surplus
from tongguocr.engines.second_opinion import (
    MOST_OPPOSED,
    TAKEN,
    SecondOpinion,
    compare_blocks,
    compare_lines,
    pair_characters,
    second_opinion,
)
from tongguocr.formats import read_page
from tongguocr.formats.doubts import THRESHOLD, render_table
from tongguocr.page import Char
from tongguocr.reader import Reader
from tongguocr.sources import load_pixels
from tongguocr.variants import fold

EXAMPLE = EXAMPLES / "page.json"


def reading(text: str, sure: float | None = 0.9, step: float = 40, start: float = 0) -> LineReading:
    """A column read from top to bottom, one character every `step` pixels."""
    chars = (replace(char_at(c, 20, start + step * (k + 0.5)), confidence=sure) for k, c in enumerate(text))
    found = tuple(chars)
    return LineReading(found, "read" if found else "empty")


def test_what_both_read_becomes_surer_and_has_no_new_candidate() -> None:
    first = reading("天地玄黃", 0.7)
    result = compare_lines(first, reading("天地玄黃", 0.3))
    assert result.text == "天地玄黃" and all(char.candidates == () for char in result.chars)
    assert all(char.confidence == pytest.approx(1 - 0.2 * 0.3) for char in result.chars)
    assert [char.box for char in result.chars] == [char.box for char in first.chars]


def test_a_difference_is_less_sure_and_has_the_other_reading_first() -> None:
    first = reading("天地元黃", 0.95)
    third = replace(first.chars[2], candidates=(("无", 0.02), ("玄", 0.01)))
    first = replace(first, chars=(*first.chars[:2], third, first.chars[3]))
    result = compare_lines(first, reading("天地玄黃", 0.9))
    assert result.text == "天地元黃"
    confidence = result.chars[2].confidence
    assert confidence is not None and confidence < THRESHOLD
    assert [text for text, _ in result.chars[2].candidates] == ["玄", "无"]
    assert all(char.confidence is not None and char.confidence > 0.95 for char in result.chars[:2])


def test_a_graphic_variant_is_no_error_but_is_listed() -> None:
    result = compare_lines(reading("雲峯", 0.99), reading("雲峰", 0.99))
    assert result.text == "雲峯" and result.chars[1].candidates[0][0] == "峰"
    assert result.chars[1].confidence == MOST_OPPOSED < THRESHOLD


@pytest.mark.parametrize(
    ("first", "second", "listed"),
    [
        ("天地黃", "天地玄黃", {1: "地玄"}),
        ("地玄黃", "天地玄黃", {0: "天地"}),
        ("天地玄", "天地玄黃宇", {2: "玄黃宇"}),
        ("天他黃", "天地玄黃", {1: "地玄"}),
    ],
)
def test_what_only_the_second_read_shows_in_its_neighbour(
    first: str, second: str, listed: dict[int, str]
) -> None:
    # Both columns are equally long, so the second's characters stand closer.
    result = compare_lines(reading(first, 0.99), reading(second, 0.8, step=40 * len(first) / len(second)))
    assert result.text == first
    shown = {k: char.candidates[0][0] for k, char in enumerate(result.chars) if char.candidates}
    assert shown == listed
    assert all((result.chars[k].confidence or 0) < THRESHOLD for k in listed)


def test_what_only_the_first_read_is_listed_without_a_candidate() -> None:
    result = compare_lines(reading("天地玄黃", 0.99), reading("天地黃", 0.99))
    assert result.text == "天地玄黃" and result.chars[2].candidates == ()
    assert [(char.confidence or 0) < THRESHOLD for char in result.chars] == [False, False, True, False]


def test_places_decide_which_of_several_is_the_same_character() -> None:
    first = (char_at("甲", 20, 100),)
    second = (char_at("乙", 20, 60), char_at("丙", 20, 102), char_at("丁", 20, 140))
    pairs = pair_characters(first, second)
    assert [(p.first and p.first.text, p.second and p.second.text) for p in pairs] == [
        (None, "乙"),
        ("甲", "丙"),
        (None, "丁"),
    ]


def test_an_unsure_character_gives_way_to_a_sure_one_where_that_is_allowed() -> None:
    first, second = reading("元黃", 0.5), reading("玄黃", 0.9)
    taken = compare_lines(first, second, takes=True)
    assert taken.text == "玄黃" and taken.chars[0].confidence == TAKEN
    assert taken.chars[0].candidates[0][0] == "元" and taken.chars[0].box == first.chars[0].box
    assert compare_lines(first, second).text == "元黃"
    assert compare_lines(reading("元黃", 0.7), second, takes=True).text == "元黃"
    assert compare_lines(first, reading("玄黃", 0.7), takes=True).text == "元黃"
    assert compare_lines(reading("峯", 0.5), reading("峰", 0.9), takes=True).text == "峯"
    assert compare_lines(first, reading("玄黃", None), takes=True).text == "元黃"
    assert compare_lines(reading("元黃", None), second, takes=True).text == "元黃"


def test_lines_that_one_engine_could_not_read() -> None:
    text, nothing = reading("天地", 0.9), LineReading()
    filled = compare_lines(nothing, text)
    assert (filled.text, filled.status) == ("天地", "read") and (filled.confidence or 1) < THRESHOLD
    assert compare_lines(LineReading(reading("天天").chars, "failed"), text).text == "天地"
    unsure = compare_lines(text, nothing)
    assert unsure.text == "天地" and (unsure.confidence or 1) < THRESHOLD
    assert compare_lines(nothing, nothing) == nothing
    for wrong in ("failed", "capped"):
        assert compare_lines(text, LineReading(reading("玄").chars, wrong)) == text  # type: ignore[arg-type]


def test_surplus_of_the_second_shows_too() -> None:
    first = BlockReading((reading("天地"), reading("宇宙")))
    before, after = char_at("前", 20, -40), char_at("後", 90, 20)
    second = replace(first, surplus=(Surplus(-1, (before,)), Surplus(1, (after,))))
    result = compare_blocks(first, second)
    assert result.text == first.text and result.surplus == ()
    assert result.lines[0].chars[0].candidates[0][0] == "前天"
    assert result.lines[1].chars[1].candidates[0][0] == "宙後"
    known = replace(first, surplus=second.surplus)
    assert compare_blocks(known, second).surplus == second.surplus
    assert not compare_blocks(known, second).lines[0].chars[0].candidates


readings = st.builds(
    lambda chars: LineReading(tuple(chars), "read" if chars else "empty"),
    st.lists(
        st.builds(
            lambda text, y, sure: replace(char_at(text, 20, y), confidence=sure),
            st.sampled_from(["天", "地", "峯", "峰", "葛\U000e0100", "𤣥"]),
            st.floats(0, 400),
            st.none() | st.floats(0, 1),
        ),
        max_size=7,
    ),
)


@given(readings, readings)
def test_pairs_hold_both_texts_in_order(first: LineReading, second: LineReading) -> None:
    pairs = pair_characters(first.chars, second.chars)
    assert [p.first for p in pairs if p.first] == list(first.chars)
    assert [p.second for p in pairs if p.second] == list(second.chars)
    alone = [p for p in pairs if p.first is None or p.second is None]
    assert len(alone) >= abs(len(first.chars) - len(second.chars))


@given(readings, readings, st.booleans())
def test_nothing_is_lost(first: LineReading, second: LineReading, takes: bool) -> None:
    result = compare_lines(first, second, takes=takes)
    if first.chars:
        assert len(result.chars) == len(first.chars) and (takes or result.text == first.text)
    shown = "".join(char.text + "".join(text for text, _ in char.candidates) for char in result.chars)
    for char in (*first.chars, *second.chars):
        assert char.text in shown
    for char in result.chars:
        assert char.confidence is not None and 0 <= char.confidence <= 1
        names = [text for text, _ in char.candidates]
        assert len(set(names)) == len(names) and not {"", char.text} & set(names)
        assert all(0 <= sure <= 1 for _, sure in char.candidates)


@given(readings)
def test_a_reading_agrees_with_itself(first: LineReading) -> None:
    result = compare_lines(first, first, takes=True)
    assert result.text == first.text
    for before, after in zip(first.chars, result.chars, strict=True):
        assert after.confidence is not None and after.confidence >= (before.confidence or 0) - 1e-4
        assert after.candidates == ()


def test_it_is_an_engine_and_its_differences_are_in_the_table_of_doubts() -> None:
    page = make_page(2)
    first = FakeEngine(lambda block: read_as(block, {"l1": "天地玄黃", "l2": "宇宙洪荒"}))
    second = FakeEngine(lambda block: read_as(block, {"l1": "天地元黃", "l2": "宇宙洪荒"}))
    engine = second_opinion(first, second)
    assert isinstance(engine, SecondOpinion) and not engine.takes
    result = Reader(engine).read(page)
    assert first.asked == second.asked
    rows = list(csv.DictReader(io.StringIO(render_table([result]).decode())))
    assert [(row["character"], row["candidate1"]) for row in rows] == [("玄", "元")]
    assert rows[0]["context"] == "天地【玄】黃"
    assert engine.read([]) == []
    assert engine.read(inputs_of(page))[0].text == result.text


def test_both_real_engines_on_the_example_page() -> None:
    pytest.importorskip("rapidocr")
    page = read_page(EXAMPLE)
    pixels = load_pixels(EXAMPLE.with_suffix(".jpg"))
    alone_on_page = np.full_like(pixels, 225)
    for x0, y0, x1, y1 in (map(round, line.box) for line in page.lines[:4]):
        alone_on_page[y0:y1, x0:x1] = pixels[y0:y1, x0:x1]
    page = replace(page, lines=page.lines[:4], pixels=alone_on_page)
    wanted, first = [line.text for line in page.lines], open_engine("tongguocr")
    engine = second_opinion(first, open_engine("rapidocr"))
    assert isinstance(engine, SecondOpinion) and engine.takes
    alone, both = Reader(first).read(page), Reader(engine).read(page)
    assert [line.id for line in both.lines] == [line.id for line in alone.lines]

    def right(result: list[str]) -> int:
        return sum(
            fold(a) == fold(b)
            for x, y in zip(result, wanted, strict=True)
            for a, b in zip(x, y, strict=False)
        )

    texts = [[line.text for line in read.lines] for read in (alone, both)]
    assert right(texts[1]) >= right(texts[0]) - 1 and right(texts[1]) > 0.95 * len("".join(wanted))
    chars: list[Char] = [char for line in both.lines for char in line.chars]
    before: list[Char] = [char for line in alone.lines for char in line.chars]
    raised = sum((a.confidence or 0) > (b.confidence or 0) for a, b in zip(chars, before, strict=True))
    assert raised > 0.8 * len(chars)
