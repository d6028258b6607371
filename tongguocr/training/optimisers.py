"""What a training run is given, and the optimisers it works with.

A run lasts so many minutes (drawn blocks have no end) or so many epochs (labelled pages do). Matrices may be
trained by Muon, which takes about half as many steps as AdamW for them; embeddings, convolutions and scales
are trained by AdamW. All rates warm up, stay, and fall as a cosine over what the run is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.training.recogniser.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Run:
    """What one run is given."""

    minutes: float = 0.0
    epochs: int = 0
    """One of the two."""
    learning_rate: float = 2e-3
    """Of embeddings, convolutions and scales ..."""
    matrix_rate: float = 5e-3
    """... and of matrices, by Muon; if 0, they are trained like the others."""
    warm_up: float = 300.0
    """Steps; below 1, a share of the run."""
    flat: float = 0.35
    """Share of the run before the rate begins to fall."""
    gentle: float = 0.06
    """Share of the time in which blocks grow from a column or two to their full size."""
    least: float = 0.02
    """What is left of the rates at the end of a run."""
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.02
    clip: float = 1.0
    corrupted: float = 0.06
    """Share of input tokens that are replaced, and of input places that lie about two features off."""
    jitter: float = 0.15
    """Features by which all other input places are off."""
    smoothing: float = 0.02
    dense: tuple[float, float] = (1.0, 0.4)
    """Weight of the dense loss in the first and the second half ..."""
    pointer: float = 0.5
    """... and of the pointer's."""
    judge_every: float = 5.0
    """Minutes between validations, each with a checkpoint; labelled pages have one an epoch instead, and are
    only kept so often."""
    kept: tuple[str, ...] = ()
    """Parts of the network that stay as they are: with stem and encoder kept, a step is cheaper."""
    workers: int = 14
    seed: int = 1
    compile: bool = True
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if (self.minutes > 0) == (self.epochs > 0):
            raise ValueError("a run has either minutes or epochs")

    def rate(self, step: int, passed: float) -> float:
        """The part of the learning rates after so many steps, `passed` being the share of the run gone."""
        warm = min(1.0, (step + 1) / self.warm_up if self.warm_up >= 1 else passed / max(self.warm_up, 1e-9))
        return warm * fall(passed, self.flat, self.least)


def fall(passed: float, flat: float, least: float) -> float:
    """1 for the share `flat` of a run, then down to `least` as half a cosine."""
    if passed <= flat:
        return 1.0
    return least + (1 - least) * 0.5 * (1 + math.cos(math.pi * (passed - flat) / (1 - flat)))


Optimisers = Sequence[torch.optim.Optimizer]
TABLES = ("embedding", "embed_tokens", "lm_head")
"""Parts of the names of matrices that have a row a token."""


def make_optimisers(model: nn.Module, run: Run) -> list[torch.optim.Optimizer]:
    """Muon for the matrices between states, AdamW for the rest; or AdamW for all."""
    inner: list[nn.Parameter] = []
    outer: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        is_table = any(part in name for part in TABLES)
        between = run.matrix_rate > 0 and parameter.ndim == 2 and not is_table
        (inner if between else outer).append(parameter)
    on_gpu = outer[0].device.type == "cuda"
    adam = torch.optim.AdamW(
        outer, lr=run.learning_rate, betas=run.betas, eps=1e-8, weight_decay=run.weight_decay, fused=on_gpu
    )
    if not inner:
        return [adam]
    rate, decay = run.matrix_rate, run.weight_decay
    return [torch.optim.Muon(inner, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw"), adam]


def keep(model: nn.Module, parts: Sequence[str]) -> None:
    """Leave these parts of the network out of all training from here on."""
    named = dict(model.named_children())
    for part in parts:
        if part not in named:
            raise InputError(f"kept: the network has no part {part}, only {', '.join(named)}.")
        named[part].requires_grad_(False)


def take_step(model: nn.Module, optimisers: Optimisers, loss: Tensor, run: Run, rate: float) -> None:
    """One step of all optimisers, at this part of their rates."""
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), run.clip)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = optimiser.defaults["lr"] * rate
        optimiser.step()
