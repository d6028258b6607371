"""What reads behind the service: lines given, found or guessed; replies of pages and of full-size models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from paths import EXAMPLES
from recognise_pages import FakeEngine, make_page, read_as
from serve_models import TEXTS, fake_models

from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Page
from tongguocr.reader import Reader, take_lines
from tongguocr.serve.models import Models, open_models, reply_of_page, spell, whole_block, without_border
from tongguocr.sources import load_pixels
from tongguocr.tokens.codec import DecodedChar, DecodedLine


def test_lines_must_be_those_of_the_page() -> None:
    page = replace(make_page(3), lines=())
    assert take_lines(page, make_page(3), "page.png").lines == make_page(3).lines
    assert take_lines(page, replace(make_page(3), width=0, height=0), "page.png").lines == make_page(3).lines
    with pytest.raises(InputError, match=r"page\.png: its lines are for an image of 240 x 280"):
        take_lines(page, make_page(2), "page.png")


def test_known_lines_come_before_found_ones() -> None:
    page = replace(make_page(3), lines=())
    assert fake_models(found=True).read(page).text == "\n".join(TEXTS.values())
    known = replace(make_page(3), lines=make_page(3).lines[:1])
    assert fake_models(found=True).read(page, known).text == TEXTS["l1"]
    with pytest.raises(InputError, match="no detector"):
        fake_models().read(page)


def test_without_a_detector_a_picture_is_one_column_or_row() -> None:
    seen: list[Line] = []

    def answer(block):  # type: ignore[no-untyped-def]
        seen.extend(block.lines)
        return read_as(block, {"l1": "天地"})

    pixels = np.full((90, 60), 200, np.uint8)
    pixels[10:80, 20:35] = 0
    models = Models("fake", Reader(FakeEngine(answer)))
    assert models.reply(pixels, 9, 0).text == "天地"
    assert models.reply(np.ascontiguousarray(pixels.T), 9, 0).text == "天地"
    assert [(line.box[2] - line.box[0], line.box[3] - line.box[1]) for line in seen] == [(15, 70), (70, 15)]
    assert [line.direction for line in seen] == ["top-to-bottom", "left-to-right"]


def test_a_page_as_a_reply() -> None:
    chars = (Char("天", (0, 0, 1, 1), 0.5, (("夫", 0.2),)), Char("葛\U000e0100", (0, 1, 1, 2), 0.9))
    lines = (
        Line("a", (0, 0, 1, 2), chars=chars),
        Line("b", (1, 0, 2, 2)),
        Line("c", (2, 0, 3, 2), chars=chars),
    )
    page = Page("", 9, 9, lines)
    reply = reply_of_page(page, 99)
    assert reply.text == "天葛\U000e0100\n天葛\U000e0100", "lines without text are left out"
    assert (reply.truncated, reply.has_probabilities, len(reply.tokens)) == (False, True, 5)
    assert reply.tokens[0].alternatives == (("夫", "夫".encode(), 0.2),)
    assert (reply_of_page(page, 5).truncated, reply_of_page(page, 4).truncated) == (False, True)
    assert reply_of_page(page, 2).text == "天葛\U000e0100"
    unsure = replace(lines[0], chars=(Char("天", (0, 0, 1, 1)),))
    assert not reply_of_page(replace(page, lines=(unsure,)), 9).has_probabilities
    assert reply_of_page(replace(page, lines=()), 9).text == ""


def test_a_border_is_padding() -> None:
    pixels = np.full((10, 12, 3), 7, np.uint8)
    assert without_border(pixels) == (0, 0, 12, 10)
    pixels[2, 3, 1] = pixels[6, 8, 0] = 9
    assert without_border(pixels) == (3, 2, 9, 7)
    block = whole_block(pixels)
    assert block.crop.pixels is pixels and block.crop.region == (3, 2, 9, 7)
    assert block.crop.background == (7, 7, 7) and block.lines == ()
    assert whole_block(pixels[..., 0]).crop.background == (7,)


def test_lines_are_spelled_with_what_parts_them() -> None:
    first = DecodedLine((DecodedChar("天", (0,)),), "<left|up>", 1)
    second = DecodedLine((DecodedChar("地", (2,)),))
    assert spell([first, second, DecodedLine()]) == "天<left|up>地\n"
    assert spell([DecodedLine()]) == "" == spell([])


def test_the_small_engine_reads_a_column() -> None:
    models = open_models(detector="none", threads=1)
    assert (models.name, models.reader.detector, models.full_model) == ("tongguocr", None, None)
    column = load_pixels(EXAMPLES / "page.jpg")[110:1020, 835:920]
    reply = models.reply(np.ascontiguousarray(column), 99, 0)
    assert reply.text == "大學之道在明明德在親民在止於至善" and reply.tokens[0].probability > 0.5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": "server"}, "no engine 'server' to serve with"),
        ({"engine": "nothing"}, "no engine 'nothing'"),
        ({"engine": "hf"}, "needs --model"),
        ({"engine": "tesseract", "model": "x"}, "has its own"),
        ({"engine": "tongguocr", "model": "nowhere"}, "nowhere"),
        ({"engine": "hf", "model": "./nowhere"}, "nowhere"),
        ({"detector": "nothing"}, "no detector 'nothing'"),
    ],
)
def test_what_cannot_be_opened_gets_a_sentence(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_models(**options)
