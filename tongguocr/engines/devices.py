"""Where torch computes: a name such as `auto`, `cuda` or `cpu` in, a device that is there out."""

from __future__ import annotations

import torch

from tongguocr.errors import InputError


def pick_device(name: str) -> torch.device:
    """A device by its name; `auto` is the GPU where there is one. The device itself is not touched."""
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"There is no device {name!r}; take cuda, cpu or auto.") from None
    if device.type not in (("cuda", "cpu") if there else ("cpu",)):
        raise InputError(f"There is no device {name!r} that can train here.")
    return device
