"""Blocks as training draws them: their canvases, what they say, and the validation sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_fonts import write_sources

from tongguocr.training.recogniser.block_feed import Data, Painter, load_data, to_device
from tongguocr.training.recogniser.blocks import IGNORED, BlockBatch, BlockMaker
from tongguocr.training.recogniser.losses import losses, total
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.training.recogniser.recipe import NARROW, Canvas, Recipe, keep_on_canvas
from tongguocr.training.recogniser.train_data import gather_data
from tongguocr.training.recogniser.validation import Validator
from tongguocr.training.run import Limits, Run
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.render import GlyphAtlas
from tongguocr.training.synth.real_ink import LineImage, Lines, gather, make_line, save_lines

CHARS = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往"
SMALL = Recipe(canvases=(Canvas(160, 96, 3), Canvas(96, 96, 3)), size=(18, 24), small=(14, 18), longest=60)
TEXT_ALONE = replace(SMALL, empty=0.0, sliced=0.0)
SLIM = (Canvas(32, 32, 3), Canvas(64, 32, 3), Canvas(128, 32, 3), Canvas(128, 64, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faces, one of them held out, and the data of a run."""
    root = tmp_path_factory.mktemp("blocks")
    write_sources(root, CHARS)
    gather_data(root / "data", root / "fonts", root / "text.txt", root / "counts.tsv")
    return root


def test_blocks_fit_their_canvases_and_say_what_they_show(folder: Path) -> None:
    data = load_data(folder / "data")
    batches = data.maker(5, TEXT_ALONE).batches()
    again = data.maker(5, TEXT_ALONE).batches()
    for _ in range(4):
        work, same = next(batches), next(again)
        assert torch.equal(work.tokens, same.tokens) and work.seed == same.seed
        assert (work.batch.height, work.batch.width) == (work.canvas.height, work.canvas.width)
        assert len(work.characters) == len(work.batch.boxes)
        start = 0
        for row, block in zip(work.tokens.tolist(), range(3), strict=True):
            count = int((work.batch.of_block == block).sum())
            text = "".join(line.text for line in data.codec.decode(row))
            shown = "".join(data.codec.tokens[k] for k in work.characters[start : start + count].tolist())
            assert text == shown and text
            start += count


def test_a_block_without_text_has_nothing_but_its_end_to_say(folder: Path) -> None:
    data = load_data(folder / "data")
    work = next(data.maker(5, replace(SMALL, empty=1.0)).batches())
    assert work.tokens.tolist() == [[data.codec.eos]] * 3
    assert set(work.characters.tolist()) <= {IGNORED}
    images, points, of_block = painter(data, SMALL).paint(work)
    assert len(images) == 3 and len(points) == len(of_block) == len(work.characters)
    assert bool(images.isfinite().all())


def test_a_slice_of_a_neighbour_is_shown_and_not_read(folder: Path) -> None:
    data = load_data(folder / "data")
    sliced, plain = (
        [next(batches) for batches in [data.maker(5, recipe).batches()] for _ in range(4)]
        for recipe in (replace(TEXT_ALONE, sliced=1.0), TEXT_ALONE)
    )
    shown = sum(len(work.characters) for work in sliced)
    read = sum(int((work.characters != IGNORED).sum()) for work in sliced)
    assert read < shown
    assert all(int((work.characters == IGNORED).sum()) == 0 for work in plain)
    for work in sliced:
        edges = work.batch.boxes[work.characters == IGNORED]
        assert bool(((edges[:, 0] < 0) | (edges[:, 2] > work.canvas.width)).all())


def painter(data: Data, recipe: Recipe) -> Painter:
    return Painter.load(data, recipe, torch.device("cpu"))


def real_lines(count: int = 12) -> Lines:
    """Columns of dark squares, five characters each."""
    lines = []
    for k in range(count):
        grey = np.full((100, 22), 210, np.uint8)
        for at in range(5):
            grey[20 * at + 3 : 20 * at + 17, 4:18] = 40
        text = "".join(CHARS[(k + j) % len(CHARS)] for j in range(5))
        lines.append(make_line(f"B__p{k}_1.png", text, grey))
    return gather(lines)


def said_and_shown(data: Data, work: BlockBatch) -> list[tuple[str, str]]:
    """For each block of a batch the text of its target, and of its characters."""
    pairs, start = [], 0
    for row, tokens in enumerate(work.tokens.tolist()):
        count = int((work.batch.of_block == row).sum())
        shown = "".join(data.codec.tokens[k] for k in work.characters[start : start + count].tolist())
        pairs.append(("".join(line.text for line in data.codec.decode(tokens)), shown))
        start += count
    return pairs


def test_tight_blocks_fill_narrow_canvases(folder: Path) -> None:
    data = load_data(folder / "data")
    maker: BlockMaker = data.maker(5, replace(TEXT_ALONE, tight=1.0))
    maker.narrow = SLIM
    seen, lengths = set(), list[int]()
    for work, _ in zip(maker.batches(), range(12), strict=False):
        assert all(said == shown and said for said, shown in said_and_shown(data, work))
        if work.canvas not in SLIM:
            continue
        seen.add(work.canvas)
        for row in range(3):
            boxes = work.batch.boxes[work.batch.of_block == row]
            lengths.append(len(boxes))
            (left, top), (right, bottom) = boxes[:, :2].amin(0).tolist(), boxes[:, 2:].amax(0).tolist()
            assert left >= 0 and top >= 0 and right <= work.canvas.width and bottom <= work.canvas.height
            character = float((boxes[:, 3] - boxes[:, 1]).median())
            across, down = work.canvas.width - (right - left), work.canvas.height - (bottom - top)
            assert min(across, down) <= 0.2 * character + 0.1, "tight from side to side or from top to foot"
            assert (right - left) * (bottom - top) > 0.4 * work.canvas.width * work.canvas.height
    assert len(seen) > 1 and min(lengths) == 1


def test_real_blocks_are_patchwork_and_tight_if_asked(folder: Path) -> None:
    data = replace(load_data(folder / "data"), lines=real_lines())
    assert data.lines is not None
    for patchwork, tight in ((0.0, 0.0), (1.0, 0.0), (0.5, 1.0)):
        recipe = replace(SMALL, real=1.0, patchwork=patchwork, tight_lines=tight)
        maker = data.maker(3, recipe)
        maker.narrow = SLIM
        batches = maker.batches()
        for _ in range(3):
            work = next(batches)
            assert (work.canvas in SLIM) == bool(tight)
            assert all(said == shown and said for said, shown in said_and_shown(data, work))
            lines = [line.text for row in work.tokens.tolist() for line in data.codec.decode(row)]
            whole = sum(line in data.lines.texts for line in lines)
            assert whole == len(lines) if not patchwork else whole < len(lines)
            images, points, _ = Painter(
                GlyphAtlas.load(data.atlas, "cpu"), LineStore.load(data.lines, "cpu")
            ).paint(work)
            assert images.shape[-2:] == (work.canvas.height, work.canvas.width)
            assert len(points) == len(work.characters)


def test_batches_are_as_small_as_a_processor_needs_them(folder: Path) -> None:
    batches = load_data(folder / "data").maker(5, replace(SMALL, batch_share=0.4)).batches()
    assert {next(batches).canvas.blocks for _ in range(4)} == {1}


def test_real_blocks_may_be_nothing_but_paper(folder: Path) -> None:
    ink = np.full((60, 18), 40, np.uint8)
    paper = gather([LineImage("bare__p_1", "", ink, np.array([0, 60], np.float32))])
    save_lines(real_lines(), folder / "data" / "lines.npz")
    save_lines(paper, folder / "data" / "bare.npz")
    try:
        data = load_data(folder / "data")
    finally:
        for name in ("lines.npz", "bare.npz"):
            (folder / "data" / name).unlink()
    assert data.lines is not None and data.lines.texts[-1] == ""
    recipe = replace(TEXT_ALONE, real=1.0, tight_lines=0.0)
    work = next(data.maker(5, replace(recipe, bare=1.0)).batches())
    assert work.tokens.tolist() == [[data.codec.eos]] * 3 and not len(work.characters)
    painted = painter(data, recipe).paint(work)
    assert bool(painted[0].isfinite().all())
    # Such a batch teaches the end, and nothing of places.
    model = Recogniser(
        ModelSize(len(data.codec), width=32, heads=2, encoder_layers=1, decoder_layers=2, stem=(8, 16))
    )
    cpu = torch.device("cpu")
    found = losses(model, to_device(work, cpu), painted, Run(Limits(steps=1)), data.codec.bos, cpu)
    text, dense, pointer, _ = (float(value.detach()) for value in found)
    assert text > 0 == dense == pointer
    total(found, Run(Limits(steps=1)), 0.0).backward()
    # Unless it is asked for, paper is never set.
    numbers = next(data.maker(5, recipe).batches()).batch.lines.values[:, 0]
    assert int(numbers.max()) < len(real_lines())


def test_the_painter_shapes_glyphs_and_leaves_places(folder: Path) -> None:
    data = load_data(folder / "data")
    work = next(data.maker(5, SMALL).batches())
    work = replace(work, tokens=work.tokens.long())
    atlas = GlyphAtlas.load(data.atlas, "cpu")
    plain, shaped, again = (Painter(atlas, None, s).paint(work) for s in (0.0, 1.0, 1.0))
    assert torch.equal(plain[1], shaped[1]) and torch.equal(shaped[0], again[0])
    assert (plain[0] - shaped[0]).abs().mean() > 0.005


def test_validation_stays_the_same_however_hard_training_is(folder: Path) -> None:
    data = replace(load_data(folder / "data"), held_out_lines=real_lines())
    atlas, cpu = GlyphAtlas.load(data.atlas, "cpu"), torch.device("cpu")
    hard = replace(SMALL, shaping=1.0, patchwork=1.0, tight=1.0, tight_lines=1.0)
    for_validation = SMALL.for_validation
    one, two = (Validator.prepare(data, recipe, atlas, cpu) for recipe in (hard, for_validation))
    for a, b in zip((*one.synthetic, *one.real), (*two.synthetic, *two.real), strict=True):
        assert torch.equal(a.images, b.images) and a.tokens == b.tokens
    assert len(one.synthetic) == len(SMALL.canvases)
    assert len(one.real) == len(SMALL.canvases_of_columns) < len(SMALL.canvases)


def test_tight_text_is_not_turned_off_its_canvas() -> None:
    for canvas in NARROW:
        degradation = keep_on_canvas(Degradation(skew=-2.5, curl=0.018), canvas)
        astray = np.tan(np.deg2rad(abs(degradation.skew))) * max(canvas.height, canvas.width) / 2
        assert astray <= 0.07 * min(canvas.height, canvas.width) and degradation.curl * canvas.height <= 2.6
        assert canvas.height % 16 == 0 and canvas.width % 16 == 0, "whole features"
    mild = Degradation(skew=0.1)
    assert keep_on_canvas(mild, Canvas(64, 48, 1)) == mild


def test_transitions_measure_the_block_and_not_its_canvas(folder: Path) -> None:
    data = load_data(folder / "data")
    maker = data.maker(5, Recipe(canvases=(Canvas(400, 400, 1),), size=(18, 24), small=(14, 18), longest=60))
    _, block, margin = next(
        placed for _ in range(100) for placed in maker._blocks_of_a_page() if len(placed[1].lines) > 2
    )
    larger = replace(block, width=4 * block.width, height=3 * block.height)
    assert maker._target(larger, margin) == maker._target(block, margin)


def test_blocks_begin_small_and_grow(folder: Path) -> None:
    data = load_data(folder / "data")
    canvases = (Canvas(400, 400, 4),)
    lengths = []
    for level in (0.0, 1.0):
        maker = data.maker(3, Recipe(canvases=canvases, size=(14, 16), small=(10, 14), longest=300))
        maker.level = lambda level=level: level
        batches = maker.batches()
        lengths.append(np.mean([(next(batches).tokens != 0).sum(1).float().mean() for _ in range(6)]))
    assert lengths[0] < 0.6 * lengths[1]


def test_held_out_blocks_use_the_held_out_face(folder: Path) -> None:
    data = load_data(folder / "data")
    keys = [face.key for face in data.atlas.faces]
    for held_out, key in ((True, "cwTeXMing"), (False, "one")):
        maker = data.maker(1, Recipe(), held_out)
        assert {keys[maker.fonts.pick(maker.rng, held_out)] for _ in range(5)} == {key}
