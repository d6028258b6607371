"""Training the text detector: windows made while training in, the files of a run out.

The best weights, by F1 and links on the validation pages, lie in detector.pt. Half precision on a GPU, AdamW.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongguocr.engines.torch_devices import is_half
from tongguocr.training.checkpoint import open_checkpoints
from tongguocr.training.detector.feed import Source, WindowFeed
from tongguocr.training.detector.model import FILE, Detector, save_detector
from tongguocr.training.detector.paint import Painter, to_device
from tongguocr.training.detector.restore import load_start
from tongguocr.training.detector.stage import DetectorStage
from tongguocr.training.detector.targets import LossWeights, losses
from tongguocr.training.detector.validation import Validator
from tongguocr.training.distributed import join_group, process_rank
from tongguocr.training.loop import EndlessFeed, train
from tongguocr.training.optimisers import make_optimisers


@dataclass(frozen=True, slots=True)
class DetectorTask:
    """The detector in training; a batch is images and the labels of their characters."""

    model: Detector
    forward: Callable[[Tensor], Tensor]
    """What to call in the model's place, so that gradients are those of all processes."""
    weights: LossWeights
    validator: Validator | None
    metric: str = "score"

    def loss(self, content: Any, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        images, labels = content
        with torch.autocast(images.device.type, torch.bfloat16, enabled=is_half(images.device)):
            maps = self.forward(images.contiguous(memory_format=torch.channels_last))
        found = losses(maps, labels, self.weights)
        return found["loss"], found

    def validate(self) -> dict[str, float]:
        return self.validator.validate(self.model) if self.validator is not None else {}

    def save(self, folder: Path) -> None:
        save_detector(self.model, folder / FILE)


def train_detector(
    source: Source, stage: DetectorStage, out: Path, start: Path | None, device: torch.device
) -> None:
    """Train on windows of composed and real pages, from nothing or from given weights."""
    run = stage.run
    feed = WindowFeed(source, run, process_rank())
    try:
        group = join_group(device)
        torch.manual_seed(run.seed)
        data = source.data
        painter = Painter.load(data.atlas, data.lines, source.pages, source.recipe, group.device)
        model = Detector(stage.size).to(group.device)
        if start is not None:
            images, _ = painter.paint(to_device(next(source.maker(run.seed).batches()), group.device))
            model.load_state_dict(load_start(start, images).state_dict())
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        checkpoints = open_checkpoints(out, model, make_optimisers(model, run), group.is_main)
        validator = Validator.prepare(source, painter, group.device) if group.is_main else None
        task = DetectorTask(model, group.wrap(model), stage.weights, validator)
        train(task, EndlessFeed(feed.batches(group.device, painter)), run, checkpoints, group)
    finally:
        feed.stop()
