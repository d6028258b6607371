"""Stage files: a TOML file in, the settings of one training run out.

Its tables say of which network the stage is and what it trains on: [detector] is the text detector's, [glm]
the full-size model's; [pages] is for labelled pages, [recipe] for data that is made while training. What a
file leaves out keeps its default; a table or key that nothing uses is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.training.detector.stage import DetectorStage, read_detector_stage
from tongguocr.training.glm.stage import (
    GlmBlockStage,
    GlmPageStage,
    read_glm_block_stage,
    read_glm_page_stage,
)
from tongguocr.training.recogniser.stage import BlockStage, PageStage, read_block_stage, read_page_stage
from tongguocr.training.settings import read_tables

SHIPPED_STAGES = Path(__file__).parent / "stages"

Stage: TypeAlias = BlockStage | PageStage | DetectorStage | GlmBlockStage | GlmPageStage


def find_stage(name: str) -> Path:
    """The file of a stage that the package has, by its name; anything else is a path."""
    path = SHIPPED_STAGES / f"{name}.toml"
    return path if name.replace("-", "").isalnum() and path.exists() else Path(name)


def load_stage(path: Path) -> Stage:
    """The stage in this file, whichever network it trains."""
    tables = read_tables(path)
    if "detector" in tables:
        return read_detector_stage(tables, path)
    if "glm" in tables:
        return (read_glm_page_stage if "pages" in tables else read_glm_block_stage)(tables, path)
    return (read_page_stage if "pages" in tables else read_block_stage)(tables, path)


def load_glm_page_stage(path: Path) -> GlmPageStage:
    """The stage in this file, which must be one of the full-size model on labelled pages."""
    stage = load_stage(path)
    if not isinstance(stage, GlmPageStage):
        raise InputError(
            f"{path}: not a stage of the full-size model on pages, it has no table [glm] or [pages]."
        )
    return stage
