"""Stand-in faces get the page's weight."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synth_pages import empty
from tiny_fonts import make_font

from tongguocr.training.synth.composition import ComposedLine
from tongguocr.training.synth.fonts import FontBook, load_fonts
from tongguocr.training.synth.ink import change_weight, weight_changes


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    """`heavy` draws as squares what `light` draws as bars."""
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "heavy.ttf", {"一": "square", "十": "frame", "田": "stem"})
    make_font(folder / "light.ttf", {"一": "bar", "十": "cross", "口": "frame"})
    return load_fonts(folder)


def changes(book: FontBook, own: str, other: str, text: str = "一十一十口") -> dict[int, float]:
    keys = [face.key for face in book.faces]
    faces = np.full(len(text), keys.index(own), np.int16)
    faces[-1] = keys.index(other)
    composition = replace(empty(100, 100), text=tuple(text), faces=faces, lines=(ComposedLine(0, len(text)),))
    return weight_changes(composition, book)


def test_a_light_face_is_thickened_and_a_heavy_one_thinned(book: FontBook) -> None:
    assert set(changes(book, "heavy", "light").values()) == {1.0}
    (thinner,) = changes(book, "light", "heavy").values()
    assert -1.0 <= thinner < 0


def test_the_page_own_face_and_alike_ones_stay(book: FontBook, tmp_path: Path) -> None:
    assert changes(book, "light", "light") == {}
    make_font(tmp_path / "one.ttf", {"一": "bar"})
    make_font(tmp_path / "two.ttf", {"口": "bar"})
    (same,) = changes(load_fonts(tmp_path), "one", "two", "一一口").values()
    assert same == pytest.approx(0, abs=0.02)


def test_faces_that_share_no_character_are_compared_all_the_same(book: FontBook) -> None:
    """A face of rare characters alone: `light` draws 口, `heavy` does not."""
    (thinner,) = changes(book, "light", "heavy", "口口一").values()
    assert thinner < 0


def test_weight_changes_in_the_asked_direction() -> None:
    mask = np.zeros((64, 64), np.uint8)
    mask[20:40, 20:40] = 255
    thin, thick = change_weight(mask, 64, -0.5), change_weight(mask, 64, 0.5)
    assert thin.sum() < mask.sum() < thick.sum()
    assert change_weight(mask, 64, 0.01) is mask
