"""What the loops know of the network that they train: what a batch says of it, and how well it reads now.

Stage 0 (loop.py) and the stages on pages (epochs.py) are the same for every network that has a lesson: our
small one here, GLM-OCR in `tongguocr.training.glm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from tongguocr.training.optimisers import Run
from tongguocr.training.recogniser.losses import Forward, losses, total
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.validation import Judge


class Lesson(Protocol):
    """A network in training."""

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures that `study` gives."""

    def study(self, batch: Any, passed: float) -> tuple[Tensor, Sequence[Tensor]]:
        """What is trained on after this share of the run, and figures for the log."""

    def examine(self) -> dict[str, float]:
        """A validation, AR among its figures; nothing in a process that does not validate."""


@dataclass(frozen=True, slots=True)
class SmallLesson:
    """The lesson of our own recogniser: a batch is targets and a painted picture."""

    model: Recogniser
    run: Run
    bos: int
    device: torch.device
    forward: Forward
    judge: Judge | None

    @property
    def figures(self) -> tuple[str, ...]:
        return ("loss", "dense", "pointer", "accuracy")

    def study(self, batch: Any, passed: float) -> tuple[Tensor, Sequence[Tensor]]:
        said, painted = batch
        found = losses(self.model, said, painted, self.run, self.bos, self.device, self.forward)
        return total(found, self.run, passed), found

    def examine(self) -> dict[str, float]:
        return self.judge.score(self.model) if self.judge is not None else {}
