"""Which device torch computes on; an Ascend NPU is played by a torch_npu of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tongguocr.engines.torch_devices import is_half, pick_device
from tongguocr.errors import InputError

TORCH_NPU = """
import types
import torch
torch.utils.rename_privateuse1_backend("npu")
npu = types.ModuleType("npu")
npu.is_available = lambda: npu.there
torch._register_device_module("npu", npu)
"""
ASK = """
import torch
from tongguocr.engines.torch_devices import is_half, pick_device
from tongguocr.errors import InputError
import torch_npu
for torch.npu.there in (True, False):
    for name in ("npu", "npu:1", "auto", "npu:x"):
        try:
            device = pick_device(name)
            print(name, device, is_half(device))
        except InputError as error:
            print(error)
"""
ABSENT = "here: torch has it with the package torch_npu and a driver."


def test_an_npu_is_taken_where_torch_has_one(tmp_path: Path) -> None:
    """In a process of its own: torch takes such a device once and for all."""
    (tmp_path / "torch_npu.py").write_text(TORCH_NPU)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    has_gpu = torch.cuda.is_available()
    assert done.stdout.splitlines() == [
        "npu npu True",
        "npu:1 npu:1 True",
        f"auto {'cuda' if has_gpu else 'npu'} True",
        "There is no device 'npu:x'; a number may follow, as in npu:0.",
        f"There is no device 'npu' {ABSENT}",
        f"There is no device 'npu:1' {ABSENT}",
        f"auto {'cuda' if has_gpu else 'cpu'} {has_gpu}",
        f"There is no device 'npu:x' {ABSENT}",
    ]


def test_torch_npu_is_imported_where_torch_does_not_know_it_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tongguocr.engines.torch_devices.import_module", asked.append)
    with pytest.raises(InputError, match=f"no device 'npu' {ABSENT}"):
        pick_device("npu")
    assert asked == ["torch_npu"]


def test_without_the_package_there_is_none() -> None:
    with pytest.raises(InputError, match=f"no device 'npu' {ABSENT}"):
        pick_device("npu")
    assert not is_half(pick_device("cpu")) and is_half(torch.device("cuda"))


@pytest.mark.parametrize("name", ["gpu", "meta", "", "xpu", "npux", "cpu:x"])
def test_devices_with_mistakes(name: str) -> None:
    with pytest.raises(InputError, match="There is no device"):
        pick_device(name)
