"""One run on labelled pages: the paper's three stages, and fine-tuning on pages of one's own.

In: a network and pages. Out: log.jsonl, model.pt and resume.pt, as of any run. It goes through the pages so
many times, reads the validation pages after each, and keeps the weights that read them best; the weights it
began with take part. An interrupted run goes on at the last window that was kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tongguocr.engines.weights import CODEC
from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.tokens.codec import Codec
from tongguocr.training.checkpoint import Journal, Means, Record
from tongguocr.training.distributed import Team, gather_team, my_number, team_size
from tongguocr.training.loop import make_ready
from tongguocr.training.optimisers import Run, take_step
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.page_feed import Drawn, PageFeed, PageMaker, tell
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.recogniser.task import Lesson, SmallLesson
from tongguocr.training.recogniser.validation import Judge


def train_pages(
    pages: Labelled,
    recipe: PageRecipe,
    run: Run,
    model: Recogniser,
    codec: Codec,
    out: Path,
    device: torch.device,
    say: Say = print,
) -> None:
    """Train for the run's epochs. Workers are started first: they are forked."""
    feed = PageFeed(PageMaker(pages, recipe, codec, run.seed), run.workers, my_number(), team_size())
    try:
        team = gather_team(device)
        make_folder(out)
        if team.is_main:
            codec.save(out / CODEC)
        journal, forward = make_ready(model, run, out, team)
        judge = Judge(codec, feed.exams(team.device), ()) if team.is_main else None
        lesson = SmallLesson(model, run, codec.bos, team.device, forward, judge)
        go_through(feed, journal, run, lesson, team, say)
    finally:
        feed.stop()


def go_through(
    feed: PageFeed[Any, Any], journal: Journal[Any], run: Run, lesson: Lesson, team: Team, say: Say
) -> None:
    """All epochs of any network, from where the journal is."""
    for record in _Epochs(feed, journal, run, lesson, team, say).records():
        journal.write(record)
        if team.is_main and "AR" in record:
            say(_sentence(record, run))
    team.part()


def _sentence(record: Record, run: Run) -> str:
    return f"Epoch {record['epoch']} of {run.epochs}: AR {record['AR']:.4f} on the validation pages."


@dataclass(frozen=True, slots=True)
class _Epochs:
    """The loop's surroundings."""

    feed: PageFeed[Any, Any]
    journal: Journal[Any]
    run: Run
    lesson: Lesson
    team: Team
    say: Say

    def records(self) -> Iterator[Record]:
        """Means of each hundred steps and each epoch; a record with AR before the first and after each."""
        progress, begun = self.journal.progress, self.team.now(fresh=True)
        earlier, means = progress.minutes, Means(self.team.device, self.lesson.figures)
        if progress.step == 0:
            yield from self._judged()
        for epoch in range(progress.epoch, self.run.epochs):
            self._seed(epoch)
            kept, rate = progress.minutes, 0.0
            for drawn in together(self.feed.epoch(epoch, progress.window), self.team):
                if drawn.window != progress.window:
                    progress.window = drawn.window
                    if progress.minutes - kept > self.run.judge_every:
                        self.journal.keep()
                        kept = progress.minutes
                rate = self._step(drawn, (epoch + drawn.share) / self.run.epochs, means)
                progress.minutes = earlier + (self.team.now() - begun) / 60
                if progress.step % 100 == 0:
                    yield self._at(epoch) | means.take() | {"rate": rate} | self.team.memory()
            if not self.feed.samples:
                raise InputError(f"{self.journal.out}: no page gives a sample: {tell(self.feed.left_out)}.")
            progress.epoch, progress.window = epoch + 1, 0
            yield self._at(epoch + 1) | (means.take() if means.count else {}) | {"rate": rate}
            self._count()
            yield from self._judged()

    def _step(self, drawn: Drawn, passed: float, means: Means) -> float:
        """One step; returns the part of the learning rate that it was taken with."""
        run, journal = self.run, self.journal
        loss, found = self.lesson.study(drawn.batch.to(self.team.device), passed)
        rate = run.rate(journal.progress.step, passed)
        take_step(journal.model, journal.optimisers, loss, run, rate)
        means.add(found)
        journal.progress.step += 1
        return rate

    def _judged(self) -> Iterator[Record]:
        """The validation; the other processes wait for it at the next thing they do together."""
        if figures := self.lesson.examine():
            yield self._at(self.journal.progress.epoch) | figures

    def _at(self, epoch: int) -> dict[str, float]:
        progress = self.journal.progress
        return {"step": progress.step, "minutes": round(progress.minutes, 2), "epoch": epoch}

    def _seed(self, epoch: int) -> None:
        """The same noise on inputs each time; that of other processes is another."""
        torch.manual_seed(((self.run.seed * 1000 + epoch) * 1000 + self.team.number) % 2**63)

    def _count(self) -> None:
        """After the first epoch, what was and was not trained on."""
        if self.team.is_main and self.journal.progress.epoch == 1:
            whose = " of the main process" if self.team.count > 1 else ""
            self.say(f"{self.feed.samples} samples{whose} an epoch; left out: {tell(self.feed.left_out)}.")


def together(batches: Iterator[Drawn], team: Team) -> Iterator[Drawn]:
    """Batches until every process has had all of its own; who is done sooner repeats the last one.

    How far the epoch is, on which the learning rate depends, is what the main process says.
    """
    last: Drawn | None = None
    while True:
        drawn = next(batches, None)
        if not team.any(drawn is not None):
            return
        last = drawn or last
        if last is None:
            raise InputError("One of the processes has no samples; start fewer of them.")
        yield last._replace(share=team.share(last.share))
