"""Two processes on the CPU train one full-size toy, each with all parameters or with half of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from glm_models import write_model
from labelled_pages import write_pages
from two_processes import run_two

from tongguocr.engines.glm.pretrained import load_pretrained

TOGETHER = """
import os
import sys
from pathlib import Path

import torch
from tongguocr.cli import main
from tongguocr.training.distributed import AccelerateGroup

# Three runs one after another: the processes part after the last one.
close, AccelerateGroup.close = AccelerateGroup.close, lambda self: self.accelerator.wait_for_everyone()
torch.set_num_threads(1)
root = Path(sys.argv[1])
for name, epochs in (("spread", 1), ("spread", 2), ("whole", 2)):
    if name == "whole":
        AccelerateGroup.close = close
    stage = (root / "stage.toml").read_text()
    stage = stage.replace("epochs = 1", f"epochs = {epochs}")
    if name == "spread":
        stage += "shard = true\\n"
    path = root / f"{name}{epochs}-{os.environ['RANK']}.toml"
    path.write_text(stage)
    out = ["--start", str(root / "model"), "--out", str(root / name), "--device", "cpu"]
    code = main(["train", str(path), "--pages", f"folder={root / 'mine'}", *out])
    assert code == 0, name
"""

STAGE = """
[run]
epochs = 1
learning_rate = 1e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
weight_decay = 0.0
warm_up = 0.0
flat = 1.0
workers = 0
compile = false
[pages]
longest_side = 128
augment = false
[glm]
batch_tokens = 1
saved = "float32"
"""


def records(folder: Path) -> list[dict[str, float]]:
    return [json.loads(row) for row in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_shared_parameters_learn_as_whole_ones_do(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 5, columns=2, length=2)
    write_model(tmp_path / "model")
    (tmp_path / "stage.toml").write_text(STAGE)
    (tmp_path / "together.py").write_text(TOGETHER)
    run_two(tmp_path / "together.py", tmp_path)
    whole, spread = records(tmp_path / "whole"), records(tmp_path / "spread")
    steps = [r["step"] for r in spread if "AR" in r]
    assert steps == [r["step"] for r in whole if "AR" in r] == [0, 2, 4], "two of four pages for each process"
    for one, other in zip(whole, spread, strict=True):
        assert one.keys() == other.keys()
        assert abs(one.get("loss", 0) - other.get("loss", 0)) < 1e-3, "resumed halfway or not"
    start, end = (
        load_pretrained(str(p)).model.state_dict() for p in (tmp_path / "model", tmp_path / "spread/model")
    )
    assert start.keys() == end.keys() and all(start[name].shape == end[name].shape for name in start)
    held = torch.load(tmp_path / "spread" / "resume.pt", weights_only=True)
    assert {name.removeprefix("model.") for name in held["model"]} == start.keys(), (
        "whole parameters, not shares"
    )
