"""Stage files: a TOML file in, the settings of one training run out.

A stage has three tables, each of them a dataclass beside the code that uses it: [run] (run.py), [recipe]
(blocks.py) and [model] (model.py). What a file leaves out keeps its default; a key that nothing uses is an
error, because a misspelt setting would otherwise be lost without a word.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.train.blocks import Canvas, Recipe
from tongguocr.train.model import ModelSize
from tongguocr.train.run import Run

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class Stage:
    run: Run
    size: ModelSize


def load_stage(path: Path, tokens: int) -> Stage:
    """The stage in this file, for a vocabulary of so many tokens."""
    try:
        tables = tomllib.loads(decode_utf8(read_bytes(path), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is not a stage file ({error}).") from None
    for name in tables.keys() - {"run", "recipe", "model"}:
        raise InputError(f"{path}: a stage has the tables run, recipe and model, not {name}.")
    recipe_table = dict(tables.get("recipe", {}))
    if "canvases" in recipe_table:
        recipe_table["canvases"] = tuple(Canvas(*shape) for shape in recipe_table["canvases"])
    recipe = _fill(Recipe, recipe_table, "recipe", path)
    run = _fill(Run, {**tables.get("run", {}), "recipe": recipe}, "run", path)
    return Stage(run, _fill(ModelSize, {**tables.get("model", {}), "tokens": tokens}, "model", path))


def _fill(kind: type[Settings], table: dict[str, Any], name: str, path: Path) -> Settings:
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for key in table.keys() - known:
        raise InputError(f"{path}: [{name}] has no setting {key}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError(f"{path}: [{name}] is not complete ({error}).") from None
