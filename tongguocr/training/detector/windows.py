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
from tongguocr.training.detector.pictures import illustrate, stitch
from tongguocr.training.detector.placing import keep_glyphs, label, merge, moved, typical_size
from tongguocr.training.detector.recipe import WindowRecipe
from tongguocr.training.recogniser.recipe import sample_block_degradation
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.camera import held_straight
from tongguocr.training.synth.composition import Composition, cut_edge, scaled
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.bitonal import draw_bitonal, draw_show_through
from tongguocr.training.synth.gpu.degradation import DegradationBatch, stack_degradations
from tongguocr.training.synth.gpu.pack import Batch, line_group, pack
from tongguocr.training.synth.gpu.seals import draw_places
from tongguocr.training.synth.kinds import compose_page, pick_kind
from tongguocr.training.synth.real_blocks import LineBlock, LineBlockComposer, LineBlockSettings, for_real_ink
from tongguocr.training.synth.real_ink import Lines
from tongguocr.training.synth.text import TextSource

PAGES = 9
"""Pages in one window at most."""
CUT_LEAF = "cut-leaf"
"""The kind of page whose side must be the window's side, or ink would show beyond it."""
MARGIN = 96.0
"""Pixels beyond the window in which glyphs are kept: the next of a character at the edge is known."""


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
    """n x COLUMNS (gpu/seals.py)."""
    behind: Tensor
    """n x 6: which windows show their other side (gpu/bitonal.py)."""
    bitonal: Tensor
    """n x 9: which are scanned in black and white (gpu/bitonal.py)."""
    turns: Tensor
    """all windows: quarter turns clockwise."""
    tones: Tensor
    """all windows x 4: exponent, contrast, brightness, 1 if inverted."""
    views: Tensor
    """real pages x 6: number of the page, scale, angle in radians, x and y of the middle, and the grey beyond
    the page's edge (0 to 1)."""
    seed: int


@dataclass
class WindowMaker:
    """Draws windows for one worker; the same seed gives the same windows."""

    text: TextSource
    atlas: Atlas
    seed: int
    recipe: WindowRecipe
    held_out: bool = False
    lines: Lines | None = None
    page_sizes: Sequence[tuple[int, int, float]] = ()
    """Width, height and typical character of each real page."""
    page_shares: Sequence[float] = ()
    """How often each of them is taken; all equally where nothing is said."""

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
        degradations = [self._degradation(window) for window in drawn]
        seed, side = int(self.rng.integers(1 << 31)), self.recipe.side
        following, kinds = label(compositions)
        views = self._views()
        every = len(drawn) + len(views)
        return Windows(
            batch=batch,
            degradation=stack_degradations(degradations, batch.em, side, side, seed),
            following=torch.from_numpy(following),
            kinds=torch.from_numpy(kinds),
            pages=torch.from_numpy(np.stack([window.pages for window in drawn])),
            scenes=torch.from_numpy(np.array([window.scene for window in drawn], np.int64)),
            covers=torch.from_numpy(np.array([self._cover() for _ in drawn], np.float32)),
            seals=draw_places(every, self.recipe.sealed, self.recipe.seals, side, self.rng),
            behind=draw_show_through(every, self.recipe.behind, self.rng),
            bitonal=draw_bitonal(every, self.recipe.bitonal, self.rng),
            turns=torch.from_numpy(self._turns(every)),
            tones=torch.from_numpy(self._tones(every)),
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
        if self.rng.random() < self.recipe.cut:
            return self._cut_leaf()
        return self._pages_on_a_table()

    def _cut_leaf(self) -> _Window:
        """A leaf whose cut side is the window's own; whatever lies on its other side."""
        rng, side = self.rng, self.recipe.side
        page = compose_page(
            CUT_LEAF, self._source(), self.fonts, int(rng.integers(1 << 31)), held_out=self.held_out
        )
        factor = float(np.exp(rng.uniform(*np.log(self.recipe.size)))) / typical_size(page.boxes)
        wide, high = page.width * factor, page.height * factor
        x = side - wide if cut_edge(page) == "right" else 0.0
        y = float(rng.uniform(min(0.4 * side - high, 0.0), 0.15 * side))
        outlines = np.zeros((PAGES, 4), np.float32)
        outlines[0] = (x, y, x + wide, y + high)
        placed = self._placed(page, factor, x, y)
        return _Window(placed, outlines, self._scene(0.5 * self.recipe.photographed), None, straight=True)

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
            page = self._new_page()
            self.pool.append(page)
            self.pool = self.pool[-12:]
            return page
        return self.pool[int(self.rng.integers(len(self.pool)))]

    def _new_page(self) -> Composition:
        rng, recipe = self.rng, self.recipe
        seed, kind = int(rng.integers(1 << 31)), pick_kind(rng)
        if rng.random() < recipe.apart or kind == CUT_LEAF:
            kind = str(rng.choice(["head-notes", "spread"]))
        page = compose_page(kind, self._source(), self.fonts, seed, self.held_out)
        if rng.random() < recipe.pictures:
            page = illustrate(page, rng)
        if rng.random() < recipe.sewn:
            page = stitch(page, typical_size(page.boxes), rng)
        return keep_glyphs(page, np.zeros(len(page), np.bool_)) if rng.random() < recipe.empty else page

    def _source(self) -> TextSource:
        if self.rng.random() >= self.recipe.drawn_text:
            return self.text
        picked = self.rng.integers(len(self.drawable), size=400)
        return TextSource((), "".join(self.drawable[k] for k in picked))

    def _degradation(self, window: _Window) -> Degradation:
        real = window.lines is not None
        degradation = sample_block_degradation(
            self.rng, self.recipe.severity, coarse=0.0 if real else self.recipe.coarse
        )
        if self.rng.random() < self.recipe.slanting:
            degradation = replace(degradation, skew=float(self.rng.uniform(-1, 1)) * self.recipe.slant)
        if window.straight:
            degradation = held_straight(degradation)
        return for_real_ink(degradation) if real else degradation

    def _turns(self, count: int) -> NDArray[np.int64]:
        turned = self.rng.random(count) < self.recipe.turned
        return np.where(turned, self.rng.integers(1, 4, count), 0).astype(np.int64)

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
        """How windows are cut out of real pages: any page, any place, any scale that is wanted.

        The side of some is the page's own, as in a picture that shows nothing beyond it.
        """
        rng, count = self.rng, self.recipe.real_pages if self.page_sizes else 0
        shares = np.array(self.page_shares or [1.0] * len(self.page_sizes))
        rows = []
        for number in rng.choice(len(shares), count, p=shares / shares.sum()).tolist() if count else []:
            width, height, typical = self.page_sizes[number]
            scale = float(np.exp(rng.uniform(*np.log(self.recipe.size)))) / typical
            reach = 0.5 * self.recipe.side / scale
            x, y = (
                float(rng.uniform(min(0.6 * reach, s / 2), max(s - 0.6 * reach, s / 2)))
                for s in (width, height)
            )
            angle = np.deg2rad(rng.normal(0, 1.5))
            if rng.random() < 0.4:
                x, angle = (reach if rng.random() < 0.5 else width - reach), 0.0
            rows.append((number, scale, angle, x, y, rng.choice([0.95, rng.random(), 0.05])))
        return np.array(rows, np.float32).reshape(-1, 6)


@dataclass(frozen=True, slots=True)
class _Window:
    composition: Composition
    pages: NDArray[np.float32]
    scene: tuple[int, int, int]
    lines: NDArray[np.float32] | None
    """Where line images go."""
    straight: bool = False
    """Nothing bends it, since its side is where its page is cut."""


def _whole(side: int) -> NDArray[np.float32]:
    pages = np.zeros((PAGES, 4), np.float32)
    pages[0] = (-side, -side, 2 * side, 2 * side)
    return pages
