"""Characters with their features, and which of them were right -> coefficients in the manifest of weights.

Logistic regression by Newton's method with a small ridge on scaled features; `engines.calibration` says what
the features are. ECE here has bins of equal mass: characters in the order of their confidence, in 15 groups
as large as each other; the mean over groups of how far mean confidence and share of right ones lie apart.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.calibration import FEATURES, KEY, Calibration
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, make_folder, read_bytes, write_bytes
from tongguocr.weights import MANIFEST, read_manifest

Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]

CALIBRATION = "calibration.json"
"""Lies beside the weights of a run that went on from calibrated ones."""
BINS = 15
RIDGE = 1.0
"""Of scaled coefficients, as if so many characters spoke against each."""
STEPS = 50


def fit_calibration(features: Doubles, right: Bools) -> Calibration:
    """The coefficients under which what was right is likeliest."""
    if not len(right) or right.all() or not right.any():
        raise InputError("To fit confidence, some characters must be right and some wrong.")
    mean, spread = features.mean(0), features.std(0)
    spread[spread < 1e-9] = 1.0  # always the same: its coefficient becomes 0 by the ridge
    scaled = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    ridge = RIDGE * np.eye(scaled.shape[1])
    ridge[0, 0] = 0
    found = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-np.clip(scaled @ found, -30, 30)))
        slope = scaled.T @ (right - sure) - ridge @ found
        bend = (scaled * np.maximum(sure * (1 - sure), 1e-9)[:, None]).T @ scaled + ridge
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < 1e-8:
            break
    own = found[1:] / spread
    return Calibration(float(found[0] - own @ mean), tuple(float(value) for value in own))


def save_calibration(folder: Path, picture: Calibration, language: Calibration) -> None:
    """Write both into the manifest; its other entries stay."""
    coefficients = {
        name: [round(value, 5) for value in (one.constant, *one.coefficients)]
        for name, one in (("picture", picture), ("language", language))
    }
    _write({"features": list(FEATURES), **coefficients}, folder)


def _write(table: object, folder: Path) -> None:
    manifest = read_manifest(folder / MANIFEST) | {KEY: table}
    write_bytes((json.dumps(manifest, indent=2) + "\n").encode(), folder / MANIFEST)


def carry_calibration(start: Path, run: Path) -> None:
    """Keep in a run's folder what the weights were calibrated with that it goes on from.

    A short run on pages changes little of what the features mean; weights without any calibration say of
    every character what the network says, which is too much.
    """
    held = read_manifest(start / MANIFEST).get(KEY) if start.is_dir() else _beside(start)
    if held is not None:
        make_folder(run)
        write_bytes((json.dumps(held, indent=2) + "\n").encode(), run / CALIBRATION)


def give_calibration(model: Path, folder: Path) -> None:
    """Write into the manifest of exported weights what the run kept beside them, if it did."""
    held = _beside(model)
    if held is not None:
        _write(held, folder)


def _beside(model: Path) -> object:
    path = model.with_name(CALIBRATION)
    try:
        return json.loads(decode_utf8(read_bytes(path), path)) if path.is_file() else None
    except ValueError:
        raise InputError(f"{path}: this is not a calibration, which is JSON.") from None


def bins_of(sure: Doubles, right: Bools, count: int = BINS) -> list[tuple[float, float, int]]:
    """Mean confidence, share of right ones and size of each group of equal mass, the least sure first."""
    order = _order(sure)
    groups = [group for group in np.array_split(order, count) if len(group)]
    return [(float(sure[g].mean()), float(right[g].mean()), len(g)) for g in groups]


def calibration_error(sure: Doubles, right: Bools, count: int = BINS) -> float:
    """ECE over groups of equal mass."""
    return sum(abs(a - b) * n for a, b, n in bins_of(sure, right, count)) / max(len(sure), 1)


def errors_found(sure: Doubles, right: Bools, share: float) -> float:
    """The part of all errors that is among the least sure characters, of which this share is looked at."""
    looked = _order(sure)[: round(share * len(sure))]
    return float((~right[looked]).sum() / max(int((~right).sum()), 1))


def _order(sure: Doubles) -> NDArray[np.intp]:
    """Rising; those as sure as each other in no order that could tell anything."""
    mixed = np.random.default_rng(0).permutation(len(sure))
    return mixed[np.argsort(sure[mixed], kind="stable")]
