"""What a training run is given, the table [run] of a stage file: how long it lasts, its rates, its losses.

Steps, minutes and epochs are limits of one kind: a run may have any of them and is over with the first one
that is reached. The learning rate warms up, stays, and falls as a cosine over whichever ends first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from tongguocr.training.settings import fill

LossMean: TypeAlias = Literal["sequences", "tokens"]


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    minutes: float = 0.0
    best: float = -math.inf
    """The best figure of a validation so far."""
    epoch: int = 0
    """Epochs that are done."""
    window: int = 0
    """Windows of the current epoch that are done."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a run lasts: until the first of these is reached; 0 is no limit."""

    steps: int = 0
    minutes: float = 0.0
    epochs: int = 0

    def passed(self, progress: Progress, share: float = 0.0) -> float:
        """The share of the run that is over, from 0 to 1; `share` is that of the current epoch."""
        done = (
            (progress.step, self.steps),
            (progress.minutes, self.minutes),
            (progress.epoch + share, self.epochs),
        )
        return min(max((value / limit for value, limit in done if limit), default=0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Run:
    """Settings of one run: the table [run], its three limits taken together."""

    limits: Limits
    learning_rate: float = 2e-3
    """Of embeddings, convolutions and scales, by AdamW."""
    matrix_rate: float = 5e-3
    """Of matrices, by Muon; if 0, they are trained like the others."""
    stem_rate: float = 1.0
    """The stem's part of the learning rate: a stem that knows ink already should change slowly."""
    average: float = 0.0
    """Weights are averaged over about 1 / (1 - average) of the last steps, validated and saved so; 0: not."""
    warm_up: float = 300.0
    """Steps; below 1, a share of the run."""
    flat: float = 0.35
    """Share of the run before the rate begins to fall."""
    least: float = 0.02
    """What is left of the rates at the end of a run."""
    gentle: float = 0.06
    """Share of the run in which synthetic blocks grow from a column or two to their full size."""
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.02
    clip: float = 1.0
    """Gradients are scaled down to this norm."""
    corrupted: float = 0.06
    """Share of input tokens that are replaced, and of input places that lie about two features off."""
    jitter: float = 0.15
    """Features by which all other input places are off."""
    loss_mean: LossMean = "sequences"
    """What the text loss is the mean of: `sequences`, each with the mean of its own tokens, as in the paper's
    equation 12 (1/T); or all `tokens` of a batch alike, so that a page counts more than a word."""
    smoothing: float = 0.02
    """Label smoothing of the text loss."""
    dense: tuple[float, float] = (1.0, 0.4)
    """Weight of the dense loss in the first and in the second half of a run."""
    pointer: float = 0.5
    """Weight of the pointer's loss."""
    validate_every: float = 5.0
    """Minutes between validations of data without epochs, and between resume files within an epoch."""
    keep: Literal["best", "last"] = "best"
    """The weights that a run leaves: those that validated best, or the last ones."""
    checkpoint_every: float = 5.0
    """Minutes between resume files of data without epochs, whose validations are long."""
    frozen: tuple[str, ...] = ()
    """Parts of the network that are not trained, or layers of them, as encoder.0: with stem and encoder
    frozen, a step is cheaper."""
    half: bool = False
    """Whether a processor computes in half precision (bfloat16), as GPUs always do: half the time where it
    has instructions for that, more where it has not."""
    workers: int = 14
    """Processes that make batches."""
    seed: int = 1
    compile: bool = True
    """Whether layers are compiled."""

    def __post_init__(self) -> None:
        if max(self.limits.steps, self.limits.minutes, self.limits.epochs) <= 0:
            raise ValueError("a run needs a limit: steps, minutes or epochs")
        if self.loss_mean not in get_args(LossMean):
            raise ValueError("loss_mean is sequences or tokens")
        if self.keep not in ("best", "last"):
            raise ValueError("keep is best or last")

    def rate(self, step: int, passed: float) -> float:
        """The part of the learning rates after so many steps, `passed` being the share of the run gone."""
        warm = min(1.0, (step + 1) / self.warm_up if self.warm_up >= 1 else passed / max(self.warm_up, 1e-9))
        return warm * fall(passed, self.flat, self.least)


def read_run(table: Mapping[str, Any], path: Path) -> Run:
    """The settings in the table [run] of a stage file, among which the limits stand side by side."""
    names = {field.name for field in fields(Limits)}
    limits = fill(Limits, {key: value for key, value in table.items() if key in names}, "run", path)
    others = {key: value for key, value in table.items() if key not in names}
    return fill(Run, {**others, "limits": limits}, "run", path)


def fall(passed: float, flat: float, least: float) -> float:
    """1 for the share `flat` of a run, then down to `least` as half a cosine."""
    if passed <= flat:
        return 1.0
    return least + (1 - least) * 0.5 * (1 + math.cos(math.pi * (passed - flat) / (1 - flat)))
