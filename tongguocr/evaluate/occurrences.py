"""How well the added characters are read, against all others: an alignment in, counts of occurrences out.

The paper's table of occurrences (tab:rare_char_alignment): after the alignment of the whole text, a match is
a true positive of its character; a substitution of g by p misses g and over-generates p; a deletion misses;
an insertion over-generates. Counts are pooled over all pages before P, R and F1 are taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from tongguocr.alignment import DELETION, INSERTION, MATCH
from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import harmonic_mean
from tongguocr.files import decode_utf8, read_bytes


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Occurrences of one set of characters: read, over-generated (FP) and missed (FN)."""

    hits: int = 0
    false_positives: int = 0
    misses: int = 0

    def __add__(self, other: Occurrences) -> Occurrences:
        return Occurrences(
            self.hits + other.hits,
            self.false_positives + other.false_positives,
            self.misses + other.misses,
        )

    @property
    def precision(self) -> float:
        """The share of what was read that is right; 0 where nothing was."""
        return self.hits / ((self.hits + self.false_positives) or 1)

    @property
    def recall(self) -> float:
        """The share of what there is that was read; 0 where there is nothing."""
        return self.hits / ((self.hits + self.misses) or 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return harmonic_mean(self.precision, self.recall)


def count_occurrences(
    reference: str, prediction: str, steps: str, added: Collection[str]
) -> tuple[Occurrences, Occurrences]:
    """One page's occurrences of the added characters and of all others, along their alignment."""
    hits, extra, missed = [0, 0], [0, 0], [0, 0]
    i = j = 0
    for step in steps:
        if step == MATCH:
            hits[reference[i] not in added] += 1
        else:
            if step != INSERTION:
                missed[reference[i] not in added] += 1
            if step != DELETION:
                extra[prediction[j] not in added] += 1
        i += step != INSERTION
        j += step != DELETION
    return (
        Occurrences(hits[0], extra[0], missed[0]),
        Occurrences(hits[1], extra[1], missed[1]),
    )


def pool(pages: Iterable[tuple[Occurrences, Occurrences]]) -> tuple[Occurrences, Occurrences]:
    """The occurrences of all pages together."""
    added, others = Occurrences(), Occurrences()
    for page_added, page_others in pages:
        added, others = added + page_added, others + page_others
    return added, others


def read_added(path: Path) -> frozenset[str]:
    """The added characters of a file: UTF-8, one character a line; empty lines are passed over."""
    rows = decode_utf8(read_bytes(path), path).splitlines()
    for number, row in enumerate(rows, start=1):
        if len(row.strip()) > 1:
            raise InputError(
                f"{path}: line {number} holds {row.strip()!r}, but one character a line is expected."
            )
    added = frozenset(row.strip() for row in rows if row.strip())
    if not added:
        raise InputError(f"{path}: there is no character in this file.")
    return added
