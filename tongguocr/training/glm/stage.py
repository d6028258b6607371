"""Stages of the full-size model: the tables of a stage file in, the settings of one run out.

A table [glm], even an empty one, makes a stage one of this model. Beside it stand [run] and [pages] as in the
small model's stages, and perhaps [hisdoc1b]; or, for a run on synthetic blocks, [run], [recipe] and [model],
the sizes of the network that such a run may begin from nothing with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from pathlib import Path

from tongguocr.engines.glm.config import GlmSize
from tongguocr.errors import InputError
from tongguocr.training.datasets import Mapping
from tongguocr.training.glm.samples import GlmSettings
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.recogniser.stage import read_block_settings, read_page_settings
from tongguocr.training.run import Run
from tongguocr.training.settings import Tables, check_tables, fill

JPEG = 8
"""Pixels a side of the squares that degraded pictures are compressed by."""


@dataclass(frozen=True, slots=True)
class GlmPageStage:
    """A stage on labelled pages: the paper's."""

    run: Run
    pages: PageRecipe
    mapping: Mapping
    settings: GlmSettings


@dataclass(frozen=True, slots=True)
class GlmBlockStage:
    """A stage on synthetic blocks."""

    run: Run
    recipe: Recipe
    settings: GlmSettings
    size: GlmSize


def read_glm_page_stage(tables: Tables, path: Path) -> GlmPageStage:
    """The stage on labelled pages in these tables."""
    check_tables(tables, ("run", "pages", "hisdoc1b", "glm"), path)
    settings = fill(GlmSettings, tables.get("glm", {}), "glm", path)
    return GlmPageStage(*read_page_settings(tables, path), settings)


def read_glm_block_stage(tables: Tables, path: Path) -> GlmBlockStage:
    """The stage on synthetic blocks in these tables."""
    check_tables(tables, ("run", "recipe", "model", "glm"), path)
    run, recipe = read_block_settings(tables, path)
    size = fill(GlmSize, tables.get("model", {}), "model", path)
    unit = lcm(size.stride, JPEG)
    for canvas in recipe.canvases:
        if canvas.height % unit or canvas.width % unit:
            raise InputError(f"{path}: sides of canvases are multiples of {unit} for this model.")
    if recipe.tight or recipe.tight_lines:
        raise InputError(f"{path}: this model has no narrow canvases: tight and tight_lines are 0.")
    settings = fill(GlmSettings, tables.get("glm", {}), "glm", path)
    if settings.shard:
        # The guided head is looked at from outside of its layer, where sharded parameters are not at hand.
        raise InputError(f"{path}: shard is for labelled pages; on drawn blocks every process has the model.")
    return GlmBlockStage(run, recipe, settings, size)
