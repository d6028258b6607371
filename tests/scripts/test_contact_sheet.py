"""The script that draws the documentation's contact sheet."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from paths import ROOT
from PIL import Image

from tongguocr.training.synth.kinds import KINDS

SCRIPT = ROOT / "scripts" / "contact_sheet.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("contact_sheet", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_kind_is_on_the_sheet(script: ModuleType) -> None:
    kinds = script.choose_kinds(5)
    assert len(kinds) == 24
    assert set(kinds) == set(KINDS)
    assert kinds == script.choose_kinds(5)


def test_the_file_stays_small(script: ModuleType) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 850, 3), np.uint8)
    data = script.encode(Image.fromarray(noise))
    assert len(data) <= script.MOST_BYTES
    assert data[:2] == b"\xff\xd8"


def test_a_missing_font_folder_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--fonts", str(tmp_path / "none"), "-o", str(tmp_path / "s.jpg")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parent.parent, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "none: there is no such folder." in done.stderr
    assert not (tmp_path / "s.jpg").exists()
