"""AR, CR, NED, P, R, F1, BLEU and RO-ED: the counts of one page in, the figures out (section 4.2).

Everything is counted first (Tally) and divided after, by the same formulas for one page and for the sum of
many: a page's tally gives its own figures, the sum of all tallies the micro figures of the `strict` protocol.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from operator import add
from typing import Any

from tongguocr.alignment import DELETION, INSERTION, SUBSTITUTION

METRICS = ("AR", "CR", "NED", "F1", "P", "R", "BLEU", "RO-ED")
"""In the order of the paper's tables; fractions in here, percent where they are printed."""

LARGEST_GRAM = 4
UNSEEN_GRAM = 0.1
"""Smoothing method 1 of Chen and Cherry: an order without any common n-gram counts as a tenth of one."""

TOO_LONG = 1.2
"""A prediction longer than this many times its reference counts as a long page."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the comparison of two sequences of lines counted."""

    edits: int = 0
    length: int = 0
    """The longer of the two sequences of line numbers."""
    lines: int = 0
    """Lines of the reference."""
    found: int = 0
    """Those of them that some predicted line was matched to."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one page, or of many pages added up."""

    pages: int = 0
    reference: int = 0
    """Characters of the reference, the paper's N."""
    prediction: int = 0
    longer: int = 0
    """Characters of the longer of the two texts."""
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0
    inventory_common: int = 0
    inventory_reference: int = 0
    inventory_prediction: int = 0
    grams_common: tuple[int, ...] = (0,) * LARGEST_GRAM
    """Character n-grams of the prediction that the reference has too, for n = 1 to 4."""
    grams_prediction: tuple[int, ...] = (0,) * LARGEST_GRAM
    order_edits: int = 0
    order_length: int = 0
    lines: int = 0
    lines_found: int = 0
    long_pages: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{f.name: _plus(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)})


def _plus(a: Any, b: Any) -> Any:
    """Two counts, or two tuples of counts, added."""
    return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b


def count(reference: str, prediction: str, steps: str, order: Order, *, multiset: bool) -> Tally:
    """One page's tally: of its two clean texts, their alignment and the comparison of their lines."""
    ours, theirs = (list(text if multiset else set(text)) for text in (prediction, reference))
    grams = list(zip(_grams(prediction), _grams(reference), strict=True))
    return Tally(
        pages=1,
        reference=len(reference),
        prediction=len(prediction),
        longer=max(len(reference), len(prediction)),
        substitutions=steps.count(SUBSTITUTION),
        deletions=steps.count(DELETION),
        insertions=steps.count(INSERTION),
        inventory_common=_in_common(ours, theirs),
        inventory_reference=len(theirs),
        inventory_prediction=len(ours),
        grams_common=tuple(_in_common(mine, wanted) for mine, wanted in grams),
        grams_prediction=tuple(len(mine) for mine, _ in grams),
        order_edits=order.edits,
        order_length=order.length,
        lines=order.lines,
        lines_found=order.found,
        long_pages=int(len(prediction) > TOO_LONG * len(reference)),
    )


def _grams(text: str) -> Iterator[list[str]]:
    """The characters of the text, then its pairs, its triples and its fours."""
    grams = list(text)
    yield grams
    for n in range(1, LARGEST_GRAM):
        grams = list(map(add, grams, text[n:]))
        yield grams


def _in_common(ours: list[str], theirs: list[str]) -> int:
    """How many of ours are in theirs too, each at most as often as there."""
    mine, wanted = Counter(ours), Counter(theirs)
    common = mine.keys() & wanted.keys()
    return sum(map(min, map(mine.__getitem__, common), map(wanted.__getitem__, common)))


def figures(tally: Tally, *, blank_is_right: bool) -> dict[str, float]:
    """The eight metrics as fractions.

    A reference without characters cannot be divided by. In the public protocols such a page scores 0; with
    `blank_is_right` (strict) an empty prediction for it is perfect and any other worthless.
    """
    order = _share(tally.order_edits, tally.order_length)
    if tally.reference == 0:
        blank = tally.prediction == 0
        right = float(blank and blank_is_right)
        return {**dict.fromkeys(METRICS, right), "NED": float(not blank), "RO-ED": order}
    errors = tally.substitutions + tally.deletions
    precision = _share(tally.inventory_common, tally.inventory_prediction)
    recall = _share(tally.inventory_common, tally.inventory_reference)
    return {
        "AR": 1 - (errors + tally.insertions) / tally.reference,
        "CR": 1 - errors / tally.reference,
        "NED": (errors + tally.insertions) / tally.longer,
        "F1": harmonic_mean(precision, recall),
        "P": precision,
        "R": recall,
        "BLEU": bleu(tally),
        "RO-ED": order,
    }


def extra_figures(tally: Tally) -> dict[str, float]:
    """What `strict` reports besides: fractions under the keys of its JSON."""
    blank_cost = float(tally.insertions > 0)
    return {
        "over_generation": _share(tally.insertions, tally.reference, otherwise=blank_cost),
        "long_pages": _share(tally.long_pages, tally.pages),
        "lines_found": _share(tally.lines_found, tally.lines, otherwise=1.0),
    }


def bleu(tally: Tally) -> float:
    """Character BLEU of order 4 with smoothing method 1; 0 where not even one character is common."""
    if tally.grams_common[0] == 0:
        return 0.0
    shares = [
        (common or UNSEEN_GRAM) / max(total, 1)
        for common, total in zip(tally.grams_common, tally.grams_prediction, strict=True)
    ]
    brevity = min(0.0, 1 - tally.reference / tally.prediction)
    return math.exp(brevity + math.fsum(math.log(share) for share in shares) / LARGEST_GRAM)


def harmonic_mean(a: float, b: float) -> float:
    """F1 of precision and recall; 0 where both are."""
    return 2 * a * b / (a + b) if a + b else 0.0


def _share(part: int, whole: int, otherwise: float = 0.0) -> float:
    return part / whole if whole else otherwise
