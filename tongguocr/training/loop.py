"""The training loop of every network: a task and batches in; a log, the best weights and a resume file out.

A task (recogniser, detector, full-size model) knows its network, the loss of a batch, its validation and how
its weights are saved. A feed gives batches, epoch by epoch or without end. The loop takes steps until the
first limit of the run is reached, validates now and then, and writes checkpoints. It can be interrupted at
any time, and goes on from the last resume file. Several processes may run it together. Paper 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.training.checkpoint import Checkpoints
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.optimisers import take_step
from tongguocr.training.run import Run

LOG_EVERY = 100
"""Steps between two records of the log."""


class Batch(NamedTuple):
    """One batch, and how far its epoch has come."""

    content: Any
    """What the task's loss takes."""
    samples: int
    window: int = 0
    """The part of the epoch that it belongs to: a run can go on at a window's beginning."""
    share: float = 0.0
    """How much of the epoch is done with it."""


class Feed(Protocol):
    """Where batches come from."""

    @property
    def endless(self) -> bool:
        """Whether the data has no epochs: validations then come by the clock."""

    def epoch(self, number: int, window: int) -> Iterator[Batch]:
        """One time through the data, beginning with this window; without end where data has none."""


@dataclass(frozen=True, slots=True)
class EndlessFeed:
    """Batches of data that is made while training and never ends."""

    batches: Iterator[Batch]
    endless: bool = True

    def epoch(self, number: int, window: int) -> Iterator[Batch]:
        return self.batches


class Task(Protocol):
    """A network in training."""

    @property
    def model(self) -> nn.Module: ...

    @property
    def metric(self) -> str:
        """The figure of a validation that the best weights are chosen by: the higher, the better."""

    def loss(self, content: Any, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The loss of a batch after this share of the run, and figures for the log."""

    def validate(self) -> dict[str, float]:
        """Figures on data that is not trained on; nothing in a process that does not validate."""

    def save(self, folder: Path) -> None:
        """Write the weights as they are now."""


def train(
    task: Task,
    feed: Feed,
    run: Run,
    checkpoints: Checkpoints,
    group: ProcessGroup,
    report: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Train until the run's first limit is reached, from where its checkpoints are."""
    _Loop(task, feed, run, checkpoints, group, report).run_on()
    group.close()


class _Loop:
    def __init__(
        self,
        task: Task,
        feed: Feed,
        run: Run,
        checkpoints: Checkpoints,
        group: ProcessGroup,
        report: Callable[[str], None],
    ) -> None:
        self.task, self.feed, self.run, self.checkpoints = task, feed, run, checkpoints
        self.group, self.report, self.progress = group, report, checkpoints.progress
        self.begun, self.earlier = group.now(fresh=True), self.progress.minutes
        self.last_validation = self.progress.minutes
        self.means, self.samples, self.rate = Means(), 0, 0.0

    def run_on(self) -> None:
        if self.progress.step == 0 and not self.feed.endless and self.run.keep == "best":
            # The weights that a run on pages begins with may stay the best.
            self._validate()
        while not self._is_over():
            self._run_epoch()
            if self.means.count:
                self._log_steps()
            self._validate()

    def _run_epoch(self) -> None:
        """One epoch, or what the limits leave of it; of endless data, all steps of the run."""
        progress, saved = self.progress, self.progress.minutes
        batches = self.feed.epoch(progress.epoch, progress.window)
        if not self.feed.endless:
            self._seed()
            batches = even_batches(batches, self.group)
        for batch in batches:
            if batch.window != progress.window:
                progress.window = batch.window
                if progress.minutes - saved > self.run.validate_every:
                    self.checkpoints.save()
                    saved = progress.minutes
            self._step(batch)
            if progress.step % LOG_EVERY == 0:
                self._log_steps()
            if self._is_over():
                return
            if self.feed.endless:
                saved = self._by_the_clock(saved)
        progress.epoch, progress.window = progress.epoch + 1, 0

    def _by_the_clock(self, saved: float) -> float:
        """Validate or write a resume file if it is time for one; the minute of the last resume file."""
        minutes = self.progress.minutes
        if minutes - self.last_validation > self.run.validate_every:
            self._validate()
        elif minutes - saved > self.run.checkpoint_every:
            self.checkpoints.save()
        else:
            return saved
        return self.progress.minutes

    def _step(self, batch: Batch) -> None:
        progress, run, checkpoints = self.progress, self.run, self.checkpoints
        passed = run.limits.passed(progress, batch.share)
        loss, figures = self.task.loss(batch.content, passed)
        self.rate = run.rate(progress.step, passed)
        take_step(checkpoints.model, checkpoints.optimisers, loss, run.clip, self.rate)
        if checkpoints.average is not None:
            checkpoints.average.update()
        self.means.add(figures)
        self.samples += batch.samples
        progress.step += 1
        self._look_at_the_clock()

    def _validate(self) -> None:
        """Validate and write a checkpoint; processes that do not validate wait for the one that does."""
        progress, checkpoints = self.progress, self.checkpoints
        with checkpoints.average.in_place() if checkpoints.average is not None else nullcontext():
            if figures := self.task.validate():
                checkpoints.log(self._position() | figures)
                is_best = figures[self.task.metric] >= progress.best
                progress.best = max(progress.best, figures[self.task.metric])
                if is_best or self.run.keep == "last":
                    self.task.save(checkpoints.folder)
        if figures:
            checkpoints.save()
            if self.group.is_main and not self.feed.endless:
                self.report(self._sentence(figures))
        self._look_at_the_clock(fresh=True)
        self.last_validation = progress.minutes

    def _sentence(self, figures: Mapping[str, float]) -> str:
        epochs, metric = self.run.limits.epochs, self.task.metric
        epoch = f"Epoch {self.progress.epoch}" + (f" of {epochs}" if epochs else "")
        return f"{epoch}: {metric} {figures[metric]:.4f} on the validation pages."

    def _is_over(self) -> bool:
        return self.run.limits.passed(self.progress) >= 1

    def _look_at_the_clock(self, fresh: bool = False) -> None:
        self.progress.minutes = self.earlier + (self.group.now(fresh) - self.begun) / 60

    def _log_steps(self) -> None:
        """The means of the steps since the last record."""
        seconds = 60 * (self.progress.minutes - self.earlier)
        speed = {"rate": self.rate, "samples a second": round(self.samples / max(seconds, 1e-9), 1)}
        self.checkpoints.log(self._position() | self.means.take() | speed | self.group.memory())

    def _position(self) -> dict[str, float]:
        progress = self.progress
        epoch = {} if self.feed.endless else {"epoch": progress.epoch}
        return {"step": progress.step, "minutes": round(progress.minutes, 2), **epoch}

    def _seed(self) -> None:
        """The same noise on inputs each time; that of other processes is another."""
        torch.manual_seed(((self.run.seed * 1000 + self.progress.epoch) * 1000 + self.group.rank) % 2**63)


class Means:
    """Figures averaged over the steps since they were last taken."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.count = 0

    def add(self, figures: Mapping[str, Tensor]) -> None:
        for name, value in figures.items():
            held = self.sums.get(name)
            self.sums[name] = value.detach() if held is None else held + value.detach()
        self.count += 1

    def take(self) -> dict[str, float]:
        means = {name: round(float(value) / max(self.count, 1), 4) for name, value in self.sums.items()}
        self.sums, self.count = {}, 0
        return means


def even_batches(batches: Iterator[Batch], group: ProcessGroup) -> Iterator[Batch]:
    """Batches until every process has had all of its own; who is done sooner repeats the last one.

    How far the epoch is, on which the learning rate depends, is what the main process says.
    """
    last: Batch | None = None
    while True:
        batch = next(batches, None)
        if not group.any(batch is not None):
            return
        last = batch or last
        if last is None:
            raise InputError("One of the processes has no samples; start fewer of them.")
        yield last._replace(share=group.broadcast(last.share))
