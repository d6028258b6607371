"""Degradation of training blocks: what is added when it is asked for, and nothing when it is not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.training.recogniser.recipe import COARSE, WORMS, coarsen, sample_block_degradation
from tongguocr.training.synth.degradation import sample_degradation


@given(st.integers(0, 2**32 - 1))
def test_without_shares_the_degradation_is_a_page_s_own(seed: int) -> None:
    one, two = (np.random.default_rng(seed) for _ in range(2))
    assert sample_block_degradation(one, 1.2) == sample_degradation(two, 1.2, False)
    # Nothing more was drawn either: validation blocks stay what they are.
    assert one.random() == two.random()


@given(st.integers(0, 2**32 - 1))
def test_coarse_blocks_keep_to_their_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = sample_degradation(rng, 1.0, False)
    after = coarsen(before, rng)
    for name, (low, high) in COARSE.items():
        assert min(low, 0) <= getattr(after, name) <= high
    assert after.film != "binary" and after.starvation <= before.starvation
    assert (after.skew, after.paper, after.stains) == (before.skew, before.paper, before.stains)


def test_shares_are_kept() -> None:
    rng = np.random.default_rng(3)
    degradations = [sample_block_degradation(rng, 1.0, holed=0.25, coarse=0.5) for _ in range(600)]
    assert 0.18 < np.mean([d.wormholes >= WORMS[0] for d in degradations]) < 0.32
    assert 0.42 < np.mean([d.rounding > 0.0221 or d.resolution < 0.55 for d in degradations]) < 0.58
