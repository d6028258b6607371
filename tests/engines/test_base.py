"""Inputs from pages, readings back into pages."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import char_at, inputs_of, make_page, read_as, spread, whole

from tongguocr.blocks import cut_blocks
from tongguocr.crops import crop_blocks
from tongguocr.engines.base import (
    BlockReading,
    LineReading,
    Surplus,
    fill_page,
    lines_on_page,
    make_inputs,
)
from tongguocr.page import Block


def test_inputs_hold_the_lines_on_the_canvas_without_text() -> None:
    page = make_page()
    page = replace(page, lines=tuple(replace(line, text="秘密", confidence=0.5) for line in page.lines))
    (block,) = inputs_of(page)
    assert [line.text for line in block.lines] == ["", "", ""]
    assert all(line.confidence is None for line in block.lines)
    for line, original in zip(block.lines, page.lines, strict=True):
        x0, y0, x1, y1 = (round(v) for v in line.box)
        ox0, oy0, ox1, oy1 = (round(v) for v in original.box)
        assert page.pixels is not None
        assert (block.crop.pixels[y0:y1, x0:x1] == page.pixels[oy0:oy1, ox0:ox1]).all()
    assert [line.box for line in lines_on_page(block)] == [line.box for line in page.lines]


def test_polygons_move_with_the_crop() -> None:
    page = make_page(1)
    x0, y0, x1, y1 = page.lines[0].box
    polygon = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    page = replace(page, lines=(replace(page.lines[0], polygon=polygon),))
    (block,) = inputs_of(page)
    line = block.lines[0]
    assert line.polygon is not None
    assert line.polygon[0] == line.box[:2] and line.polygon[2] == line.box[2:]


def test_every_line_gets_its_text_confidence_and_chars() -> None:
    page = make_page()
    blocks = cut_blocks(page)
    texts = {"l1": "一二三", "l3": "四"}
    readings = [read_as(block, texts) for block in make_inputs(page, crop_blocks(page, blocks))]
    filled = fill_page(page, blocks, readings)
    assert [line.id for line in filled.lines] == ["l1", "l2", "l3"]
    assert [line.text for line in filled.lines] == ["一二三", "", "四"]
    assert [line.confidence for line in filled.lines] == [pytest.approx(0.9), 0.0, pytest.approx(0.9)]
    assert ["".join(c.text for c in line.chars) for line in filled.lines] == ["一二三", "", "四"]
    assert [line.box for line in filled.lines] == [line.box for line in page.lines]


def test_marked_lines_have_no_confidence() -> None:
    assert LineReading((char_at("一", 5, 5),), "read").confidence == pytest.approx(0.9)
    assert LineReading((char_at("一", 5, 5),), "failed").confidence == 0.0
    assert LineReading((char_at("一", 5, 5),), "capped").confidence == 0.0


def test_the_transcription_is_what_was_written_line_by_line() -> None:
    lines = (
        LineReading((char_at("天", 5, 5),), "read"),
        LineReading(),
        LineReading((char_at("地", 5, 5),), "read"),
    )
    beside = (Surplus(-1, (char_at("玄", 5, 5),)), Surplus(0, (char_at("黃", 5, 5),)))
    assert BlockReading(lines, beside).transcription == ("玄", "天", "黃", "地")
    assert BlockReading(lines, beside, written=("天地",)).transcription == ("天地",)
    assert BlockReading(lines, written=()).transcription == (), "it wrote nothing"


def test_surplus_text_becomes_lines_of_its_own() -> None:
    page = make_page(2)
    lines = tuple(LineReading((char_at(c, 5, 5),), "read") for c in "甲乙")
    surplus = (
        Surplus(0, (char_at("外", 300, 20),)),
        Surplus(-1, (char_at("前", 10, 20),)),
        Surplus(0, (char_at("又", 320, 60),)),
    )
    filled = fill_page(page, [whole(page)], [BlockReading(lines, surplus)])
    assert [line.text for line in filled.lines] == ["前", "甲", "外", "又", "乙"]
    assert [line.id for line in filled.lines] == ["l1-before+1", "l1", "l1+1", "l1+2", "l2"]
    assert filled.lines[2].box == (280, 0, 320, 40)


@given(st.data())
def test_any_cut_into_blocks_keeps_every_line_once_and_in_order(data: st.DataObject) -> None:
    page = replace(make_page(6), pixels=None)
    cuts = sorted(data.draw(st.sets(st.integers(1, 5)), label="cuts"))
    bounds = [0, *cuts, 6]
    blocks = [Block(a, b, (0, 0, 1, 1)) for a, b in pairwise(bounds)]
    readings = [
        BlockReading(tuple(LineReading((char_at(str(k), 5, 5),), "read") for k in range(b.start, b.stop)))
        for b in blocks
    ]
    order = data.draw(st.permutations(range(len(blocks))), label="order")
    filled = fill_page(page, [blocks[k] for k in order], [readings[k] for k in order])
    assert filled.text == "0\n1\n2\n3\n4\n5"


def test_lines_outside_all_blocks_stay() -> None:
    page = make_page(3)
    page = replace(page, lines=tuple(replace(line, text=line.id) for line in page.lines))
    block = Block(1, 2, page.lines[1].box)
    filled = fill_page(page, [block], [BlockReading((LineReading(),))])
    assert [line.text for line in filled.lines] == ["l1", "", "l3"]


def test_readings_of_other_blocks_are_refused() -> None:
    page = make_page(2)
    with pytest.raises(ValueError, match="not those"):
        fill_page(page, [whole(page)], [BlockReading((LineReading(),))])


def test_detected_characters_stay_with_their_lines_and_read_ones_go() -> None:
    page = make_page(1)
    (line,) = page.lines
    detected = tuple(replace(char, text="") for char in spread("天地", line.box))
    found = replace(page, lines=(replace(line, chars=detected),))
    (block,) = inputs_of(found)
    placed = block.lines[0].chars
    assert [block.crop.to_page(char.box) for char in placed] == [char.box for char in detected]
    read = replace(page, lines=(replace(line, text="天", chars=spread("天", line.box)),))
    assert inputs_of(read)[0].lines[0].chars == ()
