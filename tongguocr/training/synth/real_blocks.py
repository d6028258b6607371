"""Blocks of real lines: columns right to left, with paper and rules between them, ready for the GPU painters.

Lines of one book at one scale stand side by side; narrow ones, the rows of notes, stand in pairs. To train
on, lines may be put together from pieces (line_pieces.py), and a column or two may fill it. A block is a
composition without faces, whose character boxes are estimates, and the places of its lines or pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Box
from tongguocr.page import Kind
from tongguocr.training.synth.composition import ComposedLine, Composition, Stroke
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.gpu.pack import Batch, line_group, pack
from tongguocr.training.synth.line_pieces import Piece, PieceSampler, as_wide, sort_by_width
from tongguocr.training.synth.real_ink import Lines, book_of, characters

COLUMN = (1.05, 1.5)
"""A column over the book's usual line, as a width: least and most."""
MARGIN = 0.03
"""Paper around the columns, as a share of the canvas's shorter side, on average."""
NOTED = 0.25
"""How often a column holds two rows of a note, in books that have them."""
NOTE_WIDTH = 0.62
"""A line narrower than this share of the book's median is a row of a note."""
REAL_LINES = "real-lines"
"""The kind of a composition of real lines."""
MAX_RUNS = 6
"""Lines and notes in one column at most."""
JITTER = 0.08
"""By which share pieces are higher or lower, wider or narrower than their line."""
TRIES = 6
"""Pieces looked at for one that still has room."""
FOOTED = 0.3
"""Share of columns below whose end there is real paper, where there are pictures of it."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """One block: its labels and rules, and where its lines' images go."""

    composition: Composition
    placed: NDArray[np.float32]
    """n x 5: the line's number, then its image's box on the canvas; or, where lines are put together from
    pieces, n x 7: then the first and last row of the image that the box shows."""


@dataclass(frozen=True, slots=True)
class LineBlockSettings:
    """How lines are set on a canvas."""

    height: int = 512
    width: int = 512
    scale: tuple[float, float] = (0.95, 1.9)
    """The smallest and largest enlargement of the images."""
    ruled: float = 0.6
    """Share of blocks with rules between the columns."""
    indented: float = 0.15
    """Share of columns that begin lower than the others."""
    ends: float = 0.4
    """How often a column ends after a line although there is room for another."""
    evened: float = 0.0
    """0: a book is opened as often as it has characters; 1: all as often."""
    patchwork: float = 0.0
    """Share of lines put together from pieces of others."""
    tight: float = 0.0
    """Share of blocks that a column or two fill to within a tenth of a character."""
    bare: float = 0.0
    """Share of blocks that hold nothing but paper, where there are pictures of it (bare_ink.py)."""


@dataclass
class LineBlockComposer:
    """Composes blocks of real lines, which it keeps sorted by book."""

    lines: Lines
    settings: LineBlockSettings = field(default_factory=LineBlockSettings)

    def __post_init__(self) -> None:
        books: dict[str, list[int]] = {}
        for k, name in enumerate(self.lines.names):
            if self.lines.texts[k]:
                books.setdefault(book_of(name), []).append(k)
        self.bare = np.array([k for k, text in enumerate(self.lines.texts) if not text], np.int64)
        self.books = [np.array(numbers) for numbers in books.values()]
        self.usual = [float(np.median(self.lines.sizes[numbers, 0])) for numbers in self.books]
        # Books count by their characters: some have been cut into many short runs.
        sizes = np.array([sum(len(self.lines.cuts[k]) - 1 for k in numbers) for numbers in self.books], float)
        sizes = sizes ** (1 - self.settings.evened)
        self.shares = sizes / max(sizes.sum(), 1)
        self.by_width = [sort_by_width(self.lines, numbers) for numbers in self.books]
        pieced = self.settings.patchwork or self.settings.tight
        self.sampler = PieceSampler.of(self.lines) if pieced else None

    def resized(self, height: int, width: int, tight: float) -> LineBlockComposer:
        """The same lines for another canvas."""
        other = copy(self)
        other.settings = replace(self.settings, height=height, width=width, tight=tight)
        return other

    def compose(self, rng: np.random.Generator) -> LineBlock:
        """One block of lines of one book."""
        if not self.books:
            raise ValueError("there are no lines to set")
        if self.settings.bare and len(self.bare) and rng.random() < self.settings.bare:
            return self._paper(rng)
        book = int(rng.choice(len(self.books), p=self.shares))
        return _BlockBuilder(self, rng, book).block()

    def _paper(self, rng: np.random.Generator) -> LineBlock:
        """A block without text: pictures of paper from edge to edge, side by side and below each other."""
        s, left = self.settings, 0.0
        placed = list[tuple[float, ...]]()
        while left < s.width:
            scale = float(np.exp(rng.uniform(*np.log(s.scale)))) * rng.choice([1.0, 2.0])
            top, widest = 0.0, 1.0
            while top < s.height:
                number = int(rng.choice(self.bare))
                wide, high = (self.lines.sizes[number] * scale).tolist()
                placed.append((number, left, top, left + wide, top + high, 0, self.lines.sizes[number, 1]))
                top, widest = top + high, max(widest, wide)
            left += widest
        none = np.zeros(0)
        composition = Composition(
            kind=REAL_LINES,
            width=s.width,
            height=s.height,
            seed=int(rng.integers(1 << 31)),
            text=(),
            faces=none.astype(np.int16),
            boxes=none.astype(np.float32).reshape(0, 4),
            angles=none.astype(np.float32),
            white=none.astype(np.bool_),
            lines=(),
        )
        return LineBlock(composition, self.shown(placed))

    def shown(self, placed: Sequence[tuple[float, ...]]) -> NDArray[np.float32]:
        """Places of lines as painters take them: with the rows that they show only where there are pieces."""
        rows = np.array(placed, np.float32).reshape(-1, 7)
        return rows if self.sampler else rows[:, :5]


class _BlockBuilder:
    """A block while its columns are set."""

    def __init__(self, composer: LineBlockComposer, rng: np.random.Generator, book: int) -> None:
        self.lines, self.rng, self.settings, self.sampler = (
            composer.lines,
            rng,
            composer.settings,
            composer.sampler,
        )
        self.composer = composer
        self.by_width, self.text, self.boxes = composer.by_width[book], list[str](), list[Box]()
        self.composed, self.placed = list[ComposedLine](), list[tuple[float, ...]]()
        # Where nothing is asked for nothing is drawn: blocks for validation must not change.
        self.tight = bool(self.settings.tight and rng.random() < self.settings.tight)
        if self.tight:
            self._measure_tightly(composer.books[book], composer.usual[book])
        else:
            self._measure(composer.books[book], composer.usual[book])

    def _measure(self, numbers: NDArray[np.int64], usual: float) -> None:
        """The scale and width of columns, and which lines fit."""
        s, rng = self.settings, self.rng
        self.margin = min(s.height, s.width) * MARGIN * rng.uniform(0.5, 2.0)
        room, across = s.height - 2 * self.margin, s.width - 2 * self.margin
        high = self.lines.sizes[numbers, 1]
        # The shortest line must fit, and one column, however wide it is set.
        largest = float(np.clip(min(room / high.min(), across / (usual * COLUMN[1])), 0.1, s.scale[1]))
        self.scale = float(np.exp(rng.uniform(np.log(min(s.scale[0], largest)), np.log(largest))))
        fitting = numbers[high * self.scale <= room + 1e-6]
        wide = self.lines.sizes[fitting, 0]
        narrow = wide < NOTE_WIDTH * usual
        self.column = usual * self.scale * rng.uniform(*COLUMN)
        paired = narrow & (2 * wide * self.scale <= 1.05 * self.column)
        self.main, self.notes = fitting[~narrow], fitting[paired]
        if not len(self.main) and len(self.notes) < 2:
            self.main, self.notes = fitting, fitting[:0]
        self.count = max(int(across / self.column), 1)

    def _measure_tightly(self, numbers: NDArray[np.int64], usual: float) -> None:
        """The same for columns that fill the canvas from side to side, as far as they may be enlarged."""
        s, rng = self.settings, self.rng
        fewest, most = round(s.width / (s.scale[1] * usual)), int(s.width / (1.5 * usual))
        self.count = max(int(rng.integers(fewest, max(most, fewest) + 1)), 1)
        self.margin = float(rng.uniform(0, 0.1)) * s.width / self.count
        self.column = (s.width - 2 * self.margin) / self.count
        self.scale = min(self.column / usual / rng.uniform(1.0, 1.06), s.scale[1])
        self.column = min(self.column, usual * self.scale * 1.1)
        narrow = self.lines.sizes[numbers, 0] < NOTE_WIDTH * usual
        self.main, self.notes = numbers[~narrow], numbers[narrow]
        if not len(self.main) and len(self.notes) < 2:
            self.main, self.notes = numbers, numbers[:0]

    def block(self) -> LineBlock:
        width = self.settings.width
        least = self.count if self.tight else max(self.count // 2, 1)
        count = int(self.rng.integers(least, self.count + 1))
        right = width - self.margin - self.rng.random() * (width - 2 * self.margin - count * self.column)
        right = max(right, min(count * self.column, width))
        for k in range(count):
            (self._tight_column if self.tight else self._column)(right - (k + 0.5) * self.column)
        composition = Composition(
            kind=REAL_LINES,
            width=width,
            height=self.settings.height,
            seed=int(self.rng.integers(1 << 31)),
            text=tuple(self.text),
            faces=np.full(len(self.text), -1, np.int16),
            boxes=np.array(self.boxes, np.float32).reshape(-1, 4),
            angles=np.zeros(len(self.text), np.float32),
            white=np.zeros(len(self.text), np.bool_),
            lines=tuple(self.composed),
            strokes=self._rules(right, count) if self.rng.random() < self.settings.ruled else (),
        )
        return LineBlock(composition, self.composer.shown(self.placed))

    def _column(self, x: float) -> None:
        """Lines and notes, and now and then real paper below them."""
        bottom = self._fill_column(x)
        bare = self.composer.bare
        if self.settings.bare and len(bare) and self.rng.random() < FOOTED:
            self._paper_below(int(self.rng.choice(bare)), x, bottom + 0.2 * self.column)

    def _paper_below(self, number: int, x: float, top: float) -> None:
        """As much of a picture of paper as has room below `top`, as broad as the column."""
        wide, high = self.lines.sizes[number].tolist()
        scale, half = self.column / wide, self.column / 2
        rows = min(high, (self.settings.height - top) / scale)
        if rows > 1:
            self.placed.append((number, x - half, top, x + half, top + rows * scale, 0, rows))

    def _fill_column(self, x: float) -> float:
        """Main lines and notes below each other until the column is full or the text ends; where it ends."""
        indent = self.rng.random() * self.settings.height / 6
        top = self.margin + indent * (self.rng.random() < self.settings.indented)
        if not any(map(len, self._fitting(top))):
            top = self.margin
        for _ in range(MAX_RUNS):
            main, notes = self._fitting(top)
            if not len(main) and len(notes) < 2:
                return top
            if len(notes) > 1 and (not len(main) or self.rng.random() < NOTED):
                top = max(self._pair(self.rng.choice(notes, 2, replace=False), x, top))
            else:
                top = self._line(int(self.rng.choice(main)), x, top, "main", self._is_patchwork())
            if self.rng.random() < self.settings.ends:
                return top
        return top

    def _fitting(self, top: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Main lines and rows of notes that still have room below `top`."""
        room = (self.settings.height - self.margin - top) / self.scale + 0.01
        high = self.lines.sizes[:, 1]
        return self.main[high[self.main] <= room], self.notes[high[self.notes] <= room]

    def _tight_column(self, x: float) -> None:
        """One line, or two rows of a note, from the top of the canvas to its foot."""
        if len(self.notes) > 1 and (not len(self.main) or self.rng.random() < NOTED):
            self._pair(self.rng.choice(self.notes, 2, replace=False), x, self.margin)
        else:
            self._patchwork(int(self.rng.choice(self.main)), x, self.margin, "main")

    def _pair(self, numbers: NDArray[np.int64], x: float, top: float) -> list[float]:
        """The right row of a note, then the left one, never longer than the right."""
        first, second = (int(k) for k in sorted(numbers, key=lambda k: -int(self.lines.sizes[k, 1])))
        pieced, aside = self._is_patchwork(), self.column / 4
        end = self._line(first, x + aside, top, "note", pieced)
        return [end, self._line(second, x - aside, top, "note", pieced, end)]

    def _is_patchwork(self) -> bool:
        share = 1.0 if self.tight else self.settings.patchwork
        return bool(share and self.rng.random() < share)

    def _line(
        self, number: int, x: float, top: float, kind: Kind, pieced: bool, bottom: float | None = None
    ) -> float:
        """One line from `top` down; where it ends. One that is put together ends above `bottom`."""
        if pieced:
            return self._patchwork(number, x, top, kind, bottom)
        x += float(self.rng.normal(0, 0.02)) * self.column
        start, cuts = len(self.text), self.lines.cuts[number]
        whole = Piece(number, 0, len(cuts) - 1, 0.0, float(self.lines.sizes[number, 1]))
        end = self._place(whole, x, top, self.scale, self.scale)
        self.composed.append(ComposedLine(start, len(self.text), kind))
        return end

    def _patchwork(self, number: int, x: float, top: float, kind: Kind, bottom: float | None = None) -> float:
        """A line of pieces in place of this one, as long or, in a tight block, as long as there is room."""
        bottom = self.settings.height - self.margin if bottom is None else bottom
        among, start = as_wide(self.lines, self.by_width, number), len(self.text)
        left = self.settings.height if self.tight else len(self.lines.cuts[number]) - 1
        x += float(self.rng.normal(0, 0.005 if self.tight else 0.02)) * self.column
        while left > 0 and (found := self._find_piece(among, left, bottom - top, len(self.text) == start)):
            top = self._place(found[0], x, top, *found[1:])
            left -= found[0].stop - found[0].first
        self.composed.append(ComposedLine(start, len(self.text), kind))
        return top

    def _find_piece(
        self, among: NDArray[np.int64], longest: int, room: float, needed: bool
    ) -> tuple[Piece, float, float] | None:
        """A piece that fits, and its scales; where one is needed and none fits, one is squeezed in."""
        assert self.sampler is not None
        for k in range(TRIES):
            piece = self.sampler.sample(among, longest if k < TRIES // 2 else 1, self.rng)
            wide, high = self.scale * (1 + self.rng.uniform(-JITTER, JITTER, 2))
            if (piece.bottom - piece.top) * high <= room:
                return piece, wide, high
        return (piece, wide, max(room, 1.0) / max(piece.bottom - piece.top, 1.0)) if needed else None

    def _place(self, piece: Piece, x: float, top: float, wide: float, high: float) -> float:
        """A piece of a line from `top` down, at these scales; where it ends."""
        half = float(self.lines.sizes[piece.number, 0]) * wide / 2
        self.text += characters(self.lines.texts[piece.number])[piece.first : piece.stop]
        cuts = self.lines.cuts[piece.number][piece.first : piece.stop + 1].astype(np.float64)
        self.boxes += [(x - half, a, x + half, b) for a, b in pairwise(top + (cuts - piece.top) * high)]
        bottom = top + (piece.bottom - piece.top) * high
        self.placed.append((piece.number, x - half, top, x + half, bottom, piece.top, piece.bottom))
        return bottom

    def _rules(self, right: float, count: int) -> tuple[Stroke, ...]:
        """Rules between columns down to the block's edges, and now and then the frame above."""
        bottom, width = float(self.settings.height), float(self.rng.uniform(0.9, 2.2))
        top = max(self.margin - 6, 0.0) if self.rng.random() < 0.5 else 0.0
        strokes = [
            Stroke((right - k * self.column, top), (right - k * self.column, bottom), width)
            for k in range(count + 1)
        ]
        if top:
            left = right - count * self.column
            strokes.append(Stroke((left, top), (right, top), 2 * width, "frame"))
        return tuple(strokes)


def for_real_ink(degradation: Degradation, thickest: float = 0.0) -> Degradation:
    """A degradation for ink that has aged already: the paper and the camera, and little of the block.

    Ink may run by up to `thickest` em, less than ink that has not run before.
    """
    return replace(
        degradation,
        spread=min(degradation.spread, thickest),
        rounding=min(degradation.rounding, 0.008),
        touching=0.0,
        broken=0.0,
        starvation=0.3 * degradation.starvation,
        mottling=0.3 * degradation.mottling,
        film="grey" if degradation.film == "binary" else degradation.film,
    )


def pack_lines(blocks: Sequence[LineBlock]) -> Batch:
    """Blocks of real lines, all of one size, as a batch."""
    batch = pack([b.composition for b in blocks], lambda _, chars: np.full(len(chars), -1, np.int64))
    values = np.concatenate([b.placed for b in blocks])
    block = np.repeat(np.arange(len(blocks)), [len(b.placed) for b in blocks])
    return replace(batch, lines=line_group(values, block))
