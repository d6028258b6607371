"""Characters as found -> how far the page leans: columns and rows of characters fall together at one angle.

Seen from the right angle, the characters of a column stand one behind another, and between columns there is
nothing. Every angle is tried, and the one at which characters crowd most counts, if they crowd clearly less
as the page lies. The detector sees characters that lean, but links them less surely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tongguocr.layout.peaks import Characters, Floats

LEAST_SKEW = 3.0
"""Degrees: a page that leans less is read as it lies, as well as upright (`python -m bench.robust`)."""
MOST_SKEW = 18.0
"""Degrees: beyond, the detector sees too few of the characters to tell."""
ENOUGH = 1.0
"""Degrees: once the skew is undone, what is left may be this much before it is undone, too."""
FEWEST = 24
"""Fewer characters than this say nothing of a page's skew."""
CLEARLY = 1.12
"""So much more must the characters crowd at the page's skew than as it lies."""
STEPS = (0.5, 0.1)
"""Degrees from one angle to the next: all of them first, then those about the best."""
STRIP = 0.25
"""The width of the strips in which characters are counted, in characters."""


def skew_of(chars: Characters) -> float:
    """Degrees clockwise by which the picture must be turned for its lines to stand upright; 0 if unsure."""
    if len(chars) < FEWEST:
        return 0.0
    centres = chars.centres - chars.centres.mean(0)
    strip = STRIP * float(np.median(np.sqrt(chars.sides.prod(1))))
    best = _best(centres, strip, np.arange(-MOST_SKEW, MOST_SKEW + STEPS[0], STEPS[0]))
    best = _best(centres, strip, best + np.arange(-STEPS[0], STEPS[0] + STEPS[1], STEPS[1]))
    clear = crowding(centres, strip, best) >= CLEARLY * crowding(centres, strip, 0.0)
    return round(best, 2) if clear and abs(best) < MOST_SKEW else 0.0


def _best(centres: Floats, strip: float, angles: NDArray[np.float64]) -> float:
    """The angle at which the characters crowd most; of equals the middle one."""
    scores = np.array([crowding(centres, strip, angle) for angle in angles])
    return float(np.mean(angles[scores >= scores.max() * (1 - 1e-9)]))


def crowding(centres: Floats, strip: float, angle: float) -> float:
    """How unevenly characters lie in strips, down the page and across it, once turned by degrees."""
    t = np.radians(angle)
    turned = centres @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
    return sum(_unevenness(values, strip) for values in turned.T)


def _unevenness(values: Floats, strip: float) -> float:
    """The mean number of characters that share a strip with one of them; strips overlap."""
    counts = np.bincount(((values - values.min()) / strip).astype(np.int64) + 1, minlength=3)
    smooth = counts[:-2] / 4 + counts[1:-1] / 2 + counts[2:] / 4 if len(counts) > 2 else counts
    return float((smooth**2).sum()) / len(values)
