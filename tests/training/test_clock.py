"""Data without epochs: validations and resume files come by the clock, here one that a test winds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor, nn

from tongguocr.training.checkpoint import Checkpoints, open_checkpoints
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.loop import Batch, EndlessFeed, train
from tongguocr.training.optimisers import make_optimisers
from tongguocr.training.run import Limits, Run

MINUTE = 60.0


class Minutes:
    """A process of its own on whose clock every look takes a minute."""

    is_main = True

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self, fresh: bool = False) -> float:
        self.seconds += MINUTE
        return self.seconds

    def memory(self) -> dict[str, float]:
        return {}

    def close(self) -> None:
        return


class Slope:
    """The least network there is, and when it was validated."""

    metric = "AR"

    def __init__(self) -> None:
        self.model = nn.Linear(2, 1)
        self.validated: list[float] = []
        self.clock = SimpleNamespace(minutes=0.0)

    def loss(self, content: Any, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        found = self.model(content).square().mean()
        return found, {"loss": found}

    def validate(self) -> dict[str, float]:
        self.validated.append(self.clock.minutes)
        return {"AR": 0.5}

    def save(self, folder: Path) -> None:
        return


def test_resume_files_come_between_validations(tmp_path: Path) -> None:
    saved: list[float] = []

    class Noted(Checkpoints):
        def save(self) -> None:
            saved.append(self.progress.minutes)

    run = Run(Limits(minutes=30.0), validate_every=12.0, checkpoint_every=5.0, matrix_rate=0.0)
    task = Slope()
    opened = open_checkpoints(tmp_path, task.model, make_optimisers(task.model, run))
    checkpoints = Noted(tmp_path, opened.model, opened.optimisers, opened.progress)
    task.clock = checkpoints.progress  # type: ignore[assignment]
    batches = iter(lambda: Batch(torch.ones(3, 2), 3), None)
    train(task, EndlessFeed(batches), run, checkpoints, cast(ProcessGroup, Minutes()))
    assert len(task.validated) == 3 and task.validated[0] > 12 and task.validated[-1] >= 30
    assert set(task.validated) <= set(saved), "each validation leaves a resume file"
    between = [minutes for minutes in saved if minutes not in task.validated]
    assert len(between) == 4 and all(b - a < 9 for a, b in pairwise([0.0, *saved]))
