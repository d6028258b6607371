"""Stage files: a TOML file in, the settings of one training run out.

Tables are dataclasses beside the code that uses them. A stage on drawn blocks has [run] (run.py), [recipe]
(blocks.py) and [model] (model.py). One on labelled pages has [run] and [pages] (pages.py), and perhaps
[hisdoc1b], the names of that data set's fields (data/hisdoc1b.py); its model is the one it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.training.datasets import Mapping
from tongguocr.training.optimisers import Run
from tongguocr.training.recogniser.model import ModelSize
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.recogniser.recipe import Canvas, Recipe
from tongguocr.training.settings import fill, known_tables

SHIPPED_STAGES = Path(__file__).parent / "stages"
FULL = "full-"
"""What the names of the full-size model's stages begin with."""


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
    return path if name.replace("-", "").isalnum() and path.exists() else Path(name)


def load_stage(path: Path, tokens: int) -> Stage:
    """The stage on drawn blocks in this file, for a vocabulary of so many tokens."""
    tables = known_tables(path, ("run", "recipe", "model"))
    run = read_drawn_run(tables, path)
    return Stage(run, fill(ModelSize, {**tables.get("model", {}), "tokens": tokens}, "model", path))


def read_drawn_run(tables: dict[str, Any], path: Path) -> Run:
    """[run] and [recipe] of a stage on drawn blocks."""
    recipe_table = dict(tables.get("recipe", {}))
    if "canvases" in recipe_table:
        try:
            recipe_table["canvases"] = tuple(Canvas(*shape) for shape in recipe_table["canvases"])
        except TypeError:
            raise InputError(f"{path}: a canvas is a height, a width and a number of blocks.") from None
    recipe = fill(Recipe, recipe_table, "recipe", path)
    run = fill(Run, {**tables.get("run", {}), "recipe": recipe}, "run", path)
    if not run.minutes:
        raise InputError(f"{path}: a stage on drawn blocks, which have no end, needs minutes in [run].")
    return run


def load_page_stage(path: Path) -> PageStage:
    """The stage on labelled pages in this file."""
    return read_page_stage(known_tables(path, ("run", "pages", "hisdoc1b")), path)


def read_page_stage(tables: dict[str, Any], path: Path) -> PageStage:
    """[run], [pages] and [hisdoc1b] of a stage on labelled pages."""
    run = fill(Run, tables.get("run", {}), "run", path)
    if not run.epochs:
        raise InputError(f"{path}: a stage on labelled pages needs epochs in [run].")
    pages = fill(PageRecipe, tables.get("pages", {}), "pages", path)
    return PageStage(run, pages, fill(Mapping, tables.get("hisdoc1b", {}), "hisdoc1b", path))
