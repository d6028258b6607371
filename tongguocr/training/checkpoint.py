"""What a run writes: log.jsonl, model.pt (the best weights so far), resume.pt (all that it goes on from).

In: records of steps and validations. A record with an AR is a validation: if it is the best one, the weights
are saved, and the run is kept as it is. Files are replaced whole, because a run may be killed at any moment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.training.optimisers import Optimisers
from tongguocr.training.plot import LOG
from tongguocr.training.recogniser.model import ModelSize, Recogniser

MODEL, RESUME = "model.pt", "resume.pt"

Record = Mapping[str, float]
Model = TypeVar("Model", bound=nn.Module)


@dataclass(slots=True)
class Progress:
    """How far a run has come: what an interrupted one goes on from, with its model and optimiser."""

    step: int = 0
    minutes: float = 0.0
    best: float = -math.inf
    """The best figure of a validation so far."""
    epoch: int = 0
    """Epochs that are done ..."""
    window: int = 0
    """... and windows of this one."""


@dataclass(frozen=True, slots=True)
class Journal(Generic[Model]):
    """A run's files; only the main process writes them. How weights are saved is each network's own."""

    out: Path
    model: Model
    optimisers: Optimisers
    progress: Progress
    is_main: bool = True

    def write(self, record: Record) -> None:
        """One line of the log; after a validation the weights, too."""
        if self.is_main:
            with (self.out / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(record) + "\n")
        if "AR" in record:
            if record["AR"] >= self.progress.best:
                self.progress.best = record["AR"]
                self.save_best()
            self.keep()

    def save_best(self) -> None:
        raise NotImplementedError

    def keep(self) -> None:
        if self.is_main:
            keep(self.out / RESUME, self.model, self.optimisers, self.progress)


@dataclass(frozen=True, slots=True)
class SmallJournal(Journal[Recogniser]):
    """The files of our own recogniser."""

    def save_best(self) -> None:
        if self.is_main:
            save(self.model, self.model.size, self.out / MODEL)


class Means:
    """Losses and accuracy over the steps since they were last asked for."""

    def __init__(self, device: torch.device, names: Sequence[str]) -> None:
        self.names = names
        self.sums, self.count = torch.zeros(len(names), device=device), 0

    def add(self, found: Sequence[Tensor]) -> None:
        self.sums, self.count = self.sums + torch.stack(list(found)).detach(), self.count + 1

    def take(self) -> dict[str, float]:
        means = [round(value / max(self.count, 1), 4) for value in self.sums.tolist()]
        self.sums, self.count = torch.zeros_like(self.sums), 0
        return dict(zip(self.names, means, strict=True))


def keep(path: Path, model: nn.Module, optimisers: Optimisers, progress: Progress) -> None:
    """All that an interrupted run needs, whole or not at all."""
    states = [optimiser.state_dict() for optimiser in optimisers]
    write_whole({"model": model.state_dict(), "optimisers": states, "progress": asdict(progress)}, path)


def resume(path: Path, model: nn.Module, optimisers: Optimisers) -> Progress:
    """Take up what `keep` wrote; without such a file, the beginning."""
    if not path.exists():
        return Progress()
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        return Progress(**state["progress"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: the run cannot go on from this file ({error}).") from None


def save(model: Recogniser, size: ModelSize, path: Path) -> None:
    """The weights in half precision, whole or not at all."""
    state = {name: value.half().cpu() for name, value in model.state_dict().items()}
    write_whole({"size": asdict(size), "state": state}, path)


def write_whole(content: dict[str, Any], path: Path) -> None:
    """What torch saves, as a file that is replaced only once it is whole."""
    torch.save(content, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def load(path: Path) -> tuple[ModelSize, dict[str, Tensor]]:
    """What `save` wrote, in single precision again."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        return ModelSize(**saved["size"]), {name: value.float() for name, value in saved["state"].items()}
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: these are not weights of the recogniser ({error}).") from None
