"""Samples for LLaMA-Factory, and the ablation grid: the same samples, the same model, other ways to run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from glm_models import make_pretrained, write_model
from labelled_pages import CHARS, write_pages
from PIL import Image

from tongguocr.cli import main
from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import METRICS
from tongguocr.tokens.codec import split_target
from tongguocr.training.glm.ablate import read_grid

pytestmark = pytest.mark.usefixtures("one_thread")

STAGE = """
[run]
epochs = 1
learning_rate = 1e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
weight_decay = 0.0
warm_up = 0.1
flat = 0.1
workers = 0
compile = false
[pages]
longest_side = 128
augment = false
[glm]
checkpointing = false
saved = "float32"
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sft")
    write_pages(root / "mine", 3, columns=2, length=3)
    write_model(root / "model")
    (root / "stage.toml").write_text(STAGE, encoding="utf-8")
    return root


def test_messages_images_and_settings(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = root / "sft"
    command = [
        "export-sft",
        root / "stage.toml",
        "--pages",
        f"folder={root / 'mine'}",
        "--model",
        root / "model",
    ]
    assert main([str(part) for part in (*command, "-o", out)]) == 0
    assert "2 samples to train on, 1 to validate" in capsys.readouterr().out
    entries = json.loads((out / "train.json").read_text(encoding="utf-8"))
    assert len(entries) == 2
    for entry in entries:
        (user, assistant), (image,) = entry["messages"], entry["images"]
        assert user == {"role": "user", "content": "<image>Text Recognition:"}
        assert assistant["role"] == "assistant" and len(split_target(assistant["content"])) == 2
        assert set("".join(split_target(assistant["content"]))) <= set(CHARS)
        with Image.open(out / image) as picture:
            assert picture.mode == "RGB" and not picture.width % 28 and np.asarray(picture).std() > 5
    info = json.loads((out / "dataset_info.json").read_text())
    assert info["tongguocr_train"]["file_name"] == "train.json"
    assert info["tongguocr_validation"]["formatting"] == "sharegpt"
    held = dict(row.split(": ", 1) for row in (out / "train.yaml").read_text().splitlines())
    assert held["template"] == '"glm_ocr"' and held["image_max_pixels"] == f"{128 * 128}"
    assert held["model_name_or_path"] == json.dumps(str((root / "model").resolve()))
    assert (held["learning_rate"], held["adam_epsilon"], held["bf16"]) == ("0.001", "0.00000001", "true")
    assert held["cutoff_len"] == "8192" and held["num_train_epochs"] == "1" and held["max_grad_norm"] == "1.0"
    assert "add_tokens" not in held and "new_special_tokens_config" not in held


def test_what_cannot_be_exported(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pretrained(make_pretrained(), tmp_path / "bare")
    (tmp_path / "small.toml").write_text(STAGE.split("[glm]")[0])
    rest = ["--pages", f"folder={root / 'mine'}", "-o", tmp_path / "out"]
    bad = {
        "has no transitions": [root / "stage.toml", "--model", tmp_path / "bare"],
        "no such folder": [root / "stage.toml", "--model", tmp_path / "none"],
        "no table .glm.": [tmp_path / "small.toml", "--model", root / "model"],
        "this stage trains on": ["--model", root / "model"],
    }
    for sentence, arguments in bad.items():
        assert main([str(part) for part in ("export-sft", *arguments, *rest)]) == 2
        assert re.search(sentence, capsys.readouterr().err)


def test_a_grid_gives_the_paper_s_table(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pretrained(make_pretrained(), root / "bare")
    (root / "added.txt").write_text("".join(f"{char}\n" for char in CHARS), encoding="utf-8")
    pages = f"folder={root / 'mine'}"
    grid = f"""
[base]
model = "{root / "bare"}"
added = "{root / "added.txt"}"
pages = ["{pages}"]
test = ["{pages}"]
stages = ["{root / "stage.toml"}"]
[[row]]
name = "neither"
vocabulary = false
transitions = false
[[row]]
name = "page-page"
train = "page"
read = "page"
weights = [1.0, 2.0, 1.0]
"""
    (root / "grid.toml").write_text(grid, encoding="utf-8")
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()[-3:]
    assert head.split() == ["Row", "Vocab.", "Trans.", "SFT", "Infer.", "Weights", "Stages", *METRICS]
    assert first.split()[:5] == ["neither", "--", "--", "block", "block"]
    assert second.split()[:6] == ["page-page", "yes", "yes", "page", "page", "(1,2,1)"]
    assert len(first.split()) == len(head.split()) and float(first.split()[-1]) >= 0
    model = load_pretrained(str(root / "grid" / "page-page" / "1" / "model"))
    assert model.prompt.transitions and len(model.prompt.encode(CHARS)) == len(CHARS)
    assert not load_pretrained(str(root / "grid" / "neither" / "1" / "model")).prompt.transitions
    result = (root / "grid" / "neither" / "result.json").read_bytes()
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 0
    assert (root / "grid" / "neither" / "result.json").read_bytes() == result
    assert "Epoch" not in capsys.readouterr().out, "what is done is not done again"
    (root / "grid.toml").write_text(grid.replace("[1.0, 2.0, 1.0]", "[4.0, 2.0, 1.0]"), encoding="utf-8")
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 2
    assert "result of another grid" in capsys.readouterr().err


def test_grids_that_are_none(tmp_path: Path) -> None:
    base = '[base]\nmodel = "m"\nadded = "a"\npages = ["folder=x"]\ntest = ["folder=x"]\n'
    bad = {
        "a table .base.": "[[row]]\nname = 'a'\n",
        "model is missing": "[base]\n[[row]]\nname = 'a'\n",
        "name of letters": base + "[[row]]\nname = 'a/b'\n",
        "a name of its own": base + "[[row]]\nname = 'a'\n[[row]]\nname = 'a'\n",
        "page or block": base + "[[row]]\nname = 'a'\nread = 'line'\n",
        "has no setting": base + "[[row]]\nname = 'a'\nvocab = true\n",
        "protocol is one of": base.replace("[base]", "[base]\nprotocol = 'x'") + "[[row]]\nname = 'a'\n",
    }
    for sentence, content in bad.items():
        (tmp_path / "grid.toml").write_text(content)
        with pytest.raises(InputError, match=rf"grid\.toml: .*{sentence}"):
            read_grid(tmp_path / "grid.toml")
