"""The dynamic programme against brute force, and the array penalties against scalar ones written anew."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.layouts import KINDS, pages
from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.blocks.candidates import Pruning, enumerate_candidates
from tongguocr.blocks.features import Features, measure_features
from tongguocr.blocks.merge import Merging, merge_tiny
from tongguocr.blocks.penalties import AdjacentPenalty, BlockPenalty, PagePenalty, page_penalty
from tongguocr.blocks.segment import Objective, segment, spell_out
from tongguocr.page import KINDS as LINE_KINDS
from tongguocr.page import Line, Page


def ramp(value: float, free: float, full: float) -> float:
    return min(max((value - free) / (full - free), 0.0), 1.0)


def area(box: list[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def mbr(boxes: list[list[float]]) -> list[float]:
    low = [min(b[k] for b in boxes) for k in (0, 1)]
    return low + [max(b[k] for b in boxes) for k in (2, 3)]


def scalar_block(features: Features, i: int, j: int, p: BlockPenalty) -> float:
    """p_blk(B_{i,j}) term by term, one block at a time, from the definitions."""
    boxes = features.boxes[i:j].tolist()
    box = mbr(boxes)
    w, h = box[2] - box[0], box[3] - box[1]
    columns = len(set(features.column[i:j].tolist()))
    page_area = features.page_width * features.page_height
    size = float(np.average(features.size[i:j], weights=features.length[i:j]))
    aspect = max(w / h, h / w)
    p_n = 0.0
    if columns < p.few_columns:
        p_n = 1 - columns / p.few_columns
    if columns > p.many_columns:
        p_n = min((columns - p.many_columns) / (p.too_many_columns - p.many_columns), 1)
    pixels = [p.canvas * size / (p.padding * side) for side in (max(w, h), max(features.length[i:j]))]
    lost = [min(max(1 - px / p.legible, 0), 1) for px in pixels]
    shrinkage = min(max(2 * (lost[0] - lost[1]), 0), 1)
    p_a = max(ramp(w * h / page_area, p.large_area, p.full_area), shrinkage)
    fill = sum(area(b) for b in boxes) / area(box)
    free_gap = max(p.free_gap, p.free_gap_characters * size / features.page_width)
    gap = max([0.0, *features.gap[i + 1 : j]])
    overlap = min([1.0, *features.overlap[i + 1 : j]])
    waste = shift = 0.0
    for k in range(i + 1, j):
        if features.column[k] != features.column[k - 1]:
            old, column = mbr(boxes[: k - i]), features.column_boxes[k].tolist()
            new = mbr([old, column])
            waste = max(waste, (area(new) - area(old) - area(column)) / area(new))
            taller = max(old[3] - old[1], column[3] - column[1])
            shift = max(shift, 1 - taller / (new[3] - new[1]))
    return (
        p.weight_n * p_n
        + p.weight_a * p_a
        + p.weight_f * ramp(fill, p.full_fill, p.empty_fill)
        + p.weight_r * ramp(aspect, p.long_aspect, p.hopeless_aspect)
        + p.weight_s * ramp(aspect, p.strip_aspect, p.hopeless_strip)
        + p.weight_g * ramp(gap, free_gap, free_gap + p.wide_gap)
        + p.weight_o * ramp(overlap, p.whole_overlap, 0)
        + p.weight_delta
        * max(ramp(waste, p.free_waste, p.full_waste), ramp(shift, p.free_shift, p.full_shift))
    )


def scalar_adjacent(
    features: Features, h: int, i: int, j: int, block: BlockPenalty, p: AdjacentPenalty
) -> float:
    """p_adj(B_{h,i}, B_{i,j}) from the definitions."""
    a, b = mbr(features.boxes[h:i].tolist()), mbr(features.boxes[i:j].tolist())
    dx, dy = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(dx, 0) * max(dy, 0)
    small, large = sorted([area(a), area(b)])
    size = float(features.size[i])
    attached = ramp(max(-min(dx, dy), 0), p.attached * size, 0)
    if features.column[i] == features.column[i - 1]:
        split = 1.0
    else:
        first = features.column.tolist().index(features.column[i] - 1)
        one, two = features.column_boxes[first].tolist(), features.column_boxes[i].tolist()
        shared = max(min(one[3], two[3]) - max(one[1], two[1]), 0)
        alike = shared / (max(one[3], two[3]) - min(one[1], two[1]))
        free_gap = max(block.free_gap, block.free_gap_characters * size / features.page_width)
        split = p.sibling_split * alike * (1 - ramp(features.gap[i], free_gap, free_gap + block.wide_gap))
    return (
        p.weight_overlap * ramp(common / (small + large - common), p.free_overlap, p.full_overlap)
        + p.weight_containment * ramp(common / small, p.free_containment, p.full_containment)
        + p.weight_tiny * ramp(small / large, p.tiny_ratio, 0) * attached
        + p.weight_split * split
    )


def scalar_total(features: Features, boundaries: list[int], o: Objective) -> float:
    blocks = sum(scalar_block(features, i, j, o.block) for i, j in pairwise(boundaries))
    triples = zip(boundaries, boundaries[1:], boundaries[2:], strict=False)
    pairs = sum(scalar_adjacent(features, *t, o.block, o.adjacent) for t in triples)
    page = page_penalty(len(boundaries) - 1, features.columns, o.page)
    return o.weight_block * blocks + o.weight_adjacent * pairs + o.weight_page * page


def brute_force(features: Features, valid: np.ndarray, o: Objective) -> float:
    """The least total over every segmentation into candidates."""
    n = len(features.boxes)
    block = {(i, j): scalar_block(features, i, j, o.block) for i in range(n) for j in range(i + 1, n + 1)}
    adjacent = {
        (h, i, j): scalar_adjacent(features, h, i, j, o.block, o.adjacent)
        for i in range(1, n)
        for h in range(i)
        for j in range(i + 1, n + 1)
    }
    best = np.inf
    for cuts in range(n):
        page = o.weight_page * page_penalty(cuts + 1, features.columns, o.page)
        for inner in combinations(range(1, n), cuts):
            b = [0, *inner, n]
            if all(j - i <= valid.shape[1] and valid[i, j - i - 1] for i, j in pairwise(b)):
                pairs = zip(b, b[1:], b[2:], strict=False)
                total = o.weight_block * sum(block[t] for t in pairwise(b))
                best = min(best, total + o.weight_adjacent * sum(adjacent[t] for t in pairs) + page)
    return best


def random_page(rng: np.random.Generator, most: int = 9) -> Page:
    """Anything from tidy columns to boxes strewn over the page and beyond."""
    tidy = rng.random() < 0.5
    lines = []
    for k in range(int(rng.integers(1, most + 1))):
        x, y = (900 - 110 * k, 100) if tidy else rng.uniform(-100, 1000, 2)
        w, h = (40, rng.uniform(200, 800)) if rng.random() < 0.7 else rng.uniform(0, 400, 2)
        text = "字" * int(rng.integers(0, 20))
        kind = LINE_KINDS[int(rng.choice(4, p=[0.6, 0.3, 0.05, 0.05]))]
        direction = "top-to-bottom" if rng.random() < 0.8 else "left-to-right"
        lines.append(Line(f"l{k}", (float(x), float(y), float(x + w), float(y + h)), text, kind, direction))
    return Page("", 1000, 1000, tuple(lines))


def random_objective(rng: np.random.Generator) -> Objective:
    """Weights from harmless to overwhelming, so that every group decides some pages, the page term too."""
    page = PagePenalty(
        weight_range=float(rng.choice([0, 1, 20])),
        weight_cap=float(rng.choice([0, 1, 20])),
        weight_single=float(rng.choice([0, 0.6, 5])),
        fewest_columns=int(rng.integers(1, 5)),
        most_columns=int(rng.integers(5, 9)),
    )
    return Objective(*(float(w) for w in rng.choice([0.0, 1.0, 2.0, 4.0], 3)), page=page)


@pytest.mark.parametrize("pruned", [True, False])
@pytest.mark.parametrize("chunk", range(4))
def test_equals_brute_force(pruned: bool, chunk: int) -> None:
    """2,000 random layouts of up to 9 lines, with pruning and without, half under the paper's weights."""
    counts = set()
    for seed in range(chunk * 500, chunk * 500 + 500):
        rng = np.random.default_rng(seed)
        page = random_page(rng)
        objective = Objective() if seed % 2 else random_objective(rng)
        pruning = Pruning(enabled=pruned, max_lines=6, max_columns=5, max_aspect=6, min_fill=0.2)
        features = measure_features(page)
        candidates = enumerate_candidates(features, pruning)
        boundaries, total = segment(spell_out(candidates, objective))
        counts.add(len(boundaries))
        assert total == pytest.approx(brute_force(features, candidates.valid, objective), abs=1e-9)
        assert total == pytest.approx(scalar_total(features, boundaries, objective), abs=1e-9)
    assert len(counts) > 4, "the layouts should ask for different numbers of blocks"


@pytest.mark.parametrize("kind", KINDS)
def test_array_penalties_equal_scalar_ones_on_real_sizes(kind: str) -> None:
    page = next(pages(kind, 1, seed=7))
    features, objective = measure_features(page), Objective()
    candidates = enumerate_candidates(features)
    boundaries, total = segment(spell_out(candidates, objective))
    assert total == pytest.approx(scalar_total(features, boundaries, objective), abs=1e-9)


def test_page_term_by_hand() -> None:
    p = PagePenalty(weight_range=1, weight_cap=10, weight_single=100, fewest_columns=4, most_columns=10)
    assert p.preferred(40) == (4, 10, 20)
    assert page_penalty(1, 40, p) == pytest.approx((3 / 4) ** 2 + 100)
    assert page_penalty(2, 40, p) == pytest.approx((2 / 4) ** 2)
    assert page_penalty(4, 40, p) == page_penalty(10, 40, p) == 0
    assert page_penalty(12, 40, p) == pytest.approx((2 / 10) ** 2)
    assert page_penalty(25, 40, p) == pytest.approx((15 / 10) ** 2 + 10 * (5 / 20) ** 2)


def test_paper_weights_are_the_default() -> None:
    o = Objective()
    assert (o.weight_block, o.weight_adjacent, o.weight_page) == (2, 2, 1)


coordinate = st.floats(-2000, 2000, allow_nan=False)


@given(st.lists(st.tuples(coordinate, coordinate, coordinate, coordinate), min_size=1, max_size=25))
@example([(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 1, 2), (2.225e-313, 0, 0, 1), (-2, 0, 0, 0)])
@settings(max_examples=150)
def test_every_line_is_in_exactly_one_block(corners: list[tuple[float, float, float, float]]) -> None:
    boxes = [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in corners]
    page = Page("", 1000, 800, tuple(Line(f"l{k}", box) for k, box in enumerate(boxes)))
    strict = BlockSettings(pruning=Pruning(max_lines=5, max_columns=3, max_aspect=1.01, min_fill=0.99))
    for options in (BlockSettings(), strict):
        blocks = cut_blocks(page, options)
        covered = [k for block in blocks for k in range(block.start, block.stop)]
        assert covered == list(range(len(boxes)))
        for block in blocks:
            assert all(
                block.box[0] <= line.box[0] and line.box[3] <= block.box[3] for line in block.lines(page)
            )


def test_pruning_never_makes_a_page_unsegmentable() -> None:
    impossible = Pruning(
        max_lines=1, max_columns=0, max_area=0, small_page_columns=0, max_aspect=0, min_fill=9
    )
    page = next(pages("spread", 1))
    assert len(cut_blocks(page, BlockSettings(pruning=impossible))) == len(page.lines)


def test_no_lines_no_blocks() -> None:
    assert cut_blocks(Page("", 100, 100)) == ()


def test_two_thousand_lines() -> None:
    lines = [
        Line(f"l{k}", (50 * (k % 50), 900 * (k // 50), 50 * (k % 50) + 40, 900 * (k // 50) + 800))
        for k in range(2000)
    ]
    page = Page("", 2500, 36000, tuple(lines))
    blocks = cut_blocks(page)
    assert sum(block.stop - block.start for block in blocks) == 2000


def test_merge_absorbs_a_stray_column() -> None:
    """Five columns, forced apart into 4 + 1: the stray one joins; two registers stay apart."""
    columns = [Line(f"l{k}", (400 - 60 * k, 50, 440 - 60 * k, 850)) for k in range(7)]
    page = Page("", 500, 900, tuple(columns))
    candidates = enumerate_candidates(measure_features(page))
    costs = spell_out(candidates)
    assert merge_tiny([0, 6, 7], candidates, costs) == [0, 7]
    assert merge_tiny([0, 1, 7], candidates, costs) == [0, 7]
    assert merge_tiny([0, 3, 7], candidates, costs) == [0, 3, 7], "neither half is tiny"
    assert merge_tiny([0, 6, 7], candidates, costs, Merging(slack=-np.inf)) == [0, 6, 7]
    far = replace(columns[6], box=(10, 10, 30, 40))
    moved = replace(
        page, lines=(*columns[:6], replace(far, box=(900, 2000, 940, 2100))), width=1000, height=2200
    )
    candidates = enumerate_candidates(measure_features(moved))
    assert merge_tiny([0, 6, 7], candidates, spell_out(candidates)) == [0, 6, 7]
