"""One training run of the detector: batches in, a checkpoint out, a log beside it.

Half precision on a GPU, AdamW, a rate that warms up, stays and falls as a cosine over the time that the run
is given. After each validation the best weights so far are kept, and all that an interrupted run needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.training.checkpoint import RESUME, Progress, keep, resume, write_whole
from tongguocr.training.detector.feed import Feed, Source
from tongguocr.training.detector.model import Detector, DetectorSize
from tongguocr.training.detector.paint import Labels, Painter
from tongguocr.training.detector.targets import Weights, losses
from tongguocr.training.detector.validation import Judge
from tongguocr.training.optimisers import fall
from tongguocr.training.plot import LOG


@dataclass(frozen=True, slots=True)
class DetectorRun:
    """What one run is given."""

    minutes: float
    steps: int = 1_000_000
    """The run ends with its minutes or after so many steps, whichever comes first."""
    learning_rate: float = 2e-3
    warm_up: int = 300
    """Steps."""
    flat: float = 0.3
    """Share of the run before the rate begins to fall."""
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.02
    clip: float = 5.0
    judge_every: float = 4.0
    """Minutes between validations, each with a checkpoint."""
    workers: int = 14
    seed: int = 1
    weights: Weights = field(default_factory=Weights)

    def passed(self, progress: Progress) -> float:
        """The share of the run that is over."""
        return min(max(progress.minutes / self.minutes, progress.step / self.steps), 1.0)

    def rate(self, step: int, passed: float) -> float:
        """The learning rate after so many steps, `passed` being the share of the run that is over."""
        return self.learning_rate * min(1.0, (step + 1) / self.warm_up) * fall(passed, self.flat, 0.01)


def train_detector(
    source: Source, run: DetectorRun, size: DetectorSize, out: Path, start: Path | None, device: torch.device
) -> None:
    """Train until the time is up; `out` gets log.jsonl, detector.pt (the best weights) and resume.pt.

    If `out` has a resume.pt, the run goes on where that one was left. Workers are started first: they are
    forked, which a process that has touched a GPU must not be.
    """
    feed = Feed(source, run.workers, run.seed * 1000)
    try:
        make_folder(out)
        torch.manual_seed(run.seed)
        model = Detector(size).to(device)
        if start is not None:
            model.load_state_dict(load_detector(start).state_dict())
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimiser = torch.optim.AdamW(
            model.parameters(),
            lr=run.learning_rate,
            betas=run.betas,
            weight_decay=run.weight_decay,
            fused=device.type == "cuda",
        )
        progress = resume(out / RESUME, model, [optimiser])
        painter = Painter.load(source.data.atlas, source.data.lines, source.pages, source.recipe, device)
        judge = Judge.prepare(source, painter, device)
        batches = feed.batches(device, painter.paint)
        with (out / LOG).open("a", encoding="utf-8") as log:
            for record in _steps(model, optimiser, progress, run, batches, judge, device):
                log.write(json.dumps(record) + "\n")
                log.flush()
                if "score" in record:
                    if record["score"] >= progress.best:
                        progress.best = record["score"]
                        save_detector(model, out / "detector.pt")
                    keep(out / RESUME, model, [optimiser], progress)
    finally:
        feed.stop()


def _steps(
    model: Detector,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    run: DetectorRun,
    batches: Iterator[tuple[Tensor, Labels]],
    judge: Judge,
    device: torch.device,
) -> Iterator[dict[str, float]]:
    """The loop itself; yields a record now and then, and one with `score` after each validation."""
    judged = begun = time.monotonic()
    earlier, windows = progress.minutes, 0
    while True:
        for group in optimiser.param_groups:
            group["lr"] = run.rate(progress.step, run.passed(progress))
        images, labels = next(batches)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            maps = model(images.contiguous(memory_format=torch.channels_last))
        found = losses(maps, labels, run.weights)
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(found["loss"])
        torch.nn.utils.clip_grad_norm_(model.parameters(), run.clip)
        optimiser.step()
        now = time.monotonic()
        progress.step, progress.minutes = progress.step + 1, earlier + (now - begun) / 60
        windows += len(images)
        over = run.passed(progress) >= 1
        if progress.step % 100 == 0 or over:
            yield {
                "step": progress.step,
                "minutes": round(progress.minutes, 2),
                **{name: round(float(value.detach()), 4) for name, value in found.items()},
                "rate": optimiser.param_groups[0]["lr"],
                "windows a second": round(windows / (now - begun), 1),
            }
        if over or now - judged > 60 * run.judge_every:
            yield {"step": progress.step, "minutes": round(progress.minutes, 2), **judge.score(model)}
            judged = time.monotonic()
        if over:
            return


def save_detector(model: Detector, path: Path) -> None:
    state = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    write_whole({"detector": asdict(model.size), "state": state}, path)


def is_detector(path: Path) -> bool:
    """Whether a file holds the detector's weights; what cannot be read holds nobody's."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        return isinstance(saved, dict) and "detector" in saved
    except Exception:  # a damaged file fails in the unpickler in any way it likes
        return False


def load_detector(path: Path) -> Detector:
    """What `save_detector` wrote."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        model = Detector(DetectorSize(**saved["detector"]))
        model.load_state_dict(saved["state"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: these are not weights of the detector ({error}).") from None
    return model.eval()
