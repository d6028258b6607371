"""Composed pages: labels follow the text, and a walk over the geometry finds the same order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from counting_pages import page_of
from font_books import Book

from tongguocr.geometry import Box, area, centre, intersection, union
from tongguocr.page import Line, Page
from tongguocr.training.synth.composition import cut_out, scaled, to_page
from tongguocr.training.synth.kinds import KINDS, compose_page, pick_kind
from tongguocr.training.synth.page_builder import paragraphs, reflow
from tongguocr.training.synth.text import from_characters, load_text, parse_column


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_labels_follow_the_text(kind: str, seed: int) -> None:
    """Characters were drawn in rising order, so the labels must rise; numerals and fixed words aside."""
    _, page = page_of(kind, seed)
    fixed = set("卷一二三四五六七八九十〇第冊音釋0123456789")
    order = [ord(c) for line in page.lines for c in line.text if c not in fixed]
    assert len(order) > 10
    assert all(a < b for a, b in pairwise(order))


def regions(page: Page) -> list[list[Line]]:
    """Runs of lines of one place: text, fold or margin, and anew wherever the text jumps to the right.

    After a register of which little is filled, the jump is short, but goes below all of it.
    """
    parts: list[list[Line]] = []
    places = {"main": "text", "note": "text", "fold": "fold", "margin": "margin"}
    for line in page.lines:
        if parts:
            last = parts[-1][-1]
            far = centre(last.box)[0] + 2 * (line.box[2] - line.box[0]) + 40
            below = line.box[1] > max(x.box[3] for x in parts[-1])
            right = centre(line.box)[0] > centre(last.box)[0] + 0.5 * (last.box[2] - last.box[0])
            if (
                places[last.kind] == places[line.kind]
                and centre(line.box)[0] <= far
                and not (below and right)
            ):
                parts[-1].append(line)
                continue
        parts.append([line])
    return parts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_walk_over_the_page_meets_the_lines_in_order(kind: str, seed: int) -> None:
    """Within a region every line lies left of the one before, or below it in the same column."""
    _, page = page_of(kind, seed)
    for region in regions(page):
        for a, b in pairwise(region):
            ax, bx = centre(a.box)[0], centre(b.box)[0]
            width = max(a.box[2] - a.box[0], b.box[2] - b.box[0])
            left = bx < ax - 0.2 * min(a.box[2] - a.box[0], b.box[2] - b.box[0])
            below = b.box[1] >= a.box[3] - 0.3 * width and abs(bx - ax) < width
            assert left or below, (kind, a, b)
    for line in page.lines:
        steps = np.diff(np.array([centre(char.box) for char in line.chars]), axis=0)
        if line.direction == "top-to-bottom":
            assert (steps[:, 1] > 0).all()
        else:
            assert (steps[:, 0] * (1 if line.direction == "left-to-right" else -1) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_characters_keep_to_the_page_and_apart(kind: str) -> None:
    for seed in range(6):
        composition, page = page_of(kind, seed)
        boxes: list[Box] = [char.box for line in page.lines for char in line.chars]
        assert len(boxes) == composition.labelled().sum()
        for box in boxes:
            assert 0 <= box[0] < box[2] <= page.width and 0 <= box[1] < box[3] <= page.height
        for k, box in enumerate(boxes):
            for other in boxes[k + 1 : k + 80]:
                common = intersection(box, other)
                assert common is None or area(common) < 0.35 * min(area(box), area(other))


def test_kinds_have_what_their_names_say() -> None:
    kinds = {kind: [page_of(kind, seed) for seed in range(8)] for kind in KINDS}
    assert all(any(line.kind == "fold" for line in page.lines) for _, page in kinds["spread"])
    assert all(composition.patches for composition, _ in kinds["spread"])
    assert all(any(line.kind == "margin" for line in page.lines) for _, page in kinds["head-notes"])
    assert all(page.lines[0].direction == "right-to-left" for _, page in kinds["horizontal"])
    assert any(composition.white.any() for composition, _ in kinds["boxed"])
    assert any(s.role == "box" for composition, _ in kinds["boxed"] for s in composition.strokes)
    assert all(composition.marks for composition, _ in kinds["marked"])
    assert all((composition.faces == 1).all() for composition, _ in kinds["preface"]), "a brush face"
    notes = [
        sum(len(x.text) for x in page.lines if x.kind == "note") / len(c) for c, page in kinds["commentary"]
    ]
    assert np.mean(notes) > 0.6
    assert any(page.lines[0].kind == "note" for _, page in kinds["note-edges"])
    assert all(s.role == "frame" for composition, _ in kinds["tripitaka"] for s in composition.strokes)


def test_same_seed_same_page_and_undrawable_characters_are_left_out() -> None:
    text = load_text(None)
    one, two = (compose_page("half-leaf", text, Book(), 5) for _ in range(2))  # type: ignore[arg-type]
    assert one.text == two.text and (one.boxes == two.boxes).all()
    other = compose_page("half-leaf", text, Book(), 6)  # type: ignore[arg-type]
    assert other.text != one.text
    page = compose_page("half-leaf", from_characters("缺天"), Book(), 1)  # type: ignore[arg-type]
    assert set(page.text) == {"天"}


@pytest.mark.parametrize(("width", "height"), [(512, 512), (320, 896), (512, 64)])
def test_cut_out_keeps_own_lines_and_scales_them_to_the_canvas(width: int, height: int) -> None:
    composition, page = page_of("spread", 2)
    lines = range(3, 9)
    box = union(line.box for line in page.lines[3:9])
    block = cut_out(composition, box, lines, width, height)
    assert (block.width, block.height) == (width, height)
    assert "".join(block.text) == "".join(line.text for line in page.lines[3:9])
    assert [line.kind for line in to_page(block).lines] == [line.kind for line in page.lines[3:9]]
    factor = min(width / (box[2] - box[0]), height / (box[3] - box[1]))
    before = page.lines[3].chars[0].box
    after = to_page(block).lines[0].chars[0].box
    assert after[2] - after[0] == pytest.approx(factor * (before[2] - before[0]), abs=0.05)
    inked = union(line.box for line in to_page(block).lines)
    assert centre(inked) == pytest.approx((width / 2, height / 2), abs=0.05)
    room = width - (inked[2] - inked[0]), height - (inked[3] - inked[1])
    assert min(room) == pytest.approx(0, abs=0.05), "as large as the canvas allows"
    whole = scaled(composition, 0.5)
    assert whole.width == round(composition.width * 0.5)
    assert whole.boxes == pytest.approx(composition.boxes * 0.5, abs=1e-3)


def test_cut_out_leaves_out_what_belongs_to_other_lines() -> None:
    seeds = [seed for seed in range(20) if page_of("boxed", seed)[0].white.any()][:5]
    for seed in seeds:
        composition, page = page_of("boxed", seed)
        for k, line in enumerate(composition.lines):
            whole = (0.0, 0.0, float(page.width), float(page.height))
            block = cut_out(composition, whole, range(k, k + 1), page.width, page.height)
            assert len(block.patches) == int(composition.white[line.start : line.stop].any())
    composition, page = page_of("marked", 1)
    halves = [range(len(page.lines) // 2), range(len(page.lines) // 2, len(page.lines))]
    marks = [len(cut_out(composition, (0.0, 0.0, 500.0, 500.0), half, 100, 100).marks) for half in halves]
    assert all(0 < count < len(composition.marks) for count in marks)
    assert sum(marks) >= len(composition.marks)


def test_pick_kind_follows_the_shares() -> None:
    rng = np.random.default_rng(0)
    drawn = [pick_kind(rng) for _ in range(3000)]
    share = drawn.count("half-leaf") / 3000
    assert share == pytest.approx(KINDS["half-leaf"].share / sum(k.share for k in KINDS.values()), abs=0.03)
    assert set(drawn) == set(KINDS)


def test_paragraphs_and_reflow_keep_every_character_in_order() -> None:
    columns = [
        parse_column(line)
        for line in ("天地玄黃（宇宙洪荒日月", "盈昃）辰宿", "　列張寒來", "　暑往", "秋收冬藏（閏餘）")
    ]
    joined = list(paragraphs(iter(columns), 6))
    assert "".join(run.text for run in joined[0].runs).startswith("天地玄黃宇宙洪荒")
    text = "".join(run.text for p in joined for run in p.runs)
    for rows, pitch in ((3, 1.0), (5, 0.7), (9, 0.85)):
        flowed = [c for p in joined for c in reflow(p, rows, pitch)]
        assert "".join(run.text for c in flowed for run in c.runs) == text
        for column in flowed:
            cells = sum(-(-len(r.text) // 2) * pitch if r.is_note else len(r.text) for r in column.runs)
            assert column.indent + cells <= rows + 1e-6
