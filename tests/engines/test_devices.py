"""Which device torch computes on; an Ascend NPU is played by a torch_npu of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tongguocr.engines.devices import is_half, pick_device
from tongguocr.errors import InputError

TORCH_NPU = """
import types
import torch
torch.utils.rename_privateuse1_backend("npu")
npu = types.ModuleType("npu")
npu.is_available = lambda: {there}
torch._register_device_module("npu", npu)
"""
ASK = """
from tongguocr.engines.devices import is_half, pick_device
from tongguocr.errors import InputError
for name in ("npu", "npu:1", "auto", "npu:x"):
    try:
        device = pick_device(name)
        print(name, device, is_half(device))
    except InputError as error:
        print(error)
"""


def asked(folder: Path, there: bool) -> list[str]:
    """What a process with such a torch_npu says; torch takes such a device once and for all."""
    (folder / "torch_npu.py").write_text(TORCH_NPU.format(there=there))
    path = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    return done.stdout.splitlines()


def test_an_npu_is_taken_where_torch_has_one(tmp_path: Path) -> None:
    said = asked(tmp_path, there=True)
    automatic = "cuda" if torch.cuda.is_available() else "npu"
    assert said == [
        "npu npu True",
        "npu:1 npu:1 True",
        f"auto {automatic} True",
        "There is no device 'npu:x'; a number may follow, as in npu:0.",
    ]


def test_an_npu_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    said = asked(tmp_path, there=False)
    assert said[0] == (
        "There is no device 'npu' that can compute here: torch has it with the package torch_npu and a driver."
    )
    assert said[2].startswith("auto cuda" if torch.cuda.is_available() else "auto cpu")


def test_without_the_package_there_is_none() -> None:
    with pytest.raises(InputError, match="no device 'npu' that can compute here: torch has it with"):
        pick_device("npu")
    assert not is_half(pick_device("cpu")) and is_half(torch.device("cuda"))


@pytest.mark.parametrize("name", ["gpu", "meta", "", "xpu", "npux", "cpu:x"])
def test_devices_with_mistakes(name: str) -> None:
    with pytest.raises(InputError, match="There is no device"):
        pick_device(name)
