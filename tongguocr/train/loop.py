"""One training run: batches in, a checkpoint out, a log beside it.

The loop draws batches from its workers, paints them on the device, takes steps (run.py) on their losses
(losses.py), and validates now and then (judge.py). It can be interrupted at any time, and goes on where the
last validation left it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.synth.gpu import GlyphAtlas, render_batch
from tongguocr.synth.real_blocks import LineStore
from tongguocr.train.blocks import Work
from tongguocr.train.feed import Data, Feed, Painted
from tongguocr.train.judge import Judge
from tongguocr.train.losses import losses
from tongguocr.train.model import ModelSize, Recogniser
from tongguocr.train.run import Optimisers, Run, make_optimisers, take_step


@dataclass(frozen=True, slots=True)
class Painter:
    """Everything on the device that turns a batch into images."""

    atlas: GlyphAtlas
    store: LineStore | None

    @torch.no_grad()
    def paint(self, work: Work) -> Painted:
        shown = render_batch(work.batch, self.atlas, work.conditions, work.seed, self.store)
        return shown.images.float() / 255, shown.points, shown.of_block


@dataclass(slots=True)
class Progress:
    """How far a run has come: what an interrupted one goes on from, with its model and optimiser."""

    step: int = 0
    minutes: float = 0.0
    best: float = -math.inf
    """The best AR of a validation so far."""


def train(data: Data, run: Run, size: ModelSize, out: Path, start: Path | None, device: torch.device) -> None:
    """Train until the time is up; `out` gets log.jsonl, model.pt (the best weights) and resume.pt.

    If `out` has a resume.pt, the run goes on where that one was left. Workers are started first: they are
    forked, which a process that has touched a GPU must not be.
    """
    feed = Feed(data, run.recipe, run.workers, run.seed * 1000)
    out.mkdir(parents=True, exist_ok=True)
    model = Recogniser(size).to(device)
    if start is not None:
        model.load_state_dict(load(start)[1])
    model.stem.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimisers = make_optimisers(model, run)
    progress = resume(out / "resume.pt", model, optimisers)
    if run.compile:
        for layer in [*model.encoder, *model.decoder]:
            layer.compile(dynamic=True)
    store = LineStore.load(data.lines, device) if data.lines is not None else None
    painter = Painter(GlyphAtlas.load(data.atlas, device), store)
    judge = Judge.prepare(data, run.recipe, painter.atlas, device)
    batches = _growing(feed, feed.batches(device, painter.paint), progress, run)
    with (out / "log.jsonl").open("a", encoding="utf-8") as log:
        for record in _steps(model, optimisers, progress, run, batches, judge, data.codec.bos, device):
            log.write(json.dumps(record) + "\n")
            log.flush()
            if "AR" in record:
                if record["AR"] >= progress.best:
                    progress.best = record["AR"]
                    save(model, size, out / "model.pt")
                keep(out / "resume.pt", model, optimisers, progress)
    feed.stop()


def _growing(
    feed: Feed, batches: Iterator[tuple[Work, Painted]], progress: Progress, run: Run
) -> Iterator[tuple[Work, Painted]]:
    """The batches, the workers told before each how far the run has come."""
    while True:
        feed.level.value = min(progress.minutes / max(run.gentle * run.minutes, 1e-9), 1.0)
        yield next(batches)


def keep(path: Path, model: Recogniser, optimisers: Optimisers, progress: Progress) -> None:
    """All that an interrupted run needs, whole or not at all."""
    states = [optimiser.state_dict() for optimiser in optimisers]
    _write({"model": model.state_dict(), "optimisers": states, "progress": asdict(progress)}, path)


def resume(path: Path, model: Recogniser, optimisers: Optimisers) -> Progress:
    """Take up what `keep` wrote; without such a file, the beginning."""
    if not path.exists():
        return Progress()
    try:
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        return Progress(**state["progress"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: the run cannot go on from this file ({error}).") from None


def save(model: Recogniser, size: ModelSize, path: Path) -> None:
    """The weights in half precision, whole or not at all."""
    state = {name: value.half().cpu() for name, value in model.state_dict().items()}
    _write({"size": asdict(size), "state": state}, path)


def _write(content: dict[str, Any], path: Path) -> None:
    """A run may be killed at any moment: the file is replaced only once it is whole."""
    torch.save(content, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def load(path: Path) -> tuple[ModelSize, dict[str, Tensor]]:
    """What `save` wrote, in single precision again."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        return ModelSize(**saved["size"]), {name: value.float() for name, value in saved["state"].items()}
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: these are not weights of the recogniser ({error}).") from None


def _steps(
    model: Recogniser,
    optimisers: Optimisers,
    progress: Progress,
    run: Run,
    batches: Iterator[tuple[Work, Painted]],
    judge: Judge,
    bos: int,
    device: torch.device,
) -> Iterator[dict[str, float]]:
    """The loop itself; yields the means of each hundred steps, and a record with AR after a validation."""
    judged = begun = time.monotonic()
    earlier, blocks, sums, count = progress.minutes, 0, torch.zeros(4, device=device), 0
    while True:
        passed = progress.minutes / run.minutes
        work, painted = next(batches)
        found = losses(model, work, painted, run, bos, device)
        loss = found.text + run.dense[int(passed >= 0.5)] * found.dense + run.pointer * found.pointer
        take_step(model, optimisers, loss, run, run.rate(progress.step, min(passed, 1.0)))
        sums, count = sums + torch.stack(found).detach(), count + 1
        now = time.monotonic()
        progress.step, progress.minutes = progress.step + 1, earlier + (now - begun) / 60
        blocks += work.canvas.blocks
        over = progress.minutes >= run.minutes
        if progress.step % 100 == 0 or over:
            means = [round(value / count, 4) for value in sums.tolist()]
            yield {
                "step": progress.step,
                "minutes": round(progress.minutes, 2),
                **dict(zip(("loss", "dense", "pointer", "accuracy"), means, strict=True)),
                "rate": run.rate(progress.step, min(passed, 1.0)),
                "blocks a second": round(blocks / (now - begun)),
            }
            sums, count = torch.zeros_like(sums), 0
        if over or now - judged > 60 * run.judge_every:
            yield {"step": progress.step, "minutes": round(progress.minutes, 2), **judge.score(model)}
            judged = time.monotonic()
        if over:
            return
