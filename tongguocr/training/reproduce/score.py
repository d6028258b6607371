"""Kept text -> the figures of a row: eight metrics, and the occurrences of added characters (table 8).

Figures are means over all pages of the test. A page of which nothing was read is an empty prediction, which
costs every character; one whose reference cannot be read has the worst figure of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tongguocr.evaluate.metrics import METRICS
from tongguocr.evaluate.occurrences import Occurrences, pool
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.training.reproduce.reading import kept, kept_text
from tongguocr.training.reproduce.scored_pages import ScoredPage
from tongguocr.training.reproduce.tables import OCCURRENCES

DISTANCES = ("NED", "RO-ED")
"""Figures of which less is better: a lost page has 1, and 0 of the others."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The figures of one row and seed."""

    figures: dict[str, float]
    """Percent, and the numbers of occurrences."""
    pages: int
    lost: int
    """Pages among them of which there is no text."""


def score(pages: Sequence[ScoredPage], folder: Path, protocol: str, added: Sequence[str]) -> Scored:
    """The figures of what lies in a folder; with added characters, those of table 8, too."""
    rules, characters = PROTOCOLS[protocol], frozenset(added) or None
    sums = dict.fromkeys(METRICS, 0.0)
    occurrences: list[tuple[Occurrences, Occurrences]] = []
    lost = 0
    for page in pages:
        if page.reference is None:
            found = {name: float(name in DISTANCES) for name in METRICS}
        else:
            reference = [line.text for line in page.reference.lines]
            scored = score_lines(kept_text(folder, page), reference, rules, added=characters)
            found = scored.figures
            if scored.occurrences is not None:
                occurrences.append(scored.occurrences)
        lost += not kept(folder, page).exists()
        sums = {name: sums[name] + found[name] for name in METRICS}
    figures = {name: 100 * value / len(pages) for name, value in sums.items()}
    if occurrences:
        figures |= _occurrence_figures(*pool(occurrences))
    return Scored({name: round(value, 4) for name, value in figures.items()}, len(pages), lost)


def _occurrence_figures(added: Occurrences, other: Occurrences) -> dict[str, float]:
    figures: dict[str, float] = {}
    for group, counts in (("added", added), ("other", other)):
        shares = {"P": counts.precision, "R": counts.recall, "F1": counts.f1}
        figures |= {f"{group} {name}": 100 * value for name, value in shares.items()}
        figures |= {f"{group} FP": counts.false_positives, f"{group} FN": counts.misses}
    return {name: figures[name] for name in OCCURRENCES}
