"""Epochs of labelled pages: pages in, batches of one shape out, the same for the same seed.

An epoch goes through its pages in an order of its own, window by window: the samples of some hundred pages
are made by worker processes, put beside samples of their shape, and handed out as batches in any order. A
run that was interrupted goes on at a window's beginning. Of several processes each has its own pages.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec
from tongguocr.training.loop import Batch
from tongguocr.training.recogniser.block_feed import Painted
from tongguocr.training.recogniser.blocks import Targets, stack_targets
from tongguocr.training.recogniser.labelled import Labelled, draw
from tongguocr.training.recogniser.pages import LeftOut, PageRecipe, Sample, make_samples
from tongguocr.training.recogniser.validation import ValidationSet

WINDOW = 192
"""Pages whose samples are mixed: some hundred megabytes."""
WASTE = 0.15
"""Filling that a batch may have beyond that of its pictures."""

Made: TypeAlias = tuple[list[Any], LeftOut]
SampleT = TypeVar("SampleT")
"""A sample."""
ValidationT = TypeVar("ValidationT", covariant=True)
"""What a validation asks."""


class Maker(Protocol[SampleT, ValidationT]):
    """What makes a network's samples of labelled pages; each worker process has one."""

    @property
    def pages(self) -> Labelled: ...
    @property
    def recipe(self) -> PageRecipe: ...
    @property
    def seed(self) -> int: ...

    def make(self, name: str, number: int, epoch: int) -> Made:
        """The samples of one page to train on (`train`) or to validate."""

    def batches(self, samples: Sequence[SampleT], rng: np.random.Generator | None) -> list[list[SampleT]]:
        """Which samples go together; in any order, if a generator is given."""

    def stack(self, samples: Sequence[SampleT]) -> Any:
        """One batch, whose `to` gives what the task's loss takes."""

    def validation_set(self, samples: Sequence[SampleT], device: torch.device) -> ValidationT: ...


@dataclass(frozen=True, slots=True)
class PageBatch:
    """Samples as tensors."""

    said: Targets
    images: Tensor
    """n x 1 x height x width, bytes."""
    points: Tensor
    of_block: Tensor

    def to(self, device: torch.device) -> tuple[Targets, Painted]:
        """What `losses` takes."""
        tokens, characters, places = (
            part.to(device).long() for part in (self.said.tokens, self.said.characters, self.said.places)
        )
        images, points, of_block = (t.to(device) for t in (self.images, self.points, self.of_block))
        return Targets(tokens, characters, places), (images.float() / 255, points, of_block)


@dataclass(frozen=True, slots=True)
class PageMaker:
    """Everything that makes samples; each worker process has one."""

    pages: Labelled
    recipe: PageRecipe
    codec: Codec
    seed: int

    def make(self, name: str, number: int, epoch: int) -> Made:
        page = draw(self.pages.train if name == "train" else self.pages.validation, number)
        if isinstance(page, str):
            return [], Counter({page: 1})
        changed = name == "train" and self.recipe.augment
        rng = np.random.default_rng([self.seed, epoch, number]) if changed else None
        samples, left_out = make_samples(page, self.recipe, self.codec, rng)
        return [replace(sample, page=str(page.image)) for sample in samples], left_out

    def batches(self, samples: Sequence[Sample], rng: np.random.Generator | None) -> list[list[Sample]]:
        return make_batches(samples, self.recipe.batch_pixels, rng)

    def stack(self, samples: Sequence[Sample]) -> PageBatch:
        return stack_samples(samples, self.codec)

    def validation_set(self, samples: Sequence[Sample], device: torch.device) -> ValidationSet:
        images = self.stack(samples).images.to(device)
        pages = tuple(sample.page for sample in samples)
        return ValidationSet(images, [list(sample.tokens[:-1]) for sample in samples], pages)


_maker: Maker[Any, Any] | None = None


def _begin(maker: Maker[Any, Any]) -> None:
    global _maker
    _maker = maker
    torch.set_num_threads(1)


def _make(job: tuple[str, int, int]) -> Made:
    assert _maker is not None
    return _maker.make(*job)


class PageFeed(Generic[SampleT, ValidationT]):
    """Batches of labelled pages, for one of `count` processes; without workers, made as they are asked for.

    Workers are forked, which a process that has touched a GPU must not be: make the feed first.
    """

    endless = False

    def __init__(
        self,
        maker: Maker[SampleT, ValidationT],
        workers: int,
        number: int = 0,
        count: int = 1,
        report: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        if len(maker.pages.train) < count:
            raise InputError(
                f"There are {len(maker.pages.train)} pages to train on, too few for {count} processes."
            )
        self.maker, self.number, self.count, self.workers = maker, number, count, workers
        self.report, self.device = report, torch.device("cpu")
        self.left_out: LeftOut = Counter()
        self.samples, self.told = 0, False
        self.pool: ProcessPoolExecutor | None = None
        if workers:
            context = multiprocessing.get_context("fork")
            self.pool = ProcessPoolExecutor(workers, context, _begin, (maker,))
            self.pool.submit(int).result()

    def to(self, device: torch.device) -> PageFeed[SampleT, ValidationT]:
        """Give all batches on this device from now on."""
        self.device = device
        return self

    def epoch(self, number: int, window: int = 0) -> Iterator[Batch]:
        """One time through the pages, from this window on; the first time, what was left out is told."""
        yield from self._batches(number, window)
        if not self.samples:
            page = self.maker.pages.train[0].image
            raise InputError(f"{page}: no page gives a sample: {describe_left_out(self.left_out)}.")
        if number == 0 and self.number == 0:
            whose = " of the main process" if self.count > 1 else ""
            reasons = describe_left_out(self.left_out)
            self.report(f"{self.samples} samples{whose} an epoch; left out: {reasons}.")

    def _batches(self, epoch: int, first: int) -> Iterator[Batch]:
        rng = np.random.default_rng([self.maker.seed, epoch])
        order = rng.permutation(len(self.maker.pages.train))[self.number :: self.count]
        windows = [order[k : k + WINDOW] for k in range(0, len(order), WINDOW)]
        made = self._results(("train", int(page), epoch) for window in windows[first:] for page in window)
        for number, window in enumerate(windows[first:], start=first):
            samples = self._collect(made, len(window), self.left_out)
            self.samples += len(samples)
            mixed = np.random.default_rng([self.maker.seed, epoch, number])
            batches = self.maker.batches(samples, mixed)
            for k, batch in enumerate(batches, start=1):
                share = (number + k / len(batches)) / len(windows)
                yield Batch(self.maker.stack(batch).to(self.device), len(batch), number, share)

    def validation_sets(self, device: torch.device) -> Iterator[ValidationT]:
        """The validation pages in batches, as the task wants them; made anew each time, window by window."""
        pages, most = self.maker.pages.validation, self.maker.recipe.validation_pages
        numbers = np.linspace(0, len(pages) - 1, min(len(pages), most or len(pages))).round().astype(int)
        made = self._results(("validation", int(number), 0) for number in numbers)
        left_out, count = LeftOut(), 0
        for begin in range(0, len(numbers), WINDOW):
            samples = self._collect(made, len(numbers[begin : begin + WINDOW]), left_out)
            count += len(samples)
            for batch in self.maker.batches(samples, None):
                yield self.maker.validation_set(batch, device)
        if not count:
            reasons = describe_left_out(left_out)
            raise InputError(f"{pages[0].image}: no validation page gives a sample: {reasons}.")
        if left_out and not self.told:
            self.report(f"{count} samples to validate on; left out: {describe_left_out(left_out)}.")
        self.told = True

    def _collect(self, made: Iterator[Made], pages: int, left_out: LeftOut) -> list[SampleT]:
        """The samples of the next so many pages, whoever made them; what was left out is added up."""
        samples: list[SampleT] = []
        for found, left in islice(made, pages):
            samples += found
            left_out.update(left)
        return samples

    def _results(self, jobs: Iterable[tuple[str, int, int]]) -> Iterator[Made]:
        """What each job made, in the order of the jobs."""
        if self.pool is None:
            yield from (self.maker.make(*job) for job in jobs)
            return
        waiting: deque[Future[Made]] = deque()
        for job in jobs:
            waiting.append(self.pool.submit(_make, job))
            # So many jobs ahead keep the workers busy, and memory in bounds.
            if len(waiting) > 4 * self.workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)


def make_batches(
    samples: Sequence[Sample], pixels: int, rng: np.random.Generator | None
) -> list[list[Sample]]:
    """Samples of one shape, or nearly so, together; the batches in any order, if a generator is given."""
    return fill_batches(samples, lambda s: s.picture.shape, lambda batch, s: _fits(batch, s, pixels), rng)


def fill_batches(
    samples: Sequence[SampleT],
    size: Callable[[SampleT], Any],
    fits: Callable[[Sequence[SampleT], SampleT], bool],
    rng: np.random.Generator | None,
) -> list[list[SampleT]]:
    """Samples of any kind in batches: by their size, each into the last batch as long as it fits there."""
    mixed = rng.permutation(len(samples)).tolist() if rng is not None else range(len(samples))
    batches: list[list[SampleT]] = []
    for sample in sorted((samples[k] for k in mixed), key=size):
        if not batches or not fits(batches[-1], sample):
            batches.append([])
        batches[-1].append(sample)
    if rng is not None:
        rng.shuffle(batches)
    return batches


def _fits(batch: Sequence[Sample], sample: Sample, pixels: int) -> bool:
    together = [*batch, sample]
    high, wide = (max(s.picture.shape[axis] for s in together) for axis in (0, 1))
    area = high * wide * len(together)
    return area <= pixels and area <= (1 + WASTE) * sum(s.picture.size for s in together)


def stack_samples(samples: Sequence[Sample], codec: Codec) -> PageBatch:
    """One tensor of pictures, filled up with their own paper, and their targets."""
    high, wide = (max(s.picture.shape[axis] for s in samples) for axis in (0, 1))
    images = np.empty((len(samples), 1, high, wide), np.uint8)
    for image, sample in zip(images[:, 0], samples, strict=True):
        image[:] = sample.paper
        image[: sample.picture.shape[0], : sample.picture.shape[1]] = sample.picture
    said = stack_targets(
        [s.tokens for s in samples], [s.places for s in samples], [s.characters for s in samples], codec.pad
    )
    of_block = np.repeat(np.arange(len(samples)), [len(s.characters) for s in samples])
    points = np.concatenate([sample.points for sample in samples])
    return PageBatch(said, torch.from_numpy(images), torch.from_numpy(points), torch.from_numpy(of_block))


def describe_left_out(left_out: LeftOut) -> str:
    """What was left out, as part of a sentence."""
    return ", ".join(f"{count} {reason}" for reason, count in left_out.most_common()) or "nothing left out"
