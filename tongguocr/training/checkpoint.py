"""The files of a run: log.jsonl, its records; resume.pt, all that an interrupted run goes on from.

The best weights lie beside them in a form that each task knows. Files are replaced whole, because a run may
be killed at any moment; only the main process writes. Where parameters are spread over processes (FSDP), all
of them take part in gathering what the main one writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.training.averaging import Average
from tongguocr.training.optimisers import Optimisers
from tongguocr.training.plot import LOG
from tongguocr.training.run import Progress

RESUME = "resume.pt"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Writes the log and the resume file of one run."""

    folder: Path
    model: nn.Module
    optimisers: Optimisers
    progress: Progress
    is_main: bool = True
    sharded: bool = False
    average: Average | None = None
    """Of the weights, where a run has one."""

    def log(self, record: Mapping[str, float]) -> None:
        """Add one line to log.jsonl."""
        if self.is_main:
            with (self.folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(record) + "\n")

    def save(self) -> None:
        """Write resume.pt."""
        if self.sharded and self.progress.step == 0:
            # Asking spread optimisers for their state would count as a step; there is nothing to go on from.
            return
        model = full_state(self.model, self.sharded)
        optimisers = _optimiser_states(self.model, self.optimisers, self.sharded)
        if self.is_main:
            state = {"model": model, "optimisers": optimisers, "progress": asdict(self.progress)}
            if self.average is not None:
                state["average"] = self.average.state_dict()
            write_whole(state, self.folder / RESUME)


def open_checkpoints(
    folder: Path,
    model: nn.Module,
    optimisers: Optimisers,
    is_main: bool = True,
    sharded: bool = False,
    decay: float = 0.0,
) -> Checkpoints:
    """The files of a run in this folder; an earlier run's model, optimisers and progress are taken up."""
    make_folder(folder)
    average = Average(model, decay) if decay else None
    progress = _resume(folder / RESUME, model, optimisers, sharded, average)
    return Checkpoints(folder, model, optimisers, progress, is_main, sharded, average)


def _resume(
    path: Path, model: nn.Module, optimisers: Optimisers, sharded: bool, average: Average | None
) -> Progress:
    if not path.exists():
        return Progress()
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        _load_states(model, optimisers, state, sharded)
        if average is not None:
            average.load_state_dict(state["average"])
        return Progress(**state["progress"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: the run cannot go on from this file ({error}).") from None


def _load_states(model: nn.Module, optimisers: Optimisers, state: dict[str, Any], sharded: bool) -> None:
    pairs = zip(optimisers, state["optimisers"], strict=True)
    if not sharded:
        model.load_state_dict(state["model"])
        for optimiser, saved in pairs:
            optimiser.load_state_dict(saved)
        return
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        set_model_state_dict,
        set_optimizer_state_dict,
    )

    options = StateDictOptions(full_state_dict=True)
    set_model_state_dict(model, state["model"], options=options)
    for optimiser, saved in pairs:
        set_optimizer_state_dict(model, optimiser, saved, options=options)


def full_state(model: nn.Module, sharded: bool) -> dict[str, Any]:
    """All parameters of a model; in processes that do not write, perhaps none."""
    if not sharded:
        return model.state_dict()
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))


def _optimiser_states(model: nn.Module, optimisers: Optimisers, sharded: bool) -> list[Any]:
    if not sharded:
        return [optimiser.state_dict() for optimiser in optimisers]
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return [get_optimizer_state_dict(model, optimiser, options=options) for optimiser in optimisers]


def write_whole(content: dict[str, Any], path: Path) -> None:
    """What torch saves, as a file that is replaced only once it is whole."""
    torch.save(content, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)
