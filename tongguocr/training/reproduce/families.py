"""The two kinds of model that the tables may be made with: GLM-OCR's class, of any size, and our small one.

A family says how start weights get a row's tokens, how a stage is trained, and how pages are shown to what
came out. Which one it is, the start weights tell (chain.find_family): exported weights and a run's model.pt
are ours, anything else is a folder or hub name of GLM-OCR's class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import torch

from tongguocr.engines.base import Engine
from tongguocr.errors import InputError
from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.recogniser.pages import Granularity
from tongguocr.training.recogniser.stage import PageStage
from tongguocr.training.reproduce.tables import StageUse
from tongguocr.training.run import Limits
from tongguocr.training.stage import find_stage, load_stage

PagesStage: TypeAlias = PageStage | GlmPageStage
AnyStage = TypeVar("AnyStage", bound=PagesStage)


@dataclass(frozen=True, slots=True)
class Showing:
    """How test pages are shown to a model."""

    read: Granularity = "block"
    square: bool | None = True
    """Blocks on their square canvas or without its padding; None: as the model was trained."""
    side: int | None = 1024
    """The picture has at most side x side pixels; None: as the model was trained."""
    longest: int = 8192
    """Tokens of an answer at most."""
    guard: bool = False
    """Whether what runs in circles is stopped and read again in parts."""


class Family(Protocol):
    """One kind of model."""

    @property
    def name(self) -> str: ...

    @property
    def stages(self) -> tuple[str, str, str]:
        """The paper's three stages as the package has them for this model."""

    def expand(self, start: str, added: Sequence[str], vocabulary: bool, transitions: bool, out: Path) -> str:
        """Start weights with a row's tokens; `added` are the characters that only a vocabulary row has."""

    def with_tokens(self, stage: Any, transitions: bool) -> Any:
        """The stage, its answers with transitions between lines or without."""

    def train(
        self,
        stage: Any,
        pages: Labelled,
        start: str,
        transitions: bool,
        out: Path,
        device: torch.device,
        say: Say,
    ) -> None:
        """Train one stage, from where an earlier run of this folder was left."""

    def weights(self, out: Path) -> str:
        """What a run of this folder left."""

    def open(self, weights: str, showing: Showing, device: torch.device) -> Engine:
        """What reads with these weights."""


def load_stages(names: Sequence[str], family: Family) -> tuple[PagesStage, ...]:
    """The three stage files by name or path; they must be the family's, and on labelled pages."""
    wanted = GlmPageStage if family.name == "glm" else PageStage
    found = []
    for name in names:
        stage = load_stage(find_stage(name))
        if not isinstance(stage, wanted):
            raise InputError(f"{name}: this stage is not one on labelled pages for the weights of --start.")
        found.append(stage)
    return tuple(found)


def fit(stage: AnyStage, use: StageUse, minutes: float | None, seed: int, kinds: Sequence[str]) -> AnyStage:
    """A stage as one row uses it: its granularity, its cuts, the data that is there, its length."""
    pages = replace(stage.pages, granularity=use.granularity, weights=use.weights, kinds=tuple(kinds))
    limits = Limits(minutes=minutes) if minutes is not None else stage.run.limits
    return replace(stage, pages=pages, run=replace(stage.run, limits=limits, seed=seed))
