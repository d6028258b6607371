"""Figures of all pages: page scores in, one summary out: the JSON of `tongguocr eval`, and its tables.

Figures are percent, as the paper prints them: the mean over pages, each page counting the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tongguocr.evaluate.metrics import METRICS, Tally, extra_figures, figures
from tongguocr.evaluate.occurrences import Occurrences, pool
from tongguocr.evaluate.protocols import PageScore, Protocol

DECIMALS = 4
"""Enough for any comparison; tables show two, as the paper's."""
PAGES_IN_TABLE = 20
"""With more pages than this a table shows the means alone."""

Summary = dict[str, Any]
"""A JSON object: METRICS and `per_page`, with `micro`, `added` and `non_added` where they were asked for."""


def summarise(pages: Mapping[str, PageScore], protocol: Protocol) -> Summary:
    """The figures of all pages, at least one, by page stem."""
    scores = list(pages.values())
    keys = scores[0].figures.keys()
    means = {key: sum(score.figures[key] for score in scores) / len(scores) for key in keys}
    summary: Summary = _percent(means)
    if protocol.extras:
        tally = reduce(add, (score.tally for score in scores), Tally())
        micro = figures(tally, blank_is_right=protocol.blank_is_right) | extra_figures(tally)
        summary["micro"] = _percent(micro)
    occurrences = [score.occurrences for score in scores if score.occurrences is not None]
    if occurrences:
        for name, counts in zip(("added", "non_added"), pool(occurrences), strict=True):
            summary[name] = _occurrence_figures(counts)
    summary["per_page"] = {stem: _percent(score.figures) for stem, score in pages.items()}
    return summary


def _percent(fractions: Mapping[str, float]) -> dict[str, float]:
    return {key: round(100 * value, DECIMALS) for key, value in fractions.items()}


def _occurrence_figures(counts: Occurrences) -> dict[str, float]:
    shares = _percent({"P": counts.precision, "R": counts.recall, "F1": counts.f1})
    return {**shares, "TP": counts.hits, "FP": counts.false_positives, "FN": counts.misses}


def print_tables(result: Summary) -> None:
    """The summary as tables on standard output, the protocol above the figures."""
    console = Console(soft_wrap=False)
    views = {"": result, ", folded": result["folded"]} if "folded" in result else {"": result}
    console.print(_metric_table(result["protocol"], result["pages"], views))
    if "micro" in result:
        console.print(_extra_table(views))
    if "added" in result:
        console.print(_occurrence_table(views))


def _metric_table(protocol: str, pages: int, views: Mapping[str, Summary]) -> Table:
    table = new_table(f"protocol {protocol}, {pages} page{'s' * (pages != 1)}, percent", METRICS)
    if 1 < pages <= PAGES_IN_TABLE:
        for stem in views[""]["per_page"]:
            for name, view in views.items():
                _row(table, f"{stem}{name}", view["per_page"][stem], METRICS)
        table.add_section()
    for name, view in views.items():
        _row(table, f"mean{name}", view, METRICS)
        if "micro" in view:
            _row(table, f"micro{name}", view["micro"], METRICS)
    return table


def _extra_table(views: Mapping[str, Summary]) -> Table:
    keys = ("over_generation", "long_pages", "lines_found")
    table = new_table("protocol strict, percent", ("over-generation", "long pages", "lines found"))
    for name, view in views.items():
        _row(table, f"mean{name}", view, keys)
        _row(table, f"micro{name}", view["micro"], keys)
    return table


def _occurrence_table(views: Mapping[str, Summary]) -> Table:
    keys = ("P", "R", "F1", "FP", "FN")
    table = new_table("occurrences after alignment, pooled", keys)
    for name, view in views.items():
        _row(table, f"added{name}", view["added"], keys)
        _row(table, f"non-added{name}", view["non_added"], keys)
    return table


def new_table(title: str, columns: Sequence[str]) -> Table:
    """An empty table: a column for the rows' names, then a column for each figure."""
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _row(table: Table, name: str, found: Mapping[str, float], keys: Sequence[str]) -> None:
    cells = (found[key] for key in keys)
    table.add_row(name, *(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells))
