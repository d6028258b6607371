"""What the figures of a bench were measured on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any


def processor() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    rows = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    names = (row.split(":", 1)[1].strip() for row in rows if row.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def machine() -> str:
    """Processor, cores and Python in a few words."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def wait(device: Any) -> float:
    """The time at which torch's device has nothing left to do."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()
