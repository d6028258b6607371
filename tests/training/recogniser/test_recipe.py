"""Degradation of training blocks: what is added when it is asked for, and nothing when it is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.training.recogniser.recipe import (
    COARSE,
    WORMS,
    Canvas,
    Recipe,
    coarsen,
    sample_block_degradation,
)
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
    degradations = [
        sample_block_degradation(rng, 1.0, holed=0.25, coarse=0.5, sealed=0.1) for _ in range(600)
    ]
    assert 0.18 < np.mean([d.wormholes >= WORMS[0] for d in degradations]) < 0.32
    assert 0.42 < np.mean([d.rounding > 0.0221 or d.resolution < 0.55 for d in degradations]) < 0.58
    assert 0.06 < np.mean([d.large_seals for d in degradations]) < 0.14


def test_a_processor_s_batches_are_a_share_of_a_gpu_s() -> None:
    recipe = Recipe(batch_share=0.03)
    blocks = [canvas.blocks for canvas in recipe.batches_of((Canvas(512, 512, 208), Canvas(64, 32, 10)))]
    assert blocks == [6, 1]
    with pytest.raises(ValueError, match="batch_share"):
        Recipe(batch_share=0.0)
    assert recipe.for_validation.batch_share == 1
