"""Real lines to train on: cut, put together from pieces, tight, swayed."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from line_images import TEXT, draw_line

from tongguocr.training.synth.composition import to_page
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.lines import LineStore, sway_lines
from tongguocr.training.synth.gpu.render import paint, render_batch
from tongguocr.training.synth.line_pieces import MOST, PieceSampler, known_runs
from tongguocr.training.synth.real_blocks import (
    JITTER,
    LineBlock,
    LineBlockComposer,
    LineBlockSettings,
    for_real_ink,
    pack_lines,
)
from tongguocr.training.synth.real_ink import (
    LineImage,
    Lines,
    gather,
    join,
    make_line,
)


@cache
def told_apart(count: int = 30, narrow: int = 0) -> Lines:
    """Lines whose characters say where they come from: the line and the place in it."""

    def text(k: int, length: int) -> str:
        return "".join(chr(0x4E00 + 16 * k + j) for j in range(length))

    lines = [make_line(f"B__p{k}_1.png", text(k, 4 + k % 5), draw_line(4 + k % 5)) for k in range(count)]
    lines += [
        make_line(f"B__p{k}_9.png", text(k, 5), draw_line(5, width=12, cell=14, gap=4))
        for k in range(count, count + narrow)
    ]
    return gather(lines)


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_what_is_not_known_is_cut_out(known: list[bool]) -> None:
    text = "".join(chr(0x4E00 + k) if yes else "?" for k, yes in enumerate(known))
    line = make_line("B__p_1.png", text, draw_line(len(text)))
    runs = known_runs(line, "?".__ne__)
    assert [run.text for run in runs] == text.replace("?", " ").split()
    assert not all(known) or runs == [line]
    for run in runs if not all(known) else []:
        top = int(line.cuts[text.index(run.text)])
        assert np.array_equal(run.ink, line.ink[top : top + len(run.ink)])
        assert len(run.cuts) == len(run.text) + 1
        assert run.cuts[0] < 1 and abs(run.cuts[-1] - len(run.ink)) < 1


def test_nothing_is_cut_out_through_ink() -> None:
    grey = np.full((80, 20), 200, np.uint8)
    grey[:, 8:12] = 20
    assert known_runs(make_line("B__p_1.png", "丁七?三", grey), "?".__ne__) == []


def pieces_of(block: LineBlock, lines: Lines) -> list[str]:
    """What each row of `placed` shows, by the cuts that lie in its range."""
    found = []
    for number, *_, top, bottom in block.placed.tolist():
        cuts = lines.cuts[int(number)]
        inside = [a >= top - 0.01 and b <= bottom + 0.01 for a, b in pairwise(cuts)]
        found.append("".join(c for c, shown in zip(lines.texts[int(number)], inside, strict=True) if shown))
    return found


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_patchwork_lines_say_what_their_pieces_show(seed: int) -> None:
    lines = told_apart(narrow=6)
    settings = LineBlockSettings(height=256, width=256, scale=(0.8, 1.2), patchwork=1.0, ruled=0.0)
    composer = LineBlockComposer(lines, settings)
    block = composer.compose(np.random.default_rng(seed))
    page, pieces = to_page(block.composition), pieces_of(block, lines)
    assert block.placed.shape[1] == 7 and page.full_text.replace("\n", "") == "".join(pieces)
    assert all(1 <= len(piece) <= MOST for piece in pieces)
    for line in page.lines:
        assert all(abs(a.box[3] - b.box[1]) < 4 for a, b in pairwise(line.chars)), "at the natural pitch"
    assert block.placed[:, 1].min() >= -6 and block.placed[:, 3].max() <= 262
    assert block.placed[:, 2].min() >= 0 and block.placed[:, 4].max() <= 257
    notes = [line for line in page.lines if line.kind == "note"]
    for right, left in zip(notes[::2], notes[1::2], strict=True):
        assert right.box[0] > left.box[0] and left.box[3] < right.box[3] + 6
    for number, x0, y0, x1, y1, top, bottom in block.placed.tolist():
        wide, high = (x1 - x0) / lines.sizes[int(number), 0], (y1 - y0) / (bottom - top)
        assert abs(wide / high - 1) < 2.2 * JITTER or high < 0.8
    widths = lines.sizes[block.placed[:, 0].astype(int), 0]
    assert set(widths.tolist()) <= {12, 24}


def test_pieces_are_painted_where_their_labels_are() -> None:
    lines = told_apart()
    composer = LineBlockComposer(
        lines, LineBlockSettings(height=256, width=256, scale=(1.0, 1.2), ruled=0.0, patchwork=0.6)
    )
    blocks = [composer.compose(np.random.default_rng(k)) for k in range(3)]
    batch = pack_lines(blocks)
    ink = paint(batch, None, LineStore.load(lines, "cpu")).all_black.numpy()
    covered = np.zeros_like(ink, dtype=bool)
    for (x0, y0, x1, y1), block in zip(batch.boxes.tolist(), batch.of_block.tolist(), strict=True):
        assert ink[block, round(y0) : round(y1), round(x0) : round(x1)].mean() > 0.35
        covered[block, int(y0) - 2 : int(y1) + 3, int(x0) - 2 : int(x1) + 3] = True
    assert ink[~covered].max(initial=0) < 0.35


def test_a_pasted_piece_is_those_rows_of_the_line() -> None:
    line = make_line("B__p_1.png", TEXT[:5], draw_line(5))
    composer = LineBlockComposer(
        gather([line]), LineBlockSettings(height=128, width=128, scale=(1.0, 1.0), ruled=0.0, patchwork=1.0)
    )
    block = composer.compose(np.random.default_rng(1))
    placed = np.array([[0, 30, 10, 54, 58, 24, 72]], np.float32)
    batch = pack_lines([LineBlock(block.composition, placed)])
    ink = paint(batch, None, LineStore.load(composer.lines, "cpu")).black[0].numpy()
    assert np.abs(ink[10:58, 30:54] - line.ink[24:72] / 255).max() < 0.01
    assert ink[:10].max() == 0 and ink[58:].max() == 0, "nothing of the rows around"


def test_scissors_cut_between_characters_only() -> None:
    ink = np.zeros((120, 20), np.uint8)
    for top in (2, 26, 50, 74, 98):
        ink[top : top + 20, 3:-3] = 255
    ink[60:90, 8:12] = 255
    joined = LineImage("B__p_1.png", TEXT[:5], ink, np.array([0, 24, 48, 72, 96, 120], np.float32))
    sampler = PieceSampler.of(gather([joined]))
    assert sampler.clean_cuts[0].tolist() == [0, 1, 2, 4, 5], "the third and fourth are joined by ink"
    rng, seen = np.random.default_rng(1), set()
    for _ in range(200):
        piece = sampler.sample(np.array([0]), 2, rng)
        seen.add((piece.first, piece.stop))
        assert piece.top == (piece.first * 24) and piece.bottom == (piece.stop * 24)
    assert seen == {(0, 1), (0, 2), (1, 2), (2, 4), (4, 5)}


@settings(max_examples=30)
@given(
    canvas=st.sampled_from([(64, 48), (160, 48), (448, 48), (272, 96), (448, 96)]), seed=st.integers(0, 999)
)
def test_tight_blocks_fill_their_canvas(canvas: tuple[int, int], seed: int) -> None:
    height, width = canvas
    lines = told_apart(narrow=4)
    composer = LineBlockComposer(lines, LineBlockSettings(tight=1.0)).resized(height, width, 1.0)
    block = composer.compose(np.random.default_rng(seed))
    boxes = block.composition.boxes
    assert len(block.composition.lines) <= 2 * max(width // 36, 1) and len(boxes)
    character = 24 * min(1.9, width / 24)
    assert boxes[:, 0].min() >= -0.1 * character and boxes[:, 2].max() <= width + 0.1 * character
    assert boxes[:, 1].min() <= 0.25 * character and boxes[:, 1].min() >= 0 and boxes[:, 3].max() <= height
    assert boxes[:, 3].max() > height - 2.2 * character, "down to the last character that has room"
    assert boxes[:, 2].max() - boxes[:, 0].min() > 0.6 * width
    assert to_page(block.composition).full_text.replace("\n", "") == "".join(pieces_of(block, lines))


def test_a_canvas_lower_than_a_character_gets_one_all_the_same() -> None:
    composer = LineBlockComposer(told_apart(), LineBlockSettings(height=16, width=64, tight=1.0))
    block = composer.compose(np.random.default_rng(3))
    assert len(block.composition) and block.placed[:, 4].max() <= 17


def with_paper(count: int = 4) -> Lines:
    """Lines, and behind them pictures of paper."""
    ink = np.full((60, 18), 40, np.uint8)
    paper = [LineImage(f"bare__p{k}_1", "", ink, np.array([0, 60], np.float32)) for k in range(count)]
    return join(told_apart(), gather(paper))


@pytest.mark.parametrize("patchwork", [0.0, 0.6])
def test_blocks_of_paper_say_nothing_and_fill_their_canvas(patchwork: float) -> None:
    lines, first = with_paper(), len(told_apart())
    settings = LineBlockSettings(height=128, width=96, bare=1.0, patchwork=patchwork)
    blocks = [LineBlockComposer(lines, settings).compose(np.random.default_rng(k)) for k in range(4)]
    for block in blocks:
        assert not block.composition.lines and not block.composition.text
        assert (block.placed[:, 0] >= first).all() and block.placed.shape[1] == (7 if patchwork else 5)
    ink = paint(pack_lines(blocks), None, LineStore.load(lines, "cpu")).all_black.numpy()
    assert (ink > 0.1).mean() > 0.9


def test_paper_stands_below_text_and_never_over_it() -> None:
    lines, first = with_paper(), len(told_apart())
    settings = LineBlockSettings(height=256, width=256, scale=(0.8, 1.2), bare=1e-9, ruled=0.0)
    composer, seen = LineBlockComposer(lines, settings), 0
    for seed in range(12):
        block = composer.compose(np.random.default_rng(seed))
        for number, x0, y0, x1, y1 in block.placed.tolist():
            if number >= first:
                seen += 1
                boxes = block.composition.boxes
                beside = (boxes[:, 0] < x1 - 1) & (boxes[:, 2] > x0 + 1)
                below = boxes[beside & ((boxes[:, 0] + boxes[:, 2]) / 2 > x0) & (boxes[:, 2] < x1 + 8)]
                assert y1 <= 257 and (below[:, 3] <= y0 + 1).all()
        page = to_page(block.composition)
        assert page.lines and all(line.text for line in page.lines)
    assert seen


def test_without_patchwork_rows_are_whole_lines() -> None:
    plain, asked = (
        LineBlockComposer(told_apart(), LineBlockSettings(height=200, width=200, patchwork=p)).compose(
            np.random.default_rng(2)
        )
        for p in (0.0, 0.6)
    )
    assert plain.placed.shape[1] == 5 and asked.placed.shape[1] == 7
    assert len(plain.placed) == len(plain.composition.lines) < len(asked.placed)


def test_real_ink_may_thicken_a_little_if_asked() -> None:
    heavy, dry = Degradation(spread=0.026), Degradation(spread=-0.01)
    assert for_real_ink(heavy).spread == 0 and for_real_ink(dry).spread == for_real_ink(dry, 0.01).spread < 0
    assert for_real_ink(heavy, 0.01).spread == 0.01
    composer = LineBlockComposer(told_apart(), LineBlockSettings(height=128, width=128, ruled=0.0))
    batch, store = (
        pack_lines([composer.compose(np.random.default_rng(1))]),
        LineStore.load(composer.lines, "cpu"),
    )
    thin, thick = (
        render_batch(batch, None, [for_real_ink(heavy, t)], 1, store).images.float().mean() for t in (0, 0.03)
    )
    assert thick < thin - 1


@pytest.mark.parametrize("patchwork", [0.0, 1.0])
def test_swayed_lines_are_other_pictures_of_the_same_text(patchwork: float) -> None:
    lines = told_apart()
    composer = LineBlockComposer(
        lines, LineBlockSettings(height=256, width=256, patchwork=patchwork, ruled=0.0)
    )
    block = composer.compose(np.random.default_rng(2))
    batch, store = pack_lines([block]), LineStore.load(lines, "cpu")
    plain, one, again, other = (
        paint(batch, None, store, shaping=strength, seed=seed).black[0]
        for strength, seed in ((0.0, 1), (1.0, 1), (1.0, 1), (1.0, 2))
    )
    assert torch.equal(one, again) and not torch.equal(one, other) and not torch.equal(one, plain)
    assert float(one.sum()) == pytest.approx(float(plain.sum()), rel=0.1)
    outside = torch.ones_like(plain, dtype=torch.bool)
    for x0, y0, x1, y1 in block.placed[:, 1:5].tolist():
        outside[int(y0) : int(y1) + 2, int(x0) : int(x1) + 2] = False
    assert not one[outside].any(), "ink stays where its line or piece is"
    for x0, y0, x1, y1 in batch.boxes.tolist():
        part = np.s_[max(int(y0), 0) : int(y1) + 1, max(int(x0), 0) : int(x1) + 1]
        before, after = (centre_of(ink[part].numpy()) for ink in (plain, one))
        assert np.abs(before - after).max() < 0.2 * (x1 - x0)


def centre_of(ink: np.ndarray) -> np.ndarray:
    rows, columns = np.indices(ink.shape)
    return np.array([(ink * rows).sum(), (ink * columns).sum()]) / max(ink.sum(), 1e-6)


def test_no_sway_is_no_change() -> None:
    lines = told_apart()
    block = LineBlockComposer(lines, LineBlockSettings(height=256, width=256)).compose(
        np.random.default_rng(2)
    )
    batch, store = pack_lines([block]), LineStore.load(lines, "cpu")
    still = sway_lines(batch.lines, 0.0, 5)
    canvases = torch.zeros(2, 1, 256, 256)
    store.paint(canvases[0], batch.lines)
    store.paint(canvases[1], still)
    assert torch.allclose(canvases[0], canvases[1], atol=0.3) and (
        (canvases[0] - canvases[1]).abs().mean() < 0.01
    )
