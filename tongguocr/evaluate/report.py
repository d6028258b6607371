"""Figures of all pages: page scores in, one summary out, which is the JSON of `tongguocr eval`.

Figures are percent, as the paper prints them: the mean over pages, each page counting the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from tongguocr.evaluate.occurrences import Occurrences, pool
from tongguocr.evaluate.protocols import PageScore, Protocol
from tongguocr.evaluate.text import Tally, extra_figures, figures

DECIMALS = 4
"""Enough for any comparison; tables show two, as the paper's."""

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
