"""Runs of the full-size model: the paper's three stages on labelled pages, and runs on drawn blocks.

In: a stage file, a model, pages or what `train-data` gathered. Out: log.jsonl, the folder `model` with
the weights that read the validation pages best, and resume.pt, from which the same command goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tongguocr.engines.glm.image_settings import ImageSettings
from tongguocr.engines.glm.pretrained import PretrainedModel, load_pretrained
from tongguocr.engines.prepare import Scaling
from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.training.checkpoint import RESUME
from tongguocr.training.distributed import Team, gather_team, my_number, team_size
from tongguocr.training.epochs import go_through
from tongguocr.training.glm.checkpoint import DENSE, MODEL, GlmJournal, take_up
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.from_scratch import byte_tokenizer, random_model
from tongguocr.training.glm.network import GlmTrainingNetwork, compile_layers, layers_of
from tongguocr.training.glm.samples import GlmMaker, GlmSettings
from tongguocr.training.glm.stage import GlmDrawnStage, GlmStage
from tongguocr.training.glm.task import DrawnLesson, PageLesson, Pupil, codec_table
from tongguocr.training.loop import go_on, make_painter
from tongguocr.training.optimisers import Run, make_optimisers
from tongguocr.training.recogniser.feed import Data, Feed
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.recogniser.page_feed import PageFeed
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.recogniser.validation import Judge

PAPER, INK = (0.75,) * 3, (0.22,) * 3
"""Mean and deviation of book pages. A model from nothing learns to see several times faster with them than
with those of photographs, which the published one has: a page is mostly bright."""

FAINT = 0.1
"""What layers of a fresh language model add at first, in standard deviations."""


def find_glm_start(given: str | None, out: Path) -> str | None:
    """What a run begins with: what an earlier run of this folder left, or what is given."""
    if (out / RESUME).exists() and (out / MODEL).is_dir():
        return str(out / MODEL)
    return given


def train_glm_pages(
    pages: Labelled,
    stage: GlmStage,
    pretrained: PretrainedModel,
    out: Path,
    device: torch.device,
    say: Say = print,
) -> None:
    """Train for the run's epochs. Workers are started first: they are forked."""
    run, recipe, settings = stage.stage.run, stage.stage.pages, stage.settings
    check_transitions(pretrained, settings)
    maker = GlmMaker(pages, recipe, settings, pretrained.prompt, pretrained.processor, run.seed)
    feed = PageFeed(maker, run.workers, my_number(), team_size())
    try:
        team = gather_team(device)
        image_settings = ImageSettings(settings.square and recipe.granularity == "block", recipe.longest_side)
        pupil, journal = make_ready(pretrained, run, settings, out, team, image_settings, dense=False)
        exams = feed.exams(team.device) if pupil.judges else ()
        with enough_memory(out, settings):
            go_through(feed, journal, run, PageLesson(pupil, exams), team, say)
    finally:
        feed.stop()


def train_glm_drawn(
    data: Data, stage: GlmDrawnStage, start: str | None, out: Path, device: torch.device
) -> None:
    """Train on drawn blocks until the time is up; without a start, from nothing."""
    run = stage.run
    feed = Feed(data, run.recipe, run.workers, (run.seed + 100 * my_number()) * 1000)
    try:
        team = gather_team(device)
        pretrained = load_pretrained(start) if start else from_nothing(data, stage)
        table = codec_table(data.codec, pretrained.prompt).to(team.device)
        image_settings = drawn_image_settings(run.recipe)
        pupil, journal = make_ready(pretrained, run, stage.settings, out, team, image_settings, dense=True)
        painter = make_painter(data, run, team.device)
        judge = Judge.prepare(data, run.recipe, painter.atlas, team.device) if pupil.judges else None
        with enough_memory(out, stage.settings):
            go_on(feed, painter, journal, run, DrawnLesson(pupil, data.codec, table, judge), team)
    finally:
        feed.stop()


def drawn_image_settings(recipe: Recipe) -> ImageSettings:
    """Reading shows blocks as large as most that were drawn, where the small engine's are not smaller."""
    side = max(max(canvas.height, canvas.width) for canvas in recipe.canvases)
    return ImageSettings(False, side, min(Scaling().character, sum(recipe.size) / 2))


def from_nothing(data: Data, stage: GlmDrawnStage) -> PretrainedModel:
    """A model of the stage's sizes, expanded by the characters of the data as any other would be."""
    small = random_model(stage.size, byte_tokenizer(), stage.run.seed)
    small = replace(small, processor=replace(small.processor, mean=PAPER, deviation=INK))
    pretrained = expand(small, data.codec.characters)[0]
    tell_apart(pretrained.model, stage.run.seed)
    return pretrained


@torch.no_grad()
def tell_apart(model: Any, seed: int) -> None:
    """Let tokens differ from the beginning: rows that expansion added are all but equal, and normed layers
    add fifty times as much to a state as a fresh row holds."""
    dice = torch.Generator().manual_seed(seed)
    for table in dict.fromkeys((model.get_input_embeddings().weight, model.lm_head.weight)):
        table.normal_(0, model.config.text_config.initializer_range, generator=dice)
    for layer in model.model.language_model.layers:
        layer.post_self_attn_layernorm.weight.fill_(FAINT)
        layer.post_mlp_layernorm.weight.fill_(FAINT)


def make_ready(
    pretrained: PretrainedModel,
    run: Run,
    settings: GlmSettings,
    out: Path,
    team: Team,
    image_settings: ImageSettings,
    dense: bool,
) -> tuple[Pupil, GlmJournal]:
    """The network on its device with its optimisers, as far as an earlier run of this folder has come."""
    make_folder(out)
    network = GlmTrainingNetwork(pretrained.model, dense, settings.chunk)
    if dense and pretrained.folder and (pretrained.folder / DENSE).exists() and network.dense is not None:
        network.dense.load_state_dict(torch.load(pretrained.folder / DENSE, weights_only=True))
    network.to(team.device).train()
    model: Any = pretrained.model
    if settings.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    sharded = settings.shard and team.count > 1
    if sharded:
        team.shard(network, layers_of(model))
    optimisers = make_optimisers(network, run)
    progress = take_up(out / RESUME, network, optimisers, sharded)
    if run.compile:
        compile_layers(model)
    forward = network if sharded else team.wrap(network)
    pupil = Pupil(network, forward, pretrained.prompt, pretrained.processor, run, team, sharded)
    journal = GlmJournal(
        *(out, network, optimisers, progress, team.is_main),
        pretrained=pretrained,
        saved=settings.saved,
        image_settings=image_settings,
        sharded=sharded,
    )
    return pupil, journal


def check_transitions(pretrained: PretrainedModel, settings: GlmSettings) -> None:
    if settings.transitions and not pretrained.prompt.transitions:
        where = pretrained.folder or "The model"
        raise InputError(f"{where}: its tokenizer has no transitions; `tongguocr expand` adds them.")


@contextmanager
def enough_memory(out: Path, settings: GlmSettings) -> Iterator[None]:
    """A sentence where the device's memory does not suffice; what was kept stays."""
    try:
        yield
    except torch.OutOfMemoryError:
        more = "" if settings.checkpointing else ", or set checkpointing = true"
        raise InputError(
            f"{out}: the device has too little memory: make batch_tokens smaller than"
            f" {settings.batch_tokens}{more}; the same command then goes on from the last checkpoint."
        ) from None
