"""The engine rapidocr, with a stand-in for RapidOCR: same call, same shape of answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from recognise_pages import column, inputs_of, make_page

from tongguocr.engines.rapidocr import RapidOcrEngine, cut_line, open_whole
from tongguocr.page import Page, Pixels


@dataclass
class Words:
    words: list[list[str]]
    word_cols: list[list[int]]
    confs: list[float]
    line_txt_len: float


@dataclass
class Answer:
    txts: tuple[str, ...] | None
    scores: tuple[float, ...]
    word_results: tuple[Words | None, ...]


class StandIn:
    """Reads a picture as one character for every `pitch` pixels, and keeps the pictures."""

    def __init__(self, pitch: int = 40) -> None:
        self.pitch, self.seen = pitch, list[Pixels]()

    def __call__(self, img_content: Pixels, **options: Any) -> Answer:
        assert options == {"use_det": False, "use_cls": False, "use_rec": True, "return_word_box": True}
        self.seen.append(img_content)
        count = img_content.shape[1] // self.pitch
        text = "甲乙丙丁戊己庚辛壬癸"[:count]
        columns = [8 * k + 4 for k in range(count)]
        words = Words(
            [list(text[:2]), list(text[2:])], [columns[:2], columns[2:]], [0.5] * count, 8.0 * count
        )
        return Answer((text,), (0.5,), (words,))


def test_columns_are_turned_counter_clockwise_and_read_one_by_one() -> None:
    page = make_page(2, grey=False)
    assert page.pixels is not None
    reader = StandIn()
    (reading,) = RapidOcrEngine(reader).read(inputs_of(page))
    assert [line.text for line in reading.lines] == ["甲乙丙丁戊"] * 2
    assert [line.status for line in reading.lines] == ["read"] * 2
    x0, y0, x1, y1 = (round(v) for v in page.lines[0].box)
    column_ = page.pixels[y0:y1, x0:x1]
    # Turned so that the top comes first: the first column of the picture is the top row, from the bottom up.
    assert reader.seen[0].shape == (40, 200, 3)
    assert (reader.seen[0][:, 0] == column_[0, ::-1, ::-1]).all()


def test_characters_lie_where_the_reader_saw_them() -> None:
    page = make_page(1)
    (reading,) = RapidOcrEngine(StandIn()).read(inputs_of(page))
    x0, y0, x1, _ = page.lines[0].box
    for k, char in enumerate(reading.lines[0].chars):
        middle = (char.box[1] + char.box[3]) / 2
        assert (char.box[0], char.box[2]) == (x0, x1) and char.confidence == 0.5
        assert y0 + 40 * k < middle < y0 + 40 * (k + 1)


def test_rows_are_not_turned_and_those_from_the_right_come_out_reversed() -> None:
    page = make_page(1)
    pixels = np.zeros((60, 300), np.uint8)
    row = replace(column("h", 10, 10, 200, 40), direction="left-to-right")
    page = Page("", 300, 60, (row, replace(row, direction="right-to-left")), pixels)
    reader = StandIn()
    (reading,) = RapidOcrEngine(reader).read(inputs_of(page))
    assert reader.seen[0].shape == (40, 200, 3)
    assert [line.text for line in reading.lines] == ["甲乙丙丁戊", "戊丁丙乙甲"]
    forwards, backwards = ([char.box[0] for char in line.chars] for line in reading.lines)
    assert forwards == sorted(forwards) and backwards == forwards[::-1]


@pytest.mark.parametrize("answer", [Answer(None, (), ()), Answer(("",), (0.0,), (Words([], [], [0], 0),))])
def test_nothing_read_is_an_empty_line(answer: Answer) -> None:
    (reading,) = RapidOcrEngine(lambda img_content, **_: answer).read(inputs_of(make_page(2)))
    assert [line.status for line in reading.lines] == ["empty", "empty"]


def test_places_that_do_not_fit_the_text_are_guessed() -> None:
    odd = Answer(("甲乙",), (0.7,), (Words([["甲"]], [[3]], [0.9], 9.0),))
    (reading,) = RapidOcrEngine(lambda img_content, **_: odd).read(inputs_of(make_page(1)))
    assert reading.lines[0].text == "甲乙"
    assert [char.confidence for char in reading.lines[0].chars] == [0.7, 0.7]


def test_boxes_without_area_or_off_the_page_are_empty() -> None:
    page = make_page(1)
    lines = (column("a", 5, 5, 0, 100), column("b", -500, -500, 20, 20), page.lines[0])
    page = replace(page, lines=lines)
    reader = StandIn()
    (reading,) = RapidOcrEngine(reader).read(inputs_of(page))
    assert [line.status for line in reading.lines] == ["empty", "empty", "read"]
    assert len(reader.seen) == 1


def test_a_grey_line_gets_three_channels() -> None:
    (block,) = inputs_of(make_page(1))
    assert cut_line(block.crop, block.lines[0]).shape == (40, 200, 3)


def test_whole_pages_come_in_its_own_order() -> None:
    seen: list[Pixels] = []

    def reader(pixels: Pixels) -> Answer:
        seen.append(pixels)
        return Answer(("乙", "", "甲") if len(seen) == 1 else None, (), ())

    read = open_whole(reader)
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    assert read(pixels) == ["乙", "甲"] and (seen[0] == pixels[..., ::-1]).all()
    assert read(pixels[..., 0]) == [] and seen[1].shape == (2, 4, 3)
