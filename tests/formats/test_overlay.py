"""The overlay: lines, doubts and text where they stand, numbers apart, the system's fonts, one sentence."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES
from PIL import Image, ImageDraw
from tiny_fonts import make_font, many

from tongguocr.errors import InputError
from tongguocr.formats import fonts, overlay, read_page, write_page
from tongguocr.formats.doubts import THRESHOLD
from tongguocr.formats.fonts import Face, face_for, find_faces
from tongguocr.formats.overlay import (
    LEGIBLE,
    UNKNOWN,
    confidence_colour,
    draw_overlay,
    number_places,
    render_overlay,
)
from tongguocr.formats.picture import LONGEST_SIDE, Pen
from tongguocr.geometry import intersection
from tongguocr.page import Char, Line, Page

WHITE = np.full((200, 100), 255, np.uint8)


@pytest.fixture(autouse=True)
def no_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the system had no Chinese font: what it has must not matter here."""
    monkeypatch.setattr(overlay, "find_faces", tuple)


@pytest.fixture
def face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Face:
    """The only font of the system."""
    face = Face(make_font(tmp_path / "tiny.ttf", {"天": "square", "地": "bar"}))
    monkeypatch.setattr(overlay, "find_faces", lambda: (face,))
    return face


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
        assert picture.width == 1031 and picture.height > 1399


def test_the_text_stands_beside_the_image_where_it_was_read(face: Face) -> None:
    page = page_of(0.9, 0.9, 0.2)
    line = replace(
        page.lines[0],
        text="天地天",
        chars=tuple(replace(char, text=c) for char, c in zip(page.lines[0].chars, "天地天", strict=True)),
    )
    picture = draw_overlay(replace(page, lines=(line,)))
    text = np.asarray(picture).astype(int)[:200, 102:202]
    assert picture.width == 202
    inside = [text[int(c.box[1]) + 5 : int(c.box[3]) - 5, 45:65] for c in line.chars]
    assert inside[0].max() < 60, "a black square"
    assert inside[1].max() == 255 and inside[1][9:11].max() < 60, "a bar"
    assert inside[2][..., 0].min() > 100 > inside[2][..., 1].max(), "a doubtful one is red"
    without = np.asarray(draw_overlay(replace(page, lines=())))[:200, 102:202]
    changed = np.abs(text - without).sum(axis=2).any(axis=1)
    assert not changed[:14].any() and not changed[192:].any(), "nothing off the line"


def test_a_line_without_characters_shares_its_box(face: Face) -> None:
    lines = (Line("a", (36, 0, 76, 200), "天" * 5),)
    text = np.asarray(draw_overlay(Page("", 100, 200, lines, WHITE)))[:200, 102:202]
    rows = (text[:, 50] < 60).all(axis=1)
    assert [bool(rows[y]) for y in range(20, 200, 40)] == [True] * 5
    assert not rows[[1, 80, 120, 198]].any(), "between them it is white"


def test_the_views_stand_one_above_the_other_where_the_page_is_wide(face: Face) -> None:
    wide = Page("", 200, 100, (), np.full((100, 200), 255, np.uint8))
    assert draw_overlay(wide).width == 200 and draw_overlay(Page("", 100, 200, (), WHITE)).width == 202


def test_a_character_that_no_font_has_shows_its_number(face: Face) -> None:
    lines = tuple(Line("a", (20, 20, 80, 80), c) for c in "𠀀𠀁天")
    views = [np.asarray(draw_overlay(Page("", 100, 200, (line,), WHITE)))[:200, 102:] for line in lines]
    assert (views[0] != views[1]).any() and face_for("𠀀", (face,)) is None


def test_without_a_font_the_picture_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    draw = ImageDraw.ImageDraw.text

    def text(self: ImageDraw.ImageDraw, at: tuple[float, float], text: str, *args: Any, **more: Any) -> None:
        said.append(text)
        draw(self, at, text, *args, **more)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", text)
    assert draw_overlay(page_of(0.9)).width == 100
    assert [one for one in said if one.startswith("No font")] == [fonts.NO_FONT]


def test_a_page_with_small_characters_is_enlarged() -> None:
    chars = tuple(Char("天", (40, 20 + 10 * n, 50, 30 + 10 * n), 0.9) for n in range(5))
    page = Page("", 100, 200, (Line("a", (40, 20, 50, 70), "天" * 5, chars=chars),), WHITE)
    assert draw_overlay(page).width == 100 * LEGIBLE / 10
    tiny = replace(page.lines[0], chars=tuple(replace(char, box=(40, 20, 41, 21)) for char in chars))
    assert draw_overlay(replace(page, lines=(tiny,))).width == 100 * overlay.ENLARGED
    assert draw_overlay(page_of(0.9)).width == 100, "large enough"


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 90), st.floats(0, 190), st.floats(1, 30), st.floats(1, 90)), max_size=30)
)
def test_numbers_of_lines_do_not_stand_on_each_other(places: list[tuple[float, float, float, float]]) -> None:
    lines = tuple(Line(f"l{n}", (x, y, x + w, y + h)) for n, (x, y, w, h) in enumerate(places))
    page, pen = Page("", 1000, 2000, lines), Pen(ImageDraw.Draw(Image.new("RGBA", (1, 1))), 1.0, 2)
    tags = number_places(pen, page, [(0, 0, 20, 12)] * len(lines))
    assert not any(intersection(a, b) for a, b in combinations(tags, 2))
    assert all(a[0] >= 0 and a[1] >= 0 for a in tags)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder is told by XDG_DATA_DIRS")
def test_fonts_are_found_where_the_system_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "fonts" / "deep"
    folder.mkdir(parents=True)
    (folder / "aaa.ttf").write_bytes(b"no font")
    make_font(folder / "latin.ttf", many("ab"))
    unknown = make_font(folder / "zzz.ttf", many("天書龍"))
    rare = make_font(folder / "HanaMinB.ttf", many("𠀀"))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "data"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert faces_now() == [unknown, rare]
    known = make_font(folder / "NotoSansCJK-Regular.ttf", many("天地書龍"))
    assert faces_now() == [known, rare]
    faces = tuple(map(Face, faces_now()))
    found = [face_for(c, faces) for c in ("地", "𠀀", "𠀁")]
    assert [one and one.path for one in found] == [known, rare, None]
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "none"))
    assert faces_now() == []


def faces_now() -> list[Path]:
    """The fonts that are found now, whatever was found before."""
    fonts.find_faces.cache_clear()
    try:
        return [face.path for face in find_faces()]
    finally:
        fonts.find_faces.cache_clear()
