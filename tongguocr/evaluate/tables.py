"""The summary of report.py in, tables on standard output out; the protocol stands above the figures."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table

from tongguocr.evaluate.report import Summary
from tongguocr.evaluate.text import METRICS

PAGES_IN_TABLE = 20
"""With more pages than this a table shows the means alone."""


def print_tables(result: Summary) -> None:
    """The summary as tables on standard output; the protocol stands above every one."""
    console = Console(soft_wrap=False)
    views = {"": result, ", folded": result["folded"]} if "folded" in result else {"": result}
    console.print(_metric_table(result["protocol"], result["pages"], views))
    if "micro" in result:
        console.print(_extra_table(views))
    if "added" in result:
        console.print(_occurrence_table(views))


def _metric_table(protocol: str, pages: int, views: Mapping[str, Summary]) -> Table:
    table = _table(f"protocol {protocol}, {pages} page{'s' * (pages != 1)}, percent", METRICS)
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
    table = _table("protocol strict, percent", ("over-generation", "long pages", "lines found"))
    for name, view in views.items():
        _row(table, f"mean{name}", view, keys)
        _row(table, f"micro{name}", view["micro"], keys)
    return table


def _occurrence_table(views: Mapping[str, Summary]) -> Table:
    keys = ("P", "R", "F1", "FP", "FN")
    table = _table("occurrences after alignment, pooled", keys)
    for name, view in views.items():
        _row(table, f"added{name}", view["added"], keys)
        _row(table, f"non-added{name}", view["non_added"], keys)
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _row(table: Table, name: str, figures: Mapping[str, float], keys: tuple[str, ...]) -> None:
    cells = (figures[key] for key in keys)
    table.add_row(name, *(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells))
