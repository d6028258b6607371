"""A second opinion: every line is read by two engines, and a proofreader is told where they differ.

In: two engines. Out: one, with the first's lines and boxes. Characters that both read alike become surer, the
others less sure, with the second's reading as their first candidate; a character that only the second read
shows in the candidate of its neighbour. The text is the first's, but for one rule that was measured: where
the first is unsure and the second is sure, the second's character is taken (docs/engines.md has the figures).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import dist

from tongguocr.alignment import DELETION, INSERTION, MATCH, align
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.geometry import centre
from tongguocr.page import Char
from tongguocr.variants import fold

# What agreement is worth: measured with tongguocr first and rapidocr second.
AGREED = 0.2
"""The part of the doubt that stays when both read the same."""
OPPOSED = 0.25
"""The part of the confidence that a sure other reading takes."""
MOST_OPPOSED = 0.75
"""No difference is surer than this, so that the table of doubts, up to 0.8, has them all."""
UNSURE, SURE = 0.6, 0.8
"""The second engine's character is taken where the first is less sure than UNSURE and it surer than SURE."""
TAKEN = 0.65
"""The confidence of a character taken from the second engine: it is right so often."""
UNKNOWN = 0.5
"""Stands for the confidence of an engine that gives none."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What both engines read in one place; None where one of them read nothing."""

    first: Char | None
    second: Char | None


@dataclass(frozen=True, slots=True)
class Place:
    """A character of the first engine and all that the second read there."""

    first: Char
    second: Char | None
    before: tuple[Char, ...] = ()
    """What the second engine alone read in front of a line's first character."""
    after: tuple[Char, ...] = ()
    """What the second engine alone read behind this character."""

    @property
    def theirs(self) -> tuple[Char, ...]:
        return (*self.before, *((self.second,) if self.second else ()), *self.after)


def second_opinion(first: Engine, second: Engine) -> Engine:
    """An engine that reads with both; characters are taken only from a second that is calibrated."""
    return SecondOpinion(first, second, takes=second.calibrated)


@dataclass(frozen=True)
class SecondOpinion(Engine):
    """The first engine, checked by the second."""

    first: Engine
    second: Engine
    takes: bool = False
    """Whether characters are taken from the second: it pays only if its confidence means something."""

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Both read all blocks; the first's readings come back, judged by the second's."""
        readings = zip(self.first.read(blocks), self.second.read(blocks), strict=True)
        return [compare_blocks(first, second, self.takes) for first, second in readings]


def compare_blocks(first: BlockReading, second: BlockReading, takes: bool = False) -> BlockReading:
    """The first reading of a block, line by line in the light of the second."""
    others = _with_surplus(first, second)
    pairs = zip(first.lines, others, strict=True)
    return replace(first, lines=tuple(compare_lines(mine, other, takes) for mine, other in pairs))


def _with_surplus(first: BlockReading, second: BlockReading) -> list[LineReading]:
    """The second's lines, each with what it read behind it beside the layout, unless the first did too."""
    known = {part.after for part in first.surplus}
    lines = list(second.lines)
    for part in second.surplus:
        if part.after in known or not lines:
            continue
        line = lines[max(part.after, 0)]
        chars = (*part.chars, *line.chars) if part.after < 0 else (*line.chars, *part.chars)
        lines[max(part.after, 0)] = replace(line, chars=chars, status="read")
    return lines


def compare_lines(first: LineReading, second: LineReading, takes: bool = False) -> LineReading:
    """One line. A second reading that went wrong says nothing; a first one is replaced by the second."""
    if second.status in ("failed", "capped"):
        return first
    if second.chars and (first.status == "failed" or not first.chars):
        alone = (_alone(char) for char in second.chars)
        return LineReading(tuple(alone), "read")
    places = find_places(pair_characters(first.chars, second.chars))
    return replace(first, chars=tuple(judge(place, takes) for place in places))


def pair_characters(first: Sequence[Char], second: Sequence[Char]) -> list[Pair]:
    """Both readings of a line side by side, in order; graphic variants count as equal here.

    Between what is equal, characters are paired in turn where both have as many, by their places elsewhere.
    """
    ours, theirs = ([fold(char.text) for char in chars] for chars in (first, second))
    pairs: list[Pair] = []
    done, i, j = (0, 0), 0, 0
    for step in align(ours, theirs):
        if step == MATCH:
            pairs += _pair_stretch(first[done[0] : i], second[done[1] : j])
            pairs.append(Pair(first[i], second[j]))
            done = (i + 1, j + 1)
        i, j = i + (step != INSERTION), j + (step != DELETION)
    return pairs + _pair_stretch(first[done[0] :], second[done[1] :])


def _pair_stretch(first: Sequence[Char], second: Sequence[Char]) -> list[Pair]:
    if len(first) == len(second):
        return list(map(Pair, first, second))
    if len(first) > len(second):
        return [Pair(pair.second, pair.first) for pair in _pair_stretch(second, first)]
    partner = dict(zip(_nearest(first, second), first, strict=True))
    return [Pair(partner.get(k), char) for k, char in enumerate(second)]


def _nearest(few: Sequence[Char], many: Sequence[Char]) -> list[int]:
    """For each of the few a number among the many, rising, so that their places are nearest in all."""
    best: list[tuple[float, list[int]]] = [(0.0, [])] * (len(many) + 1)
    for n, char in enumerate(few):
        row: list[tuple[float, list[int]]] = [(float("inf"), [])] * (len(many) + 1)
        for k in range(n, len(many)):
            cost, path = best[k]
            here = (cost + dist(centre(char.box), centre(many[k].box)), [*path, k])
            row[k + 1] = min(row[k], here, key=lambda way: way[0])
        best = row
    return best[-1][1]


def find_places(pairs: Sequence[Pair]) -> Iterator[Place]:
    """A place for each character of the first; what it did not read goes to the one before it."""
    known = [k for k, pair in enumerate(pairs) if pair.first is not None]
    for n, (k, stop) in enumerate(pairwise([*known, len(pairs)])):
        first, second = pairs[k].first, pairs[k].second
        assert first is not None
        before = tuple(pair.second for pair in pairs[:k] if pair.second) if n == 0 else ()
        after = tuple(pair.second for pair in pairs[k + 1 : stop] if pair.second)
        yield Place(first, second, before, after)


def judge(place: Place, takes: bool = False) -> Char:
    """The first's character or, by the rule, the second's, with its confidence and its candidates."""
    mine = _sure(place.first)
    if takes and _is_taken(place, mine):
        assert place.second is not None
        text, confidence = place.second.text, TAKEN
    else:
        text, confidence = place.first.text, _confidence(place, mine)
    theirs = min((_sure(char) for char in place.theirs), default=0.0)
    others = [("".join(char.text for char in place.theirs), round((1 - confidence) * theirs, 4))]
    if text != place.first.text:
        others.append((place.first.text, round((1 - confidence) * mine, 4)))
    candidates: dict[str, float] = {}
    for reading, sure in (*others, *place.first.candidates):
        if reading not in ("", text):
            candidates.setdefault(reading, sure)
    listed = tuple(candidates.items())
    return replace(place.first, text=text, confidence=round(confidence, 4), candidates=listed)


def _is_taken(place: Place, mine: float) -> bool:
    """Whether the second's character stands in the first's stead; its own shape of a character never does."""
    other = place.second
    if other is None or fold(other.text) == fold(place.first.text):
        return False
    # An engine that does not say how sure it is is not unsure.
    return place.first.confidence is not None and mine < UNSURE and _sure(other) > SURE


def _confidence(place: Place, mine: float) -> float:
    """How sure the first's character is, now that the second was heard."""
    other = place.second
    if other is not None and fold(other.text) == fold(place.first.text):
        confidence = 1 - AGREED * (1 - mine)
        plain = other.text == place.first.text and not place.before and not place.after
        return confidence if plain else min(confidence, MOST_OPPOSED)
    against = UNKNOWN if other is None else _sure(other)
    return min(mine * (1 - OPPOSED * against), MOST_OPPOSED)


def _alone(char: Char) -> Char:
    """A character of a line that the first engine could not read."""
    return replace(char, confidence=round(TAKEN * _sure(char), 4))


def _sure(char: Char) -> float:
    return UNKNOWN if char.confidence is None else char.confidence
