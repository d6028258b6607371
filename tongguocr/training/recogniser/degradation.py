"""What training blocks have gone through: a page's wear, and more of it than most pages have.

In: a generator and the shares of a recipe. Out: a `Wear` for each block. Two things are put on top of what
pages have by chance. Worms leave half a character, so that context must tell the rest. Coarse blocks are cut
with a blunt knife, inked too much or too little, and scanned small: corners are round, counters fill up,
hairlines go, as in cheap editions and in small scans of good ones. Fonts never look so, and real ink does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tongguocr.training.synth.degradation import Wear, sample_wear

WORMS = (16, 64)
"""Worms of a page that has many; a block gets about half of their holes."""


@dataclass(frozen=True, slots=True)
class Coarse:
    """How coarse blocks may be: the least and the most of each field of `Wear`."""

    rounding: tuple[float, float] = (0.015, 0.05)
    spread: tuple[float, float] = (-0.003, 0.034)
    roughness: tuple[float, float] = (0.3, 1.1)
    mottling: tuple[float, float] = (0.0, 0.3)
    broken: tuple[float, float] = (0.0, 0.7)
    touching: tuple[float, float] = (0.0, 0.03)
    resolution: tuple[float, float] = (0.42, 0.8)
    blur: tuple[float, float] = (0.2, 0.8)
    damaged: float = 0.4
    """Share of them whose strokes are broken, and of those that run together."""


def draw_wear(rng: np.random.Generator, severity: float, holed: float = 0.0, coarse: float = 0.0) -> Wear:
    """The wear of one block, holed and coarse as often as asked; shares of 0 draw nothing."""
    wear = sample_wear(rng, severity, False)
    if coarse and rng.random() < coarse:
        wear = coarsen(wear, rng)
    if holed and rng.random() < holed:
        wear = replace(wear, wormholes=wear.wormholes + int(rng.integers(*WORMS)))
    return wear


def coarsen(wear: Wear, rng: np.random.Generator, limits: Coarse = Coarse()) -> Wear:
    """The same page printed from a coarse block and scanned small."""

    def between(limit: tuple[float, float]) -> float:
        return float(rng.uniform(*limit))

    def sometimes(limit: tuple[float, float]) -> float:
        return between(limit) if rng.random() < limits.damaged else 0.0

    return replace(
        wear,
        rounding=between(limits.rounding),
        spread=between(limits.spread),
        roughness=between(limits.roughness),
        mottling=between(limits.mottling),
        broken=sometimes(limits.broken),
        touching=sometimes(limits.touching),
        resolution=between(limits.resolution),
        blur=between(limits.blur),
        # Pale ink and thin strokes together leave nothing to read, and a binary film cuts greys once more.
        starvation=0.3 * wear.starvation,
        film="grey" if wear.film == "binary" else wear.film,
    )
