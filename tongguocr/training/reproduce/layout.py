"""Figures of a table's rows -> Markdown, LaTeX and CSV, what was found here above what the paper reports.

Where a row was trained with several seeds its figure is their mean, with half of the distance between least
and greatest behind it; the CSV has every seed. Rows that are not done yet have the paper's figures alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tongguocr.training.reproduce.tables import OCCURRENCES

HERE, PAPER = "here", "paper"
NUMBERS = tuple(name for name in OCCURRENCES if name.endswith(("FP", "FN")))
"""Columns that are counts and no shares."""
LESS_IS_BETTER = ("NED", "RO-ED", *NUMBERS)


@dataclass(frozen=True, slots=True)
class Result:
    """One row as it came out, and as it was published."""

    cells: tuple[str, ...]
    seeds: Mapping[int, Mapping[str, float]]
    """Figures by seed; none where the row is not done, or only published."""
    paper: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A whole table to be written."""

    number: int
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()


def figure(result: Result, column: str) -> str:
    """What was found here, over all seeds."""
    found = [figures[column] for figures in result.seeds.values() if column in figures]
    if not found:
        return "-"
    mean = _number(fmean(found), column)
    spread = (max(found) - min(found)) / 2
    return mean if len(found) == 1 else f"{mean} ±{_number(spread, column)}"


def _number(value: float, column: str) -> str:
    return f"{value:.0f}" if column in NUMBERS else f"{value:.2f}"


def _published(result: Result, column: str) -> str:
    return _number(result.paper[column], column) if column in result.paper else "-"


def _rows(sheet: Sheet) -> Iterator[tuple[Sequence[str], str, list[str]]]:
    """Cells, whose figures they are, and the figures; cells once for the two rows that share them."""
    for result in sheet.results:
        shown: Sequence[str] = result.cells
        if result.seeds:
            yield shown, HERE, [figure(result, column) for column in sheet.columns]
            shown = [""] * len(result.cells)
        if result.paper:
            yield shown, PAPER, [_published(result, column) for column in sheet.columns]


def to_markdown(sheet: Sheet) -> str:
    """The table, its title above, its notes below."""
    heads = [*sheet.heads, "", *sheet.columns]
    table = [heads, ["---"] * (len(sheet.heads) + 1) + ["---:"] * len(sheet.columns)]
    table += [[*cells, whose, *figures] for cells, whose, figures in _rows(sheet)]
    rows = "\n".join(f"| {' | '.join(row)} |" for row in table)
    notes = "".join(f"\n{note}\n" for note in sheet.notes)
    return f"**Table {sheet.number}. {sheet.title}** (percent)\n\n{rows}\n{notes}"


def to_latex(sheet: Sheet) -> str:
    """The table for booktabs; the best figure found here in bold, as in the paper."""
    best = {column: _best(sheet, column) for column in sheet.columns}
    arrows = [rf"{c}$\{'downarrow' if c in LESS_IS_BETTER else 'uparrow'}$" for c in sheet.columns]
    body = []
    for cells, whose, figures in _rows(sheet):
        bold = [
            rf"\textbf{{{text}}}" if whose == HERE and text == best[column] else text
            for text, column in zip(figures, sheet.columns, strict=True)
        ]
        body.append(" & ".join(map(_escape, [*cells, whose, *bold])) + r" \\")
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{_escape(sheet.title)}. {_escape(' '.join(sheet.notes))}}}",
            rf"\label{{tab:reproduced-{sheet.number}}}",
            rf"\begin{{tabular}}{{{'l' * (len(sheet.heads) + 1)}{'r' * len(sheet.columns)}}}",
            r"\toprule",
            " & ".join([*map(_escape, sheet.heads), "", *arrows]) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _best(sheet: Sheet, column: str) -> str | None:
    """The best figure found here, as it is printed."""
    means = {
        figure(result, column): fmean(figures[column] for figures in result.seeds.values())
        for result in sheet.results
        if result.seeds and all(column in figures for figures in result.seeds.values())
    }
    if len(means) < 2:
        return None
    return (min if column in LESS_IS_BETTER else max)(means, key=means.__getitem__)


def _escape(text: str) -> str:
    for sign, written in (("&", r"\&"), ("%", r"\%"), ("_", r"\_"), ("±", r"$\pm$"), ("λ", r"$\lambda$")):
        text = text.replace(sign, written)
    return text


def to_csv(sheet: Sheet) -> str:
    """One row for each seed and one for the paper."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*sheet.heads, "whose", "seed", *sheet.columns])
    for result in sheet.results:
        for seed, figures in result.seeds.items():
            writer.writerow(
                [*result.cells, HERE, seed, *(figures.get(column, "") for column in sheet.columns)]
            )
        if result.paper:
            published = (result.paper.get(column, "") for column in sheet.columns)
            writer.writerow([*result.cells, PAPER, "", *published])
    return text.getvalue()
