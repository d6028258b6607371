"""Windows of pages without end, packed: composed pages side by side, pictures, real lines; made in workers.

In: text, a glyph atlas, line images, the number of real pages. Out: batches of square windows with each
character's next and kind, where the pages lie on their table, and how real pages are to be cut. A window's
scale is drawn first: its characters have from 14 to 48 px, as they have when the detector looks at a page.
Nothing here touches a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongguocr.geometry import Box
from tongguocr.training.detector.pictures import illustrate
from tongguocr.training.detector.placing import keep_glyphs, label, merge, moved, typical_size
from tongguocr.training.recogniser.recipe import sample_block_degradation
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Composition, scaled
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.degradation import DegradationBatch, stack_degradations
from tongguocr.training.synth.gpu.pack import Batch, line_group, pack
from tongguocr.training.synth.gpu.seals import draw_places
from tongguocr.training.synth.kinds import compose_page, pick_kind
from tongguocr.training.synth.real_blocks import LineBlock, LineBlockComposer, LineBlockSettings, for_real_ink
from tongguocr.training.synth.real_ink import Lines
from tongguocr.training.synth.text import TextSource

PAGES = 9
"""Pages in one window at most."""
MARGIN = 96.0
"""Pixels beyond the window in which glyphs are kept: the next of a character at the edge is known."""


@dataclass(frozen=True, slots=True)
class WindowRecipe:
    """What the windows of a run are like; shares are of windows unless they say otherwise."""

    side: int = 768
    """A multiple of 32."""
    windows: int = 28
    """Painted windows of a batch."""
    real_pages: int = 4
    """Windows of a batch that are cut from real pages, where there are any."""
    size: tuple[float, float] = (14.0, 48.0)
    """Height of a typical character, in pixels."""
    real_lines: float = 0.15
    pictures: float = 0.1
    photographed: float = 0.4
    """Pages on a table; the others fill the image."""
    bare: float = 0.04
    """A table without any page."""
    covered: float = 0.06
    """A slip lies on the page."""
    slanting: float = 0.35
    """Windows that slant by up to `slant`; the others slant by less than 2.5 degrees."""
    slant: float = 4.5
    """Degrees either way."""
    inverted: float = 0.04
    """White on black, like rubbings and negatives."""
    apart: float = 0.2
    """Share of pages that are sure to have head notes or a fold, besides the usual share."""
    drawn_text: float = 0.15
    """Share of pages of characters drawn at random."""
    fresh: float = 0.3
    """Share of pages that are composed anew; the others have been in another window before."""
    sealed: float = 0.4
    """Windows that get one to three seals, besides those that degradation brings."""
    seals: int = 512
    """How many different seals there are."""
    scenes: int = 96
    """How many different tables there are, on which pages lie."""
    coarse: float = 0.2
    """Cut coarsely and scanned small (recogniser/recipe.py)."""
    severity: float = 1.0
    """How badly windows are degraded: 1 is as in the benchmark."""


@dataclass(frozen=True, slots=True)
class Windows:
    """One batch as a worker hands it over."""

    batch: Batch
    degradation: DegradationBatch
    following: Tensor
    """n: for each character of the batch the next of its line, or -1."""
    kinds: Tensor
    """n: numbers of `page.KINDS`."""
    pages: Tensor
    """windows x PAGES x 4: the pages' outlines on the flat window; empty boxes for none."""
    scenes: Tensor
    """windows x 3: number of the table's picture (-1: the paper fills the window), and its shift."""
    covers: Tensor
    """windows x 4: where a slip lies on the page; an empty box for none."""
    seals: Tensor
    """n x 7 (gpu/seals.py)."""
    tones: Tensor
    """all windows x 4: exponent, contrast, brightness, 1 if inverted."""
    views: Tensor
    """real pages x 5: number of the page, scale, angle in radians, x and y of the middle."""
    seed: int


@dataclass
class WindowMaker:
    """Draws windows for one worker; the same seed gives the same windows."""

    text: TextSource
    atlas: Atlas
    seed: int
    recipe: WindowRecipe = WindowRecipe()
    held_out: bool = False
    lines: Lines | None = None
    page_sizes: Sequence[tuple[int, int, float]] = ()
    """Width, height and typical character of each real page."""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.fonts = self.atlas.book()
        self.drawable = sorted(self.fonts.drawable(None if self.held_out else False))
        side = self.recipe.side
        settings = LineBlockSettings(height=side, width=side, scale=(0.65, 2.2), ends=0.25)
        self.line_blocks = (
            LineBlockComposer(self.lines, settings) if self.lines is not None and len(self.lines) else None
        )
        self.pool: list[Composition] = []

    def batches(self) -> Iterator[Windows]:
        """Work without end."""
        while True:
            yield self._batch()

    def _batch(self) -> Windows:
        drawn = [self._window() for _ in range(self.recipe.windows)]
        compositions = [window.composition for window in drawn]
        batch = pack(compositions, self._cells)
        placed = [window.lines for window in drawn]
        values = np.concatenate([p for p in placed if p is not None] or [np.zeros((0, 5), np.float32)])
        block = np.repeat(np.arange(len(drawn)), [0 if p is None else len(p) for p in placed])
        batch = replace(batch, lines=line_group(values, block))
        degradations = [self._degradation(window.lines is not None) for window in drawn]
        seed, side = int(self.rng.integers(1 << 31)), self.recipe.side
        following, kinds = label(compositions)
        views = self._views()
        return Windows(
            batch=batch,
            degradation=stack_degradations(degradations, batch.em, side, side, seed),
            following=torch.from_numpy(following),
            kinds=torch.from_numpy(kinds),
            pages=torch.from_numpy(np.stack([window.pages for window in drawn])),
            scenes=torch.from_numpy(np.array([window.scene for window in drawn], np.int64)),
            covers=torch.from_numpy(np.array([self._cover() for _ in drawn], np.float32)),
            seals=draw_places(len(drawn) + len(views), self.recipe.sealed, self.recipe.seals, side, self.rng),
            tones=torch.from_numpy(self._tones(len(drawn) + len(views))),
            views=torch.from_numpy(views),
            seed=seed,
        )

    def _cells(self, faces: NDArray[np.int16], chars: Sequence[str]) -> NDArray[np.int64]:
        """Glyphs of real lines have no face: their ink comes from the line images."""
        return np.where(faces >= 0, self.atlas.cells(np.maximum(faces, 0), chars), -1)

    def _window(self) -> _Window:
        if self.line_blocks is not None and self.rng.random() < self.recipe.real_lines:
            block: LineBlock = self.line_blocks.compose(self.rng)
            return _Window(block.composition, _whole(self.recipe.side), self._scene(0.0), block.placed)
        if self.rng.random() < self.recipe.bare:
            page = moved(self._page(), 0.0, 0.0, self.recipe.side)
            empty = keep_glyphs(page, np.zeros(len(page), np.bool_))
            empty = replace(empty, strokes=(), patches=(), marks=())
            return _Window(empty, np.zeros((PAGES, 4), np.float32), self._scene(1.0), None)
        return self._pages_on_a_table()

    def _pages_on_a_table(self) -> _Window:
        """Pages beside and below each other, as many as it takes to fill most of the window."""
        side, rng = self.recipe.side, self.rng
        page = self._page()
        size = float(np.exp(rng.uniform(*np.log(self.recipe.size))))
        factor = size / typical_size(page.boxes)
        x, top = (
            float(rng.uniform(min(0.4 * side - s * factor, 0.0), 0.15 * side))
            for s in (page.width, page.height)
        )
        gap, foot = float(rng.choice([0.0, rng.uniform(0, 0.15)])) * side, top
        parts, outlines = list[Composition](), np.zeros((PAGES, 4), np.float32)
        for number in range(PAGES):
            right, bottom = x + page.width * factor, top + page.height * factor
            outlines[number] = (x, top, right, bottom)
            parts.append(self._placed(page, factor, x, top))
            x, foot = right + gap, max(foot, bottom)
            if x > 0.85 * side:
                x, top = float(rng.uniform(-0.3, 0.1)) * side, foot + gap
            if top > 0.85 * side or rng.random() < 0.05:
                break
            page = self._page()
            factor = size / typical_size(page.boxes) * float(rng.uniform(0.9, 1.1))
        return _Window(merge(parts), outlines, self._scene(self.recipe.photographed), None)

    def _placed(self, page: Composition, factor: float, x: float, y: float) -> Composition:
        """A page scaled and moved onto the window; glyphs far off the window are left out."""
        side = self.recipe.side
        cut = moved(scaled(page, factor), x, y, side)
        near = (cut.boxes[:, 2:] > -MARGIN).all(1) & (cut.boxes[:, :2] < side + MARGIN).all(1)
        return keep_glyphs(cut, np.asarray(near))

    def _page(self) -> Composition:
        """A page out of the pool, which is renewed all the time."""
        if len(self.pool) < 12 or self.rng.random() < self.recipe.fresh:
            seed, kind = int(self.rng.integers(1 << 31)), pick_kind(self.rng)
            if self.rng.random() < self.recipe.apart:
                kind = str(self.rng.choice(["head-notes", "spread"]))
            page = compose_page(kind, self._source(), self.fonts, seed, self.held_out)
            if self.rng.random() < self.recipe.pictures:
                page = illustrate(page, self.rng)
            self.pool.append(page)
            self.pool = self.pool[-12:]
            return page
        return self.pool[int(self.rng.integers(len(self.pool)))]

    def _source(self) -> TextSource:
        if self.rng.random() >= self.recipe.drawn_text:
            return self.text
        picked = self.rng.integers(len(self.drawable), size=400)
        return TextSource((), "".join(self.drawable[k] for k in picked))

    def _degradation(self, real: bool) -> Degradation:
        degradation = sample_block_degradation(
            self.rng, self.recipe.severity, coarse=0.0 if real else self.recipe.coarse
        )
        if self.rng.random() < self.recipe.slanting:
            degradation = replace(degradation, skew=float(self.rng.uniform(-1, 1)) * self.recipe.slant)
        return for_real_ink(degradation) if real else degradation

    def _scene(self, share: float) -> tuple[int, int, int]:
        number, x, y = (int(self.rng.integers(n)) for n in (self.recipe.scenes, *(self.recipe.side,) * 2))
        return (number if self.rng.random() < share else -1, x, y)

    def _cover(self) -> Box:
        if self.rng.random() >= self.recipe.covered:
            return (0.0, 0.0, 0.0, 0.0)
        side = self.recipe.side
        x, y = self.rng.uniform(0, side, 2).tolist()
        return (x, y, x + side * self.rng.uniform(0.05, 0.25), y + side * self.rng.uniform(0.03, 0.15))

    def _tones(self, count: int) -> NDArray[np.float32]:
        rng = self.rng
        exponent = np.exp(rng.normal(0, 0.25, count))
        contrast, brightness = rng.uniform(0.6, 1.05, count), rng.uniform(-0.1, 0.1, count)
        inverted = rng.random(count) < self.recipe.inverted
        return np.stack([exponent, contrast, brightness, inverted], 1).astype(np.float32)

    def _views(self) -> NDArray[np.float32]:
        """How windows are cut out of real pages: any page, any place, any scale that is wanted."""
        rng, count = self.rng, self.recipe.real_pages if self.page_sizes else 0
        rows = []
        for number in rng.integers(max(len(self.page_sizes), 1), size=count).tolist():
            width, height, typical = self.page_sizes[number]
            scale = float(np.exp(rng.uniform(*np.log(self.recipe.size)))) / typical
            reach = 0.5 * self.recipe.side / scale
            x, y = (
                float(rng.uniform(min(0.6 * reach, s / 2), max(s - 0.6 * reach, s / 2)))
                for s in (width, height)
            )
            rows.append((number, scale, np.deg2rad(rng.normal(0, 1.5)), x, y))
        return np.array(rows, np.float32).reshape(-1, 5)


@dataclass(frozen=True, slots=True)
class _Window:
    composition: Composition
    pages: NDArray[np.float32]
    scene: tuple[int, int, int]
    lines: NDArray[np.float32] | None
    """Where line images go."""


def _whole(side: int) -> NDArray[np.float32]:
    pages = np.zeros((PAGES, 4), np.float32)
    pages[0] = (-side, -side, 2 * side, 2 * side)
    return pages
