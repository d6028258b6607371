"""An average of a network's last weights, which reads better than any of them: one decay, one copy.

In: the network after each step. Out: the averaged weights in the network's place for as long as it is
validated and saved. It begins as the plain mean of the first steps, so that a start is soon forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """A running average of the parameters that are trained."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.trained: list[Tensor] = [
            parameter for parameter in model.parameters() if parameter.requires_grad
        ]
        self.mean = [parameter.detach().clone() for parameter in self.trained]

    @torch.no_grad()
    def update(self) -> None:
        """Take the weights of one more step into the average."""
        self.steps += 1
        share = max(1 - self.decay, 1 / (self.steps + 1))
        torch._foreach_lerp_(self.mean, self.trained, share)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The network has the averaged weights inside, and its own again afterwards."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for mean, parameter in zip(self.mean, self.trained, strict=True):
            held = parameter.detach().clone()
            parameter.copy_(mean)
            mean.copy_(held)

    def state_dict(self) -> dict[str, object]:
        return {"steps": self.steps, "mean": self.mean}

    def load_state_dict(self, state: dict[str, object]) -> None:
        mean = state["mean"]
        assert isinstance(mean, list) and isinstance(state["steps"], int)
        self.steps = state["steps"]
        with torch.no_grad():
            for held, saved in zip(self.mean, mean, strict=True):
                held.copy_(saved)
