"""The comparison of compare.py in, one table on standard output out; way and protocol stand above it."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tongguocr.evaluate.metrics import METRICS
from tongguocr.evaluate.report import Summary, new_table

EXTRAS = {"over_generation": "over-gen.", "lines_found": "lines found"}
"""What the protocol `strict` has besides."""
WIDEST = 140
"""Characters of a row at most; a narrower terminal would cut figures off."""


def print_comparison(result: Summary) -> None:
    """All engines in one table, and under it who is absent."""
    console = Console(soft_wrap=True)
    console.width = max(console.width, WIDEST)
    console.print(make_table(result))
    for name, reason in result["absent"].items():
        console.print(f"Absent: {name}. {reason}", highlight=False, markup=False)


def make_table(result: Summary) -> Table:
    """A row for each engine, and a second one with variants folded where that was asked for."""
    finder = f" (our lines found by {result['detector']})" if "detector" in result else ""
    pages = result["pages"]
    title = (
        f"{result['way']}{finder}, protocol {result['protocol']}, {pages} page{'s' * (pages != 1)}, percent"
    )
    extras = EXTRAS if result["protocol"] == "strict" else {}
    table = new_table(title, (*METRICS, *extras.values(), "pages/min"))
    for name, figures in result["engines"].items():
        speed = f"{figures['pages_a_minute']:.1f}"
        table.add_row(name, *(f"{figures[key]:.2f}" for key in (*METRICS, *extras)), speed)
        if "folded" in figures:
            folded = figures["folded"]
            table.add_row(f"{name}, folded", *(f"{folded[key]:.2f}" for key in (*METRICS, *extras)), "")
    return table
