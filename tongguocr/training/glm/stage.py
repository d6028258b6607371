"""Stage files of the full-size model: TOML in, the settings of one run out.

A table [glm] (samples.py), even an empty one, makes a stage one of this model. Beside it stand [run] and
[pages] as in the small model's stages, and perhaps [hisdoc1b]; or, for a run on drawn blocks, [run], [recipe]
and [model] (sizes.py), the sizes of the network that such a run may begin from nothing with.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from pathlib import Path

from tongguocr.engines.glm.config import GlmSize
from tongguocr.errors import InputError
from tongguocr.training.glm.samples import GlmSettings
from tongguocr.training.optimisers import Run
from tongguocr.training.settings import fill, known_tables, read_tables
from tongguocr.training.stage import PageStage, read_drawn_run, read_page_stage

JPEG = 8
"""Pixels a side of the squares that worn pictures are compressed by."""


@dataclass(frozen=True, slots=True)
class GlmStage:
    """A stage on labelled pages: the paper's."""

    stage: PageStage
    settings: GlmSettings


@dataclass(frozen=True, slots=True)
class GlmDrawnStage:
    """A stage on drawn blocks."""

    run: Run
    settings: GlmSettings
    size: GlmSize


def is_glm_stage(path: Path) -> bool:
    return "glm" in read_tables(path)


def load_glm_stage(path: Path) -> GlmStage:
    tables = known_tables(path, ("run", "pages", "hisdoc1b", "glm"))
    return GlmStage(read_page_stage(tables, path), fill(GlmSettings, tables.get("glm", {}), "glm", path))


def load_glm_drawn_stage(path: Path) -> GlmDrawnStage:
    tables = known_tables(path, ("run", "recipe", "model", "glm"))
    run = read_drawn_run(tables, path)
    size = fill(GlmSize, tables.get("model", {}), "model", path)
    unit = lcm(size.stride, JPEG)
    for canvas in run.recipe.canvases:
        if canvas.height % unit or canvas.width % unit:
            raise InputError(f"{path}: sides of canvases are multiples of {unit} for this model.")
    if run.recipe.tight or run.recipe.tight_lines:
        raise InputError(f"{path}: this model has no narrow canvases: tight and tight_lines are 0.")
    settings = fill(GlmSettings, tables.get("glm", {}), "glm", path)
    if settings.shard:
        # The guided head is looked at from outside of its layer, where sharded parameters are not at hand.
        raise InputError(f"{path}: shard is for labelled pages; on drawn blocks every process has the model.")
    return GlmDrawnStage(run, settings, size)
