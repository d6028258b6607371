"""Opening the original tokenizer from every kind of path."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer, models, processors

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.tokens.base_tokenizer import open_base, open_tokenizer, wrap_tokenizer


def word_level() -> Tokenizer:
    return Tokenizer(models.WordLevel({"[UNK]": 0, "天": 1}, unk_token="[UNK]"))


def test_a_file_of_any_name_or_its_folder(tmp_path: Path) -> None:
    word_level().save(str(tmp_path / "tokenizer.json"))
    word_level().save(str(tmp_path / "other.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json", tmp_path / "other.json"):
        base = open_base(path)
        assert base.vocabulary == {"[UNK]", "天"}
        assert (list(base.encode("天")), list(base.encode("地")), base.unknown) == ([1], [0], 0)
        assert base.decode([1]) == "天"


def test_special_tokens_do_not_count() -> None:
    tokenizer = word_level()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[UNK] $A [UNK]", special_tokens=[("[UNK]", 0)]
    )
    assert tokenizer.encode("天").ids == [0, 1, 0]
    assert list(wrap_tokenizer(tokenizer).encode("天")) == [1]


def test_padding_and_truncation_in_the_file_do_not_count() -> None:
    tokenizer = word_level()
    tokenizer.enable_padding(length=8, pad_token="[UNK]")
    tokenizer.enable_truncation(4)
    assert list(wrap_tokenizer(tokenizer).encode("天")) == [1]
    assert tokenizer.padding is not None, "the tokenizer itself must stay as it was"


@pytest.mark.parametrize(
    ("model", "unknown"),
    [
        (models.Unigram([("a", -1.0), ("<unk>", 0.0)], 1, False), 1),
        (models.BPE({"a": 0}, []), None),
        (models.BPE({"a": 0, "<unk>": 1}, [], unk_token="<unk>"), 1),
        (models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"), 0),
    ],
)
def test_the_unknown_token_of_each_model(model: Any, unknown: int | None) -> None:
    assert wrap_tokenizer(Tokenizer(model)).unknown == unknown


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff\xfe\x00", json.dumps({"model": {}}).encode()])
def test_a_malformed_tokenizer(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(content)
    for path in (file, tmp_path):
        with pytest.raises(
            InputError, match=r"is not a tokenizer\.json that tokenizers can open\.$"
        ) as caught:
            open_base(path)
        assert str(caught.value).startswith(str(file))


def test_a_name_is_never_looked_up_online(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such tokenizer"):
        open_base(Path("bert-base-chinese"))
    with pytest.raises(InputError, match="no such tokenizer"):
        open_tokenizer(tmp_path)


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match="needs transformers"):
        open_base(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"tongguocr\[vocab\]"):
        open_base(tmp_path / "tokenizer.json")


class SlowTokenizer:
    """The few methods of a transformers tokenizer that the rule needs."""

    unk_token_id = 0

    def get_vocab(self) -> dict[str, int]:
        return {"<unk>": 0, "天": 1}

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return [9] * add_special_tokens + [1 if char == "天" else 0 for char in text]

    def decode(self, ids: list[int], clean_up_tokenization_spaces: bool) -> str:
        return "".join("天" if i else "<unk>" for i in ids)


def test_a_folder_that_only_transformers_can_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def from_pretrained(path: Path, **options: Any) -> SlowTokenizer:
        calls.append(options)
        if not (path / "vocab.txt").exists():
            raise OSError("no files here")
        return SlowTokenizer()

    fake = ModuleType("transformers")
    fake.AutoTokenizer = SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", fake)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="transformers can open"):
        open_base(tmp_path)
    (tmp_path / "vocab.txt").write_text("天")
    base = open_base(tmp_path)
    assert (base.vocabulary, base.unknown) == ({"<unk>", "天"}, 0)
    assert (base.encode("天地"), base.decode([1, 0])) == ([1, 0], "天<unk>")
    assert all(call == {"local_files_only": True, "trust_remote_code": False} for call in calls)
