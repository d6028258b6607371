"""RO-ED, the edit distance between two orders of lines: clean lines of both sides in, counts out.

`quick_order` follows OmniDocBench's quick_match and get_order_paired, which the paper cites (section 4.2):
predicted lines may be joined, leftovers are paired by force, and a predicted line that nothing wants costs
nothing. `strict_order` is our own: one line to one line, similar enough or not at all; surplus lines cost.
Neither takes empty lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.optimize import linear_sum_assignment

from tongguocr.evaluate.metrics import Order

Lines: TypeAlias = Sequence[str]
Costs: TypeAlias = NDArray[np.float64]
Run: TypeAlias = tuple[int, ...]
"""Predicted lines that follow each other, treated as one."""
Candidate: TypeAlias = tuple[Run, float]
"""The run that is closest to some reference line, and its distance from it."""

SURE = 0.25
"""Lines with a partner closer than this are never joined with their neighbours."""
PIECE = 0.6
"""How far a piece may be from the stretch of the reference line that it is joined for."""
APART = 0.7
"""A pair farther apart than this is undone."""
INSIDE = 0.4
"""A leftover reference line closer than this to a stretch of a predicted line belongs to that line."""
STRICT_APART = 0.5
"""In strict_order, lines that differ in more than half of their characters are not the same line."""
LEVELS = 1000
"""In strict_order, distances count in thousandths: two that agree in them are equal, and position decides."""


def distances(reference: Lines, predicted: Lines) -> Costs:
    """Levenshtein distance over the longer length, for all pairs."""
    matrix = cdist(reference, predicted, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    return np.asarray(matrix, dtype=np.float64)


def order_edits(expected: Sequence[int], found: Sequence[int]) -> tuple[int, int]:
    """The edit distance between two sequences of line numbers and the longer length."""
    return Levenshtein.distance(expected, found), max(len(expected), len(found))


def strict_order(reference: Lines, predicted: Lines) -> Order:
    """Every reference line has its number, a predicted line that matches none has 0: compare the two rows."""
    pairs = match_strict(reference, predicted)
    number = {j: i + 1 for i, j in pairs}
    edits, length = order_edits(
        range(1, len(reference) + 1), [number.get(j, 0) for j in range(len(predicted))]
    )
    return Order(edits, length, len(reference), len(pairs))


def match_strict(reference: Lines, predicted: Lines) -> list[tuple[int, int]]:
    """One-to-one pairs with the smallest total distance; among equals those closest in position.

    The squared difference of positions, weighed far below one thousandth of a distance, breaks ties: of two
    ways to pair repeated lines, the one in order always has the smaller sum of squares. Sums stay whole
    numbers that a float holds exactly up to about 1,700 lines a side.
    """
    if not reference or not predicted:
        return []
    apart = distances(reference, predicted)
    rows, columns = apart.shape
    squares = (np.arange(rows)[:, None] - np.arange(columns)[None, :]) ** 2
    weight = min(rows, columns) * max(rows, columns) ** 2 + 1
    alike = apart <= STRICT_APART
    costs = np.where(alike, np.rint(apart * LEVELS) * weight + squares, LEVELS * weight).astype(np.float64)
    return [(i, j) for i, j in _cheapest_pairs(costs) if alike[i, j]]


def quick_order(reference: Lines, predicted: Lines) -> Order:
    """The numbers of the matched reference lines, by the place of their partners, against 1 ... n."""
    matched = match_quick(reference, predicted)
    found = [i + 1 for group in sorted(matched, key=lambda group: group.place) for i in group.reference]
    edits, length = order_edits(range(1, len(reference) + 1), found)
    return Order(edits, length, len(reference), len(found))


@dataclass(frozen=True, slots=True)
class Group:
    """Predicted lines, the first of them at `place`, and the reference lines that they were matched to."""

    place: int
    reference: tuple[int, ...]


def match_quick(reference: Lines, predicted: Lines) -> list[Group]:
    """OmniDocBench's quick_match for plain lines. A reference line is in one group at most."""
    if not reference or not predicted:
        return []
    groups = _pair_pieces(reference, predicted)
    taken = {i for members in groups.values() for i in members}
    left = [i for i in range(len(reference)) if i not in taken]
    for j, line in enumerate(predicted):
        inside = [i for i in left if _window_distance(reference[i], line) < INSIDE]
        if inside:
            groups.setdefault((j,), []).extend(i for i in inside if i not in taken)
            taken.update(inside)
    result = [Group(key[0], tuple(sorted(members))) for key, members in groups.items()]
    used = {j for key in groups for j in key}
    left = [i for i in left if i not in taken]
    return result + _pair_leftovers(
        reference, predicted, left, [j for j in range(len(predicted)) if j not in used]
    )


def _pair_pieces(reference: Lines, predicted: Lines) -> dict[Run, list[int]]:
    """Join predicted lines where that helps, pair, undo what lies too far apart: pieces -> reference."""
    apart = distances(reference, predicted)
    pieces: list[Run] = [(j,) for j in range(len(predicted))]
    joins = _choose_joins(reference, predicted, apart)
    if any(len(join) > 1 for join in joins):
        inner = {j for join in joins for j in join[1:]}
        longer = {join[0]: join for join in joins}
        pieces = [longer.get(j, (j,)) for j in range(len(predicted)) if j not in inner]
        apart = distances(reference, [" ".join(predicted[j] for j in piece) for piece in pieces])
    return {pieces[c]: [r] for r, c in _cheapest_pairs(apart) if apart[r, c] <= APART}


def _pair_leftovers(reference: Lines, predicted: Lines, rows: list[int], columns: list[int]) -> list[Group]:
    """Reference lines still alone are paired with predicted lines still alone, however far apart."""
    if not rows or not columns:
        return []
    apart = distances([reference[i] for i in rows], [predicted[j] for j in columns])
    return [Group(columns[c], (rows[r],)) for r, c in _cheapest_pairs(apart)]


def _choose_joins(reference: Lines, predicted: Lines, apart: Costs) -> list[Run]:
    """The runs of neighbouring predicted lines to treat as one, none overlapping another."""
    fixed = [bool(closest < SURE) for closest in apart.min(axis=0)]
    free = [j for j in range(len(predicted)) if not fixed[j]]
    candidates: list[Candidate] = []
    for i in (i for i, closest in enumerate(apart.min(axis=1)) if closest >= SURE):
        runs = [_longest_run(reference[i], predicted, fixed, j) for j in free]
        costs = [_distance(reference[i], " ".join(predicted[j] for j in run)) for run in runs]
        if costs:
            best = costs.index(min(costs))
            candidates.append((runs[best], costs[best]))
    return _without_overlaps(sorted(candidates, key=lambda candidate: candidate[0][0]))


def _longest_run(target: str, predicted: Lines, fixed: list[bool], start: int) -> Run:
    """The predicted line `start` and as many of those after it as make a better match for the target."""
    stop = start + 1
    while stop < len(predicted) and not fixed[stop]:
        pieces = predicted[start : stop + 1]
        if not _joins_well(target, pieces):
            break
        stop += 1
        if len(" ".join(pieces)) > len(target):
            break
    return tuple(range(start, stop))


def _joins_well(target: str, pieces: Lines) -> bool:
    """Whether the last piece brings the joined line no farther from the target, and every piece is in it."""
    if _distance(target, " ".join(pieces)) > _distance(target, " ".join(pieces[:-1])):
        return False
    if any(_window_distance(piece, target) > PIECE for piece in pieces[:-1]):
        return False
    return _window_distance(pieces[-1], target) < PIECE


def _without_overlaps(candidates: list[Candidate]) -> list[Run]:
    """Of candidates that overlap, keep the compatible set with the smallest mean cost; sets grow greedily."""
    groups: list[list[Candidate]] = []
    for candidate in candidates:
        if groups and any(set(candidate[0]) & set(other) for other, _ in groups[-1]):
            groups[-1].append(candidate)
        else:
            groups.append([candidate])
    return [run for group in groups for run, _ in _best_path(group)]


def _best_path(group: list[Candidate]) -> list[Candidate]:
    paths: list[list[Candidate]] = [[group[0]]]
    for run, cost in group[1:]:
        placed = False
        for path in paths:
            same = [candidate for candidate in path if candidate[0] == run]
            if same:
                placed = True
                if same[0][1] > cost:
                    path.remove(same[0])
                    path.append((run, cost))
            elif not any(set(run) & set(other) for other, _ in path):
                placed = True
                path.append((run, cost))
        if not placed:
            paths.append([(run, cost)])
    return min(paths, key=lambda path: sum(cost for _, cost in path) / len(path))


def _cheapest_pairs(costs: Costs) -> list[tuple[int, int]]:
    """One-to-one pairs (row, column), by row, with the smallest total cost; scipy decides between equals.

    OmniDocBench pairs with the same solver, so that repeated lines fall out as they do there.
    """
    rows, columns = linear_sum_assignment(costs)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _distance(a: str, b: str) -> float:
    return Levenshtein.distance(a, b) / max(len(a), len(b))


def _window_distance(part: str, whole: str) -> float:
    """The smallest distance of `part` to a stretch of `whole` of its own length; infinite where none fits."""
    windows = (whole[k : k + len(part)] for k in range(len(whole) - len(part) + 1))
    return min((Levenshtein.distance(part, window) / len(part) for window in windows), default=float("inf"))
