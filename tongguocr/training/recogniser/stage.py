"""Stages of the small recogniser: the tables of a stage file in, the settings of one run out.

A stage on synthetic blocks has [run], [recipe] and [model]. One on labelled pages has [run] and [pages], and
perhaps [hisdoc1b], the names of that data set's fields; its model is the one it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.training.datasets import Mapping
from tongguocr.training.recogniser.model import ModelSize
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.recogniser.recipe import Canvas, Recipe
from tongguocr.training.run import Run, read_run
from tongguocr.training.settings import Tables, check_tables, fill


@dataclass(frozen=True, slots=True)
class BlockStage:
    """A stage on synthetic blocks and real lines."""

    run: Run
    recipe: Recipe
    size: ModelSize
    """Of the network; how many tokens it has is the data's matter, and 0 here."""


@dataclass(frozen=True, slots=True)
class PageStage:
    """A stage on labelled pages."""

    run: Run
    pages: PageRecipe
    mapping: Mapping


def read_block_stage(tables: Tables, path: Path) -> BlockStage:
    """The stage on synthetic blocks in these tables."""
    check_tables(tables, ("run", "recipe", "model"), path)
    run, recipe = read_block_settings(tables, path)
    return BlockStage(run, recipe, fill(ModelSize, {**tables.get("model", {}), "tokens": 0}, "model", path))


def read_block_settings(tables: Tables, path: Path) -> tuple[Run, Recipe]:
    """[run] and [recipe] of any network's stage on synthetic blocks."""
    table = dict(tables.get("recipe", {}))
    if "canvases" in table:
        try:
            table["canvases"] = tuple(Canvas(*shape) for shape in table["canvases"])
        except TypeError:
            raise InputError(f"{path}: a canvas is a height, a width and a number of blocks.") from None
    recipe, run = fill(Recipe, table, "recipe", path), read_run(tables.get("run", {}), path)
    if run.limits.epochs:
        raise InputError(f"{path}: synthetic blocks have no epochs: [run] needs minutes or steps.")
    return run, recipe


def read_page_stage(tables: Tables, path: Path) -> PageStage:
    """The stage on labelled pages in these tables."""
    check_tables(tables, ("run", "pages", "hisdoc1b"), path)
    return PageStage(*read_page_settings(tables, path))


def read_page_settings(tables: Tables, path: Path) -> tuple[Run, PageRecipe, Mapping]:
    """[run], [pages] and [hisdoc1b] of any network's stage on labelled pages."""
    pages = fill(PageRecipe, tables.get("pages", {}), "pages", path)
    mapping = fill(Mapping, tables.get("hisdoc1b", {}), "hisdoc1b", path)
    return read_run(tables.get("run", {}), path), pages, mapping
