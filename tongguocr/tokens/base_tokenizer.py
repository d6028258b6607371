"""A tokenizer's file in, what the selection rule asks of it out: V_0 and Tok_0 of the paper, section 3.2.

A tokenizer.json is opened by `tokenizers`; a folder without one by `transformers`, where that is installed.
Only local files are read, never the network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongguocr.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class BaseTokenizer:
    """The original tokenizer, whichever library opened it. No call adds special tokens or padding."""

    vocabulary: frozenset[str]
    encode: Callable[[str], Sequence[int]]
    decode: Callable[[Sequence[int]], str]
    unknown: int | None
    """The id of the unknown token, or None."""


def open_base(path: Path) -> BaseTokenizer:
    """Open a tokenizer.json, a folder that holds one, or a folder that transformers can open."""
    if not path.is_dir() or (path / "tokenizer.json").is_file():
        return wrap_tokenizer(open_tokenizer(path))
    return _open_with_transformers(path)


def open_tokenizer(path: Path) -> Tokenizer:
    """Open a tokenizer.json, or the one in a folder, as `tokenizers` does."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("Opening a tokenizer", "vocab") from error
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{path}: there is no such tokenizer file or folder.")
    try:
        return Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}).") from error
    except Exception as error:  # the library raises nothing narrower
        raise InputError(f"{file}: is not a tokenizer.json that tokenizers can open.") from error


def wrap_tokenizer(tokenizer: Tokenizer) -> BaseTokenizer:
    """A `tokenizers.Tokenizer` as the selection rule needs it; the tokenizer itself stays as it is."""
    text = tokenizer.to_str()
    copy: Tokenizer = type(tokenizer).from_str(text)
    copy.no_padding()  # a file may carry both, and they would change the number of tokens
    copy.no_truncation()
    model = json.loads(text)["model"]
    name = model.get("unk_token")
    return BaseTokenizer(
        vocabulary=frozenset(copy.get_vocab(with_added_tokens=True)),
        encode=lambda char: copy.encode(char, add_special_tokens=False).ids,
        decode=lambda ids: copy.decode(ids, skip_special_tokens=False),
        unknown=model.get("unk_id") if name is None else copy.token_to_id(name),
    )


def _open_with_transformers(path: Path) -> BaseTokenizer:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # some releases look online even for a local folder
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        message = f"{path}: holds no tokenizer.json, and opening it otherwise needs transformers installed."
        raise InputError(message) from error
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # anything from a missing file to a missing package
        raise InputError(f"{path}: is not a tokenizer folder that transformers can open.") from error
    return BaseTokenizer(
        vocabulary=frozenset(tokenizer.get_vocab()),
        encode=lambda char: tokenizer.encode(char, add_special_tokens=False),
        decode=lambda ids: tokenizer.decode(ids, clean_up_tokenization_spaces=False),
        unknown=tokenizer.unk_token_id,
    )
