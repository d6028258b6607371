"""Seals as they are cut: a border, characters from the right, in relief or left white."""

from __future__ import annotations

import numpy as np
import pytest

from tongguocr.page import Pixels
from tongguocr.training.synth.seals import Outline, cut_seal

OUTLINES: tuple[tuple[Outline, bool], ...] = (("box", False), ("oval", False), ("box", True))


def full(k: int, em: int) -> Pixels | None:
    """Only the first character has ink, and fills its cell."""
    return np.full((em, em), 255, np.uint8) if k == 0 else None


@pytest.mark.parametrize("intaglio", [False, True])
def test_the_first_character_stands_at_the_right_top(intaglio: bool) -> None:
    seal = cut_seal((60, 60), 4, 2, full, intaglio=intaglio, rim=3, inset=4)
    assert seal.shape == (60, 60) and (seal[:3] == 255).all() and (seal[:, -3:] == 255).all()
    ink = seal if not intaglio else 255 - seal
    assert (ink[4:30, 30:56] == 255).all(), "the first of four"
    assert (ink[32:54, 6:54] == 0).all() and (ink[6:54, 6:28] == 0).all(), "the others are left empty"


def test_an_oval_has_no_corners_and_a_double_border_has_a_line_inside() -> None:
    plain, oval, double = (
        cut_seal((40, 64), 0, 1, full, outline=o, intaglio=False, rim=2, inset=6, double=d)
        for o, d in OUTLINES
    )
    assert plain[0, 0] == 255 and oval[0, 0] == 0 and oval[32, 0] == 255
    assert (
        (double[32, [0, 1, 4, 35, 38, 39]] == 255).all()
        and double[32, 2] == 0
        and double[32, 5:35].max() == 0
    )


@pytest.mark.parametrize("intaglio", [False, True])
def test_a_gourd_has_a_waist_and_its_first_character_above(intaglio: bool) -> None:
    seal = cut_seal((65, 100), 3, 2, full, outline="gourd", intaglio=intaglio, rim=3, inset=4)
    seen = (seal > 0).any(0).sum(), *((seal[y] > 0).nonzero()[0] for y in (20, 41, 70))
    upper, waist, lower = (int(row.max() - row.min()) for row in seen[1:])
    assert waist < upper < lower and seen[0] == 65
    ink = seal if not intaglio else 255 - seal
    assert (ink[10:36, 24:42] == 255).all(), "the first character"
    assert (ink[50:90, 15:50] == 0).all(), "the others are left empty"
