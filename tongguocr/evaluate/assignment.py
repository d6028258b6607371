"""Pairing rows with columns at the smallest total cost: a cost matrix in, pairs out.

The shortest-augmenting-path method for rectangular matrices (Jonker and Volgenant; Crouse, 2016), in numpy,
so that scipy is not needed to compute a score. Where several pairings cost the same, it takes scipy's.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Costs: TypeAlias = NDArray[np.float64]


def assign(costs: Costs) -> list[tuple[int, int]]:
    """The cheapest one-to-one pairs (row, column), min(rows, columns) of them, by row; costs are finite."""
    rows, columns = costs.shape
    if rows > columns:
        return sorted((row, column) for column, row in assign(costs.T))
    first = [int(column) for column in costs.argmin(axis=1)]
    if len(set(first)) == rows and (costs == costs.min(axis=1, keepdims=True)).sum() == rows:
        return list(enumerate(first))  # every row has its one favourite to itself: nothing can be cheaper
    state = _State(np.ascontiguousarray(costs, dtype=np.float64))
    for row in range(rows):
        state.place(row)
    return [(row, int(column)) for row, column in enumerate(state.column_of)]


class _State:
    """A cheapest pairing of the rows placed so far, with the prices that prove it."""

    def __init__(self, costs: Costs) -> None:
        rows, columns = costs.shape
        self.costs = costs
        self.row_price = np.zeros(rows)
        self.column_price = np.zeros(columns)
        self.column_of = np.full(rows, -1)
        self.row_of = np.full(columns, -1)

    def place(self, new: int) -> None:
        """Find a column for one more row, moving rows placed before where that is cheaper."""
        columns = len(self.row_of)
        reach = np.full(columns, np.inf)  # the cheapest way found to each column
        came_from = np.full(columns, -1)
        open_columns = np.arange(columns - 1, -1, -1)
        seen_rows, closed, row, cost = [new], [], new, 0.0
        while True:
            offer = (
                cost + self.costs[row, open_columns] - self.row_price[row] - self.column_price[open_columns]
            )
            better = open_columns[offer < reach[open_columns]]
            came_from[better] = row
            reach[open_columns] = np.minimum(reach[open_columns], offer)
            index = self._nearest(reach[open_columns], open_columns)
            column = int(open_columns[index])
            cost = float(reach[column])
            closed.append(column)
            if self.row_of[column] < 0:
                break
            row = int(self.row_of[column])
            seen_rows.append(row)
            open_columns[index] = open_columns[-1]
            open_columns = open_columns[:-1]
        self._reprice(new, seen_rows, closed, reach, cost)
        self._shift(new, column, came_from)

    def _nearest(self, reach: Costs, open_columns: NDArray[np.int64]) -> int:
        """The nearest open column; among equals a free one, the last of them, as scipy does."""
        nearest = np.flatnonzero(reach == reach.min())
        free = nearest[self.row_of[open_columns[nearest]] < 0]
        return int(free[-1]) if len(free) else int(nearest[0])

    def _reprice(self, new: int, rows: list[int], columns: list[int], reach: Costs, cost: float) -> None:
        self.row_price[new] += cost
        others = rows[1:]
        self.row_price[others] += cost - reach[self.column_of[others]]
        self.column_price[columns] -= cost - reach[columns]

    def _shift(self, new: int, column: int, came_from: NDArray[np.int64]) -> None:
        while True:
            row = int(came_from[column])
            self.row_of[column] = row
            before = int(self.column_of[row])
            self.column_of[row] = column
            if row == new:
                return
            column = before
