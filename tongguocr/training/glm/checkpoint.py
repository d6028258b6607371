"""What a run of the full-size model writes: log.jsonl, the folder `model` (the best weights), resume.pt.

The folder has everything that serving and the next stage need. Where parameters are spread over processes,
all of them take part in gathering what the main one writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tongguocr.engines.glm.image_settings import ImageSettings, save_image_settings
from tongguocr.engines.glm.pretrained import PretrainedModel, save_pretrained
from tongguocr.errors import InputError
from tongguocr.training.checkpoint import RESUME, Journal, Progress, resume, write_whole
from tongguocr.training.glm.network import GlmTrainingNetwork
from tongguocr.training.optimisers import Optimisers

MODEL, DENSE = "model", "dense.pt"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlmJournal(Journal[GlmTrainingNetwork]):
    """The files of a run."""

    pretrained: PretrainedModel
    saved: str = "float32"
    """The precision of saved weights."""
    image_settings: ImageSettings = field(default_factory=ImageSettings)
    sharded: bool = False

    def save_best(self) -> None:
        state = gather_state(self.model, self.sharded)
        if not self.is_main:
            return
        half = getattr(torch, self.saved)
        own = {name.removeprefix("model."): v for name, v in state.items() if name.startswith("model.")}
        folder = self.out / MODEL
        save_pretrained(self.pretrained, folder, {name: value.to(half).cpu() for name, value in own.items()})
        set_precision(folder / "config.json", self.saved)
        save_image_settings(self.image_settings, folder)
        if self.model.dense is not None:
            dense = {name.removeprefix("dense."): v for name, v in state.items() if name.startswith("dense.")}
            write_whole({name: value.cpu() for name, value in dense.items()}, folder / DENSE)

    def keep(self) -> None:
        if self.sharded and self.progress.step == 0:
            # Asking spread optimisers for their state would count as a step; there is nothing to go on from.
            return
        state = gather_state(self.model, self.sharded)
        states = gather_optimisers(self.model, self.optimisers, self.sharded)
        if self.is_main:
            held = {"model": state, "optimisers": states, "progress": asdict(self.progress)}
            write_whole(held, self.out / RESUME)


def set_precision(path: Path, name: str) -> None:
    """Tell those who serve the model what its weights are saved in."""

    def change(table: dict[str, Any]) -> None:
        if "dtype" in table:
            table["dtype"] = name
        for value in table.values():
            if isinstance(value, dict):
                change(value)

    held = json.loads(path.read_text(encoding="utf-8"))
    change(held)
    path.write_text(json.dumps(held, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def gather_state(model: nn.Module, sharded: bool) -> dict[str, Any]:
    """All parameters; in processes that do not write, perhaps none."""
    if not sharded:
        return model.state_dict()
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))


def gather_optimisers(model: nn.Module, optimisers: Optimisers, sharded: bool) -> list[Any]:
    if not sharded:
        return [optimiser.state_dict() for optimiser in optimisers]
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return [get_optimizer_state_dict(model, optimiser, options=options) for optimiser in optimisers]


def take_up(path: Path, model: nn.Module, optimisers: Sequence[Any], sharded: bool) -> Progress:
    """Go on from what `keep` wrote; without such a file, from the beginning."""
    if not sharded or not path.exists():
        return resume(path, model, optimisers)
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        set_model_state_dict,
        set_optimizer_state_dict,
    )

    options = StateDictOptions(full_state_dict=True)
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
        set_model_state_dict(model, held["model"], options=options)
        for optimiser, state in zip(optimisers, held["optimisers"], strict=True):
            set_optimizer_state_dict(model, optimiser, state, options=options)
        return Progress(**held["progress"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: the run cannot go on from this file ({error}).") from None
