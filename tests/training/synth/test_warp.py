"""Warps: there and back within a tenth of a pixel, and labels that follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongguocr.page import Char, Line, Page
from tongguocr.training.synth.warp import Warp, warp_box, warp_page

warps = st.builds(
    Warp,
    width=st.sampled_from([64.0, 600.0, 1200.0]),
    height=st.sampled_from([64.0, 801.0, 1600.0]),
    rotation=st.floats(-0.06, 0.06),
    perspective=st.tuples(st.floats(-0.04, 0.04), st.floats(-0.04, 0.04)),
    curl=st.floats(-0.03, 0.03),
    waver=st.floats(0, 4),
    phases=st.tuples(*[st.floats(0, 1)] * 4),
    offset=st.tuples(st.floats(-50, 200), st.floats(-50, 200)),
)


@settings(max_examples=150)
@given(warps, st.integers(0, 2**32 - 1))
def test_target_undoes_source(warp: Warp, seed: int) -> None:
    points = np.random.default_rng(seed).random((40, 2)) * [warp.width, warp.height]
    assert np.abs(warp.source(warp.target(points)) - points).max() < 0.1
    seen = warp.target(points)
    assert np.abs(warp.target(warp.source(seen)) - seen).max() < 0.1


def test_turns_counter_clockwise_as_seen() -> None:
    warp = Warp(1000, 1000, rotation=float(np.deg2rad(5)))
    x, y = warp.target([(1000.0, 500.0)])[0]
    assert x == pytest.approx(500 + 500 * np.cos(np.deg2rad(5)), abs=0.1)
    assert y == pytest.approx(500 - 500 * np.sin(np.deg2rad(5)), abs=0.1)


def test_perspective_enlarges_the_right_and_the_lower_edge() -> None:
    right = Warp(1000, 1000, perspective=(0.03, 0.0)).target([(0, 0), (0, 1000), (1000, 0), (1000, 1000)])
    assert right[3, 1] - right[2, 1] > right[1, 1] - right[0, 1]
    lower = Warp(1000, 1000, perspective=(0.0, 0.03)).target([(0, 0), (1000, 0), (0, 1000), (1000, 1000)])
    assert lower[3, 0] - lower[2, 0] > lower[1, 0] - lower[0, 0]


@pytest.mark.parametrize("side", [-1, 1])
def test_curl_bends_near_its_binding_alone(side: int) -> None:
    warp = Warp(1000, 1000, curl=side * 0.02)
    near, far = (900, 100) if side > 0 else (100, 900)
    bent = np.abs(warp.target([(near, 60), (far, 60)]) - [(near, 60), (far, 60)]).max(axis=1)
    assert bent[0] > 5 * bent[1]


def test_a_plain_warp_only_moves() -> None:
    warp = Warp(100, 200).moved(30, 40)
    assert warp.is_plain
    assert warp_box(warp, (1, 2, 3, 4)) == (31, 42, 33, 44)
    page = warp_page(_page(), warp, 160, 280)
    assert (page.width, page.height, page.lines[0].polygon) == (160, 280, None)
    assert page.lines[0].chars[1].box == (40, 60, 60, 80)


def test_bent_lines_get_a_polygon_around_their_characters() -> None:
    warp = Warp(100, 200, rotation=0.05)
    line = warp_page(_page(), warp, 100, 200).lines[0]
    assert line.polygon is not None
    xs, ys = zip(*line.polygon, strict=True)
    assert line.box == pytest.approx((min(xs), min(ys), max(xs), max(ys)), abs=0.02)
    for before, after in zip(_page().lines[0].chars, line.chars, strict=True):
        corners = warp.target([before.box[:2], before.box[2:]])
        assert after.text == before.text
        for x, y in corners:
            assert after.box[0] - 0.02 <= x <= after.box[2] + 0.02
            assert after.box[1] - 0.02 <= y <= after.box[3] + 0.02


def test_a_line_without_characters() -> None:
    page = Page("", 100, 200, (Line("l1", (10, 0, 30, 100), "一"),))
    assert warp_page(page, Warp(100, 200, rotation=0.01), 100, 200).lines[0].chars == ()


def _page() -> Page:
    chars = (Char("一", (10, 0, 30, 20)), Char("十", (10, 20, 30, 40)))
    return Page("", 100, 200, (Line("l1", (10, 0, 30, 40), "一十", chars=chars),))
