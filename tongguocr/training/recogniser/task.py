"""Training the small recogniser: on synthetic blocks (stage 0), or on labelled pages (stages 1 to 3, tuning).

In: what `tongguocr train-data` gathered, or pages with their text. Out: the files of a run, of which model.pt
has the best weights in half precision and codec.json says what its tokens mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongguocr.engines.weights import CODEC
from tongguocr.files import make_folder
from tongguocr.tokens.codec import Codec
from tongguocr.training.checkpoint import Checkpoints, open_checkpoints
from tongguocr.training.distributed import ProcessGroup, join_group, process_rank, world_size
from tongguocr.training.loop import EndlessFeed, train
from tongguocr.training.optimisers import freeze, make_optimisers
from tongguocr.training.recogniser.backbone import load_backbone
from tongguocr.training.recogniser.block_feed import BlockFeed, Data, Painter
from tongguocr.training.recogniser.labelled import Labelled
from tongguocr.training.recogniser.losses import Forward, losses, total
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.page_feed import PageFeed, PageMaker
from tongguocr.training.recogniser.restore import MODEL, load_start, save_model
from tongguocr.training.recogniser.stage import BlockStage, PageStage
from tongguocr.training.recogniser.validation import Validator
from tongguocr.training.run import Run


@dataclass(frozen=True, slots=True)
class RecogniserTask:
    """The recogniser in training; a batch is targets and painted pictures."""

    model: Recogniser
    forward: Forward
    """What to call in the model's place, so that gradients are those of all processes."""
    run: Run
    bos: int
    device: torch.device
    validator: Validator | None
    metric: str = "AR"

    def loss(self, content: Any, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        targets, painted = content
        found = losses(self.model, targets, painted, self.run, self.bos, self.device, self.forward)
        names = ("loss", "dense", "pointer", "accuracy")
        return total(found, self.run, passed), dict(zip(names, found, strict=True))

    def validate(self) -> dict[str, float]:
        return self.validator.validate(self.model) if self.validator is not None else {}

    def save(self, folder: Path) -> None:
        save_model(self.model, folder / MODEL)


def train_blocks(
    data: Data,
    stage: BlockStage,
    out: Path,
    start: Path | None,
    device: torch.device,
    backbone: Path | None = None,
) -> None:
    """Train on synthetic blocks and real lines, from nothing or from given weights; `backbone` is PP-OCRv6's
    recogniser, for a network that has its stem."""
    run, recipe = stage.run, stage.recipe
    feed = BlockFeed(data, recipe, run, process_rank())
    try:
        group = join_group(device)
        model = Recogniser(replace(stage.size, tokens=len(data.codec)))
        if backbone is not None:
            load_backbone(model.stem, backbone)
        if start is not None:
            load_start(model, start, data.codec)
        checkpoints, forward = prepare(model, data.codec, run, out, group)
        painter = Painter.load(data, recipe, group.device)
        validator = Validator.prepare(data, recipe, painter.atlas, group.device) if group.is_main else None
        task = RecogniserTask(model, forward, run, data.codec.bos, group.device, validator)
        batches = feed.batches(group.device, painter, lambda: run.limits.passed(checkpoints.progress))
        train(task, EndlessFeed(batches), run, checkpoints, group)
    finally:
        feed.stop()


def train_pages(
    pages: Labelled,
    stage: PageStage,
    model: Recogniser,
    codec: Codec,
    out: Path,
    device: torch.device,
    report: Callable[[str], None] = print,
) -> None:
    """Train on labelled pages; the weights it begins with take part in the choice of the best ones."""
    run = stage.run
    maker = PageMaker(pages, stage.pages, codec, run.seed)
    feed = PageFeed(maker, run.workers, process_rank(), world_size(), report)
    try:
        group = join_group(device)
        checkpoints, forward = prepare(model, codec, run, out, group)
        sets = tuple(feed.validation_sets(group.device)) if group.is_main else ()
        by_page = stage.pages.validation_mean == "pages"
        validator = Validator(codec, sets, (), by_page) if group.is_main else None
        task = RecogniserTask(model, forward, run, codec.bos, group.device, validator)
        train(task, feed.to(group.device), run, checkpoints, group, report)
    finally:
        feed.stop()


def prepare(
    model: Recogniser, codec: Codec, run: Run, out: Path, group: ProcessGroup
) -> tuple[Checkpoints, Forward]:
    """The model on its device with its optimisers, as far as an earlier run of this folder has come."""
    make_folder(out)
    if group.is_main:
        codec.save(out / CODEC)
    model.to(group.device)
    freeze(model, run.frozen)
    model.stem.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    checkpoints = open_checkpoints(out, model, make_optimisers(model, run), group.is_main, decay=run.average)
    if run.compile:
        for layer in [*model.encoder, *model.decoder]:
            layer.compile(dynamic=True)
    return checkpoints, group.wrap(model)
