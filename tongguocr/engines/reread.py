"""Rereading: lines in which the engine was unsure of a character are read again, alone and larger.

In: an engine, and the same engine that sees its pictures at another scale. Out: an engine whose characters
are those that both readings together find likeliest: the candidates' probabilities of the two are averaged,
so that a character wins that both hold possible. A line alone and in another size falls on other features,
and the mistakes are others. Which characters a line has is settled by the first reading: none is added or
lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.engines.guard import Guarded, take_lines
from tongguocr.engines.second_opinion import Pair, pair_characters
from tongguocr.page import Char

if TYPE_CHECKING:
    from tongguocr.engines.tongguocr import OnnxEngine, OnnxSettings

UNSURE = 0.5
"""A line is read again if one of its characters is less sure."""
LARGER = 46.0
"""Pixels of a character's height when it is read again."""
MOST_CANDIDATES = 4


@dataclass(frozen=True)
class Rereading(Engine):
    """An engine that reads twice where it is unsure."""

    engine: Engine
    again: Engine
    """The same at another scale."""
    unsure: float = UNSURE

    @property
    def calibrated(self) -> bool:
        """As the engine itself."""
        return self.engine.calibrated

    @property
    def least_confidence(self) -> float | None:
        return self.engine.least_confidence

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Read all blocks, then all doubtful lines of all blocks together."""
        readings = self.engine.read(blocks)
        places = [
            (k, n)
            for k, reading in enumerate(readings)
            for n, line in enumerate(reading.lines)
            if is_doubtful(line, self.unsure)
        ]
        others = self.again.read([take_lines(blocks[k], n, n + 1) for k, n in places])
        for (k, n), other in zip(places, others, strict=True):
            lines = readings[k].lines
            both = combine(lines[n], other.lines[0])
            readings[k] = replace(readings[k], lines=(*lines[:n], both, *lines[n + 1 :]))
        return readings


def read_twice(engine: OnnxEngine) -> Rereading:
    """Our own engine with its guard, and with itself at a larger scale."""
    settings = engine.settings
    again = engine.with_settings(larger(settings))
    return Rereading(Guarded(engine, settings.limits), Guarded(again, settings.limits))


def larger(settings: OnnxSettings) -> OnnxSettings:
    """The settings of an engine that sees its pictures as rereading wants them."""
    usual = settings.scaling
    most = usual.most * LARGER / usual.character
    return replace(settings, scaling=replace(usual, character=LARGER, most=most))


def is_doubtful(line: LineReading, unsure: float = UNSURE) -> bool:
    """Whether a line has a character that the engine was not sure of; what failed was read often enough."""
    return line.status == "read" and any((char.confidence or 0.0) < unsure for char in line.chars)


def combine(first: LineReading, second: LineReading) -> LineReading:
    """The first reading of a line, each character judged by both; a second one that failed says nothing."""
    if second.status != "read":
        return first
    pairs = pair_characters(first.chars, second.chars)
    return replace(first, chars=tuple(_judge(pair) for pair in pairs if pair.first is not None))


def _judge(pair: Pair) -> Char:
    """The character that both readings together find likeliest; one that only the first has stays."""
    char, other = pair.first, pair.second
    assert char is not None
    if other is None:
        return char
    shares: dict[str, float] = {}
    for read in (char, other):
        for text, share in ((read.text, read.confidence or 0.0), *read.candidates):
            shares[text] = shares.get(text, 0.0) + share / 2
    ordered = sorted(shares.items(), key=lambda entry: -entry[1])
    text, confidence = ordered[0]
    others = tuple((other, round(share, 4)) for other, share in ordered[1 : MOST_CANDIDATES + 1])
    return replace(char, text=text, confidence=round(min(confidence, 1.0), 4), candidates=others)
