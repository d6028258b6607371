"""The detector's stage file: TOML in, the settings of one run out.

It has a table [detector], which is the network's size and tells the file from a stage of the recogniser, and
[run], [recipe] and [weights]; each is a dataclass beside the code that uses it. What a file leaves out keeps
its default, and a key that nothing uses is an error.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.train.detector.loop import DetectorRun
from tongguocr.train.detector.model import DEEPEST, DetectorSize
from tongguocr.train.detector.targets import Weights
from tongguocr.train.detector.windows import WindowRecipe

Settings = TypeVar("Settings")
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
    try:
        tables = tomllib.loads(decode_utf8(read_bytes(path), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is not a stage file ({error}).") from None
    for name, table in tables.items():
        if name not in TABLES or not isinstance(table, dict):
            raise InputError(f"{path}: a detector's stage has the tables {', '.join(TABLES)}, not {name}.")
    recipe = _fill(WindowRecipe, tables.get("recipe", {}), "recipe", path)
    if recipe.side % DEEPEST:
        raise InputError(f"{path}: [recipe] side is a multiple of {DEEPEST} pixels, not {recipe.side}.")
    weights = _fill(Weights, tables.get("weights", {}), "weights", path)
    run = _fill(DetectorRun, {**tables.get("run", {}), "weights": weights}, "run", path)
    return DetectorStage(run, recipe, _fill(DetectorSize, tables["detector"], "detector", path))


def _fill(kind: type[Settings], table: dict[str, Any], name: str, path: Path) -> Settings:
    # train/stage.py does the same for the recogniser, but needs more than a machine that trains may have.
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for key in table.keys() - known:
        raise InputError(f"{path}: [{name}] has no setting {key}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError(f"{path}: [{name}] is not complete ({error}).") from None
