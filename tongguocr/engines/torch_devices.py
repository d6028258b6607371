"""Where torch computes: a name such as `auto`, `cuda`, `npu` or `cpu` in, a device that is there out.

`npu` is Huawei's Ascend, on which the paper's own model was trained; torch knows it once the package
torch_npu is installed beside it. `mps` is a Mac's GPU. Nobody has run ours on either yet.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import torch

from tongguocr.errors import InputError

AUTOMATIC = ("cuda", "npu")
"""What `auto` takes if it is there, the first one first; else the CPU."""
KNOWN = (*AUTOMATIC, "mps", "cpu")
HALF = ("cuda", "npu")
"""Devices that compute in half precision (bfloat16)."""


def pick_device(name: str) -> torch.device:
    """A device by its name; `auto` is the GPU or NPU where there is one. The device itself is not touched."""
    if name == "auto":
        return torch.device(next((kind for kind in AUTOMATIC if is_there(kind)), "cpu"))
    kind = name.partition(":")[0]
    if kind not in KNOWN:
        raise InputError(f"There is no device {name!r}; take cuda, npu, mps, cpu or auto.")
    if not is_there(kind):
        hint = ": torch has it with the package torch_npu and a driver" if kind == "npu" else ""
        raise InputError(f"There is no device {name!r} here{hint}.")
    try:
        return torch.device(name)
    except RuntimeError:
        raise InputError(f"There is no device {name!r}; a number may follow, as in {kind}:0.") from None


def is_there(kind: str) -> bool:
    """Whether torch has such a device here."""
    if kind == "cpu":
        return True
    if kind == "mps":
        return torch.backends.mps.is_available()
    if kind == "npu" and not hasattr(torch, "npu"):
        # Newer torch loads it by itself; older ones know the device only once this is imported.
        with suppress(ImportError):
            import_module("torch_npu")
    module = getattr(torch, kind, None)
    return module is not None and bool(module.is_available())


def is_half(device: torch.device) -> bool:
    """Whether this device computes in half precision."""
    return device.type in HALF
