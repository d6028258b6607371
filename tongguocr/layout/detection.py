"""What every detector offers, ours and others: a picture in, a `Detection` out, its lines and how it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tongguocr.page import Line, Pixels


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector finds in a picture."""

    lines: tuple[Line, ...]
    """In any order."""
    angle: int = 0
    """Degrees clockwise by which the picture must be turned to stand upright: 0, 90, 180 or 270."""
    skew: float = 0.0
    """Degrees clockwise by which it must be turned further for its lines to stand upright; 0 if unsure."""


class LineDetector(Protocol):
    """Anything that finds lines."""

    @property
    def tells_kinds(self) -> bool:
        """Whether its lines have kinds; otherwise they follow from where the lines stand."""
        ...

    def detect(self, pixels: Pixels) -> Detection:
        """The lines of a page, and how it lies."""
        ...
