"""The overlay: every line and character where it stands, doubt in colour, one sentence without an image."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.doubts import THRESHOLD
from tongguocr.formats.picture import LONGEST_SIDE, UNKNOWN, confidence_colour, draw_overlay, render_overlay
from tongguocr.page import Char, Line, Page

WHITE = np.full((200, 100), 255, np.uint8)


def page_of(*confidences: float | None) -> Page:
    boxes = [(40, 20 + 40 * n, 70, 50 + 40 * n) for n in range(len(confidences))]
    chars = tuple(Char("天", box, value) for box, value in zip(boxes, confidences, strict=True))
    return Page("", 100, 200, (Line("a", (36, 16, 74, 190), "天" * len(chars), chars=chars),), WHITE)


def middles(page: Page) -> list[tuple[int, ...]]:
    """The colour inside each character, off the arrows and figures."""
    picture = draw_overlay(page)
    found = []
    for char in page.lines[0].chars:
        pixel = picture.getpixel((int(char.box[0]) + 4, int(char.box[1]) + 4))
        assert isinstance(pixel, tuple)
        found.append(pixel)
    return found


def test_only_doubtful_characters_are_filled() -> None:
    sure, doubtful, at_the_threshold, unknown = middles(page_of(0.99, 0.3, THRESHOLD, None))
    assert sure == at_the_threshold == unknown == (255, 255, 255)
    assert doubtful[0] > doubtful[1] + 30 and doubtful[0] > doubtful[2] + 30


def test_colours_go_from_red_to_green() -> None:
    colours = [confidence_colour(value / 100) for value in range(101)]
    assert colours[0][0] > 150 > 100 > colours[0][1] and colours[-1][1] > 100 > colours[-1][0]
    assert len(set(colours)) > 60 and confidence_colour(None) == UNKNOWN


def test_lines_have_the_colour_of_their_kind() -> None:
    page = page_of()
    seen = {
        kind: draw_overlay(replace(page, lines=(replace(page.lines[0], kind=kind),))).getpixel((36, 100))
        for kind in ("main", "note", "margin", "fold")
    }
    assert len(set(seen.values())) == 4 and (255, 255, 255) not in seen.values()


def test_order_is_drawn_from_line_to_line() -> None:
    lines = tuple(Line(n, (x, 10, x + 20, 190), "天天") for n, x in (("a", 70), ("b", 10)))
    forward = draw_overlay(Page("", 100, 200, lines, WHITE))
    back = draw_overlay(Page("", 100, 200, lines[::-1], WHITE))
    alone = draw_overlay(Page("", 100, 200, lines[:1], WHITE))
    between = (35, 0, 65, 200)
    assert len({picture.crop(between).tobytes() for picture in (forward, back, alone)}) == 3


def test_the_image_lies_underneath_and_a_legend_below() -> None:
    rng = np.random.default_rng(1).integers(0, 256, (200, 100, 3), np.uint8)
    picture = draw_overlay(Page("", 100, 200, (), rng))
    assert picture.width == 100 and picture.height > 200
    assert (np.asarray(picture)[:200] == rng).all()


def test_a_large_page_is_drawn_smaller() -> None:
    page = Page("", 5000, 100, (), np.zeros((100, 5000), np.uint8))
    assert draw_overlay(page).width == LONGEST_SIDE


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (example_page(), "the page has none"),
        (replace(example_page(), pixels=WHITE), "the image has 100 x 200 pixels, and the page has 600 x 800"),
    ],
)
def test_without_its_image_it_is_one_sentence(page: Page, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "a.overlay.png"
    with pytest.raises(InputError, match=sentence) as error:
        write_page(page, path)
    assert str(error.value).startswith(f"{path}: ") and str(error.value).endswith(".") and not path.exists()


@settings(max_examples=40)
@given(pages(any_text, floats | st.floats(-10, 210)))
def test_any_page_can_be_drawn(page: Page) -> None:
    page = replace(page, width=100, height=200, pixels=WHITE)
    assert Image.open(io.BytesIO(render_overlay(page, Path("a.overlay.png")))).format == "PNG"


def test_the_command_draws_one(tmp_path: Path) -> None:
    path, page = tmp_path / "out.overlay.png", read_page(EXAMPLES / "page.json")
    write_page(replace(page, lines=page.lines[:1]), tmp_path / "page.json")
    done = run_here("read", EXAMPLES / "page.jpg", "--lines", tmp_path / "page.json", "-o", path)
    assert done.returncode == 0, done.stderr
    with Image.open(path) as picture:
        assert picture.width == 1031
