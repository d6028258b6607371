"""Stage files: a TOML file in, the settings of one training run out.

Tables are dataclasses beside the code that uses them. A stage on drawn blocks has [run] (run.py), [recipe]
(blocks.py) and [model] (model.py). One on labelled pages has [run] and [pages] (pages.py), and perhaps
[hisdoc1b], the names of that data set's fields (data/hisdoc1b.py); its model is the one it starts from. What
a file leaves out keeps its default; a key that nothing uses is an error, because a misspelt setting would
otherwise be lost without a word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tongguocr.data import Mapping
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.train.blocks import Canvas, Recipe
from tongguocr.train.model import ModelSize
from tongguocr.train.pages import PageRecipe
from tongguocr.train.run import Run

Settings = TypeVar("Settings")
SHIPPED_STAGES = Path(__file__).parent / "stages"


@dataclass(frozen=True, slots=True)
class Stage:
    run: Run
    size: ModelSize


@dataclass(frozen=True, slots=True)
class PageStage:
    run: Run
    pages: PageRecipe
    mapping: Mapping


def find_stage(name: str) -> Path:
    """The file of a stage that the package has, by its name; anything else is a path."""
    path = SHIPPED_STAGES / f"{name}.toml"
    return path if name.isalnum() and path.exists() else Path(name)


def read_tables(path: Path) -> dict[str, Any]:
    """A stage file as it is written."""
    try:
        tables = tomllib.loads(decode_utf8(read_bytes(path), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is not a stage file ({error}).") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} stands outside of any table.")
    return tables


def load_stage(path: Path, tokens: int) -> Stage:
    """The stage on drawn blocks in this file, for a vocabulary of so many tokens."""
    tables = _tables(path, ("run", "recipe", "model"))
    recipe_table = dict(tables.get("recipe", {}))
    if "canvases" in recipe_table:
        try:
            recipe_table["canvases"] = tuple(Canvas(*shape) for shape in recipe_table["canvases"])
        except TypeError:
            raise InputError(f"{path}: a canvas is a height, a width and a number of blocks.") from None
    recipe = _fill(Recipe, recipe_table, "recipe", path)
    run = _fill(Run, {**tables.get("run", {}), "recipe": recipe}, "run", path)
    if not run.minutes:
        raise InputError(f"{path}: a stage on drawn blocks, which have no end, needs minutes in [run].")
    return Stage(run, _fill(ModelSize, {**tables.get("model", {}), "tokens": tokens}, "model", path))


def load_page_stage(path: Path) -> PageStage:
    """The stage on labelled pages in this file."""
    tables = _tables(path, ("run", "pages", "hisdoc1b"))
    run = _fill(Run, tables.get("run", {}), "run", path)
    if not run.epochs:
        raise InputError(f"{path}: a stage on labelled pages needs epochs in [run].")
    pages = _fill(PageRecipe, tables.get("pages", {}), "pages", path)
    return PageStage(run, pages, _fill(Mapping, tables.get("hisdoc1b", {}), "hisdoc1b", path))


def _tables(path: Path, known: Sequence[str]) -> dict[str, Any]:
    tables = read_tables(path)
    for name in tables.keys() - set(known):
        raise InputError(f"{path}: a stage has the tables {', '.join(known)}, not {name}.")
    return tables


def _fill(kind: type[Settings], table: dict[str, Any], name: str, path: Path) -> Settings:
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{path}: [{name}] has no setting {key}.")
        # The types are strings here; one with an ellipsis is a list of any length.
        if not _is_like(value, known[key].default, "..." in str(known[key].type)):
            raise InputError(f"{path}: [{name}] has a wrong value for {key}: {value!r}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: [{name}] is not complete or not possible ({error}).") from None


def _is_like(value: Any, default: Any, any_length: bool = False) -> bool:
    """Whether a value may stand in for this default; a whole number may for a fraction."""
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, tuple) and default and isinstance(value, list):
        fits = any_length or len(value) == len(default)
        return fits and all(_is_like(part, default[min(k, len(default) - 1)]) for k, part in enumerate(value))
    if isinstance(default, tuple):
        return isinstance(value, list | tuple)
    return type(value) is type(default) if isinstance(default, bool | int | str) else True
