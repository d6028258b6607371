"""The paper's figures of tables 3 and 4: a table of all its methods in, figures by method out.

The figures are copied from the paper and stand in table3.tsv and table4.tsv; "(lines)" marks results that it
takes from others, on line images cut by the annotations. A dash is a figure that was not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tongguocr.evaluate.metrics import METRICS

Figures = dict[str, float]
"""Percent by the name of the metric."""


@dataclass(frozen=True, slots=True)
class Published:
    """One method's row."""

    method: str
    source: str
    figures: Figures


@cache
def published(table: int) -> tuple[Published, ...]:
    """The rows of table 3 or 4, in the paper's order."""
    rows = (Path(__file__).parent / f"table{table}.tsv").read_text(encoding="utf-8").splitlines()
    heads = rows[0].split("\t")
    assert tuple(heads[2:]) == METRICS
    found = []
    for row in rows[1:]:
        method, source, *cells = row.split("\t")
        figures = {name: float(cell) for name, cell in zip(METRICS, cells, strict=True) if cell != "-"}
        found.append(Published(method, source, figures))
    return tuple(found)


def published_row(table: int, method: str) -> Figures:
    """One method's figures."""
    return next(row.figures for row in published(table) if row.method == method)
