"""The four protocols: two pages' lines in, one page's counts and figures out. Section 4.2; docs/metrics.md.

`paper` is the paper's, `mcs` MCS-Bench's public code, `omnidoc` OmniDocBench's cleaning and order, `strict`
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tongguocr.alignment import align
from tongguocr.evaluate.metrics import Order, Tally, count, extra_figures, figures
from tongguocr.evaluate.normalise import clean_strict, clean_string, clean_words, simplifier
from tongguocr.evaluate.occurrences import Occurrences, count_occurrences
from tongguocr.evaluate.order import quick_order, strict_order
from tongguocr.variants import fold


@dataclass(frozen=True, slots=True)
class Protocol:
    """How texts are cleaned, counted and divided."""

    name: str
    clean: Callable[[str], str]
    """One line of a page to what is scored of it."""
    order: Callable[[Sequence[str], Sequence[str]], Order] = quick_order
    simplify: bool = False
    """Whether the whole text, not the lines for RO-ED, is converted to simplified characters."""
    multiset: bool = False
    """Whether P, R and F1 count every occurrence, instead of distinct characters."""
    blank_is_right: bool = False
    """Whether an empty prediction for an empty reference is perfect, instead of 0."""
    extras: bool = False
    """Whether micro figures, over-generation and lines found are reported too."""

    def lines(self, lines: Sequence[str]) -> list[str]:
        """The clean lines, without those of which nothing is left."""
        return [clean for line in lines if (clean := self.clean(line))]

    def text(self, clean_lines: Sequence[str]) -> str:
        """The text of the page that is scored, without line breaks."""
        text = "".join(clean_lines)
        return _simplify()(text) if self.simplify else text


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("paper", clean_words),
        Protocol("mcs", clean_words, simplify=True),
        Protocol("omnidoc", clean_string),
        Protocol("strict", clean_strict, strict_order, multiset=True, blank_is_right=True, extras=True),
    )
}


@dataclass(frozen=True, slots=True)
class PageScore:
    """What one page contributes: its counts, its figures as fractions, its occurrences if asked for."""

    tally: Tally
    figures: dict[str, float]
    occurrences: tuple[Occurrences, Occurrences] | None = None


def score_lines(
    predicted: Sequence[str],
    reference: Sequence[str],
    protocol: Protocol,
    *,
    added: frozenset[str] | None = None,
    folded: bool = False,
) -> PageScore:
    """Score one page: the lines of both sides in reading order, as they were read."""
    if folded:
        predicted, reference = [fold(line) for line in predicted], [fold(line) for line in reference]
    wanted_lines, found_lines = protocol.lines(reference), protocol.lines(predicted)
    wanted, found = protocol.text(wanted_lines), protocol.text(found_lines)
    steps = align(wanted, found)
    order = protocol.order(wanted_lines, found_lines)
    tally = count(wanted, found, steps, order, multiset=protocol.multiset)
    result = figures(tally, blank_is_right=protocol.blank_is_right)
    if protocol.extras:
        result |= extra_figures(tally)
    if added is None:
        return PageScore(tally, result)
    characters = _as_scored(protocol, added, folded)
    return PageScore(tally, result, count_occurrences(wanted, found, steps, characters))


@cache
def _as_scored(protocol: Protocol, added: frozenset[str], folded: bool) -> frozenset[str]:
    """The added characters after all that is done to the texts: folded, cleaned, and simplified in mcs."""
    lines = (protocol.lines([fold(char) if folded else char]) for char in added)
    return frozenset("".join(map(protocol.text, lines)))


@cache
def _simplify() -> Callable[[str], str]:
    return simplifier()


def check_installed(protocol: Protocol) -> None:
    """Raise MissingExtraError now, not in the middle of the work, where the protocol's package is missing."""
    if protocol.simplify:
        _simplify()
