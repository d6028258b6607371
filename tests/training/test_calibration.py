"""Fitting confidence: known coefficients come back, and errors are counted as said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tongguocr.engines.calibration import FEATURES, Calibration, load_calibration
from tongguocr.errors import InputError
from tongguocr.training.calibration import (
    CALIBRATION,
    bins_of,
    calibration_error,
    carry_calibration,
    errors_found,
    fit_calibration,
    give_calibration,
    save_calibration,
)
from tongguocr.weights import FORMAT, MANIFEST, VERSION


def test_known_coefficients_come_back() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(3, 2, (20_000, 3))
    features[:, 2] = 7.0
    true = Calibration(0.5, (1.0, -0.8, 0.0))
    right = rng.random(len(features)) < true.probability(features)
    found = fit_calibration(features, right)
    assert found.coefficients == pytest.approx(true.coefficients, abs=0.06)
    assert calibration_error(found.probability(features), right) < 0.01


def test_all_right_is_nothing_to_fit() -> None:
    with pytest.raises(InputError, match="some wrong"):
        fit_calibration(np.zeros((3, 2)), np.ones(3, bool))


def test_error_over_groups_of_equal_mass() -> None:
    sure = np.array([0.9, 0.9, 0.5, 0.5])
    right = np.array([True, True, True, False])
    assert [size for *_, size in bins_of(sure, right, 2)] == [2, 2]
    assert calibration_error(sure, right, 2) == pytest.approx(0.05)


def test_errors_among_the_least_sure() -> None:
    sure, right = np.linspace(0, 1, 10), np.array([False, True, False, *[True] * 6, False])
    assert [round(errors_found(sure, right, share), 3) for share in (0.1, 0.3, 1.0)] == [0.333, 0.667, 1.0]


def test_the_manifest_keeps_what_else_it_says(tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    path.write_text(json.dumps({"format": FORMAT, "version": VERSION, "stride": 16}), encoding="utf-8")
    one, other = (Calibration(c, tuple(float(n) for n in range(len(FEATURES)))) for c in (1.0, 2.0))
    save_calibration(tmp_path, one, other)
    assert json.loads(path.read_text(encoding="utf-8"))["stride"] == 16
    assert load_calibration(tmp_path, False) == one and load_calibration(tmp_path, True) == other


def write_manifest(folder: Path) -> Path:
    folder.mkdir()
    (folder / MANIFEST).write_text(json.dumps({"format": FORMAT, "version": VERSION}), encoding="utf-8")
    return folder


def test_a_run_carries_the_calibration_of_the_weights_it_begins_with(tmp_path: Path) -> None:
    start, tuned, plain = (write_manifest(tmp_path / name) for name in ("start", "tuned", "plain"))
    fitted = Calibration(1.0, tuple(float(n) for n in range(len(FEATURES))))
    run, second = tmp_path / "run", tmp_path / "second"
    carry_calibration(start, run)
    give_calibration(run / "model.pt", plain)
    assert load_calibration(plain, True) is None
    save_calibration(start, fitted, fitted)
    carry_calibration(start, run)
    carry_calibration(run / "model.pt", run)
    carry_calibration(run / "model.pt", second)
    give_calibration(second / "model.pt", tuned)
    assert load_calibration(tuned, True) == fitted
    (run / CALIBRATION).write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"calibration\.json: this is not a calibration"):
        give_calibration(run / "model.pt", tuned)
