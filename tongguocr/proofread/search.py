"""Text of a whole book: words in, places out.

A page's lines are searched as one text, in reading order, so that a phrase is found that goes on in the next
column. Graphic variants count as one if asked for (峯 and 峰); white space in the words is not looked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tongguocr.formats.txt import characters
from tongguocr.proofread.models import Hit, Hits
from tongguocr.variants import fold

CONTEXT = 12
"""Characters before and behind a hit."""


@dataclass(frozen=True)
class PageText:
    """A page's text in one piece."""

    number: int
    lines: tuple[tuple[str, str], ...]
    """Ids and texts."""

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.lines)


def search(pages: Sequence[PageText], words: str, folded: bool = False, limit: int = 200) -> Hits:
    """Where the words stand, page after page."""
    words = "".join(words.split())
    wanted = fold(words) if folded else words
    hits: list[Hit] = []
    total = 0
    for page in pages if wanted else ():
        text = page.text
        # One character is one character, folded or not, so that places stay what they are.
        for place in _places(fold(text) if folded else text, wanted):
            total += 1
            if len(hits) < limit:
                hits.append(_hit(page, text, place, len(wanted)))
    return Hits(total=total, hits=hits)


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


def _hit(page: PageText, text: str, place: int, length: int) -> Hit:
    """The hit, its places counted in characters with their marks, not in code points."""
    starts = [0, *accumulate(len(text) for _, text in page.lines)]
    line = bisect_right(starts, place) - 1
    name, line_text = page.lines[line]
    within = place - starts[line]
    context = (text[max(place - CONTEXT, 0) : place], text[place : place + length])
    after = text[place + length : place + length + CONTEXT]
    return Hit(
        page=page.number,
        line=name,
        start=len(characters(line_text[:within])),
        length=max(len(characters(context[1])), 1),
        context=(*context, after),
    )
