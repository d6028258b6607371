"""What the blocks of a training stage are like: the table [recipe] of a stage file, and its canvases.

Plain numbers; blocks.py makes blocks of them, degradation.py degrades them, and validation asks for the easy
ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


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


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the blocks of a stage are like."""

    canvases: tuple[Canvas, ...] = (
        Canvas(1024, 320, 168),
        Canvas(512, 512, 208),
        Canvas(320, 832, 192),
        Canvas(1024, 608, 84),
        Canvas(512, 160, 448),
    )
    """Five columns of 21 characters, a corner of a page, a register, ten columns, a fold's title: about
    equal work each."""
    size: tuple[float, float] = (34.0, 50.0)
    """Pixels of a character's height, for most blocks ..."""
    small: tuple[float, float] = (20.0, 34.0)
    small_share: float = 0.2
    """... and for those whose scan has no more."""
    longest: int = 380
    """Tokens of a block at most."""
    built: float = 0.3
    """How many blocks come from the block builder; the others are runs of columns."""
    most_columns: int = 10
    random_text: float = 0.15
    """Blocks of characters drawn by flattened frequency ..."""
    uniform_text: float = 0.15
    """... and of all characters alike, so that rare ones get examples."""
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
    tight: float = 0.1
    """Drawn blocks that fill a narrow canvas to its edges ..."""
    tight_lines: float = 0.15
    """... and batches of real lines that do."""

    @property
    def easy(self) -> Recipe:
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
            tight=0.0,
            tight_lines=0.0,
        )
