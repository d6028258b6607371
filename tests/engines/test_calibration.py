"""Confidence becomes what was measured; text, order of candidates and marks stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_strategies import pages

from tongguocr.engines.calibration import (
    FEATURES,
    KEY,
    Calibration,
    calibrate,
    load_calibration,
    page_features,
    recast,
    word_confidence,
)
from tongguocr.engines.language_model import load_language
from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Page
from tongguocr.reader import Setup, open_reader
from tongguocr.weights import FORMAT, MANIFEST, VERSION

BOX = (0.0, 0.0, 1.0, 1.0)
HALF = Calibration(0.0, (0.0,) * len(FEATURES))
"""Everything is right every second time."""


def page(*chars: Char) -> Page:
    text = "".join(char.text for char in chars)
    return Page("", 9, 9, (Line("a", BOX, text, confidence=0.9, chars=chars),))


def test_confidence_of_characters_and_line_is_what_was_fitted() -> None:
    before = page(Char("天", BOX, 0.9, (("大", 0.08),)), Char("地", BOX, 0.2))
    (line,) = calibrate(before, HALF, None).lines
    assert [char.confidence for char in line.chars] == [0.5, 0.5] and line.confidence == 0.5
    assert line.text == "天地" and [text for text, _ in line.chars[0].candidates] == ["大"]


def test_a_marked_line_stays_marked_and_one_without_confidence_is_left_alone() -> None:
    (marked,) = page(Char("天", BOX, 0.9)).lines
    lines = (replace(marked, confidence=0.0), Line("b", BOX, "地", chars=(Char("地", BOX),)))
    after = calibrate(Page("", 9, 9, lines), HALF, None).lines
    assert after[0].confidence == 0.0 and after[1] == lines[1]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_candidates_never_overtake(old: float, new: float, part: float) -> None:
    char = recast(Char("天", BOX, old, (("大", part * min(old, 1 - old)),)), new)
    assert char.confidence is not None and 0 < char.confidence < 1
    assert char.candidates[0][1] <= char.confidence + 2e-4
    assert char.confidence + char.candidates[0][1] <= 1.001


def test_forms_of_one_word_count_together() -> None:
    char = Char("爲", BOX, 0.55, (("為", 0.44), ("焉", 0.01)))
    assert word_confidence(char) == pytest.approx(0.99)
    assert word_confidence(Char("数", BOX, 0.5, (("數", 0.4),))) == pytest.approx(0.9)


def test_what_the_features_are() -> None:
    chars = (
        Char("學", BOX, 0.5, (("字", 0.3), ("斈", 0.1))),
        Char("○", BOX, 0.9),
        Char("時", BOX, 0.9, picture="寺"),
    )
    rows = [
        dict(zip(FEATURES, row, strict=True)) for row in page_features(page(*chars), load_language()).tolist()
    ]
    assert rows[0]["sure"] == 0 and rows[0]["other_form"] == pytest.approx(0.1)
    assert rows[0]["rival"] == pytest.approx(-0.847, abs=1e-3) and rows[0]["after"] == rows[1]["sure"]
    assert [row["mark"] for row in rows] == [0, 1, 0] and [row["changed"] for row in rows] == [0, 0, 1]
    assert [row["at_edge"] for row in rows] == [1, 0, 1] and rows[2]["surprise"] > 0
    assert not page_features(page(*chars), None)[:, FEATURES.index("surprise")].any()


@settings(deadline=None)
@given(pages())
def test_any_page_can_be_calibrated(any_page: Page) -> None:
    after = calibrate(any_page, HALF, load_language())
    assert after.full_text == any_page.full_text


def write(folder: Path, held: object) -> Path:
    manifest = {"format": FORMAT, "version": VERSION, KEY: held}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_the_manifest_has_one_for_text_with_context_and_one_without(tmp_path: Path) -> None:
    one, other = [1.0] * (len(FEATURES) + 1), [2.0] * (len(FEATURES) + 1)
    folder = write(tmp_path, {"features": FEATURES, "picture": one, "language": other})
    assert load_calibration(folder, False) == Calibration(1.0, (1.0,) * len(FEATURES))
    assert load_calibration(folder, True) == Calibration(2.0, (2.0,) * len(FEATURES))


def test_weights_that_were_not_fitted_or_with_other_features_have_none(tmp_path: Path) -> None:
    assert load_calibration(write(tmp_path, None), True) is None
    assert load_calibration(write(tmp_path, {"features": ["sure"], "language": [0, 1]}), True) is None


@pytest.mark.parametrize("held", [[], {}, {"features": list(FEATURES), "language": [1.0]}])
def test_half_a_calibration_is_one_sentence(tmp_path: Path, held: object) -> None:
    with pytest.raises(InputError, match="calibration of the weights is not complete"):
        load_calibration(write(tmp_path, held), True)


def test_only_our_own_engine_alone_is_calibrated_and_context_is_on_unless_told() -> None:
    default = open_reader(Setup(detector=None, threads=1))
    assert default.language is not None
    assert open_reader(Setup(detector=None, language=None, threads=1)).language is None
    assert open_reader(Setup(None, detector=None)).calibration is None
