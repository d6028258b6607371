"""The full-size model in training: its forward pass, its reading, and the folder it is saved as.

The folder `model` of a run has everything that serving and the next stage need. Where parameters are spread
over processes, all of them take part in gathering what the main one writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongguocr.engines.glm.decoding import generate
from tongguocr.engines.glm.image_settings import ImageSettings, save_image_settings
from tongguocr.engines.glm.pretrained import PretrainedModel, save_pretrained
from tongguocr.engines.glm.processor import ProcessorConfig
from tongguocr.engines.glm.prompt import Prompt
from tongguocr.engines.torch_devices import is_half
from tongguocr.errors import InputError
from tongguocr.training.checkpoint import Checkpoints, full_state, open_checkpoints, write_whole
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.glm.network import GlmTrainingNetwork, compile_layers, layers_of
from tongguocr.training.glm.samples import GlmSettings
from tongguocr.training.optimisers import make_optimisers
from tongguocr.training.run import Run

MODEL, DENSE = "model", "dense.pt"
"""The folder of a run that has its best weights, and the file in it with the dense head's."""


@dataclass(frozen=True, slots=True)
class GlmTrainer:
    """The network in training, and what goes with it."""

    network: GlmTrainingNetwork
    forward: Any
    """What to call in the network's place, so that gradients are those of all processes."""
    pretrained: PretrainedModel
    run: Run
    group: ProcessGroup
    settings: GlmSettings = field(default_factory=GlmSettings)
    image_settings: ImageSettings = field(default_factory=ImageSettings)
    sharded: bool = False

    @property
    def prompt(self) -> Prompt:
        return self.pretrained.prompt

    @property
    def processor(self) -> ProcessorConfig:
        return self.pretrained.processor

    @property
    def validates(self) -> bool:
        """Whether this process validates: the main one; all, where none has all parameters."""
        return self.group.is_main or self.sharded

    def half(self) -> AbstractContextManager[None]:
        """Half precision on a GPU or an NPU."""
        device = self.group.device
        return torch.autocast(device.type, torch.bfloat16, enabled=is_half(device))

    def read(self, patches: Tensor, grids: Sequence[tuple[int, int]], longest: int) -> list[list[int]]:
        """The tokens that the network writes about pictures now."""
        self.network.eval()
        # A growing cache would have compiled layers compiled anew again and again.
        with self.half(), torch.compiler.set_stance("force_eager"):
            # Parameters that are gathered for a moment are not where a recording would look for them.
            work = partial(generate, record=not self.sharded)
            written = self.network(work, self.network, patches, grids, self.prompt, longest)
        if self.sharded:
            # What was gathered without gradients must not be trained on.
            network: Any = self.network
            network.reshard()
        self.network.train()
        return [text.tokens for text in written]

    def save(self, folder: Path) -> None:
        """Write the weights as they are now into the folder `model`, ready for serving."""
        state = full_state(self.network, self.sharded)
        if not self.group.is_main:
            return
        folder, saved = folder / MODEL, self.settings.saved
        own = {name: value.to(getattr(torch, saved)).cpu() for name, value in _part(state, "model.")}
        save_pretrained(self.pretrained, folder, own)
        set_precision(folder / "config.json", saved)
        save_image_settings(self.image_settings, folder)
        if self.network.dense is not None:
            write_whole({name: value.cpu() for name, value in _part(state, "dense.")}, folder / DENSE)


def _part(state: dict[str, Tensor], prefix: str) -> Iterator[tuple[str, Tensor]]:
    """Parameters whose names begin so, without the beginning."""
    return ((name.removeprefix(prefix), v) for name, v in state.items() if name.startswith(prefix))


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


def make_trainer(
    pretrained: PretrainedModel,
    run: Run,
    settings: GlmSettings,
    out: Path,
    group: ProcessGroup,
    image_settings: ImageSettings,
    dense: bool,
) -> tuple[GlmTrainer, Checkpoints]:
    """The network on its device with its optimisers, as far as an earlier run of this folder has come."""
    network = GlmTrainingNetwork(pretrained.model, dense, settings.chunk, run.loss_mean)
    if dense and pretrained.folder and (pretrained.folder / DENSE).exists() and network.dense is not None:
        network.dense.load_state_dict(torch.load(pretrained.folder / DENSE, weights_only=True))
    network.to(group.device).train()
    model: Any = pretrained.model
    if settings.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    sharded = settings.shard and group.size > 1
    if sharded:
        group.shard(network, layers_of(model))
    checkpoints = open_checkpoints(out, network, make_optimisers(network, run), group.is_main, sharded)
    if run.compile:
        compile_layers(model)
    forward = network if sharded else group.wrap(network)
    trainer = GlmTrainer(network, forward, pretrained, run, group, settings, image_settings, sharded)
    return trainer, checkpoints


@contextmanager
def explain_out_of_memory(out: Path, settings: GlmSettings) -> Iterator[None]:
    """Say in one sentence that the device's memory does not suffice; what was saved stays."""
    try:
        yield
    except torch.OutOfMemoryError:
        more = "" if settings.checkpointing else ", or set checkpointing = true"
        raise InputError(
            f"{out}: the device has too little memory: make batch_tokens smaller than"
            f" {settings.batch_tokens}{more}; the same command then goes on from the last checkpoint."
        ) from None
