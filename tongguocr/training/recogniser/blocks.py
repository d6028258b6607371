"""Training blocks without end: composed pages cut into blocks, and real lines set as blocks.

In: text, a font book, a codec, line images. Out: batches of one canvas each, packed for the GPU renderer,
with their token targets. Everything here runs in worker processes and never touches a GPU. Blocks are cut as
they are when reading: by the block builder itself, or as a run of neighbouring columns, at the size of
character that the reader asks for, on a canvas close around them; some are a line or less on a narrow canvas
that they fill (tight.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongguocr.blocks import cut_blocks
from tongguocr.blocks.features import measure_features
from tongguocr.crops import CropSettings
from tongguocr.geometry import Box, expand, height, union, width
from tongguocr.page import Page
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.recipe import (
    NARROW,
    Canvas,
    Recipe,
    best_canvas,
    keep_on_canvas,
    pick_lines,
    sample_block_degradation,
)
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Composition, cut_out, to_page
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.gpu.degradation import DegradationBatch, stack_degradations
from tongguocr.training.synth.gpu.pack import Batch, pack
from tongguocr.training.synth.kinds import compose_page, pick_kind
from tongguocr.training.synth.line_cuts import CIRCLE
from tongguocr.training.synth.real_blocks import (
    LineBlock,
    LineBlockComposer,
    LineBlockSettings,
    for_real_ink,
    pack_lines,
)
from tongguocr.training.synth.real_ink import Lines
from tongguocr.training.synth.stray_ink import add_slice, without_text
from tongguocr.training.synth.text import TextSource

IGNORED = -100
"""The target of a place whose character has no token of its own."""

NO_PLACE = -1
"""The place of a token that reads nothing."""


MARGIN = 0.45
"""What the picture of a block of real lines has around them, in characters: the median of drawn pages."""
READING_MARGIN = CropSettings().margin
"""What the picture of a block has around its lines when reading, of the page's longer side."""
SLICED_EMPTY = 0.5
"""Share of blocks without text that show a slice of a column."""
CIRCLES = 0.04
"""Share of the characters of a page with section circles that are circles."""
THICKEST = 0.016
"""How far real ink may run, in em."""


Placed = tuple[Canvas, Composition, float]
"""A canvas, a block on it, and by how much it was enlarged."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What a batch of blocks says, and which of its characters each token reads."""

    tokens: Tensor
    """blocks x length: each target with eos, then padding."""
    characters: Tensor
    """n: the token of every character of the batch, in the order of its places."""
    places: Tensor
    """blocks x length: which of these characters each token of the target reads; a transition points at the
    first of the line it leads to, eos and padding at none (-1)."""


@dataclass(frozen=True, slots=True)
class BlockBatch(Targets):
    """One batch as a worker hands it over."""

    canvas: Canvas
    batch: Batch
    degradation: DegradationBatch
    seed: int


def stack_targets(
    targets: Sequence[Sequence[int]],
    places: Sequence[Sequence[int]],
    characters: Sequence[Sequence[int]],
    pad: int,
) -> Targets:
    """Rows of blocks -> one batch; each block's places count its own characters."""
    shape = len(targets), max(map(len, targets))
    tokens, read = (torch.full(shape, fill, dtype=torch.int32) for fill in (pad, NO_PLACE))
    first = 0
    for row, (target, numbers) in enumerate(zip(targets, places, strict=True)):
        tokens[row, : len(target)] = torch.tensor(target, dtype=torch.int32)
        read[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.int32) + first
        first += len(characters[row])
    together = torch.tensor([char for row in characters for char in row], dtype=torch.int32)
    return Targets(tokens, together, read)


@dataclass
class BlockMaker:
    """Draws blocks for one worker; the same seed gives the same blocks."""

    text: TextSource
    fonts: FontBook
    atlas: Atlas
    codec: Codec
    seed: int
    recipe: Recipe = field(default_factory=Recipe)
    held_out: bool = False
    lines: Lines | None = None
    frequencies: NDArray[np.float64] | None = None
    """Of the codec's characters, for text by flattened frequency."""
    level: Callable[[], float] = lambda: 1.0
    """How hard blocks may be: at 0 a column or two of drawn text, at 1 everything."""
    narrow: tuple[Canvas, ...] = NARROW

    def __post_init__(self) -> None:
        self.recipe = replace(self.recipe, canvases=self.recipe.batches_of(self.recipe.canvases))
        self.narrow = self.recipe.batches_of(self.narrow)
        self.rng = np.random.default_rng(self.seed)
        self.token = {char: self.codec.encode(char)[0] for char in self.codec.characters}
        drawable = self.fonts.drawable(None if self.held_out else False)
        self.characters = [char for char in self.codec.characters if char in drawable]
        if self.frequencies is not None:
            keep = [char in drawable for char in self.codec.characters]
            flat = np.sqrt(self.frequencies[keep])
            self.cumulative = np.cumsum(flat / flat.sum())
        self.waiting: dict[Canvas, list[tuple[Composition, float]]] = {}
        recipe = self.recipe
        self.line_blocks: LineBlockComposer | None = None
        if self.lines is not None:
            settings = LineBlockSettings(
                scale=recipe.enlarged,
                evened=recipe.evened,
                patchwork=recipe.patchwork,
                tight=recipe.tight_lines,
                bare=recipe.bare,
            )
            self.line_blocks = LineBlockComposer(self.lines, settings)

    def batches(self) -> Iterator[BlockBatch]:
        """Work without end."""
        while True:
            if self.lines is not None and self.rng.random() < self.recipe.real * self.level():
                yield self._real_batch()
            else:
                yield self._drawn_batch()

    def _drawn_batch(self) -> BlockBatch:
        while True:
            for canvas, block, margin in self._blocks_of_a_page():
                waiting = self.waiting.setdefault(canvas, [])
                waiting.append((block, margin))
                if len(waiting) == canvas.blocks:
                    self.waiting[canvas] = []
                    degradations = self._degradations(canvas, self.recipe.coarse)
                    blocks, margins = [one[0] for one in waiting], [one[1] for one in waiting]
                    return self._work(canvas, blocks, margins, pack(blocks, self.atlas.cells), degradations)

    def _real_batch(self) -> BlockBatch:
        assert self.line_blocks is not None
        # Where nothing is asked for nothing is drawn: blocks for validation must not change.
        tight = bool(self.recipe.tight_lines and self.rng.random() < self.recipe.tight_lines)
        canvases = self.narrow if tight else self.recipe.canvases_of_columns
        canvas = canvases[int(self.rng.integers(len(canvases)))]
        composer = self.line_blocks.resized(canvas.height, canvas.width, float(tight))
        blocks: list[LineBlock] = []
        while len(blocks) < canvas.blocks:
            block = composer.compose(self.rng)
            is_bare = not block.composition.lines and bool(self.recipe.bare)
            if is_bare or 0 < len(block.composition) < self.recipe.longest * 0.85:
                blocks.append(block)
        thickest = THICKEST * self.recipe.shaping
        degradations = [
            for_real_ink(degradation, thickest) for degradation in self._degradations(canvas, coarse=0.0)
        ]
        shown = [block.composition for block in blocks]
        margins = [MARGIN * typical_size(block) for block in shown]
        return self._work(canvas, shown, margins, pack_lines(blocks), degradations)

    def _degradations(self, canvas: Canvas, coarse: float) -> list[Degradation]:
        recipe = self.recipe
        degradations = [
            sample_block_degradation(self.rng, recipe.severity, recipe.holed, coarse, recipe.sealed)
            for _ in range(canvas.blocks)
        ]
        return (
            [keep_on_canvas(degradation, canvas) for degradation in degradations]
            if canvas in self.narrow
            else degradations
        )

    def _work(
        self,
        canvas: Canvas,
        blocks: Sequence[Composition],
        margins: Sequence[float],
        batch: Batch,
        degradations: Sequence[Degradation],
    ) -> BlockBatch:
        seed = int(self.rng.integers(1 << 31))
        said = stack_targets(
            [self._target(block, margin) for block, margin in zip(blocks, margins, strict=True)],
            [read_places(block, self.codec) for block in blocks],
            [self._characters(block) for block in blocks],
            self.codec.pad,
        )
        degradation = stack_degradations(degradations, batch.em, canvas.height, canvas.width, seed)
        return BlockBatch(said.tokens, said.characters, said.places, canvas, batch, degradation, seed)

    def _characters(self, block: Composition) -> list[int]:
        """The token of each character; slices of characters have none."""
        tokens = [self.token.get(char, IGNORED) for char in block.text]
        return [token if read else IGNORED for token, read in zip(tokens, block.labelled(), strict=True)]

    def _target(self, block: Composition, margin: float) -> list[int]:
        """The text with its transitions, which measure the block as a crop shows it, not the whole canvas."""
        if not block.lines:
            return [self.codec.eos]
        lines = to_page(block).lines
        region = expand(union(line.box for line in lines), margin)
        return [*self.codec.encode_lines(lines, width(region), height(region)), self.codec.eos]

    def _source(self) -> TextSource:
        """Running text mostly; else characters by flattened or by equal frequency."""
        kind = self.rng.random()
        if kind < self.recipe.random_text and self.frequencies is not None:
            picked = np.searchsorted(self.cumulative, self.rng.random(600))
        elif kind < self.recipe.random_text + self.recipe.uniform_text:
            picked = self.rng.integers(len(self.characters), size=600)
        else:
            return self.text
        return TextSource((), "".join(self.characters[min(int(k), len(self.characters) - 1)] for k in picked))

    def _blocks_of_a_page(self) -> Iterator[tuple[Canvas, Composition, float]]:
        """Blocks of one page with their canvas, and the margin that a crop has on it."""
        seed = int(self.rng.integers(1 << 31))
        composition = compose_page(pick_kind(self.rng), self._source(), self.fonts, seed, self.held_out)
        if not composition.lines:
            return
        if self.recipe.circled and self.rng.random() < self.recipe.circled:
            composition = self._circled(composition)
        page = to_page(composition)
        for lines in self._choose(page):
            tight = self.recipe.tight and self.rng.random() < self.recipe.tight
            placed = self._place_tightly(composition, lines) if tight else None
            if (placed := placed or self._place(composition, page, lines)) is not None:
                canvas, block, factor = placed
                margin = READING_MARGIN * max(page.width, page.height) * factor
                yield canvas, self._with_stray_ink(block), margin

    def _with_stray_ink(self, block: Composition) -> Composition:
        """Now and then a slice of a neighbouring column at an edge, or nothing to read at all."""
        recipe = self.recipe
        # Where nothing is asked for nothing is drawn: blocks for validation must not change.
        if recipe.empty and self.rng.random() < recipe.empty:
            bare = without_text(block)
            return add_slice(bare, block, self.rng) if self.rng.random() < SLICED_EMPTY else bare
        if recipe.sliced and self.rng.random() < recipe.sliced:
            return add_slice(block, block, self.rng)
        return block

    def _circled(self, composition: Composition) -> Composition:
        """Section circles in place of some characters, where the face has one."""
        drawn = self.atlas.cells(composition.faces, [CIRCLE] * len(composition)) >= 0
        chosen = drawn & (self.rng.random(len(composition)) < CIRCLES)
        text = (CIRCLE if is_one else char for char, is_one in zip(composition.text, chosen, strict=True))
        return replace(composition, text=tuple(text))

    def _choose(self, page: Page) -> list[range]:
        """Which lines make blocks: the builder's blocks, or runs of columns that keep to their region."""
        level = self.level()
        if self.rng.random() < self.recipe.built * level:
            return [range(block.start, block.stop) for block in cut_blocks(page)]
        features = measure_features(page)
        chosen, start = [], 0
        widest = max(round(level * self.recipe.most_columns), 2)
        while start < len(page.lines):
            most = int(self.rng.integers(1, widest + 1))
            stop = start + 1
            while stop < len(page.lines) and features.column[stop] - features.column[start] < most:
                if features.overlap[stop] < 0.2 or features.gap[stop] > 0.1:
                    break
                stop += 1
            chosen.append(range(start, stop))
            start = stop
        return chosen

    def _place(self, composition: Composition, page: Page, lines: range) -> Placed | None:
        """The block on the smallest canvas that holds it at the size asked for; None if there is no such."""
        margin = READING_MARGIN * max(page.width, page.height)
        while len(lines):
            glyphs = slice(composition.lines[lines[0]].start, composition.lines[lines[-1]].stop)
            heights = composition.boxes[glyphs, 3] - composition.boxes[glyphs, 1]
            own = float(np.median(heights))
            box = expand(union(page.lines[k].box for k in lines), margin)
            factor = self._wanted_size() / own
            too_long = glyphs.stop - glyphs.start + len(lines) > self.recipe.longest
            if not too_long and (canvas := self._canvas(box, factor, own)) is not None:
                factor = min(factor, canvas.width / width(box), canvas.height / height(box))
                view = self._view(box, canvas.width / factor, canvas.height / factor)
                return canvas, cut_out(composition, view, lines, canvas.width, canvas.height), factor
            lines = lines[: len(lines) // 2]
        return None

    def _place_tightly(self, composition: Composition, lines: range) -> Placed | None:
        """Part of one of these lines, or a few of them, on the narrow canvas that they fill best."""
        composition, lines = pick_lines(composition, lines, self.rng)
        glyphs = slice(composition.lines[lines[0]].start, composition.lines[lines[-1]].stop)
        boxes = composition.boxes[glyphs]
        own = float(np.median(boxes[:, 3] - boxes[:, 1]))
        (left, top), (right, bottom) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
        box = expand((left, top, right, bottom), own * self.rng.uniform(0.0, 0.1))
        sizes = (self.recipe.small[0], 1.2 * self.recipe.size[1])
        canvas = best_canvas(self.narrow, box, own, sizes)
        if canvas is None:
            return None
        factor = min(canvas.width / width(box), canvas.height / height(box))
        view = self._view(box, canvas.width / factor, canvas.height / factor)
        return canvas, cut_out(composition, view, lines, canvas.width, canvas.height), factor

    def _wanted_size(self) -> float:
        small = self.rng.random() < self.recipe.small_share
        return float(self.rng.uniform(*(self.recipe.small if small else self.recipe.size)))

    def _canvas(self, box: Box, factor: float, own: float) -> Canvas | None:
        """The smallest that fits; or, if the block is a little too large for all, the roomiest."""
        by_area = sorted(self.recipe.canvases, key=lambda c: c.height * c.width)
        for canvas in by_area:
            if width(box) * factor <= canvas.width and height(box) * factor <= canvas.height:
                return canvas
        largest = max(by_area, key=lambda c: min(c.width / width(box), c.height / height(box)))
        fit = min(largest.width / width(box), largest.height / height(box))
        return largest if fit * own >= self.recipe.small[0] else None

    def _view(self, box: Box, view_width: float, view_height: float) -> Box:
        """A window of this size around the box, the box anywhere inside it."""
        x = box[0] - self.rng.random() * max(view_width - width(box), 0.0)
        y = box[1] - self.rng.random() * max(view_height - height(box), 0.0)
        return (x, y, x + view_width, y + view_height)


def typical_size(block: Composition) -> float:
    """The usual height of a block's characters; 0 where there are none."""
    return float(np.median(block.boxes[:, 3] - block.boxes[:, 1])) if len(block.boxes) else 0.0


def read_places(block: Composition, codec: Codec) -> list[int]:
    """For each token of a block's target but eos, the number of the character that it reads or leads to."""
    places: list[int] = []
    for number, line in enumerate(block.lines):
        places += [line.start] * (number > 0)
        for at in range(line.start, line.stop):
            places += [at] * len(codec.encode(block.text[at]))
    return places
