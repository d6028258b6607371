"""Targets and the id table: what goes in comes out, and nothing that a model emits can break decoding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.page import Line
from tongguocr.tokens.codec import (
    FIXED,
    LINE_BREAKS,
    Codec,
    DecodedChar,
    DecodedLine,
    build_target,
    load_codec,
    make_codec,
    split_target,
    target_text,
)
from tongguocr.tokens.transitions import TRANSITIONS

CODEC = make_codec("天地玄黃", "𠀀<")
PAD, BOS, EOS = 0, 1, 2
LEFT, UP = 3, 7
BYTE, CHARACTER = 27, 283

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="".join(LINE_BREAKS)), max_size=12
)
markup = st.text("<>|_leftupfar天", max_size=12)
ids_near_the_table = st.one_of(st.integers(-3, len(CODEC) + 3), st.integers())


def lines_of(texts: list[str]) -> list[Line]:
    return [Line(f"l{i}", (900 - 50 * i, 100, 940 - 50 * i, 900), text) for i, text in enumerate(texts)]


def as_bytes(data: bytes) -> list[int]:
    return [BYTE + value for value in data]


def texts_of(ids: list[int]) -> list[str]:
    return [line.text for line in CODEC.decode(ids)]


# The target as pieces and as a string.


def test_pieces_alternate_between_text_and_transition() -> None:
    lines = lines_of(["天地", "", "玄黃"])
    assert build_target(lines, 1000, 1000) == ["天地", "<left|far_up>", "", "<left|far_up>", "玄黃"]
    assert target_text(lines, 1000, 1000) == "天地<left|far_up><left|far_up>玄黃"
    assert build_target(lines[:1], 1000, 1000) == ["天地"]
    assert build_target([], 1000, 1000) == []


@given(st.lists(st.one_of(texts, markup), min_size=1, max_size=5))
def test_a_target_string_splits_into_its_lines_or_is_refused(texts: list[str]) -> None:
    lines = lines_of(texts)
    if any(token in text for token in TRANSITIONS for text in texts):
        with pytest.raises(InputError, match=r"^Line l\d: .* transition token\.$"):
            target_text(lines, 1000, 1000)
    else:
        assert split_target(target_text(lines, 1000, 1000)) == texts


def test_split_takes_only_the_exact_tokens() -> None:
    assert split_target("天<left>地<far_up|left><LEFT><left |up>玄") == [
        "天",
        "地<far_up|left><LEFT><left |up>玄",
    ]
    assert split_target("<up><down>天<left>") == ["", "", "天", ""]
    assert split_target("") == [""]
    assert split_target("".join(TRANSITIONS)) == [""] * 25


@pytest.mark.parametrize("text", ["天\n地", "天\u2028", "\x85", "\ud800"])
def test_a_text_that_is_no_line_is_refused(text: str) -> None:
    for attempt in (
        lambda: build_target(lines_of(["天", text]), 10, 10),
        lambda: CODEC.encode_lines(lines_of(["天", text]), 10, 10),
    ):
        with pytest.raises(InputError, match=r"^Line l1: its text holds"):
            attempt()
    with pytest.raises(InputError, match="holds"):
        CODEC.encode(text)


# The id table.


def test_layout() -> None:
    assert CODEC.tokens[:3] == ("<pad>", "<bos>", "<eos>")
    assert CODEC.tokens[3:27] == TRANSITIONS
    assert CODEC.tokens[27] == "<0x00>"
    assert CODEC.tokens[282] == "<0xFF>"
    assert CODEC.tokens[283:] == ("天", "地", "玄", "黃", "𠀀", "<")
    assert (CODEC.pad, CODEC.bos, CODEC.eos, len(CODEC)) == (0, 1, 2, 289)


def test_known_characters_are_one_id_and_others_their_bytes() -> None:
    assert CODEC.encode("天𠀀") == [283, 287]
    assert CODEC.encode("也") == as_bytes("也".encode())
    assert CODEC.encode_lines(lines_of(["天地", "玄"]), 1000, 1000) == [283, 284, 3 + 8, 285]


@given(st.lists(st.one_of(texts, markup), min_size=1, max_size=5))
def test_decoding_undoes_encoding(texts: list[str]) -> None:
    lines = lines_of(texts)
    decoded = CODEC.decode([BOS, *CODEC.encode_lines(lines, 1000, 1000), EOS, 284, LEFT])
    assert [line.text for line in decoded] == texts
    assert [line.transition for line in decoded] == [*build_target(lines, 1000, 1000)[1::2], None]


def test_a_text_that_spells_a_transition_survives() -> None:
    ids = CODEC.encode_lines(lines_of(["天<left>地", "<left|far_up>"]), 1000, 1000)
    assert texts_of(ids) == ["天<left>地", "<left|far_up>"]


@given(st.lists(ids_near_the_table, max_size=60))
def test_any_integers_decode(ids: list[int]) -> None:
    lines = CODEC.decode(ids)
    before = ids[: ids.index(EOS)] if EOS in ids else ids
    where = [position for position, token in enumerate(before) if LEFT <= token < BYTE]
    assert [line.transition_position for line in lines] == [*where, None]
    assert [line.transition for line in lines[:-1]] == [CODEC.tokens[ids[position]] for position in where]
    used = [position for line in lines for char in line.chars for position in char.positions]
    silent = [position for position, token in enumerate(before) if token in (PAD, BOS) or position in where]
    assert sorted(used + silent) == list(range(len(before)))
    assert used == sorted(used)
    for line in lines:
        assert len(line.text.splitlines()) <= 1
        assert all(char.text and char.positions for char in line.chars)
        line.text.encode()


@given(st.one_of(st.binary(max_size=40), texts.map(lambda text: text.encode()[1:-1])))
def test_bytes_decode_as_python_replaces(data: bytes) -> None:
    expected = "".join("\ufffd" if c in LINE_BREAKS else c for c in data.decode(errors="replace"))
    assert texts_of(as_bytes(data)) == [expected]


def test_positions_of_each_character() -> None:
    ids = [BOS, 283, PAD, *as_bytes("也".encode()), LEFT, 285, EOS, 284]
    assert CODEC.decode(ids) == [
        DecodedLine((DecodedChar("天", (1,)), DecodedChar("也", (3, 4, 5))), "<left>", 6),
        DecodedLine((DecodedChar("玄", (7,)),)),
    ]


def test_marks_belong_to_the_character_before_them() -> None:
    selector = as_bytes("\U000e0101".encode())
    [line] = CODEC.decode([283, *selector, 284])
    assert line.chars == (DecodedChar("天\U000e0101", (0, 1, 2, 3, 4)), DecodedChar("地", (5,)))
    first, second = CODEC.decode([283, UP, *selector, 284])
    assert first.text == "天"
    assert [char.text for char in second.chars] == ["\U000e0101", "地"]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], [""]),
        ([EOS, 283], [""]),
        ([LEFT, LEFT, 283, UP], ["", "", "天", ""]),
        ([283, BOS, PAD, 284], ["天地"]),
        ([283, -1, 284, 10**9], ["天\ufffd地\ufffd"]),
        ([*as_bytes(b"\xe4\xb9"), LEFT, *as_bytes(b"\x9f")], ["\ufffd", "\ufffd"]),
        ([*as_bytes(b"\xe4\xb9"), 283, *as_bytes(b"\x9f")], ["\ufffd天\ufffd"]),
        ([*as_bytes(b"\xe4"), PAD, *as_bytes(b"\xb9\x9f")], ["也"]),
        (as_bytes(b"a\nb\r\xc2\x85"), ["a\ufffdb\ufffd\ufffd"]),
        (as_bytes(b"\xed\xa0\x80"), ["\ufffd\ufffd\ufffd"]),
        (as_bytes(b"\t\x00"), ["\t\x00"]),
    ],
)
def test_hand_made_sequences(ids: list[int], expected: list[str]) -> None:
    assert texts_of(ids) == expected


@pytest.mark.parametrize("characters", [("天", "天"), ("天地",), ("",), ("\n",), ("\udc00",)])
def test_a_table_holds_single_characters_once(characters: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="character"):
        Codec(characters)


def test_make_codec_keeps_the_first_place() -> None:
    assert make_codec("天地", ["地", "玄"]).characters == ("天", "地", "玄")


# The file.


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "codec.json"
    CODEC.save(path)
    assert load_codec(path) == CODEC
    assert load_codec(path).encode("天") == CODEC.encode("天")
    assert json.loads(path.read_text(encoding="utf-8"))["tokens"][283] == "天"


def table(**changes: Any) -> str:
    return json.dumps({"format": "tongguocr-codec", "version": 1, "tokens": [*FIXED, "天"], **changes})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[" * 100_000,
        b"[]",
        b"null",
        table(format="other").encode(),
        table(version=2).encode(),
        table(version="1").encode(),
        table(tokens=None).encode(),
        table(tokens=[*FIXED, 5]).encode(),
        table(tokens=[*FIXED[1:], "天"]).encode(),
        table(tokens=["天"]).encode(),
        table(tokens=[*FIXED, "天", "天"]).encode(),
        table(tokens=[*FIXED, "天地"]).encode(),
        table(tokens=[*FIXED, "\ud800"]).encode(),
    ],
)
def test_a_malformed_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "codec.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_codec(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_missing_file_or_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load_codec(tmp_path / "none.json")
    with pytest.raises(InputError, match="this is a folder"):
        load_codec(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        CODEC.save(tmp_path)


def test_decoding_needs_no_tokenizer_library() -> None:
    code = (
        "import sys, tongguocr.tokens.codec; "
        "sys.exit(bool({'tokenizers', 'sentencepiece', 'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
