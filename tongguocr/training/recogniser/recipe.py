"""What synthetic blocks are like: the table [recipe] of a stage file, and what one block draws by it.

In: a random generator and the recipe's numbers. Out: the degradation of a block, and for tight blocks, which
are a line or less that fills a narrow canvas to its edges, the lines to show and the canvas that they fill.

Two things come on top of the degradation that pages have by chance. Worms leave half a character, so that
context must tell the rest. Coarse blocks are cut with a blunt knife, inked too much or too little, and
scanned small: corners are round, counters fill up, hairlines go, as in cheap editions and in small scans of
good ones. Fonts never look so, and real ink does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import atan, degrees
from typing import Any

import numpy as np

from tongguocr.geometry import Box, height, width
from tongguocr.training.synth.composition import Composition
from tongguocr.training.synth.degradation import Degradation, sample_degradation


@dataclass(frozen=True, slots=True)
class Canvas:
    """A shape that blocks are painted on, and how many of them make a batch."""

    height: int
    width: int
    blocks: int


NARROW = (
    *(Canvas(32, 32, 1024), Canvas(48, 32, 1024), Canvas(112, 32, 768), Canvas(224, 32, 512)),
    *(Canvas(64, 48, 1024), Canvas(96, 48, 1024), Canvas(160, 48, 768), Canvas(272, 48, 512)),
    *(Canvas(448, 48, 384), Canvas(896, 48, 192), Canvas(160, 96, 512), Canvas(272, 96, 384)),
    *(Canvas(448, 96, 256), Canvas(272, 144, 256)),
)
"""Canvases of tight blocks: a row of a note of 1, 2, 5 or 10 characters, one column of 1, 2, 4, 6, 10 or 20,
or two to three columns."""


LEAST_COLUMN = 300
"""Pixels of a canvas's height from which on real lines, six characters or more of them, are set on it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the blocks of a stage are like."""

    canvases: tuple[Canvas, ...] = (
        Canvas(1024, 320, 168),
        Canvas(512, 512, 208),
        Canvas(320, 832, 192),
        Canvas(1024, 608, 84),
        Canvas(512, 160, 448),
        Canvas(256, 704, 192),
        Canvas(176, 448, 256),
        Canvas(112, 320, 256),
        Canvas(64, 224, 256),
    )
    """Five columns of 21 characters, a corner of a page, a register, ten columns, a fold's title: about
    equal work each. Then rows of a table's cells, and words that run across the page."""
    size: tuple[float, float] = (34.0, 50.0)
    """Pixels of a character's height, for most blocks."""
    small: tuple[float, float] = (20.0, 34.0)
    small_share: float = 0.2
    """Share of the blocks whose characters are `small`, as those of a scan that has no more."""
    longest: int = 380
    """Tokens of a block at most."""
    built: float = 0.3
    """How many blocks come from the block builder; the others are runs of columns."""
    most_columns: int = 10
    random_text: float = 0.15
    """Share of blocks with characters drawn by flattened frequency."""
    uniform_text: float = 0.15
    """Share of blocks with all characters alike, so that rare ones get examples."""
    real: float = 0.2
    """Batches of real lines."""
    enlarged: tuple[float, float] = (1.1, 2.0)
    """By how much real lines are enlarged: they are small, and the reader enlarges them twofold."""
    evened: float = 0.3
    """How far small books of real lines stand up to large ones: 0 not, 1 fully."""
    severity: float = 1.0
    """How badly pages are degraded: 1 is as in the benchmark."""
    shaping: float = 1.0
    """How far drawn glyphs stray from their outlines, and real ink from its weight."""
    patchwork: float = 0.6
    """Real lines put together from pieces of others."""
    holed: float = 0.35
    """Blocks that worms have been at, so that what is left of a character and its context must do."""
    coarse: float = 0.45
    """Drawn blocks that are cut, inked and scanned coarsely, as much real ink is (degradation.py)."""
    circled: float = 0.12
    """Pages with circles between their sections."""
    sealed: float = 0.0
    """Share of blocks with a library's seal, several characters large, over their text."""
    empty: float = 0.02
    """Share of drawn blocks that hold nothing to read: paper, rules, specks, slices of characters."""
    bare: float = 0.0
    """Share of blocks of real lines that hold nothing but real paper, where the data has pictures of it."""
    sliced: float = 0.08
    """Share of drawn blocks at whose edge a neighbouring column shows a slice that nobody is to read."""
    tight: float = 0.1
    """Share of synthetic blocks that fill a narrow canvas to its edges."""
    tight_lines: float = 0.15
    """Share of batches of real lines that fill a narrow canvas."""
    batch_share: float = 1.0
    """Share of a canvas's blocks that make a batch: a GPU takes all, a processor a few hundredths."""

    def __post_init__(self) -> None:
        if not 0 < self.batch_share <= 1:
            raise ValueError("batch_share is above 0 and at most 1")

    def batches_of(self, canvases: Iterable[Canvas]) -> tuple[Canvas, ...]:
        """The canvases with as many blocks as `batch_share` leaves them, one at least."""
        return tuple(
            replace(canvas, blocks=max(round(canvas.blocks * self.batch_share), 1)) for canvas in canvases
        )

    @property
    def canvases_of_columns(self) -> tuple[Canvas, ...]:
        """Those high enough for columns of real lines."""
        high = max(canvas.height for canvas in self.canvases)
        return tuple(c for c in self.canvases if c.height >= min(LEAST_COLUMN, high))

    @property
    def for_validation(self) -> Recipe:
        """The same without what makes training harder: blocks to validate on, the same in every run."""
        return replace(
            self,
            enlarged=(0.95, 1.9),
            evened=0.0,
            shaping=0.0,
            patchwork=0.0,
            holed=0.0,
            coarse=0.0,
            circled=0.0,
            empty=0.0,
            sliced=0.0,
            tight=0.0,
            tight_lines=0.0,
            sealed=0.0,
            bare=0.0,
            batch_share=1.0,
        )


WORMS = (16, 64)
"""Worms of a page that has many; a block gets about half of their holes."""


COARSE: dict[str, tuple[float, float]] = {
    "rounding": (0.015, 0.05),
    "spread": (-0.003, 0.034),
    "roughness": (0.3, 1.1),
    "mottling": (0.0, 0.3),
    "broken": (0.0, 0.7),
    "touching": (0.0, 0.03),
    "resolution": (0.42, 0.8),
    "blur": (0.2, 0.8),
}
"""How coarse blocks may be: the least and the most of these fields of `Degradation`."""
COARSE_DAMAGED = 0.4
"""Share of coarse blocks whose strokes are broken, and of those whose strokes run together."""


def sample_block_degradation(
    rng: np.random.Generator, severity: float, holed: float = 0.0, coarse: float = 0.0, sealed: float = 0.0
) -> Degradation:
    """The degradation of one block, holed, coarse and sealed as often as asked; shares of 0 draw nothing."""
    degradation = sample_degradation(rng, severity, False)
    if coarse and rng.random() < coarse:
        degradation = coarsen(degradation, rng)
    if holed and rng.random() < holed:
        degradation = replace(degradation, wormholes=degradation.wormholes + int(rng.integers(*WORMS)))
    if sealed and rng.random() < sealed:
        degradation = replace(degradation, large_seals=1)
    return degradation


def coarsen(degradation: Degradation, rng: np.random.Generator) -> Degradation:
    """The same page printed from a coarse block and scanned small."""
    drawn: dict[str, Any] = {}
    for name, (least, most) in COARSE.items():
        damage = name in ("broken", "touching")
        drawn[name] = 0.0 if damage and rng.random() >= COARSE_DAMAGED else float(rng.uniform(least, most))
    return replace(
        degradation,
        **drawn,
        # Pale ink and thin strokes together leave nothing to read, and a binary film cuts greys once more.
        starvation=0.3 * degradation.starvation,
        film="grey" if degradation.film == "binary" else degradation.film,
    )


ALONE = 0.75
"""Share of tight blocks that are part of one line; the others are up to three lines."""
FILLED = 0.6
"""A canvas of which less is filled is too large."""
STRAY = 0.06
"""The ends of a column may turn aside by this share of the canvas's width."""


def pick_lines(composition: Composition, lines: range, rng: np.random.Generator) -> tuple[Composition, range]:
    """One line cut short or a few lines, and the composition in which it is so short."""
    first = lines[int(rng.integers(len(lines)))]
    if rng.random() >= ALONE:
        return composition, range(first, min(first + int(rng.integers(1, 4)), lines.stop))
    whole = composition.lines[first]
    count = whole.stop - whole.start
    # Short ones more often: they are what goes wrong.
    kept = min(1 + int(rng.random() ** 1.5 * count), count)
    start = whole.start + int(rng.integers(count - kept + 1))
    short = replace(whole, start=start, stop=start + kept)
    before, after = composition.lines[:first], composition.lines[first + 1 :]
    return replace(composition, lines=(*before, short, *after)), range(first, first + 1)


def best_canvas(
    canvases: Iterable[Canvas], box: Box, own: float, sizes: tuple[float, float]
) -> Canvas | None:
    """The canvas that the box fills best, its characters, `own` pixels high now, between two sizes."""
    best, most = None, FILLED
    for canvas in canvases:
        factor = min(canvas.width / width(box), canvas.height / height(box))
        filled = factor**2 * width(box) * height(box) / (canvas.width * canvas.height)
        if sizes[0] <= own * factor <= sizes[1] and filled >= most:
            best, most = canvas, filled
    return best


def keep_on_canvas(degradation: Degradation, canvas: Canvas) -> Degradation:
    """A degradation whose turn and curl leave the text of a tight block on its canvas."""
    short, long = sorted((canvas.height, canvas.width))
    most = degrees(atan(2 * STRAY * short / long))
    return replace(
        degradation, skew=float(np.clip(degradation.skew, -most, most)), curl=degradation.curl * short / long
    )
