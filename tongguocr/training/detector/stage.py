"""The detector's stage file: TOML in, the settings of one run out.

It has a table [detector], which is the network's size and tells the file from a stage of the recogniser, and
[run], [recipe] and [weights]; each is a dataclass beside the code that uses it. What a file leaves out keeps
its default, and a key that nothing uses is an error.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.training.detector.loop import DetectorRun
from tongguocr.training.detector.model import DEEPEST, DetectorSize
from tongguocr.training.detector.targets import Weights
from tongguocr.training.detector.windows import WindowRecipe
from tongguocr.training.settings import fill, read_toml

TABLES = ("detector", "run", "recipe", "weights")


@dataclass(frozen=True, slots=True)
class DetectorStage:
    run: DetectorRun
    recipe: WindowRecipe
    size: DetectorSize


def is_detector_stage(path: Path) -> bool:
    """Whether a stage file is the detector's; one that cannot be read is nobody's."""
    try:
        return "detector" in tomllib.loads(decode_utf8(read_bytes(path), path))
    except tomllib.TOMLDecodeError:
        return False


def load_detector_stage(path: Path) -> DetectorStage:
    tables = read_toml(path)
    for name, table in tables.items():
        if name not in TABLES or not isinstance(table, dict):
            raise InputError(f"{path}: a detector's stage has the tables {', '.join(TABLES)}, not {name}.")
    recipe = fill(WindowRecipe, tables.get("recipe", {}), "recipe", path)
    if recipe.side % DEEPEST:
        raise InputError(f"{path}: [recipe] side is a multiple of {DEEPEST} pixels, not {recipe.side}.")
    weights = fill(Weights, tables.get("weights", {}), "weights", path)
    run = fill(DetectorRun, {**tables.get("run", {}), "weights": weights}, "run", path)
    return DetectorStage(run, recipe, fill(DetectorSize, tables["detector"], "detector", path))
