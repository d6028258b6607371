"""One training run: batches in, a checkpoint out, a log beside it.

Two losses: the paper's next-token loss over the target, and a dense one that classifies the features at each
character's place. Some input tokens are replaced at random, so that the decoder trusts the page and not its
own memory. The learning rate warms up, stays, and falls as a cosine over the time that the run is given.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.synth.gpu import GlyphAtlas, render_batch
from tongguocr.synth.real_blocks import LineStore
from tongguocr.train.blocks import IGNORED, Recipe, Work
from tongguocr.train.feed import Data, Feed, Painted
from tongguocr.train.judge import Judge
from tongguocr.train.model import STRIDE, ModelSize, Recogniser


@dataclass(frozen=True, slots=True)
class Run:
    """What one run is given."""

    minutes: float
    learning_rate: float = 1e-3
    warm_up: int = 500
    """Steps."""
    flat: float = 0.35
    """Share of the time before the rate begins to fall."""
    gentle: float = 0.15
    """Share of the time in which blocks grow from a column or two to their full size."""
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.02
    clip: float = 1.0
    corrupted: float = 0.06
    """Share of input tokens that are replaced."""
    smoothing: float = 0.02
    dense: tuple[float, float] = (1.0, 0.4)
    """Weight of the dense loss in the first and the second half."""
    judge_every: float = 5.0
    """Minutes between validations, each with a checkpoint."""
    workers: int = 14
    seed: int = 1
    compile: bool = True
    recipe: Recipe = field(default_factory=Recipe)

    def rate(self, step: int, passed: float) -> float:
        """The learning rate after so many steps, `passed` being the share of the time that is gone."""
        warm = min(1.0, (step + 1) / self.warm_up)
        fall = 1.0
        if passed > self.flat:
            fall = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (passed - self.flat) / (1 - self.flat)))
        return self.learning_rate * warm * fall


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
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=run.learning_rate,
        betas=run.betas,
        weight_decay=run.weight_decay,
        fused=device.type == "cuda",
    )
    progress = resume(out / "resume.pt", model, optimiser)
    if run.compile:
        for layer in [*model.encoder, *model.decoder]:
            layer.compile(dynamic=True)
    store = LineStore.load(data.lines, device) if data.lines is not None else None
    painter = Painter(GlyphAtlas.load(data.atlas, device), store)
    judge = Judge.prepare(data, run.recipe, painter.atlas, device)
    batches = _growing(feed, feed.batches(device, painter.paint), progress, run)
    with (out / "log.jsonl").open("a", encoding="utf-8") as log:
        for record in _steps(model, optimiser, progress, run, batches, judge, data.codec.bos, device):
            log.write(json.dumps(record) + "\n")
            log.flush()
            if "AR" in record:
                if record["AR"] >= progress.best:
                    progress.best = record["AR"]
                    save(model, size, out / "model.pt")
                keep(out / "resume.pt", model, optimiser, progress)
    feed.stop()


def _growing(
    feed: Feed, batches: Iterator[tuple[Work, Painted]], progress: Progress, run: Run
) -> Iterator[tuple[Work, Painted]]:
    """The batches, the workers told before each how far the run has come."""
    while True:
        feed.level.value = min(progress.minutes / max(run.gentle * run.minutes, 1e-9), 1.0)
        yield next(batches)


def keep(path: Path, model: Recogniser, optimiser: torch.optim.Optimizer, progress: Progress) -> None:
    """All that an interrupted run needs, whole or not at all."""
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "progress": asdict(progress)}
    _write(state, path)


def resume(path: Path, model: Recogniser, optimiser: torch.optim.Optimizer) -> Progress:
    """Take up what `keep` wrote; without such a file, the beginning."""
    if not path.exists():
        return Progress()
    try:
        state = torch.load(path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
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
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    run: Run,
    batches: Iterator[tuple[Work, Painted]],
    judge: Judge,
    bos: int,
    device: torch.device,
) -> Iterator[dict[str, float]]:
    """The loop itself; yields a record now and then, and one with AR after each validation."""
    judged = begun = time.monotonic()
    earlier, blocks = progress.minutes, 0
    while True:
        passed = progress.minutes / run.minutes
        for group in optimiser.param_groups:
            group["lr"] = run.rate(progress.step, min(passed, 1.0))
        work, painted = next(batches)
        text, dense, right = losses(model, work, painted, run, bos, device)
        loss = text + run.dense[int(passed >= 0.5)] * dense
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), run.clip)
        optimiser.step()
        now = time.monotonic()
        progress.step, progress.minutes = progress.step + 1, earlier + (now - begun) / 60
        blocks += work.canvas.blocks
        over = progress.minutes >= run.minutes
        if progress.step % 100 == 0 or over:
            yield {
                "step": progress.step,
                "minutes": round(progress.minutes, 2),
                "loss": round(float(text.detach()), 4),
                "dense": round(float(dense.detach()), 4),
                "accuracy": round(float(right), 4),
                "rate": optimiser.param_groups[0]["lr"],
                "blocks a second": round(blocks / (now - begun)),
            }
        if over or now - judged > 60 * run.judge_every:
            yield {"step": progress.step, "minutes": round(progress.minutes, 2), **judge.score(model)}
            judged = time.monotonic()
        if over:
            return


def losses(
    model: Recogniser, work: Work, painted: Painted, run: Run, bos: int, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Next-token loss, dense loss, and the share of tokens that were right."""
    images, points, of_block = painted
    tokens = work.tokens
    given = torch.cat([torch.full_like(tokens[:, :1], bos), tokens[:, :-1]], 1)
    given = corrupt(given, run.corrupted, model.size.tokens)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        features = model.encode(images.contiguous(memory_format=torch.channels_last))
        states, _ = model.decode(given, model.look(features))
        wanted = tokens != 0
        scores = model.score(states[wanted]).float()
        places, seen = at_places(features, points, of_block, images.shape[-2], images.shape[-1])
        dense_scores = model.score_places(places).float()
    targets = torch.where(seen, work.characters, IGNORED)
    text = F.cross_entropy(scores, tokens[wanted], label_smoothing=run.smoothing)
    dense = F.cross_entropy(dense_scores, targets, ignore_index=IGNORED)
    return text, dense, (scores.argmax(-1) == tokens[wanted]).float().mean()


def corrupt(tokens: Tensor, share: float, count: int) -> Tensor:
    """Some tokens replaced by any others; the first one, bos, stays."""
    chosen = torch.rand(tokens.shape, device=tokens.device) < share
    chosen[:, 0] = False
    return torch.where(chosen, torch.randint_like(tokens, count), tokens)


def at_places(
    features: Tensor, points: Tensor, of_block: Tensor, height: int, width: int
) -> tuple[Tensor, Tensor]:
    """The features at these points (x, y in pixels), between four neighbours; and which lie in the image."""
    rows, columns = height // STRIDE, width // STRIDE
    x, y = (points[:, k] / STRIDE - 0.5 for k in (0, 1))
    seen = (points[:, 0] > 0) & (points[:, 0] < width) & (points[:, 1] > 0) & (points[:, 1] < height)
    flat = features.flatten(0, 1)
    total = torch.zeros(len(points), features.shape[-1], device=features.device, dtype=features.dtype)
    for dx in (0, 1):
        for dy in (0, 1):
            column, row = x.floor() + dx, y.floor() + dy
            share = (1 - (x - column).abs()) * (1 - (y - row).abs())
            at = row.clamp(0, rows - 1) * columns + column.clamp(0, columns - 1)
            index = (of_block * (rows * columns) + at).long()
            total = total + flat[index] * share[:, None].to(flat.dtype)
    return total, seen
