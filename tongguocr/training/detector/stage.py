"""Stages of the text detector: the tables of a stage file in, the settings of one run out.

[detector] is the network's size; beside it stand [run], [recipe] and [weights].
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.training.detector.model import DEEPEST, DetectorSize
from tongguocr.training.detector.recipe import WindowRecipe
from tongguocr.training.detector.targets import LossWeights
from tongguocr.training.run import Run, read_run
from tongguocr.training.settings import Tables, check_tables, fill

DEFAULTS = {
    "matrix_rate": 0.0,
    "flat": 0.3,
    "least": 0.01,
    "betas": [0.9, 0.99],
    "clip": 5.0,
    "validate_every": 4.0,
}
"""Where the detector's [run] is not that of the recognisers."""
UNUSED = ("gentle", "corrupted", "jitter", "loss_mean", "smoothing", "dense", "pointer", "frozen", "compile")
"""Settings of [run] that only recognisers have."""


@dataclass(frozen=True, slots=True)
class DetectorStage:
    """A stage of the text detector."""

    run: Run
    recipe: WindowRecipe
    weights: LossWeights
    size: DetectorSize


def read_detector_stage(tables: Tables, path: Path) -> DetectorStage:
    """The detector's stage in these tables."""
    check_tables(tables, ("detector", "run", "recipe", "weights"), path)
    table = tables.get("run", {})
    for key in UNUSED:
        if key in table:
            raise InputError(f"{path}: [run] has no setting {key} for the detector.")
    recipe = fill(WindowRecipe, tables.get("recipe", {}), "recipe", path)
    if recipe.side % DEEPEST:
        raise InputError(f"{path}: [recipe] side is a multiple of {DEEPEST} pixels, not {recipe.side}.")
    run = read_run({**DEFAULTS, **table}, path)
    if run.limits.epochs:
        raise InputError(f"{path}: windows have no epochs: [run] needs minutes or steps.")
    weights = fill(LossWeights, tables.get("weights", {}), "weights", path)
    return DetectorStage(run, recipe, weights, fill(DetectorSize, tables["detector"], "detector", path))
