"""One process or several that train the same network: what they must agree on.

Started by `accelerate launch`, each process draws its own batches; gradients are averaged as they arise, so
that all hold the same parameters after every step. Everything that decides about a step (how far the run is,
whether it is over) is the main process's word, because clocks and batches differ. A process alone has
nothing to agree on: `ProcessGroup` is then plain Python, and accelerate need not be installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import torch
from torch import nn

from tongguocr.engines.torch_devices import is_half
from tongguocr.errors import MissingExtraError

CLOCK = 10
"""Steps between two looks at the main process's clock: each look waits for the device."""
PATIENCE = timedelta(hours=2)
"""How long processes wait for the main one, which validates alone."""


def process_rank() -> int:
    """This process's number among those started together; 0 is the main one. No device is touched."""
    return int(os.environ.get("RANK", "0")) if world_size() > 1 else 0


def world_size() -> int:
    """How many processes were started together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


class ProcessGroup:
    """A process alone."""

    size = 1
    rank = 0

    def __init__(self, device: torch.device) -> None:
        self.device = device

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def wrap(self, model: nn.Module) -> Any:
        """What to call in place of the model, so that gradients are everybody's."""
        return model

    def shard(self, model: nn.Module, parts: Iterable[nn.Module]) -> None:
        """Spread parameters over the processes, part by part: a process alone keeps them all."""

    def broadcast(self, value: float) -> float:
        """The main process's value."""
        return value

    def any(self, true: bool) -> bool:
        """Whether it is true for one of the processes at least."""
        return true

    def now(self, fresh: bool = False) -> float:
        """Seconds by the main process's clock, looked at every few calls or when asked for."""
        return time.monotonic()

    def memory(self) -> dict[str, float]:
        """For the log: the most of a GPU's or NPU's memory that this process has had."""
        if not is_half(self.device):
            return {}
        most = torch.get_device_module(self.device).max_memory_allocated(self.device)
        return {"GiB": round(most / 2**30, 1)}

    def close(self) -> None:
        """The work is done."""


class AccelerateGroup(ProcessGroup):
    """Several processes, each with a device of its own; all must make the same calls in the same order."""

    def __init__(self, device: torch.device) -> None:
        try:
            from accelerate import Accelerator, InitProcessGroupKwargs
        except ImportError:
            raise MissingExtraError("Training in several processes", "train") from None
        # Half precision is the loop's own business, on one device as on several.
        self.accelerator: Any = Accelerator(
            cpu=device.type == "cpu",
            mixed_precision="no",
            kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)],
        )
        super().__init__(self.accelerator.device)
        self.size, self.rank = self.accelerator.num_processes, self.accelerator.process_index
        self.clock, self.looks = 0.0, 0

    def wrap(self, model: nn.Module) -> Any:
        return self.accelerator.prepare_model(model)

    def shard(self, model: nn.Module, parts: Iterable[nn.Module]) -> None:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        # On a GPU parameters travel in half precision; gradients are summed in single.
        half = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if is_half(self.device) else None
        for part in (*parts, model):
            fully_shard(part, mp_policy=half or MixedPrecisionPolicy())

    def broadcast(self, value: float) -> float:
        held = torch.tensor([value], dtype=torch.float64, device=self.device)
        torch.distributed.broadcast(held, 0)
        return float(held)

    def any(self, true: bool) -> bool:
        held = torch.tensor([float(true)], device=self.device)
        torch.distributed.all_reduce(held, torch.distributed.ReduceOp.MAX)
        return bool(held > 0)

    def now(self, fresh: bool = False) -> float:
        if fresh or self.looks % CLOCK == 0:
            self.clock = self.broadcast(time.monotonic())
        self.looks += 1
        return self.clock

    def close(self) -> None:
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()


def join_group(device: torch.device) -> ProcessGroup:
    """The processes that were started together, or this one."""
    return AccelerateGroup(device) if world_size() > 1 else ProcessGroup(device)
