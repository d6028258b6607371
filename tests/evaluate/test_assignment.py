"""The pairing against scipy's, which the package itself does not need."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tongguocr.evaluate.assignment import assign


@st.composite
def matrices(draw: st.DrawFn) -> NDArray[np.float64]:
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    cell = draw(st.sampled_from([st.integers(0, 3), st.integers(-50, 50), st.floats(0, 1)]))
    cells = draw(st.lists(cell, min_size=rows * columns, max_size=rows * columns))
    return np.array(cells, dtype=np.float64).reshape(rows, columns)


@given(matrices())
@settings(max_examples=300)
def test_pairs_cost_as_little_as_scipys(costs: NDArray[np.float64]) -> None:
    pairs = assign(costs)
    rows, columns = linear_sum_assignment(costs)
    assert len(pairs) == min(costs.shape) == len({i for i, _ in pairs}) == len({j for _, j in pairs})
    assert np.isclose(sum(costs[i, j] for i, j in pairs), costs[rows, columns].sum(), rtol=1e-12, atol=1e-9)


def test_equal_costs_are_paired_as_scipy_does() -> None:
    """Ties decide the RO-ED of repeated lines in the public scorer, so they must fall the same way."""
    generator = np.random.default_rng(1)
    for _ in range(200):
        costs = generator.integers(0, 3, generator.integers(1, 8, 2)).astype(np.float64)
        rows, columns = linear_sum_assignment(costs)
        assert assign(costs) == list(zip(rows.tolist(), columns.tolist(), strict=True))


def test_a_wide_and_a_tall_matrix() -> None:
    wide = np.array([[5.0, 1.0, 9.0], [1.0, 2.0, 9.0]])
    assert assign(wide) == [(0, 1), (1, 0)]
    assert assign(wide.T) == [(0, 1), (1, 0)]
