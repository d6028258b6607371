"""Folders and hub names of models: what is opened, what is saved, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from glm_models import RARE, write_model

from tongguocr.engines.glm import pretrained as pretrained_module
from tongguocr.engines.glm.pretrained import find_folder, load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.training.glm.expand import add_tokens


def test_other_libraries_open_the_folder(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = write_model(tmp_path / "m", RARE)
    theirs = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    ours = load_pretrained(str(folder)).prompt
    text = f"{RARE}<left|far_up>永"
    ids = theirs(text, add_special_tokens=False).input_ids
    assert ids == ours.encode(text) and theirs.decode(ids, skip_special_tokens=True) == text
    said = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Text Recognition:"}]}]
    asked = theirs.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
    assert theirs(asked, add_special_tokens=False).input_ids == ours.ids(1)


def test_files_beside_the_weights_are_carried_along(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    (folder / "chat_template.jinja").write_text("their own")
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps(settings | {"extra": 1}))
    save_pretrained(load_pretrained(str(folder)), tmp_path / "n")
    assert (tmp_path / "n" / "chat_template.jinja").read_text() == "their own"
    assert json.loads((tmp_path / "n" / "preprocessor_config.json").read_text())["extra"] == 1


def test_an_older_folder_stays_when_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "m")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    loaded = load_pretrained(str(folder))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pretrained_module, "_write_beside", fail)
    with pytest.raises(InputError, match=r"m: the folder cannot be written \(No space left"):
        save_pretrained(loaded, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"]


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        load_pretrained(str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"no config\.json"):
        load_pretrained(str(tmp_path))
    folder = write_model(tmp_path / "m")
    weights = (folder / "model.safetensors").read_bytes()
    for content, sentence in (
        (None, "no weights here"),
        (b"junk", "cannot be loaded"),
        (weights[:3000], "cannot be"),
    ):
        (folder / "model.safetensors").unlink()
        if content is not None:
            (folder / "model.safetensors").write_bytes(content)
        with pytest.raises(InputError, match=f"m: .*{sentence}"):
            load_pretrained(str(folder))
        (folder / "model.safetensors").write_bytes(weights)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "qwen2_vl"}))
    with pytest.raises(InputError, match="of the kind qwen2_vl"):
        load_pretrained(str(folder))
    config["text_config"]["num_hidden_layers"] = 3
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="weights are not complete"):
        load_pretrained(str(folder))


def test_tokenizers_that_do_not_match(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    good = load_pretrained(str(folder))
    larger = add_tokens(good.prompt.tokenizer, [chr(0x5000 + k) for k in range(200)])
    (folder / "tokenizer.json").write_text(larger.to_str())
    with pytest.raises(
        InputError, match=r"tokenizer\.json: the tokenizer does not match the model: \d+ tokens"
    ):
        load_pretrained(str(folder))
    other = good.prompt.tokenizer.to_str().replace("<|image|>", "<|other|>").replace("<|video|>", "<|image|>")
    (folder / "tokenizer.json").write_text(other.replace("<|other|>", "<|video|>"))
    with pytest.raises(InputError, match=r"does not match the model: <\|image\|> is"):
        load_pretrained(str(folder))


def test_hub_names_are_asked_only_when_they_are_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[tuple[str, bool]] = []

    def ask(name: str, local_files_only: bool, **_: object) -> str:
        asked.append((name, local_files_only))
        if local_files_only:
            raise FileNotFoundError("not cached")
        raise ConnectionError("no network\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for path in ("models/glm", str(tmp_path / "x"), "plain", "a/b/c"):
        with pytest.raises(InputError, match="no such folder"):
            find_folder(path)
    assert not asked
    with pytest.raises(InputError, match=r"zai-org/GLM-OCR: this is neither .* .no network.\."):
        find_folder("zai-org/GLM-OCR")
    assert asked == [("zai-org/GLM-OCR", True), ("zai-org/GLM-OCR", False)]
