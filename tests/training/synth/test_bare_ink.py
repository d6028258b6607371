"""Pictures of paper without text, cut out of labelled pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.page import Pixels
from tongguocr.training.synth.bare_ink import MOST_OF_A_PAGE, bare_lines, free_places, held_out_stems

HIGH, WIDE = 400, 200
COLUMNS = [(160, 20, 180, 380), (120, 20, 140, 150), (80, 20, 100, 260)]
"""One long column and two that end early."""

boxes = st.builds(
    lambda x, y, w, h: (x, y, x + w, y + h),
    *(st.integers(0, 150), st.integers(0, 300), st.integers(4, 50), st.integers(20, 100)),
)


def page(
    columns: Sequence[tuple[int, ...]] = COLUMNS, name: str = "leaf_1a.webp"
) -> tuple[dict[str, Any], Pixels]:
    """Grey paper with dark characters where the lines are."""
    pixels = np.full((HIGH, WIDE), 200, np.uint8)
    for x0, y0, x1, y1 in columns:
        pixels[y0:y1:2, x0:x1] = 30
    return {"image": name, "lines": [{"box": list(box), "text": "天"} for box in columns]}, pixels


def cut(pages: list[tuple[dict[str, Any], Pixels]], held_out: frozenset[str] = frozenset()) -> list[Any]:
    return list(bare_lines(pages, held_out, np.random.default_rng(1)))


@given(st.lists(boxes, min_size=1, max_size=8), st.lists(boxes, max_size=3))
def test_nothing_stands_in_a_free_place(lines: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> None:
    taken = np.array(lines + others, np.float32)
    block = np.array(lines)
    for x0, y0, x1, y1 in free_places(np.array(lines, np.float32), taken):
        assert block[:, 1].min() <= y0 < y1 <= block[:, 3].max()
        across = np.minimum(taken[:, 2], x1) - np.maximum(taken[:, 0], x0)
        along = np.minimum(taken[:, 3], y1) - np.maximum(taken[:, 1], y0)
        assert not ((across > 2) & (along > 0)).any()


def test_rests_of_columns_and_gaps_between_them_are_found() -> None:
    places = [
        box.tolist() for box in free_places(np.array(COLUMNS, np.float32), np.array(COLUMNS, np.float32))
    ]
    assert [120, 154, 140, 380] in places and [80, 264, 100, 380] in places
    assert any(x0 == 140 and x1 == 160 and y1 - y0 > 300 for x0, y0, x1, y1 in places)
    assert not any(x0 == 160 for x0, *_ in places), "the long column has no rest"


def test_pictures_of_paper_say_nothing_and_show_hardly_anything() -> None:
    found = cut([page()])
    assert 0 < len(found) <= MOST_OF_A_PAGE
    for line in found:
        assert line.text == "" and line.cuts.tolist() == [0, len(line.ink)]
        # A slice of a neighbour may be seen at an edge.
        middle = line.ink[:, line.ink.shape[1] // 3 : -(line.ink.shape[1] // 3) or None]
        assert middle.mean() < 10


def test_what_is_as_dark_as_the_lines_may_be_text() -> None:
    entry, pixels = page()
    free = len(cut([(entry, pixels)]))
    pixels[160:370:2, 122:138] = 40
    assert len(cut([(entry, pixels)])) < free
    entry["unlabelled"] = [[120, 154, 140, 376]]
    pixels[160:370, 122:138] = 200
    assert len(cut([(entry, pixels)])) < free


def test_show_through_is_as_faint_as_it_is_on_its_page() -> None:
    entry, pixels = page()
    pixels[160:370:2, 120:140] = 150
    strongest = max(int(np.percentile(line.ink, 95)) for line in cut([(entry, pixels)]))
    assert 0 < strongest < 120, "not as dark as it would be by its own contrast"


def test_held_out_pages_give_nothing() -> None:
    stems = held_out_stems(["BOOK__leaf_1a_0.webp", "BOOK__leaf_1a_1.webp"])
    assert stems == {"leaf_1a"}
    assert not cut([page()], stems) and cut([page(name="leaf_2a.webp")], stems)
    assert not cut([({"image": "leaf_3a.webp", "lines": []}, page()[1])])
