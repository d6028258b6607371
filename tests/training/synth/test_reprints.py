"""Reprints, verse, glosses and cut leaves: what each of them promises about its lines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from counting_pages import page_of

from tongguocr.geometry import Box, centre
from tongguocr.page import Line, Page
from tongguocr.training.synth.composition import cut_edge
from tongguocr.training.synth.cut_leaf import HIDDEN, SHOWN
from tongguocr.training.synth.verse import VERSE_GAP, draw_verse_form

SEEDS = range(24)


def is_inside(box: Box, frame: Box) -> bool:
    x, y = centre(box)
    return frame[0] <= x <= frame[2] and frame[1] <= y <= frame[3]


def same_column(a: Line, b: Line) -> bool:
    return abs(centre(a.box)[0] - centre(b.box)[0]) < 0.4 * (a.box[2] - a.box[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_publisher_added_is_fold_and_comes_last(seed: int) -> None:
    composition, page = page_of("reprint", seed)
    kinds = [line.kind for line in page.lines]
    assert set(kinds) <= {"main", "note", "fold"}
    first = kinds.index("fold") if "fold" in kinds else len(kinds)
    assert set(kinds[first:]) <= {"fold"}, "nothing of it stands between two columns"
    assert all(is_inside(line.box, composition.frame) for line in page.lines[:first])


def test_reprints_are_of_many_sorts() -> None:
    pages = [page_of("reprint", seed) for seed in range(60)]
    outside = [
        [x.direction for x in page.lines if x.kind == "fold" and not is_inside(x.box, c.frame)]
        for c, page in pages
    ]
    assert {way for ways in outside for way in ways} == {"top-to-bottom", "left-to-right", "right-to-left"}
    assert any(not ways for ways in outside), "some have nothing outside"
    between = [
        sum(s.role == "rule" and abs(s.start[1] - s.end[1]) < 1 for s in composition.strokes)
        for composition, _ in pages
    ]
    assert 0 in between and 1 in between and max(between) > 2, "no rule, a whole one, a broken one"
    assert any(not composition.strokes for composition, _ in pages), "no frame at all"
    assert any(len(composition.patches) > 8 for composition, _ in pages), "ornaments"


@pytest.mark.parametrize("kind", ["verse", "reprint"])
def test_a_column_of_verse_is_read_to_its_foot(kind: str) -> None:
    pieces = 0
    for seed in SEEDS:
        _, page = page_of(kind, seed)
        main = [line for line in page.lines if line.kind == "main"]
        for a, b in pairwise(main):
            if same_column(a, b) and 4 <= len(a.text) <= 9 and len(a.text) == len(b.text):
                cell = (a.box[3] - a.box[1]) / len(a.text)
                pieces += 0.4 * cell < b.box[1] - a.box[3]
    assert pieces > 40


def test_verse_forms_fill_their_columns() -> None:
    rng = np.random.default_rng(1)
    for rows in range(10, 30):
        form = draw_verse_form(rng, rows)
        assert form is not None and 2 <= form.pieces <= 4 and 4 <= form.length <= 9
        assert VERSE_GAP[0] <= form.gap <= VERSE_GAP[1]
        assert form.indent + form.pieces * form.length + (form.pieces - 1) * form.gap <= rows + 1e-6
    assert draw_verse_form(rng, 6) is None


def glossed(page: Page) -> list[tuple[Line, Line, Line]]:
    """Head characters with the rows of the note below them."""
    triples = zip(page.lines, page.lines[1:], page.lines[2:], strict=False)
    return [t for t in triples if [line.kind for line in t] == ["main", "note", "note"]]


@pytest.mark.parametrize("seed", range(8))
def test_glosses_are_large_heads_with_two_small_rows(seed: int) -> None:
    _, page = page_of("glosses", seed)
    entries = glossed(page)
    assert len(entries) > 5 and sum(line.kind == "note" for line in page.lines) > 0.4 * len(page.lines)
    for head, right, left in entries:
        wide = head.box[2] - head.box[0]
        assert right.box[2] - right.box[0] < 0.85 * wide and len(right.text) >= len(left.text)
        assert centre(left.box)[0] < centre(right.box)[0]


def test_a_cut_leaf_labels_what_is_seen_and_no_more() -> None:
    sides, seen_labelled, seen_other = set(), [], []
    for seed in range(40):
        composition, page = page_of("cut-leaf", seed)
        sides.add(cut_edge(composition))
        x0, x1 = composition.boxes[:, 0], composition.boxes[:, 2]
        seen = (np.clip(x1, 0, composition.width) - np.clip(x0, 0, composition.width)) / (x1 - x0)
        labelled = composition.labelled()
        seen_labelled += seen[labelled].tolist()
        seen_other += seen[~labelled].tolist()
        cut = {"".join(composition.text[x.start : x.stop]) for x in composition.lines
               if (seen[x.start : x.stop] < 0.97).any()}  # fmt: skip
        assert all(line.kind == "fold" for line in page.lines if line.text in cut)
        assert len(composition.text) == len(labelled) >= labelled.sum() > 20
        assert not labelled[labelled.sum() :].any(), "ink in no line comes last"
    assert sides == {"left", "right", None}
    assert SHOWN[0] - 0.05 < min(seen_labelled) < 0.65 and max(seen_other) < HIDDEN[1] + 0.05
