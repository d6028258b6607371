"""How high a block's characters are, seen in its ink: a crop and its lines in, pixels out.

A line's box tells how thick it is, not how close its characters stand: flat type in wide columns has pitches
of 0.6 of the thickness. Ink along a line comes and goes once a character, so the lag at which the lines look
most like themselves is their pitch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import clip, height, width
from tongguocr.page import Line, Pixels

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PitchSearch:
    """Where a pitch is looked for, in thicknesses of the line."""

    least: float = 0.4
    most: float = 1.5
    alike: float = 0.75
    """Lines are measured together if the thinner has at least this part of the other's thickness."""
    shortest: float = 2.5
    """A line shorter than this says nothing."""
    evidence: float = 0.06
    """Likeness below this is chance ..."""
    chance: float = 4.0
    """... and below this over the root of the pixels measured: any short line is a little like itself."""
    part: float = 0.7
    """Two or three characters are as regular as one: a half or third of the lag is taken where it is this
    much as like."""
    inner: float = 0.8
    """The part of the thickness that is looked at: rules run along the sides."""


def character_size(grey: Pixels, lines: Sequence[Line], search: PitchSearch = PitchSearch()) -> float | None:
    """The height of most of the block's characters, no more than the lines are thick; None without lines."""
    if not lines:
        return None
    extents = [extent(line) for line in lines]
    usual = _weighted_median([(max(across, 1.0), along / max(across, 1.0)) for across, along in extents])
    alike = [
        line
        for line, (across, along) in zip(lines, extents, strict=True)
        if search.alike <= max(across, 1.0) / usual <= 1 / search.alike and along >= search.shortest * usual
    ]
    pitch = _pitch([_profile(grey, line, search) for line in alike], usual, search)
    return min(pitch, usual) if pitch else usual


def extent(line: Line) -> tuple[float, float]:
    """Across and along the line's direction."""
    sides = (width(line.box), height(line.box))
    return sides if line.is_vertical else (sides[1], sides[0])


def _weighted_median(pairs: Sequence[tuple[float, float]]) -> float:
    """The value in the middle of all, each (value, weight) counted by its weight, at least 1."""
    ordered = sorted((value, max(weight, 1.0)) for value, weight in pairs)
    reached = np.cumsum([weight for _, weight in ordered])
    return ordered[int(np.searchsorted(reached, reached[-1] / 2))][0]


def _profile(grey: Pixels, line: Line, search: PitchSearch) -> Floats:
    """Ink along the line: how much darker than paper each row of it is."""
    high, wide = grey.shape
    x0, y0, x1, y1 = (round(value) for value in clip(line.box, wide, high))
    cut = grey[y0:y1, x0:x1].astype(np.float64)
    cut = cut if line.is_vertical else cut.T
    margin = round((1 - search.inner) / 2 * cut.shape[1])
    cut = cut[:, margin : max(cut.shape[1] - margin, margin + 1)]
    if not cut.size:
        return np.zeros(0)
    ink: Floats = np.maximum(np.percentile(cut, 90) - cut, 0).mean(1)
    return ink


def _pitch(profiles: Sequence[Floats], thickness: float, search: PitchSearch) -> float | None:
    """The lag at which all profiles together are most like themselves; None where there is no such lag."""
    low, high = round(search.least * thickness), round(search.most * thickness)
    total, weight = np.zeros(high + 2), 0.0
    for profile in profiles:
        if len(profile) > 2 * low:
            total += len(profile) * _likeness(profile, high + 2)
            weight += len(profile)
    if not weight:
        return None
    total /= weight
    peaks = [k for k in range(max(low, 1), high + 1) if total[k - 1] < total[k] >= total[k + 1]]
    best = max(peaks, key=total.__getitem__, default=0)
    if not best or total[best] < max(search.evidence, search.chance / weight**0.5):
        return None
    parts = [
        k
        for k in peaks
        if total[k] >= search.part * total[best] and any(abs(m * k - best) <= 0.1 * best for m in (2, 3))
    ]
    return float(parts[0] if parts else best)


def _likeness(profile: Floats, count: int) -> Floats:
    """Autocorrelation for lags up to half of the profile, 1 at lag 0; 0 beyond."""
    n = len(profile)
    centred = profile - profile.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    raw = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[:n]
    result = np.zeros(count)
    if raw[0] > 1e-9:
        kept = min(count, n // 2)
        result[:kept] = (raw / raw[0] * n / (n - np.arange(n)))[:kept]
    return result
