"""Characters as found, and the page's ink -> how far the page leans.

Seen from the right angle, the characters of a column stand one behind another, and between columns there is
nothing. Every angle is tried, and the one at which characters crowd most counts, if they crowd clearly less
as the page lies. The detector is unsure of characters that lean much: then the edges of all ink, rules among
it, are taken in place of characters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from tongguocr.layout.peaks import Characters, Floats
from tongguocr.layout.tiling import to_grey
from tongguocr.page import Pixels

LEAST_SKEW = 3.0
"""Degrees: a page that leans less is read as it lies, as well as upright (`python -m bench.robust`)."""
MOST_SKEW = 18.0
"""Degrees: no page is turned by more."""
ENOUGH = 1.0
"""Degrees: once the skew is undone, what is left may be this much before it is undone, too."""
FEWEST = 24
"""Fewer characters than this say nothing of a page's skew."""
SURE = 0.5
"""Characters with a lower score are not sure."""
MOST_SURE = 0.8
"""Where fewer of the characters are sure, ink is asked."""
CLEARLY = 1.12
CLEARLY_INK = 1.04
"""So much more must characters, or ink, crowd at the page's skew than as it lies."""
STEPS = (0.5, 0.1)
"""Degrees from one angle to the next: all of them first, then those about the best."""
STRIP = 0.25
"""The width of the strips in which characters are counted, in characters."""
SIDE = 640
"""Pixels of the page's longer side when its ink is looked at."""
BLUR, CONTRAST = 8, 30
"""Ink differs by so many grey levels from the mean of what is around it, so many pixels each way."""
INK = (200, 12_000)
"""Pixels of ink: with fewer the page says nothing, and no more are looked at, evenly out of all."""


def skew_of(chars: Characters, pixels: Pixels) -> float:
    """Degrees clockwise by which the picture must be turned for its lines to stand upright; 0 if unsure."""
    sure = chars[chars.scores >= SURE]
    if len(sure) >= max(FEWEST, MOST_SURE * len(chars)):
        strip = STRIP * float(np.median(np.sqrt(sure.sides.prod(1))))
        return _skew(sure.centres - sure.centres.mean(0), strip, CLEARLY)
    ink = find_ink(pixels)
    return _skew(ink - ink.mean(0), 1.0, CLEARLY_INK) if len(ink) >= INK[0] else 0.0


def find_ink(pixels: Pixels) -> Floats:
    """Places on the reduced page that differ from what is around them, whichever is dark."""
    small = Image.fromarray(to_grey(pixels, min(SIDE / max(pixels.shape[:2]), 1.0)))
    around = np.asarray(small.filter(ImageFilter.BoxBlur(BLUR)), np.int16)
    places = np.argwhere(np.abs(around - np.asarray(small, np.int16)) > CONTRAST)[:, ::-1]
    return places[:: max(-(-len(places) // INK[1]), 1)].astype(np.float32)


def _skew(places: Floats, strip: float, clearly: float) -> float:
    best = _best(places, strip, np.arange(-MOST_SKEW, MOST_SKEW + STEPS[0], STEPS[0]))
    best = _best(places, strip, best + np.arange(-STEPS[0], STEPS[0] + STEPS[1], STEPS[1]))
    clear = crowding(places, strip, best) >= clearly * crowding(places, strip, 0.0)
    return round(best, 2) if clear and abs(best) < MOST_SKEW else 0.0


def _best(places: Floats, strip: float, angles: NDArray[np.float64]) -> float:
    """The angle at which the places crowd most; of equals the middle one."""
    scores = np.array([crowding(places, strip, angle) for angle in angles])
    return float(np.mean(angles[scores >= scores.max() * (1 - 1e-9)]))


def crowding(places: Floats, strip: float, angle: float) -> float:
    """How unevenly places lie in strips, down the page and across it, once turned clockwise by degrees."""
    t = np.radians(angle)
    turned = places @ np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
    return sum(_unevenness(values, strip) for values in turned.T)


def _unevenness(values: Floats, strip: float) -> float:
    """The mean number of places that share a strip with one of them; strips overlap."""
    counts = np.bincount(((values - values.min()) / strip).astype(np.int64) + 1, minlength=3)
    smooth = counts[:-2] / 4 + counts[1:-1] / 2 + counts[2:] / 4 if len(counts) > 2 else counts
    return float((smooth**2).sum()) / len(values)
