"""Pages on which nothing is found: each command that reads says so, and takes them for pages all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tongguocr
from tongguocr.batch import WARNINGS
from tongguocr.engines.trust import NO_TEXT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A blank leaf and one of noise."""
    blank = np.full((400, 300), 245, np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, blank.shape).astype(np.uint8)
    (tmp_path / "in").mkdir()
    for name, pixels in (("blank", blank), ("noise", noise)):
        Image.fromarray(pixels).save(tmp_path / "in" / f"{name}.png")
    return tmp_path


def read(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr", "read", *arguments]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, cwd=where, env=environment)


def sentences(*names: str) -> str:
    return "".join(f"tongguocr: page {name}: {NO_TEXT}\n" for name in names)


def test_without_a_folder(folder: Path) -> None:
    done = read(folder, "in/blank.png")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", sentences("blank"))
    done = read(folder, "in/noise.png", "-o", "noise.json", "--quiet")
    assert (done.returncode, done.stderr) == (0, sentences("noise"))
    assert json.loads((folder / "noise.json").read_bytes())["warnings"] == [NO_TEXT]


@pytest.mark.parametrize(("output", "out"), [("out", "out"), ("b.txt", "b.pages")])
def test_in_a_batch_and_in_a_book(folder: Path, output: str, out: str) -> None:
    done = read(folder, "in", "-o", output, "--workers", "1")
    assert done.returncode == 0 and sorted(done.stderr.splitlines(True)) == [
        sentences("blank"),
        sentences("noise"),
    ]
    told = f"2 read (0 characters), 0 done before, 0 failed, 2 without text: {out}; {out}/{WARNINGS} names"
    assert told in done.stdout
    table = (folder / out / WARNINGS).read_text("utf-8").splitlines()
    assert table[1:] == [f"{name}\tin/{name}.png\t{NO_TEXT}" for name in ("blank", "noise")]
    if output != out:
        assert (folder / output).read_text("utf-8").split() == [], "blank leaves, and no gaps"


def test_from_python(folder: Path) -> None:
    assert tongguocr.read(folder / "in" / "blank.png").warnings == (NO_TEXT,)
    assert [page.warnings for page in tongguocr.read_all(folder / "in")] == [(NO_TEXT,)] * 2
