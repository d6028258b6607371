"""Reading order: composed pages of every kind, shaken and shuffled; and what holds for any boxes at all."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT

from bench.order import (
    as_found,
    composed,
    composition,
    drawn_rules,
    kind_accuracy,
    order_error,
    plain_order,
    shaken,
)
from tongguocr.geometry import Box
from tongguocr.layout import WritingMode, order_lines
from tongguocr.layout.frame import Rule
from tongguocr.page import KINDS as LINE_KINDS
from tongguocr.page import Line, Page
from tongguocr.training.synth.composition import to_page
from tongguocr.training.synth.kinds import BENCHMARK_KINDS, SECOND_BENCHMARK_KINDS

PAGES = 10


def page_of(*boxes: Box) -> Page:
    """Lines whose ids are their places in the order that is right."""
    return Page("", 0, 0, tuple(Line(f"{k:02}", box) for k, box in enumerate(boxes)))


def ids(page: Page) -> list[str]:
    return [line.id for line in page.lines]


def assert_order(page: Page, direction: WritingMode | None = None) -> Page:
    """The lines come out by their ids, whichever order they went in."""
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(len(page.lines))
        found = order_lines(replace(page, lines=tuple(page.lines[k] for k in shuffled)), direction)
        assert ids(found) == sorted(ids(page))
    return found


@pytest.mark.parametrize(
    ("jitter", "degrees", "polygons"),
    [(0.0, 0.0, False), (3.0, 0.0, False), (0.0, 2.0, False), (3.0, -2.0, False), (2.0, 3.0, True)],
)
def test_composed_pages_of_every_kind(jitter: float, degrees: float, polygons: bool) -> None:
    errors, right, peer = {}, {}, {}
    for kind in BENCHMARK_KINDS:
        truths = [composed(kind, seed) for seed in range(PAGES)]
        pages = [shaken(t, np.random.default_rng(k), jitter, degrees, polygons) for k, t in enumerate(truths)]
        found = [order_lines(page) for page in pages]
        errors[kind] = np.mean([order_error(t, f) for t, f in zip(truths, found, strict=True)])
        right[kind] = np.mean([kind_accuracy(t, f) for t, f in zip(truths, found, strict=True)])
        peer[kind] = np.mean([order_error(t, plain_order(p)) for t, p in zip(truths, pages, strict=True)])
    assert np.mean(list(errors.values())) <= 0.02, errors
    assert np.mean(list(right.values())) >= 0.97, right
    # Few lines without polygons may not betray their slant: one such page in ten weighs heavily here.
    assert max(errors.values()) <= (0.1 if degrees and not polygons else 0.05), errors
    assert np.mean(list(peer.values())) > 0.3, "the pages are not easy"


@pytest.mark.parametrize(("jitter", "degrees"), [(0.0, 0.0), (2.0, -2.5)])
@pytest.mark.parametrize("kind", SECOND_BENCHMARK_KINDS)
def test_reprints_verse_glosses_and_cut_leaves_as_they_are_found(
    kind: str, jitter: float, degrees: float
) -> None:
    errors, plain = [], []
    for seed in range(PAGES):
        drawn = composition(kind, seed)
        truth = to_page(drawn)
        page = shaken(truth, np.random.default_rng(seed), jitter, degrees, polygons=True)
        found = order_lines(as_found(truth, page), keep_kinds=True, rules=drawn_rules(drawn, degrees))
        errors.append(order_error(truth, found))
        plain.append(order_error(truth, plain_order(page)))
        assert kind_accuracy(truth, found) == 1.0
    assert np.mean(errors) <= 0.005, errors
    assert np.mean(plain) > 0.05, "the pages are not easy"


def test_registers_then_columns_then_a_note_in_its_column() -> None:
    upper = [(900.0 - 60 * k, 100.0, 940.0 - 60 * k, 500.0) for k in range(6)]
    lower: list[Box] = [
        (900, 560, 940, 700),
        (921, 705, 939, 800),
        (901, 705, 919, 780),
        (900, 810, 940, 960),
        *((840.0 - 60 * k, 560.0, 880.0 - 60 * k, 960.0) for k in range(5)),
    ]
    found = assert_order(page_of(*upper, *lower))
    assert [k for k, line in enumerate(found.lines) if line.kind == "note"] == [7, 8]


def test_a_spread_of_two_registers_is_read_leaf_by_leaf() -> None:
    boxes: list[Box] = [
        (x0 - 60 * k, y, x0 - 60 * k + 40, y + 400.0)
        for x0 in (1500.0, 800.0)
        for y in (100.0, 560.0)
        for k in range(8)
    ]
    assert_order(page_of(*boxes))


def test_fold_text_alone_in_the_gutter_comes_last() -> None:
    leaves: list[Box] = [
        (x0 - 60 * k, 100, x0 - 60 * k + 40, 1100) for x0 in (1500.0, 800.0) for k in range(8)
    ]
    found = assert_order(page_of(*leaves, (945, 250, 985, 600)))
    assert found.lines[-1].kind == "fold"
    assert {line.kind for line in found.lines[:-1]} == {"main"}


def test_short_and_indented_columns_make_no_registers() -> None:
    boxes: list[Box] = [
        (900, 100, 940, 1000),
        (840, 100, 880, 300),
        (780, 420, 820, 500),
        (780, 560, 820, 1000),
        (720, 60, 760, 1000),
        (660, 180, 700, 260),
    ]
    assert_order(page_of(*boxes))


def test_head_notes_follow_and_a_lying_heading_leads() -> None:
    columns: list[Box] = [(900 - 60 * k, 400, 940 - 60 * k, 1400) for k in range(8)]
    small: list[Box] = [(800 - 30 * k, 150, 822 - 30 * k, 330) for k in range(4)]
    found = assert_order(page_of(*columns, *small))
    assert [line.kind for line in found.lines] == ["main"] * 8 + ["margin"] * 4
    found = assert_order(page_of((560, 250, 860, 330), *columns))
    assert {line.kind for line in found.lines} == {"main"}


def test_directions() -> None:
    left_first: list[Box] = [(60.0 * k, 0, 60 * k + 40, 900) for k in range(6)]
    assert_order(page_of(*left_first), "vertical-lr")
    assert_order(page_of(*reversed(left_first)))
    rows: list[Box] = [(0, 60.0 * k, 900, 60.0 * k + 40) for k in range(6)]
    assert_order(page_of(*rows))
    assert_order(page_of((0, 0, 40, 40), (60, 0, 100, 40), (0, 60, 40, 100)), "horizontal")
    assert_order(page_of((60, 0, 100, 40), (0, 0, 40, 40)), "vertical-rl")


def test_known_kinds_are_kept_and_obeyed() -> None:
    truth = composed("spread", 3)
    rng = np.random.default_rng(0)
    shuffled = replace(truth, lines=tuple(truth.lines[k] for k in rng.permutation(len(truth.lines))))
    assert order_lines(shuffled, keep_kinds=True).lines == truth.lines
    odd = replace(page_of((0, 0, 40, 400), (60, 0, 100, 400)))
    odd = replace(odd, lines=(odd.lines[0], replace(odd.lines[1], kind="margin")))
    assert [line.kind for line in order_lines(odd, keep_kinds=True).lines] == ["main", "margin"]
    assert ids(order_lines(odd)) == ["01", "00"]


def test_nothing_but_known_notes_is_no_band() -> None:
    """Notes at the foot of two columns: by their places they are a register of their own."""
    main = [(x, 0, x + 40, 300) for x in (300, 240, 180, 120, 60, 0)]
    rows = [(x, 325, x + 18, 500) for x in (322, 300, 22, 0)]
    page = page_of(*main, *rows)
    kinds = ["main"] * len(main) + ["note"] * len(rows)
    page = replace(page, lines=tuple(replace(x, kind=k) for x, k in zip(page.lines, kinds, strict=True)))
    order = ids(order_lines(page, keep_kinds=True))
    assert order == ["00", "06", "07", "01", "02", "03", "04", "05", "08", "09"]


def test_only_order_and_kind_change() -> None:
    truth = composed("head-notes", 1)
    found = {line.id: line for line in order_lines(truth).lines}
    assert all(replace(found[line.id], kind=line.kind) == line for line in truth.lines)


numbers = st.integers(-300, 900)
sizes = st.sampled_from([0, 1, 7, 20, 21, 40, 200, 600])
wild = st.lists(
    st.tuples(numbers, numbers, sizes, sizes).map(lambda v: (v[0], v[1], v[0] + v[2], v[1] + v[3])),
    max_size=30,
)


any_rules = st.none() | st.lists(
    st.tuples(st.tuples(numbers, numbers), st.tuples(numbers, numbers))
    | st.tuples(numbers, numbers, sizes).map(lambda v: ((v[0], v[1]), (v[0] + 3 * v[2], v[1])))
    | st.tuples(numbers, numbers, sizes).map(lambda v: ((v[0], v[1]), (v[0], v[1] + 3 * v[2]))),
    max_size=12,
)


@settings(max_examples=150)
@given(
    wild,
    st.sampled_from([None, "vertical-rl", "vertical-lr", "horizontal"]),
    st.booleans(),
    st.booleans(),
    any_rules,
    st.randoms(use_true_random=False),
)
def test_any_boxes_and_rules_give_each_line_once_and_input_order_never_matters(
    boxes: list[tuple[int, int, int, int]],
    direction: WritingMode | None,
    polygons: bool,
    keep_kinds: bool,
    rules: list[Rule] | None,
    random: Random,
) -> None:
    page = page_of(*((float(a), float(b), float(c), float(d)) for a, b, c, d in boxes))
    if polygons:
        lines = tuple(
            replace(
                line,
                polygon=tuple((line.box[i], line.box[j]) for i, j in ((0, 1), (2, 1), (2, 3), (0, 3))),
            )
            for line in page.lines
        )
        page = replace(page, lines=lines)
    said = tuple(replace(line, kind=LINE_KINDS[k % 4]) for k, line in enumerate(page.lines))
    page = replace(page, lines=said)
    found = order_lines(page, direction, keep_kinds, rules)
    assert sorted(ids(found)) == ids(page)
    assert all(line.kind in LINE_KINDS for line in found.lines)
    lines_anew = list(page.lines)
    random.shuffle(lines_anew)
    assert order_lines(replace(page, lines=tuple(lines_anew)), direction, keep_kinds, rules) == found


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(BENCHMARK_KINDS + SECOND_BENCHMARK_KINDS)),
    st.integers(0, 50),
    st.integers(-3000, 3000),
    st.integers(-3000, 3000),
    st.sampled_from([0.25, 0.5, 2.0, 8.0]),
)
def test_place_and_scale_never_matter(kind: str, seed: int, dx: int, dy: int, factor: float) -> None:
    drawn = composition(kind, seed)
    page, rules = shaken(to_page(drawn), np.random.default_rng(seed), 2.0), drawn_rules(drawn)
    moved = tuple(
        replace(line, box=tuple(factor * (v + d) for v, d in zip(line.box, (dx, dy, dx, dy), strict=True)))
        for line in page.lines
    )
    far = [tuple((factor * (x + dx), factor * (y + dy)) for x, y in rule) for rule in rules]
    other = replace(page, lines=moved)
    alone = order_lines(page), order_lines(other)
    ruled = order_lines(page, rules=rules), order_lines(other, rules=far)
    for one, two in (alone, ruled):
        assert [(line.id, line.kind) for line in one.lines] == [(line.id, line.kind) for line in two.lines]


def test_empty_single_and_equal_boxes() -> None:
    assert order_lines(page_of()).lines == ()
    assert order_lines(page_of((5, 5, 5, 5))) == page_of((5, 5, 5, 5))
    assert ids(order_lines(page_of(*[(3, 3, 9, 90)] * 4))) == ["00", "01", "02", "03"]


@pytest.mark.parametrize("notes", [False, True])
def test_two_thousand_lines_in_time(notes: bool) -> None:
    boxes: list[Box] = [
        (
            50.0 * (k % 100),
            100.0 * (k // 100),
            50.0 * (k % 100) + (22 if notes and k % 3 else 45),
            100.0 * (k // 100) + 98,
        )
        for k in range(2000)
    ]
    start = time.process_time()
    found = order_lines(Page("", 0, 0, tuple(Line(str(k), box) for k, box in enumerate(boxes))))
    assert time.process_time() - start < 6.0
    assert len(set(ids(found))) == 2000


def test_the_bench_prints_a_table_for_every_condition() -> None:
    root = ROOT
    command = [sys.executable, "-m", "bench.order", "--pages", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("three-registers") == 4 and done.stdout.count("mean, new kinds") == 4
