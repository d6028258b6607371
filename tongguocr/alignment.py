"""The character alignment that S, D and I are counted on: two texts in, one letter an edit step out.

Several alignments may have the same, smallest, number of edits, and CR depends on which one is taken. This
module takes MCS-Bench's: walking back from the end of both texts, a match is taken where there is one, else a
substitution, else a deletion, else an insertion, each only where it lies on a shortest path. Section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence

MATCH, SUBSTITUTION, DELETION, INSERTION = "=", "S", "D", "I"

LARGEST_TABLE = 400_000_000
"""Cells of the alignment table, a pair of bits each: 100 MB, texts of 20,000 characters."""


def align(reference: Sequence[str], prediction: Sequence[str]) -> str:
    """The edits that turn the reference into the prediction, in reading order, one letter of `=SDI` each.

    A pair of texts too large for the table (LARGEST_TABLE) gets rapidfuzz's alignment instead: as short, with
    its own choice among equals, so AR and NED are exact and CR may differ a little from the stated order.
    """
    if len(reference) * len(prediction) > LARGEST_TABLE:
        return _align_huge(reference, prediction)
    rises, stays = _columns(reference, prediction)
    return _walk_back(reference, prediction, rises, stays)


def _columns(reference: Sequence[str], prediction: Sequence[str]) -> tuple[list[int], list[int]]:
    """Myers' bit-parallel edit distance in Hyyrö's form; bit i is the reference's character i.

    For every column (character of the prediction): where the distance rises by one from the row above, and
    where it equals the one diagonally above. With these two the whole table can be walked back.
    """
    mask = (1 << len(reference)) - 1
    places: dict[str, int] = {}
    for i, char in enumerate(reference):
        places[char] = places.get(char, 0) | (1 << i)
    up, down = mask, 0  # the vertical differences of +1 and -1 in the column before
    rises, stays = [], []
    for char in prediction:
        equal = places.get(char, 0)
        diagonal = ((((equal & up) + up) ^ up) | equal | down) & mask
        right = ((down | (mask ^ (diagonal | up))) << 1) | 1
        left = (diagonal & up) << 1
        up = (left | ~(diagonal | right)) & mask
        down = right & diagonal
        rises.append(up)
        stays.append(diagonal)
    return rises, stays


def _walk_back(
    reference: Sequence[str], prediction: Sequence[str], rises: list[int], stays: list[int]
) -> str:
    i, j = len(reference) - 1, len(prediction) - 1
    steps: list[str] = []
    while i >= 0 and j >= 0:
        if reference[i] == prediction[j]:
            steps.append(MATCH)
        elif not stays[j] >> i & 1:
            steps.append(SUBSTITUTION)
        elif rises[j] >> i & 1:
            steps.append(DELETION)
            i -= 1
            continue
        else:
            steps.append(INSERTION)
            j -= 1
            continue
        i, j = i - 1, j - 1
    steps.append(DELETION * (i + 1) + INSERTION * (j + 1))
    return "".join(reversed(steps))


def _align_huge(reference: Sequence[str], prediction: Sequence[str]) -> str:
    letters = {"replace": SUBSTITUTION, "delete": DELETION, "insert": INSERTION}
    steps: list[str] = []
    at = 0
    from rapidfuzz.distance import Levenshtein  # training scores blocks where it is not installed

    for edit in Levenshtein.editops(reference, prediction):
        steps.append(MATCH * (edit.src_pos - at) + letters[edit.tag])
        at = edit.src_pos + (edit.tag != "insert")
    return "".join(steps) + MATCH * (len(reference) - at)
