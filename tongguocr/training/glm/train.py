"""Runs of the full-size model: the paper's three stages on labelled pages, and runs on synthetic blocks.

In: a stage file, a model, pages or what `train-data` gathered. Out: log.jsonl, the folder `model` with
the weights that read the validation pages best, and resume.pt, from which the same command goes on.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from tongguocr.engines.glm.image_settings import ImageSettings
from tongguocr.engines.glm.pretrained import PretrainedModel, load_pretrained
from tongguocr.engines.prepare import Scaling
from tongguocr.errors import InputError
from tongguocr.training.checkpoint import RESUME
from tongguocr.training.distributed import join_group, process_rank, world_size
from tongguocr.training.glm.from_scratch import new_model
from tongguocr.training.glm.samples import GlmMaker, GlmSettings
from tongguocr.training.glm.stage import GlmBlockStage, GlmPageStage
from tongguocr.training.glm.task import GlmBlockTask, GlmPageTask, model_tokens
from tongguocr.training.glm.trainer import MODEL, explain_out_of_memory, make_trainer
from tongguocr.training.loop import EndlessFeed, train
from tongguocr.training.recogniser.block_feed import BlockFeed, Data, Painter
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.recogniser.page_feed import PageFeed
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.recogniser.validation import Validator


def find_glm_start(given: str | None, out: Path) -> str | None:
    """What a run begins with: what an earlier run of this folder left, or what is given."""
    if (out / RESUME).exists() and (out / MODEL).is_dir():
        return str(out / MODEL)
    return given


def train_glm_pages(
    pages: Labelled,
    stage: GlmPageStage,
    pretrained: PretrainedModel,
    out: Path,
    device: torch.device,
    report: Say = print,
) -> None:
    """Train on labelled pages; the weights it begins with take part in the choice of the best ones."""
    run, recipe, settings = stage.run, stage.pages, stage.settings
    check_transitions(pretrained, settings)
    maker = GlmMaker(pages, recipe, settings, pretrained.prompt, pretrained.processor, run.seed)
    feed = PageFeed(maker, run.workers, process_rank(), world_size(), report)
    try:
        group = join_group(device)
        shown = ImageSettings(settings.square and recipe.granularity == "block", recipe.longest_side)
        trainer, checkpoints = make_trainer(pretrained, run, settings, out, group, shown, dense=False)
        validation_sets = partial(feed.validation_sets, group.device)
        with explain_out_of_memory(out, settings):
            task = GlmPageTask(trainer, validation_sets, recipe.validation_mean == "pages")
            train(task, feed.to(group.device), run, checkpoints, group, report)
    finally:
        feed.stop()


def train_glm_blocks(
    data: Data, stage: GlmBlockStage, start: str | None, out: Path, device: torch.device
) -> None:
    """Train on synthetic blocks; without a start, from nothing."""
    run, recipe = stage.run, stage.recipe
    feed = BlockFeed(data, recipe, run, process_rank())
    try:
        group = join_group(device)
        moves = stage.settings.transitions
        pretrained = (
            load_pretrained(start) if start else new_model(stage.size, data.codec.characters, run.seed, moves)
        )
        table = model_tokens(data.codec, pretrained.prompt, moves).to(group.device)
        shown = block_image_settings(recipe)
        trainer, checkpoints = make_trainer(pretrained, run, stage.settings, out, group, shown, dense=True)
        painter = Painter.load(data, recipe, group.device)
        validator = Validator.prepare(data, recipe, painter.atlas, group.device) if group.is_main else None
        batches = feed.batches(group.device, painter, lambda: run.limits.passed(checkpoints.progress))
        task = GlmBlockTask(trainer, data.codec, table, validator)
        with explain_out_of_memory(out, stage.settings):
            train(task, EndlessFeed(batches), run, checkpoints, group)
    finally:
        feed.stop()


def block_image_settings(recipe: Recipe) -> ImageSettings:
    """Reading shows blocks as large as most that were drawn, where the small engine's are not smaller."""
    side = max(max(canvas.height, canvas.width) for canvas in recipe.canvases)
    return ImageSettings(False, side, min(Scaling().character, sum(recipe.size) / 2))


def check_transitions(pretrained: PretrainedModel, settings: GlmSettings) -> None:
    if settings.transitions and not pretrained.prompt.transitions:
        where = pretrained.folder or "The model"
        raise InputError(f"{where}: its tokenizer has no transitions; `tongguocr expand` adds them.")
