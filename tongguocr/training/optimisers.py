"""The optimisers of a run, and one step of them.

Matrices may be trained by Muon, which takes about half as many steps as AdamW for them; embeddings,
convolutions and scales are trained by AdamW.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.training.run import Run

Optimisers = Sequence[torch.optim.Optimizer]
TABLES = ("embedding", "embed_tokens", "lm_head")
"""Parts of the names of matrices that have a row a token."""
STEM = "stem."
"""How the names of a stem's parameters begin."""
FACTOR = "factor"
"""The key under which a group of parameters has its part of the learning rate."""


def make_optimisers(model: nn.Module, run: Run) -> list[torch.optim.Optimizer]:
    """Muon for the matrices between states, AdamW for the rest; or AdamW for all."""
    inner: list[nn.Parameter] = []
    outer: list[nn.Parameter] = []
    stem: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        is_table = any(part in name for part in TABLES)
        between = run.matrix_rate > 0 and parameter.ndim == 2 and not is_table
        slow = run.stem_rate != 1 and name.startswith(STEM)
        (stem if slow else inner if between else outer).append(parameter)
    on_gpu = outer[0].device.type == "cuda"
    groups: list[dict[str, Any]] = [{"params": outer}]
    if stem:
        groups.append({"params": stem, FACTOR: run.stem_rate})
    adam = torch.optim.AdamW(
        groups, lr=run.learning_rate, betas=run.betas, eps=1e-8, weight_decay=run.weight_decay, fused=on_gpu
    )
    if not inner:
        return [adam]
    rate, decay = run.matrix_rate, run.weight_decay
    return [torch.optim.Muon(inner, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw"), adam]


def freeze(model: nn.Module, parts: Sequence[str]) -> None:
    """Leave these parts of the network out of all training from here on."""
    named = dict(model.named_modules())
    for part in parts:
        if not part or part not in named:
            known = ", ".join(name for name, _ in model.named_children())
            raise InputError(f"frozen: the network has no part {part}, only {known} and theirs.")
        named[part].requires_grad_(False)


def take_step(model: nn.Module, optimisers: Optimisers, loss: Tensor, clip: float, rate: float) -> None:
    """One step of all optimisers, at this part of their rates, gradients clipped to this norm."""
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = optimiser.defaults["lr"] * rate * group.get(FACTOR, 1.0)
        optimiser.step()
