"""Caps, loops, and reading again in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import FakeEngine, char_at, column, inputs_of, make_page, read_as, spread

from tongguocr.engines.base import BlockInput, BlockReading, LineReading, Surplus
from tongguocr.engines.guard import SLACK, Guarded, Limits, Watch, character_cap, find_loop, split_block
from tongguocr.geometry import Point
from tongguocr.page import Page

CHANT = "南無阿彌陀佛"


def down(count: int, step: float = 1.0) -> list[Point]:
    return [(0.0, step * k) for k in range(count)]


# The cap


def test_a_column_may_hold_what_fits_and_not_much_more() -> None:
    wide = column("a", 0, 0, 30, 374)
    assert 23 < character_cap([wide]) < 50
    note = column("n", 0, 0, 15, 374)
    assert character_cap([note]) > 1.5 * character_cap([wide])
    assert character_cap([wide, wide]) > 1.7 * character_cap([wide])
    lying = replace(column("h", 0, 0, 374, 30), direction="left-to-right")
    assert character_cap([lying]) == character_cap([wide])


def test_odd_boxes_have_sane_caps() -> None:
    assert character_cap([]) == SLACK
    assert character_cap([column("dot", 0, 0, 1, 1)]) < 15
    assert character_cap([column("hair", 0, 0, 0, 10_000)]) <= Limits().most
    hair = [column("hair", 0, 0, 1, 400), *(column("c", 0, 0, 40, 400) for _ in range(4))]
    assert character_cap(hair) < 250


# Loops


@pytest.mark.parametrize("unit", ["也", "曰子", "子曰學而", CHANT, "天地玄黃宇宙洪荒日月盈昃"])
def test_a_tail_that_repeats_in_place_is_a_loop(unit: str) -> None:
    before = "學而時習之不亦說乎"
    found = []
    for repeats in range(1, 7):
        places = down(len(before)) + [(5.0, 5.0 + k) for k in range(len(unit))] * repeats
        found.append(find_loop(before + unit * repeats, places))
    assert found == [None] * 3 + [len(before + unit)] * 3


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_a_refrain_is_no_loop(repeats: int) -> None:
    text = "頂禮" + CHANT * repeats
    assert find_loop(text) is None
    assert find_loop(text, down(len(text))) is None


def test_a_long_refrain_down_the_page_is_text() -> None:
    text = CHANT * 12
    assert find_loop(text, down(len(text))) is None
    assert find_loop(text) == len(CHANT)
    by_line = (CHANT + "\n") * 9
    columns = [(-2.0 * (k // 7), float(k % 7)) for k in range(len(by_line))]
    assert find_loop(by_line, columns) is None


def test_doubled_characters_and_numerals_are_text() -> None:
    for text in ("人人自安", "一一一", "欣欣向榮時時念念", "十十十十", "哀哉哀哉哀哉"):
        for end in range(len(text) + 1):
            assert find_loop(text[:end]) is None
            assert find_loop(text[:end], down(end)) is None


def test_rows_of_illegible_characters_are_text() -> None:
    assert find_loop("闕文" + "□" * 40) is None
    assert find_loop("闕文" + "口" * 40) == 3


def test_jumping_between_two_places_is_a_loop() -> None:
    places = down(3) + [(0.0, 3.0 + 9 * (k % 2)) for k in range(40)]
    assert find_loop("子曰學" + "而" * 40, places) == 4


@given(st.lists(st.integers(0, 3), max_size=60))
def test_what_is_kept_is_a_start_without_that_loop(items: list[int]) -> None:
    found = find_loop(items)
    if found is None:
        return
    kept, rest = items[:found], items[found:]
    assert rest and any(
        len(rest) % unit == 0 and rest == kept[-unit:] * (len(rest) // unit) for unit in range(1, 14)
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 20))
def test_every_endless_sequence_is_stopped(unit: list[int], start: int) -> None:
    watch = Watch(cap=400, lines=1, limits=Limits(rereads=10**9))
    tokens = [100 + k for k in range(start)] + unit * 400
    stops = (watch.add(t, (0.0, 0.0), starts_character=True, ends_line=False) for t in tokens)
    stop = next(stop for stop in stops if stop)
    assert stop == "loop" and len(watch.tokens) <= start + 5 * len(unit)
    assert watch.kept(stop) <= start + len(unit)


def test_the_watch_stops_at_the_cap() -> None:
    fresh = iter(range(10_000))
    for character, line_end in ((True, False), (False, False), (False, True)):
        watch, stop = Watch(cap=30, lines=2), None
        while stop is None and len(watch.tokens) < 1000:
            at = (0, len(watch.tokens))
            stop = watch.add(next(fresh), at, starts_character=character, ends_line=line_end)
        assert stop == "cap" and len(watch.tokens) <= 121
        assert watch.kept(stop) == len(watch.tokens) - 1


def watched(
    lines: int, places: list[tuple[float, float]], breaks: tuple[int, ...] = ()
) -> tuple[Watch, str | None]:
    """Different tokens read at these places, until the watch says stop."""
    watch, stop = Watch(cap=400, lines=lines), None
    for k, place in enumerate(places):
        stop = watch.add(k, place, starts_character=k not in breaks, ends_line=k in breaks)
        if stop:
            break
    return watch, stop


def test_places_read_again_end_the_last_line() -> None:
    column = [(1.0, float(k)) for k in range(6)]
    watch, stop = watched(1, [*column, *column])
    assert stop == "end" and watch.kept("end") == 6 and len(watch.tokens) == 8
    watch, stop = watched(1, [*column, (1.0, 0.0), *column], breaks=(6,))
    assert stop == "end" and watch.kept("end") == 6, "nor is the transition kept that led back"


def test_places_read_again_in_the_middle_of_a_block_are_a_loop() -> None:
    column = [(1.0, float(k)) for k in range(6)]
    watch, stop = watched(3, [*column, *column])
    assert stop == "loop" and watch.kept("loop") == 6


def test_rows_of_notes_and_one_doubtful_place_are_no_loop() -> None:
    rows = [(1.0, k / 2) for k in range(12)] + [(0.5, 0.0)] + [(0.5, k / 2) for k in range(12)]
    assert watched(2, rows, breaks=(12,))[1] is None
    assert watched(1, [(0.0, 0.0), (0.0, 1.0), (0.0, 1.1), (0.0, 2.0), (0.0, 3.0), (0.1, 3.0)])[1] is None


# Reading again in parts


def test_good_readings_pass_unchanged() -> None:
    blocks = inputs_of(make_page(4))
    engine = FakeEngine(lambda block: read_as(block, {"l1": "一二", "l2": "三", "l3": "四", "l4": "五"}))
    assert Guarded(engine).read(blocks) == [engine.answer(blocks[0])]
    assert engine.asked == [["l1", "l2", "l3", "l4"]]
    assert Guarded(engine).read([]) == []


def test_a_line_without_text_is_read_again_by_itself() -> None:
    blocks = inputs_of(make_page(4))
    texts = {"l1": "一二", "l2": "三", "l3": "四", "l4": "五"}

    def forgets_the_last(block: BlockInput) -> BlockReading:
        kept = [line.id for line in block.lines][: max(len(block.lines) - 1, 1)]
        return read_as(block, {name: texts[name] for name in kept})

    engine = FakeEngine(forgets_the_last)
    (reading,) = Guarded(engine).read(blocks)
    assert [line.text for line in reading.lines] == list(texts.values())
    blank = FakeEngine(lambda block: read_as(block, {}))
    (reading,) = Guarded(blank).read(blocks)
    assert [line.status for line in reading.lines] == ["empty"] * 4 and len(blank.asked) == 7


def bad_when(names: set[str], stop: str = "loop") -> FakeEngine:
    """Fails on any block that holds one of these lines."""

    def answer(block: BlockInput) -> BlockReading:
        reading = read_as(block, {line.id: line.id[-1] * 2 for line in block.lines})
        return replace(reading, stop=stop) if names & {line.id for line in block.lines} else reading

    return FakeEngine(answer)


@pytest.mark.parametrize(("stop", "status"), [("loop", "failed"), ("cap", "capped")])
def test_a_bad_block_is_read_in_parts_and_only_the_bad_line_is_marked(stop: str, status: str) -> None:
    engine = bad_when({"l3"}, stop)
    (reading,) = Guarded(engine).read(inputs_of(make_page(5)))
    assert [line.text for line in reading.lines] == ["11", "22", "33", "44", "55"]
    assert [line.status for line in reading.lines] == ["read", "read", status, "read", "read"]
    assert ["l3"] in engine.asked and reading.lines[2].confidence == 0.0


def test_an_engine_that_always_fails_still_answers() -> None:
    page = make_page(6)
    engine = bad_when({line.id for line in page.lines})
    (reading,) = Guarded(engine).read(inputs_of(page))
    assert [line.status for line in reading.lines] == ["failed"] * 6
    assert len(engine.asked) == 11


def test_loops_in_the_text_are_seen_without_the_engines_word() -> None:
    def answer(block: BlockInput) -> BlockReading:
        x0, y0, x1, _ = block.crop.to_page(block.lines[0].box)
        stuck = [char_at(c, (x0 + x1) / 2, y0 + 90) for c in "乎也" * 9]
        lines = [LineReading((*spread("一二", (x0, y0, x1, y0 + 80)), *stuck), "read")]
        return BlockReading((*lines, *(LineReading() for _ in block.lines[1:])))

    (reading,) = Guarded(FakeEngine(answer)).read(inputs_of(make_page(2)))
    assert [(line.text, line.status) for line in reading.lines] == [("一二乎也", "failed")] * 2


def test_too_long_a_text_is_cut_and_marked() -> None:
    text = "".join(chr(0x4E00 + k) for k in range(300))
    (block,) = inputs_of(make_page(1))
    (reading,) = Guarded(FakeEngine(lambda b: read_as(b, {"l1": text}))).read([block])
    assert reading.lines[0].status == "capped"
    assert reading.lines[0].text == text[: character_cap(block.lines)]


def test_surplus_keeps_its_place() -> None:
    def answer(block: BlockInput) -> BlockReading:
        reading = read_as(block, {line.id: line.id for line in block.lines})
        extra = (Surplus(0, (char_at("外", 1, 1),)),) if len(block.lines) == 1 else ()
        return replace(reading, surplus=extra, stop="loop" if len(block.lines) > 1 else "end")

    (reading,) = Guarded(FakeEngine(answer)).read(inputs_of(make_page(3)))
    assert [part.after for part in reading.surplus] == [0, 1, 2]


def test_parts_show_their_own_lines_only_and_lie_where_they_did() -> None:
    page = make_page(4, seed=3)
    (block,) = inputs_of(page)
    halves = split_block(block)
    assert [[line.id for line in half.lines] for half in halves] == [["l1", "l2"], ["l3", "l4"]]
    assert page.pixels is not None
    for half, lines in zip(halves, (page.lines[:2], page.lines[2:]), strict=True):
        for line, original in zip(half.lines, lines, strict=True):
            assert half.crop.to_page(line.box) == pytest.approx(original.box)
            x0, y0, x1, y1 = (round(v) for v in line.box)
            ox0, oy0, ox1, oy1 = (round(v) for v in original.box)
            assert (half.crop.pixels[y0:y1, x0:x1] == page.pixels[oy0:oy1, ox0:ox1]).all()
        dark = half.crop.pixels < 100
        for line in half.lines:
            x0, y0, x1, y1 = (round(v) for v in line.box)
            dark[y0:y1, x0:x1] = False
        assert not dark.any()


def test_a_part_does_not_show_its_neighbour() -> None:
    page = Page("", 100, 240, (column("a", 50, 20, 40, 200), column("b", 10, 20, 40, 200)))
    pixels = np.full((240, 100), 230, np.uint8)
    pixels[20:220, 10:90] = 20
    first, second = split_block(inputs_of(replace(page, pixels=pixels))[0])
    for half in (first, second):
        assert half.crop.pixels.shape[1] < 60
        assert (half.crop.pixels < 100).sum() == 40 * 200


def test_rows_of_a_note_are_not_parted() -> None:
    page = make_page(1)
    rows = (
        column("a", 100, 40, 40, 200),
        column("b1", 60, 40, 20, 200),
        column("b2", 42, 40, 20, 200),
        column("c", 2, 40, 20, 200),
    )
    page = replace(page, lines=rows, width=160, pixels=np.full((280, 160), 200, np.uint8))
    halves = split_block(inputs_of(page)[0])
    assert [[line.id for line in half.lines] for half in halves] in (
        [["a"], ["b1", "b2", "c"]],
        [["a", "b1", "b2"], ["c"]],
    )
