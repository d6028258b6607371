"""Samples for LLaMA-Factory: messages, images, settings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from glm_models import SHORT_STAGE, make_pretrained, write_model
from labelled_pages import CHARS, write_pages
from PIL import Image

from tongguocr.cli import main
from tongguocr.engines.glm.pretrained import save_pretrained
from tongguocr.tokens.codec import split_target

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sft")
    write_pages(root / "mine", 3, columns=2, length=3)
    write_model(root / "model")
    (root / "stage.toml").write_text(SHORT_STAGE, encoding="utf-8")
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
    (tmp_path / "small.toml").write_text(SHORT_STAGE.split("[glm]")[0])
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
