"""The detector's maps: labels against maps made by hand, the losses, and what validation counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from detector_pages import characters, column

from tongguocr.layout.peaks import (
    CHANNELS,
    FIRST,
    HEAT,
    KIND,
    LAST,
    NEXT,
    SHIFT,
    SIZE,
    STRIDE,
    TURN,
    TYPICAL,
    find_peaks,
)
from tongguocr.page import turn_pixels
from tongguocr.training.detector.paint import (
    Labels,
    sorted_out,
    turn_windows,
)
from tongguocr.training.detector.targets import focal_loss, heat_map, losses
from tongguocr.training.detector.validation import Tally, compare, match_centres


def labels_of(lines: list[list[tuple[float, ...]]], kinds: list[int] | None = None) -> Labels:
    """Labels of one image."""
    boxes = torch.tensor([box for line in lines for box in line])
    following = torch.arange(1, len(boxes) + 1)
    ends = np.cumsum([len(line) for line in lines]) - 1
    following[ends] = -1
    kind = torch.repeat_interleave(
        torch.tensor(kinds or [0] * len(lines)), torch.tensor([len(x) for x in lines])
    )
    yes = torch.ones(len(boxes), dtype=torch.bool)
    none = torch.zeros(len(boxes), dtype=torch.long)
    return Labels(none, boxes, following, kind, yes, ~yes, none)


def perfect_maps(labels: Labels, rows: int, columns: int) -> torch.Tensor:
    """The maps that a perfect network would give."""
    maps = torch.zeros(1, CHANNELS, rows, columns)
    heat, _ = heat_map(labels, 1, rows, columns)
    maps[:, HEAT] = torch.logit(heat.clamp(1e-4, 1 - 1e-4))
    centre, sides = (labels.boxes[:, :2] + labels.boxes[:, 2:]) / 2, labels.boxes[:, 2:] - labels.boxes[:, :2]
    for k in range(len(labels.boxes)):
        r, c = (int(v) for v in (centre[k, 1] // STRIDE, centre[k, 0] // STRIDE))
        for y in range(r - 1, r + 2):
            for x in range(c - 1, c + 2):
                maps[0, SIZE, y, x] = (sides[k] / TYPICAL).log()
                maps[0, SHIFT, y, x] = centre[k] / STRIDE - torch.tensor([x + 0.5, y + 0.5])
                after = int(labels.following[k])
                maps[0, LAST, y, x] = 9.0 if after < 0 else -9.0
                maps[0, FIRST, y, x] = -9.0 if k in labels.following else 9.0
                if after >= 0:
                    maps[0, NEXT, y, x] = (centre[after] - centre[k]) / sides[k].max()
                maps[0, KIND, y, x] = 0.0
                maps[0, KIND.start + int(labels.kinds[k]), y, x] = 9.0
                maps[0, TURN.start + int(labels.turns[k]), y, x] = 9.0
    return maps


LINES = [column(200, 40, 6), column(150, 40, 6, size=20, pitch=28)]


def test_perfect_maps_cost_nothing_and_give_the_labels_back() -> None:
    labels = labels_of(LINES, [0, 1])
    maps = perfect_maps(labels, 64, 64)
    found = losses(maps, labels)
    for name in ("size", "shift", "following", "last", "first", "kind", "turn"):
        assert float(found[name]) < 0.01, name
    assert float(found["heat"]) < 0.2
    worse = losses(maps + 6 * torch.randn(maps.shape, generator=torch.Generator().manual_seed(1)), labels)
    assert all(float(worse[name]) > float(found[name]) + 0.01 for name in found)
    tally = Tally()
    compare(find_peaks(maps[0].numpy(), 0.3), labels, 0, tally)
    assert tally == Tally(found=12, linked=12, right_kind=12)
    assert set(tally.figures("").values()) == {1.0}


def test_validation_counts_what_is_wrong() -> None:
    labels = labels_of(LINES)
    chars = characters([[*LINES[0]], [*LINES[1][:4]], [(20.0, 20.0, 40.0, 40.0)]])
    tally = Tally()
    compare(chars, labels, 0, tally)
    assert (tally.found, tally.missed, tally.extra, tally.linked) == (10, 2, 1, 10)
    excused = replace(labels, ignored=labels.ignored | (torch.arange(12) == 11), wanted=torch.arange(12) < 11)
    tally = Tally()
    compare(characters(LINES), excused, 0, tally)
    assert (tally.found, tally.missed, tally.extra) == (11, 0, 0)
    match = match_centres(chars.centres, labels.boxes.numpy(), np.ones(12, np.bool_))
    assert match.tolist() == [*range(10), -1, -1]


def test_heat_is_one_at_centres_and_narrow_for_small_characters() -> None:
    labels = labels_of([[(80.0, 80.0, 92.0, 92.0)], [(150.0, 150.0, 230.0, 230.0)]])
    heat, counts = heat_map(labels, 1, 64, 64)
    assert heat[0, 21, 21] == 1 and heat[0, 47, 47] == 1 and int((heat == 1).sum()) == 2
    assert heat[0, 21, 23] < 0.01 < 0.4 < heat[0, 47, 49]
    assert counts.min() == 1
    ignored = replace(labels, wanted=torch.tensor([True, False]), ignored=torch.tensor([False, True]))
    heat, counts = heat_map(ignored, 1, 64, 64)
    assert int((heat == 1).sum()) == 1 and counts[0, 40:56, 40:56].max() == 0 and counts[0, 30, 30] == 1


def test_a_turned_window_is_asked_for_places_and_its_turn_alone() -> None:
    labels = labels_of(LINES, [0, 1])
    maps = perfect_maps(labels, 64, 64)
    turned = replace(labels, turns=torch.full_like(labels.turns, 2))
    found = losses(maps + torch.randn(maps.shape, generator=torch.Generator().manual_seed(1)), turned)
    assert all(float(found[name]) == 0 for name in ("following", "last", "first", "kind"))
    assert float(found["turn"]) > 5 and float(found["size"]) > 0.1


@pytest.mark.parametrize("quarters", range(4))
def test_windows_are_turned_with_their_labels(quarters: int) -> None:
    labels = labels_of([column(40, 30, 3, size=20, pitch=24)])
    image = torch.ones(1, 1, 128, 128)
    for x0, y0, x1, y1 in labels.boxes.long().tolist():
        image[0, 0, y0:y1, x0:x1] = 0
    images, turned = turn_windows(image, labels, torch.tensor([quarters]))
    assert turned.turns.tolist() == [quarters] * 3
    for x0, y0, x1, y1 in turned.boxes.long().tolist():
        assert images[0, 0, y0:y1, x0:x1].max() == 0
    upright = turn_pixels(images[0, 0].numpy(), (360 - 90 * quarters) % 360)
    assert np.array_equal(upright, image[0, 0].numpy())


def test_a_centre_under_a_blot_counts() -> None:
    boxes = [[(80.0, 80.0, 104.0, 104.0)], [(60.0, 60.0, 180.0, 180.0)]]
    labels = replace(
        labels_of(boxes), wanted=torch.tensor([True, False]), ignored=torch.tensor([False, True])
    )
    heat, counts = heat_map(labels, 1, 64, 64)
    assert counts[0, 23, 23] == 1 and heat[0, 23, 23] == 1 and counts[0, 23, 26] == 0


def test_a_line_ends_before_what_cannot_be_seen() -> None:
    """The third character is under a slip; the last one is off the image, and yet it is known."""
    boxes = torch.tensor(column(100, 60, 5, size=24, pitch=30))
    here = torch.tensor([True, True, False, True, True])
    block, kinds = torch.zeros(5, dtype=torch.long), torch.zeros(5, dtype=torch.long)
    labels = sorted_out(block, boxes, torch.tensor([1, 2, 3, 4, -1]), kinds, here, 170)
    assert labels.following.tolist() == [1, -1, -1, 4, -1]
    assert labels.wanted.tolist() == [True, True, False, True, False]
    assert labels.ignored.tolist() == [False, False, False, False, True]
    for size, (wanted, ignored) in {8.0: (False, True), 5.0: (False, False), 200.0: (False, False)}.items():
        one = torch.tensor(column(85, 85, 1, size=size))
        found = sorted_out(block[:1], one, block[:1] - 1, block[:1], torch.tensor([True]), 170)
        assert (bool(found.wanted), bool(found.ignored)) == (wanted, ignored)


def test_focal_loss_blames_what_is_far_from_a_centre_most() -> None:
    heat = torch.tensor([[[0.0, 0.8, 1.0]]])
    alarm = [
        float(
            focal_loss(
                torch.tensor([[[3.0 if v == k else -6.0 for v in range(3)]]]), heat, torch.ones(1, 1, 3)
            )
        )
        for k in range(3)
    ]
    assert alarm[2] < alarm[1] < alarm[0]
