"""The degradation of training blocks: a page's, and more of it than most pages have.

In: a random generator and the shares of a recipe. Out: a `Degradation` for each block. Two things come on top
of what pages have by chance. Worms leave half a character, so that context must tell the rest. Coarse blocks
are cut with a blunt knife, inked too much or too little, and scanned small: corners are round, counters fill
up, hairlines go, as in cheap editions and in small scans of good ones. Fonts never look so, and real ink
does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tongguocr.training.synth.degradation import Degradation, sample_degradation

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
    rng: np.random.Generator, severity: float, holed: float = 0.0, coarse: float = 0.0
) -> Degradation:
    """The degradation of one block, holed and coarse as often as asked; shares of 0 draw nothing."""
    degradation = sample_degradation(rng, severity, False)
    if coarse and rng.random() < coarse:
        degradation = coarsen(degradation, rng)
    if holed and rng.random() < holed:
        degradation = replace(degradation, wormholes=degradation.wormholes + int(rng.integers(*WORMS)))
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
