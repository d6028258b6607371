"""New tokens and their rows: what is added, what stays, and that nothing is lost on the way to a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from glm_models import COMMON, RARE, SIZE, make_pretrained, write_model

from tongguocr.cli import main
from tongguocr.engines.glm import pretrained as pretrained_module
from tongguocr.engines.glm.pretrained import find_folder, load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.glm.expand import add_tokens, expand, read_added

OTHERS = "永和九年abc 。，\u8c48"


def same(first: object, second: object) -> bool:
    a, b = (model.state_dict() for model in (first, second))  # type: ignore[attr-defined]
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_added_characters_are_one_token_and_others_as_before() -> None:
    before = make_pretrained()
    old = {char: before.prompt.encode(char) for char in COMMON + RARE + OTHERS}
    assert all(len(old[char]) == 1 for char in COMMON) and all(len(old[char]) > 1 for char in RARE)
    after, added = expand(before, [*COMMON, *RARE])
    assert (added.characters, added.known, added.transitions) == (len(RARE), len(COMMON), 24)
    for char in RARE:
        assert len(after.prompt.encode(char)) == 1
    for char in [*COMMON, *OTHERS]:
        assert after.prompt.encode(char) == old[char]
    mixed = "".join(RARE) + "<left|far_up>" + OTHERS + "<down>"
    ids = after.prompt.encode(mixed)
    assert after.prompt.tokenizer.decode(ids, skip_special_tokens=True) == mixed, "nothing is special"
    assert sum(token in after.prompt.transitions for token in ids) == 2
    again, more = expand(after, [*RARE, "永"])
    assert (more.characters, more.transitions) == (1, 0) and len(again.prompt.transitions) == 24


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rows", [0, 400])
def test_rows_grow_and_old_ones_stay(tied: bool, rows: int, tmp_path: Path) -> None:
    before = make_pretrained(replace(SIZE, tied=tied, rows=rows))
    had, tokens = before.rows, len(before.prompt.spellings)
    old_in = before.model.get_input_embeddings().weight.detach().clone()
    after, added = expand(before, RARE)
    count = tokens + 24 + len(RARE)
    assert added.tokens == (tokens, count) and after.rows >= count
    assert added.spare == max(min(had, count) - tokens, 0)
    assert after.rows == had if had >= count else after.rows % 64 == 0
    for table in (after.model.get_input_embeddings(), after.model.get_output_embeddings()):
        assert table.weight.shape[0] == after.rows
    assert torch.equal(after.model.get_input_embeddings().weight[:had], old_in)
    assert (
        after.model.config.text_config.vocab_size == after.rows == after.model.model.language_model.vocab_size
    )
    save_pretrained(after, tmp_path / "m")
    back = load_pretrained(str(tmp_path / "m"))
    assert same(after.model, back.model) and back.size == after.size and back.prompt.encode(RARE)
    assert back.model.config.tie_word_embeddings is tied
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"], "nothing is left beside it"


def test_default_rows_are_all_but_equal_and_spread_ones_are_not() -> None:
    close, apart = (
        expand(make_pretrained(replace(SIZE, rows=0)), RARE, start=way)[0] for way in ("default", "spread")
    )
    ids = [close.prompt.tokenizer.token_to_id(token) for token in (*RARE, *TRANSITIONS)]
    cosines = []
    for model in (close.model, apart.model):
        rows = model.get_input_embeddings().weight[ids].detach()
        cosine = torch.corrcoef(rows)
        cosines.append(cosine[~torch.eye(len(ids), dtype=torch.bool)])
    assert cosines[0].min() > 0.999 and cosines[1].min() < 0.5
    before = make_pretrained(replace(SIZE, rows=0))
    for side in ("get_input_embeddings", "get_output_embeddings"):
        old, new = (getattr(f.model, side)().weight.detach() for f in (before, apart))
        pieces = before.prompt.encode(RARE[0])
        mean, row = old[pieces].mean(0), new[apart.prompt.tokenizer.token_to_id(RARE[0])]
        assert torch.nn.functional.cosine_similarity(mean, row, dim=0) > 0.95
        newline = old[before.prompt.encode("\n")[0]]
        assert torch.nn.functional.cosine_similarity(newline, new[ids[-1]], dim=0) > 0.95


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


def test_lists_of_characters(tmp_path: Path) -> None:
    path = tmp_path / "added.txt"
    path.write_bytes("㫖\r\n䟽\n㫖\n".encode())
    assert read_added(path) == ["㫖", "䟽"]
    for content, sentence in (("㫖䟽\n", "line 1"), ("㫖\na\n", "line 2"), ("\n\n", "no characters")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=rf"added\.txt: .*{sentence}"):
            read_added(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pretrained(make_pretrained(), tmp_path / "m")
    (tmp_path / "added.txt").write_text("".join(f"{char}\n" for char in RARE), encoding="utf-8")
    command = ["expand", tmp_path / "m", "--added", tmp_path / "added.txt", "-o", tmp_path / "out"]
    result = subprocess.run(
        [sys.executable, "-m", "tongguocr.cli", *map(str, command)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert result.returncode == 0, result.stderr
    assert "4 characters and 24 transitions added" in result.stdout and not result.stderr
    assert load_pretrained(str(tmp_path / "out")).prompt.encode(RARE[:2])
    bad = {
        "there is no such file": [
            "expand",
            tmp_path / "m",
            "--added",
            tmp_path / "no",
            "-o",
            tmp_path / "o2",
        ],
        "nothing to add": ["expand", tmp_path / "m", "--no-transitions", "-o", tmp_path / "o2"],
        "one of default, spread": ["expand", tmp_path / "m", "--start", "x", "-o", tmp_path / "o2"],
        "no such folder": ["expand", tmp_path / "none", "-o", tmp_path / "o2"],
    }
    for sentence, arguments in bad.items():
        assert main([str(a) for a in arguments]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "o2").exists()
