"""Characters become lines: by hand-made characters whose lines are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from detector_pages import characters, column
from hypothesis import given, settings
from hypothesis import strategies as st

from tongguocr.layout.link import Linking, drop_strays, link_characters, make_lines
from tongguocr.layout.peaks import Characters, concatenate, nothing
from tongguocr.page import KINDS

PAGE = (1000.0, 1400.0)


def shuffled(chars: Characters, seed: int = 0) -> tuple[Characters, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(chars))
    return chars[order], order


def lines_of(chars: Characters) -> list[list[int]]:
    """The lines as characters of the unshuffled page."""
    mixed, order = shuffled(chars)
    return sorted(order[chain].tolist() for chain in link_characters(mixed))


def test_columns_are_found_in_any_order() -> None:
    chars = characters([column(500, 100, 12), column(440, 100, 7), column(380, 168, 10)])
    assert lines_of(chars) == [list(range(12)), list(range(12, 19)), list(range(19, 29))]


def test_rows_of_a_note_and_the_main_text_about_it_are_lines_of_their_own() -> None:
    above, below = column(500, 100, 4, size=40, pitch=42), column(500, 480, 3, size=40, pitch=42)
    right, left = (column(x, 266, 6, size=24, pitch=28, across=19) for x in (511, 489))
    chars = characters([above, right, left, below], ["main", "note", "note", "main"])
    # Even a network that does not see where lines end: sizes and places tell.
    blind = replace(chars, last=0 * chars.last, first=0 * chars.first)
    for each in (chars, blind):
        chains = [c.tolist() for c in link_characters(each)]
        assert sorted(map(len, chains)) == [3, 4, 6, 6]
    lines = make_lines(chars, link_characters(chars))
    assert [line.kind for line in lines] == ["main", "note", "note", "main"]


def test_a_missed_character_does_not_break_its_line() -> None:
    chars = characters([column(500, 100, 9)])
    kept = chars[np.array([k for k in range(9) if k != 4])]
    assert len(link_characters(kept)) == 1
    two_missed = chars[np.array([k for k in range(9) if k not in (4, 5)])]
    assert len(link_characters(two_missed)) == 2


def test_smaller_text_two_steps_below_is_another_line() -> None:
    """Head notes above a column: the gap is that of a missed character, the size is not."""
    head, below = column(500, 100, 4, size=24, pitch=27), column(500, 100 + 5 * 27, 6, size=32, pitch=36)
    chars = characters([head, below])
    assert len(link_characters(replace(chars, last=0 * chars.last, first=0 * chars.first))) == 2
    same = characters([head, column(500, 100 + 5 * 27, 6, size=24, pitch=27)])
    assert len(link_characters(replace(same, last=0 * same.last, first=0 * same.first))) == 1


def test_a_line_that_ends_is_not_joined_to_what_stands_below() -> None:
    chars = characters([column(500, 100, 5), column(500, 270, 5)])
    assert len(link_characters(chars)) == 2
    assert len(link_characters(replace(chars, last=0 * chars.last, first=0 * chars.first))) == 1


def test_one_doubtful_end_does_not_cut_a_line() -> None:
    """One that is sure to be the last where the next is sure not to be the first, and the reverse."""
    chars = characters([column(500, 100, 9), column(440, 100, 5), column(440, 270, 5)])
    for name, at in (("last", 3), ("first", 6)):
        wrong = getattr(chars, name).copy()
        wrong[at] = 0.94
        chains = link_characters(replace(chars, **{name: wrong}))
        assert sorted(map(len, chains)) == [5, 5, 9]
    both = replace(chars, last=np.where(np.arange(19) == 3, 0.9, chars.last).astype(np.float32))
    both = replace(both, first=np.where(np.arange(19) == 4, 0.9, both.first).astype(np.float32))
    assert sorted(map(len, link_characters(both))) == [4, 5, 5, 5]


def test_of_two_that_point_at_one_the_nearer_has_it() -> None:
    chars = characters([column(500, 100, 3), column(520, 100, 1)])
    pointing = chars.following.copy()
    pointing[3] = chars.centres[1] + [4, 0]
    chars = replace(chars, following=pointing, last=0 * chars.last, first=0 * chars.first)
    assert [c.tolist() for c in link_characters(chars)] == [[0, 1, 2], [3]]


def test_a_ring_is_opened() -> None:
    chars = characters([column(500, 100, 4)])
    pointing = chars.following.copy()
    pointing[3] = chars.centres[0]
    chains = link_characters(replace(chars, following=pointing, last=0 * chars.last, first=0 * chars.first))
    assert sorted(np.concatenate(chains).tolist()) == [0, 1, 2, 3]


def test_directions_follow_the_links() -> None:
    down = column(500, 100, 4)
    across = [(y0, x0, y1, x1) for x0, y0, x1, y1 in column(500, 100, 4)]
    directions = [
        make_lines(chars, link_characters(chars))[0].direction
        for chars in (characters([line]) for line in (down, across, across[::-1]))
    ]
    assert directions == ["top-to-bottom", "left-to-right", "right-to-left"]


def test_a_slanting_column_has_a_slanting_outline() -> None:
    chars = characters([column(500, 100, 15, slant=0.07)])
    (line,) = make_lines(chars, link_characters(chars))
    assert line.polygon is not None and len(line.chars) == 15
    top = [x for x, y in line.polygon if y == min(p[1] for p in line.polygon)]
    foot = [x for x, y in line.polygon if y == max(p[1] for p in line.polygon)]
    assert np.mean(foot) - np.mean(top) == pytest.approx(0.07 * 15 * 34, abs=6)
    assert max(top) - min(top) == pytest.approx(30, abs=1), "as thick as its characters"
    # Clockwise from the top left, as seen: y runs downwards, so the signed area is positive.
    ring = np.array(line.polygon)
    x, y = ring.T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0
    assert line.polygon[0] == min(line.polygon[:2])


def test_kinds_are_those_of_most_characters() -> None:
    chars = characters([column(500, 100, 5)], ["fold"])
    kinds = chars.kinds.copy()
    kinds[2] = (0.9, 0.05, 0.03, 0.02)
    (line,) = make_lines(replace(chars, kinds=kinds), [np.arange(5)])
    assert line.kind == "fold" and line.confidence == pytest.approx(0.9)


def test_strays_are_dropped() -> None:
    text = characters([column(x, 100, 12) for x in (700, 640, 580)])
    speck = characters([column(200, 1200, 1)], score=0.55)
    faint = characters([column(520, 100, 4)], score=0.35)
    beside = characters([column(520, 100, 1)], score=0.6)
    huge = characters([column(520, 600, 1, size=300)], score=0.7)
    cut = characters([column(995, 100, 12)], score=0.9)

    def kept(*parts: Characters) -> int:
        chars = concatenate([text, *parts])
        return len(drop_strays(chars, link_characters(chars), *PAGE))

    assert kept() == 3
    assert kept(beside) == 4, "a single character near the text is text"
    for part in (speck, faint, huge, cut):
        assert kept(part) == 3
    assert kept(characters([column(200, 1200, 1)], score=0.9)) == 4, "unless it is sure"
    fold = characters([column(991, 100, 12)], kinds=["fold"])
    assert kept(fold) == 4, "the fold is cut through by pictures of half-leaves"
    assert kept(characters([column(991, 100, 12)])) == 3, "a column of text is not"


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_page_of_a_few_doubtful_characters_is_blank(count: int) -> None:
    for score, lines in ((0.6, 0), (0.9, 1)):
        chars = characters([column(500, 100, count)], score=score)
        assert len(drop_strays(chars, link_characters(chars), *PAGE)) == lines
    more = characters([column(500, 100, 6)], score=0.6)
    assert len(drop_strays(more, link_characters(more), *PAGE)) == 1
    assert drop_strays(nothing(), link_characters(nothing()), *PAGE) == []


@settings(max_examples=60)
@given(st.integers(0, 60), st.integers(0, 10**6), st.floats(5, 80))
def test_every_character_is_in_one_line(count: int, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    centre = rng.uniform(0, 400, (count, 2))
    half = rng.uniform(0.2, 1, (count, 2)) * size
    chars = Characters(
        np.concatenate([centre - half, centre + half], 1).astype(np.float32),
        rng.random(count).astype(np.float32),
        (centre + rng.normal(0, 40, (count, 2))).astype(np.float32),
        rng.random(count).astype(np.float32),
        rng.random((count, 4)).astype(np.float32),
        rng.random(count).astype(np.float32),
        rng.random((count, 4)).astype(np.float32),
    )
    chains = link_characters(chars, Linking(reach=5.0, uneven=99.0, aside=99.0, steep=99.0))
    assert sorted(k for chain in chains for k in chain.tolist()) == list(range(count))
    lines = make_lines(chars, drop_strays(chars, chains, 400, 400))
    assert all(line.kind in KINDS and line.box[0] < line.box[2] for line in lines)
