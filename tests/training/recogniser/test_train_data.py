"""Lines for the recogniser out of pages with character boxes."""

from __future__ import annotations

import numpy as np

from tongguocr.training.detector.real_pages import RealPage, make_page
from tongguocr.training.recogniser.train_data import lines_of_page
from tongguocr.training.synth.real_ink import book_of, page_of

SIZE = 20


def make(labels: list[str], columns: int = 2) -> RealPage:
    """Columns of square characters from right to left, each a shade of its own on white paper."""
    rows = len(labels) // columns
    pixels = np.full((SIZE * rows + 40, 60 * columns), 255, np.uint8)
    boxes = []
    for number in range(len(labels)):
        x, y = 60 * (columns - 1 - number // rows) + 20, 20 + SIZE * (number % rows)
        boxes.append((x, y, x + SIZE, y + SIZE))
        pixels[y + 3 : y + SIZE - 3, x + 3 : x + SIZE - 3] = 2 * number
    return make_page("book-01-007.jpg", pixels, np.array(boxes, np.float32), tuple(labels))


def test_runs_of_known_characters_become_lines_with_the_cuts_of_their_boxes() -> None:
    page = make([*"天地玄黃宇", "日", "", "月", "盈", "x"])
    lines = list(lines_of_page(page, lambda char: char != "x"))
    assert [line.text for line in lines] == ["天地玄黃宇", "日", "月盈"]
    for line in lines:
        assert len(line.cuts) == len(line.text) + 1
        assert np.allclose(np.diff(line.cuts), SIZE)
        # Ink in the middle of every character, none at the cuts.
        middles = ((line.cuts[1:] + line.cuts[:-1]) / 2).astype(int)
        assert (line.ink[middles, line.ink.shape[1] // 2] > 200).all()
        assert (line.ink[np.clip(line.cuts.round().astype(int), 0, len(line.ink) - 1)] < 20).all()


def test_lines_are_named_by_book_and_page() -> None:
    (line,) = lines_of_page(make(["天", "地"], columns=1), lambda char: True)
    assert (book_of(line.name), page_of(line.name)) == ("book-01", "book-01__book-01-007")


def test_a_page_without_labels_gives_no_lines() -> None:
    page = make(["", "", "", ""])
    assert not list(lines_of_page(page, lambda char: True))
