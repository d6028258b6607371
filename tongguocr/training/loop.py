"""One run on drawn blocks: batches in, a checkpoint out, a log beside it (stage 0).

The loop draws batches from its workers, paints them on the device, takes steps (run.py) on their losses
(losses.py), and validates now and then (judge.py). It can be interrupted at any time, and goes on where the
last validation left it. Several processes may run it together (team.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tongguocr.engines.weights import CODEC
from tongguocr.files import make_folder
from tongguocr.training.checkpoint import RESUME, Journal, Means, Progress, Record, SmallJournal, load, resume
from tongguocr.training.distributed import Team, gather_team, my_number
from tongguocr.training.optimisers import Optimisers, Run, keep, make_optimisers, take_step
from tongguocr.training.recogniser.blocks import Work
from tongguocr.training.recogniser.feed import Data, Feed, Painted
from tongguocr.training.recogniser.losses import Forward
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.training.recogniser.restore import begin_from
from tongguocr.training.recogniser.task import Lesson, SmallLesson
from tongguocr.training.recogniser.validation import Judge
from tongguocr.training.synth.gpu import GlyphAtlas, render_batch
from tongguocr.training.synth.gpu.lines import LineStore

__all__ = ["Painter", "load", "make_ready", "train"]


@dataclass(frozen=True, slots=True)
class Painter:
    """Everything on the device that turns a batch into images."""

    atlas: GlyphAtlas
    store: LineStore | None
    shaping: float = 0.0
    """How far glyphs stray from their outlines."""

    @torch.no_grad()
    def paint(self, work: Work) -> Painted:
        shown = render_batch(
            work.batch, self.atlas, work.degradation, work.seed, self.store, shaping=self.shaping
        )
        return shown.images.float() / 255, shown.points, shown.of_block


def train(data: Data, run: Run, size: ModelSize, out: Path, start: Path | None, device: torch.device) -> None:
    """Train until the time is up; `out` gets log.jsonl, model.pt (the best weights) and resume.pt.

    If `out` has a resume.pt, the run goes on where that one was left. Workers are started first: they are
    forked, which a process that has touched a GPU must not be.
    """
    feed = Feed(data, run.recipe, run.workers, (run.seed + 100 * my_number()) * 1000)
    try:
        _train(feed, data, run, size, out, start, gather_team(device))
    finally:
        feed.stop()


def _train(
    feed: Feed, data: Data, run: Run, size: ModelSize, out: Path, start: Path | None, team: Team
) -> None:
    make_folder(out)
    if team.is_main:
        data.codec.save(out / CODEC)
    model = Recogniser(size)
    if start is not None:
        begin_from(model, start, data.codec)
    journal, forward = make_ready(model, run, out, team)
    painter = make_painter(data, run, team.device)
    judge = Judge.prepare(data, run.recipe, painter.atlas, team.device) if team.is_main else None
    lesson = SmallLesson(model, run, data.codec.bos, team.device, forward, judge)
    go_on(feed, painter, journal, run, lesson, team)


def make_painter(data: Data, run: Run, device: torch.device) -> Painter:
    store = LineStore.load(data.lines, device) if data.lines is not None else None
    return Painter(GlyphAtlas.load(data.atlas, device), store, run.recipe.shaping)


def go_on(feed: Feed, painter: Painter, journal: Journal[Any], run: Run, lesson: Lesson, team: Team) -> None:
    """The run of any network, from where the journal is until its time is up."""
    batches = _growing(feed, feed.batches(team.device, painter.paint), journal.progress, run)
    for record in _steps(journal, run, batches, lesson, team):
        journal.write(record)
    team.part()


def make_ready(model: Recogniser, run: Run, out: Path, team: Team) -> tuple[Journal[Recogniser], Forward]:
    """The model on its device with its optimisers, as far as an earlier run of this folder has come."""
    model.to(team.device)
    keep(model, run.kept)
    model.stem.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimisers: Optimisers = make_optimisers(model, run)
    progress = resume(out / RESUME, model, optimisers)
    if run.compile:
        for layer in [*model.encoder, *model.decoder]:
            layer.compile(dynamic=True)
    return SmallJournal(out, model, optimisers, progress, team.is_main), team.wrap(model)


def _growing(
    feed: Feed, batches: Iterator[tuple[Work, Painted]], progress: Progress, run: Run
) -> Iterator[tuple[Work, Painted]]:
    """The batches, the workers told before each how far the run has come."""
    while True:
        feed.level.value = min(progress.minutes / max(run.gentle * run.minutes, 1e-9), 1.0)
        yield next(batches)


def _steps(
    journal: Journal[Any],
    run: Run,
    batches: Iterator[tuple[Work, Painted]],
    lesson: Lesson,
    team: Team,
) -> Iterator[Record]:
    """The loop itself; yields the means of each hundred steps, and a record with AR after a validation."""
    model, progress = journal.model, journal.progress
    judged = begun = team.now(fresh=True)
    earlier, blocks, means = progress.minutes, 0, Means(team.device, lesson.figures)
    while True:
        passed = progress.minutes / run.minutes
        work, painted = next(batches)
        loss, found = lesson.study((work, painted), passed)
        take_step(model, journal.optimisers, loss, run, run.rate(progress.step, min(passed, 1.0)))
        means.add(found)
        now = team.now()
        progress.step, progress.minutes = progress.step + 1, earlier + (now - begun) / 60
        blocks += work.canvas.blocks
        over = progress.minutes >= run.minutes
        if progress.step % 100 == 0 or over:
            yield {
                "step": progress.step,
                "minutes": round(progress.minutes, 2),
                **means.take(),
                "rate": run.rate(progress.step, min(passed, 1.0)),
                "blocks a second": round(blocks / max(now - begun, 1e-9)),
                **team.memory(),
            }
        if over or now - judged > 60 * run.judge_every:
            if figures := lesson.examine():
                yield {"step": progress.step, "minutes": round(progress.minutes, 2), **figures}
            judged = team.now(fresh=True)
        if over:
            return
