"""Characters -> lines: each character points at the next of its line, and lines are what hangs together.

In: characters as the network finds them. Out: lines with box, polygon, kind, direction, confidence and their
characters' boxes, in no order yet. A link holds if it is the best of both its ends, keeps to one axis and
joins characters of like size: so each row of a double-row note is a line, and so is the main text before it.
What a page of text has beside its text (rulers, labels, seals, pictures) gives few and doubtful characters;
`drop_strays` states when they are not believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongguocr.geometry import Box, Point
from tongguocr.layout.peaks import Characters, Flags, Floats, Ints, near_pairs
from tongguocr.page import KINDS, Char, Direction, Line

# Which lines are no text; sizes are those of a page's characters.
LINE_SCORE = 0.4
"""The mean score of a line's characters is at least this."""
SHORT = 2
"""Characters of a short line, at most."""
SHORT_LINE_SCORE = 0.42
"""The mean score of a short line's characters is at least this."""
NEAR = 2.5
"""A short line farther than this from all longer ones, in the page's units, is none unless it is sure."""
SURE_SCORE = 0.6
"""The mean score from which a short line is believed wherever it stands."""
SHORT_SIZES = (0.3, 6.0)
"""A short line's characters over those of the page: within these bounds."""
BEYOND = 0.15
"""A line is cut off by the image's edge if most of its characters lie beyond it by more than this."""
FOLD_BEYOND = 0.45
"""The same of the fold, which pictures of half-leaves cut through: it is kept as what it is."""
FEWEST = 6
"""On a page with fewer characters than this, every line has to be surer: it may be no page."""
ALONE_SCORE = 0.7
"""The mean score of each line there is at least this."""


@dataclass(frozen=True, slots=True)
class Linking:
    """When two characters follow each other; lengths are in units, the longer side of a character."""

    reach: float = 0.5
    """The next character's centre is no farther than this from where it is expected."""
    skipped: float = 0.6
    """Where one character was missed, the one after it is no farther than this from twice the way."""
    goes_on: float = 0.2
    """A missed character is skipped only where the line ends before it with no more than this likelihood:
    registers are as far apart."""
    ends: float = 0.5
    """Between two characters that are more likely than this the last and the first of their lines is no
    link; each may be sure of it and wrong, so both are asked."""
    uneven: float = 1.6
    """Characters of one line differ by less than this ratio, across the line and in their longer side."""
    even: float = 1.25
    """The same ratio where a character was missed between the two."""
    aside: float = 0.35
    """The next character stands no farther to the side, in widths of the line."""
    steep: float = 0.6
    """The next character stands at no steeper slope to the line's axis."""


def link_characters(chars: Characters, linking: Linking = Linking()) -> list[Ints]:
    """The characters of each line, in their order; every character is in exactly one."""
    anywhere = np.ones(len(chars), np.bool_)
    following = _mutual(chars, chars.following, linking.reach, linking, anywhere, anywhere)
    beyond = 2 * chars.following - chars.centres
    open_end = following < 0
    led_to = np.zeros(len(chars), np.bool_)
    led_to[following[following >= 0]] = True
    strict = replace(linking, uneven=linking.even, ends=linking.goes_on)
    far = _mutual(chars, beyond, linking.skipped, strict, open_end, ~led_to)
    following = np.where(open_end, far, following)
    return chains_of(_one_axis(chars, following))


def _mutual(
    chars: Characters,
    expected: Floats,
    reach: float,
    linking: Linking,
    ends: Flags,
    starts: Flags,
) -> Ints:
    """For each of `ends` the one of `starts` that is expected there, if it is the best of both, or -1."""
    count = len(chars)
    units, best = chars.units, np.full(count, np.inf)
    last, first, ends_at = _logit(chars.last), _logit(chars.first), _logit(np.array(linking.ends))
    following = np.full(count, -1, np.int64)
    for a, b in near_pairs(expected, chars.centres, reach * float(units.max(initial=1))):
        away = np.linalg.norm(expected[a] - chars.centres[b], axis=1) / units[a]
        fits = (a != b) & ends[a] & starts[b] & (away <= reach) & (away < best[a])
        fits &= (last[a] + first[b]) / 2 <= ends_at
        a, b, away = a[fits], b[fits], away[fits]
        best[a], following[a] = away, b
    following[~_agree(chars, following, linking)] = -1
    best[following < 0] = np.inf
    order = np.argsort(-best, kind="stable")
    before = np.full(count + 1, -1, np.int64)
    before[following[order]] = order  # of several that lead to one, the nearest is written last
    linked = (following >= 0) & (before[following] == np.arange(count))
    return np.where(linked, following, -1)


def _logit(share: Floats) -> Floats:
    share = np.clip(share, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share / (1 - share)), np.float32)


def _agree(chars: Characters, following: Ints, linking: Linking) -> Flags:
    """Whether each character and its next may stand in one line."""
    a, b = np.arange(len(chars)), following
    way = np.abs(chars.centres[b] - chars.centres[a])
    upright = (way[:, 1] >= way[:, 0]).astype(np.int64)
    aside, along = way[a, 1 - upright], way[a, upright]
    across = np.stack([chars.sides[a, 1 - upright], chars.sides[b, 1 - upright]])
    units = np.stack([chars.units[a], chars.units[b]])
    even = [part.max(0) <= linking.uneven * part.min(0) for part in (across, units)]
    straight = (aside <= linking.aside * across.max(0)) & (aside <= linking.steep * along)
    return np.asarray(even[0] & even[1] & straight & (following >= 0))


def _one_axis(chars: Characters, following: Ints) -> Ints:
    """A link across a line's own axis, or back along it, is cut: where links meet, the later one."""
    way = chars.centres[following] - chars.centres
    upright = np.abs(way[:, 1]) >= np.abs(way[:, 0])
    turn = np.where(upright, 1, 2) * np.where(np.where(upright, way[:, 1], way[:, 0]) >= 0, 1, -1)
    second = following[following]
    bent = (following >= 0) & (second >= 0) & (turn[following] != turn)
    cut = following.copy()
    cut[following[bent]] = -1
    return cut


def chains_of(following: Ints) -> list[Ints]:
    """Follow the links from every character that none leads to; a ring is opened anywhere."""
    led_to = np.zeros(len(following), np.bool_)
    led_to[following[following >= 0]] = True
    seen = np.zeros(len(following), np.bool_)
    chains = []
    for start in [*np.flatnonzero(~led_to).tolist(), *range(len(following))]:
        chain, at = list[int](), int(start)
        while at >= 0 and not seen[at]:
            seen[at] = True
            chain.append(at)
            at = int(following[at])
        if chain:
            chains.append(np.array(chain, np.int64))
    return chains


def drop_strays(chars: Characters, chains: Sequence[Ints], width: float, height: float) -> list[Ints]:
    """The lines that are believed to be text, on an image of this size."""
    is_fold = chars.kinds.argmax(1) == KINDS.index("fold")
    cut = _cut_off(chars, width, height) > np.where(is_fold, FOLD_BEYOND, BEYOND)
    whole = [c for c in chains if cut[c].mean() <= 0.5]
    sure = [
        c for c in whole if chars.scores[c].mean() >= (LINE_SCORE if len(c) > SHORT else SHORT_LINE_SCORE)
    ]
    count = sum(map(len, sure))
    if not count:
        return []
    if count < FEWEST:
        return [c for c in sure if chars.scores[c].mean() >= ALONE_SCORE]
    unit = _typical(chars, sure)
    long = [c for c in sure if len(c) > SHORT]
    # Where nothing is longer than two characters (a table, a title), the short lines vouch for each other.
    boxes = np.array([_bounds(chars, c) for c in (long or sure)], np.float32)
    kept = []
    for chain in sure:
        size = float(np.median(chars.units[chain])) / unit
        fits = SHORT_SIZES[0] <= size <= SHORT_SIZES[1]
        near = _distance(np.array(_bounds(chars, chain)), boxes) <= NEAR * unit
        if len(chain) > SHORT or (fits and (near or chars.scores[chain].mean() >= SURE_SCORE)):
            kept.append(chain)
    return kept


def _cut_off(chars: Characters, width: float, height: float) -> Floats:
    """How much of each character lies beyond the image's edge, as a share of its side."""
    over = np.maximum(-chars.boxes[:, :2], chars.boxes[:, 2:] - np.array([width, height], np.float32))
    return np.asarray((over / np.maximum(chars.sides, 1e-3)).max(1, initial=0), np.float32)


def _typical(chars: Characters, chains: Sequence[Ints]) -> float:
    """The page's unit: the middle one, characters of longer lines first."""
    longer = [c for c in chains if len(c) > 1] or chains
    return max(float(np.median(chars.units[np.concatenate(longer)])), 1.0)


def _distance(box: Floats, boxes: Floats) -> float:
    """From a box to the nearest of others, 0 where they touch."""
    apart = np.maximum(np.maximum(boxes[:, :2] - box[2:], box[:2] - boxes[:, 2:]), 0)
    return float(np.linalg.norm(apart, axis=1).min())


def make_lines(chars: Characters, chains: Sequence[Ints]) -> tuple[Line, ...]:
    """Lines of these characters."""
    return tuple(_line(chars[chain], number) for number, chain in enumerate(chains, start=1))


def _line(chars: Characters, number: int) -> Line:
    direction = _direction(chars)
    upright = direction in ("top-to-bottom", "bottom-to-top")
    kind = KINDS[int(np.log(np.maximum(chars.kinds, 1e-3)).sum(0).argmax())]
    return Line(
        id=f"l{number}",
        box=_bounds(chars, np.arange(len(chars))),
        kind=kind,
        direction=direction,
        confidence=round(float(chars.scores.mean()), 4),
        polygon=_polygon(chars, upright) if len(chars) > 1 else None,
        chars=tuple(
            Char("", _rounded(box), round(float(score), 4))
            for box, score in zip(chars.boxes, chars.scores, strict=True)
        ),
    )


def _direction(chars: Characters) -> Direction:
    x, y = chars.centres[-1] - chars.centres[0]
    if abs(y) >= abs(x):
        return "top-to-bottom" if y >= 0 else "bottom-to-top"
    return "left-to-right" if x > 0 else "right-to-left"


def _bounds(chars: Characters, chain: Ints) -> Box:
    boxes = chars.boxes[chain]
    return _rounded(np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)]))


def _rounded(box: Floats) -> Box:
    x0, y0, x1, y1 = (round(float(v), 2) for v in box)
    return (x0, y0, x1, y1)


STEP = 4
"""Characters from one point of a polygon's side to the next."""


def _polygon(chars: Characters, upright: bool) -> tuple[Point, ...]:
    """A band of the line's usual thickness about its bent middle; clockwise from the top left.

    The middle is a parabola through the centres, a straight line for few characters: paper bends smoothly.
    """
    axis = 1 if upright else 0
    order = np.argsort(chars.centres[:, axis], kind="stable")
    along, across = chars.centres[order, axis].astype(np.float64), chars.centres[order, 1 - axis]
    low, high = float(chars.boxes[:, axis].min()), float(chars.boxes[:, axis + 2].max())
    half = float(np.median(chars.sides[:, 1 - axis])) / 2
    middle = np.poly1d(np.polyfit(along - low, across, 2 if len(chars) > 5 else 1))
    at = np.linspace(low, high, max(len(chars) // STEP, 1) + 1)
    first, second = middle(at - low) - half, middle(at - low) + half
    if upright:
        ring = [*zip(second, at, strict=True), *zip(first[::-1], at[::-1], strict=True)]
        ring = [ring[-1], *ring[:-1]]
    else:
        ring = [*zip(at, first, strict=True), *zip(at[::-1], second[::-1], strict=True)]
    return tuple((round(float(x), 2), round(float(y), 2)) for x, y in ring)
