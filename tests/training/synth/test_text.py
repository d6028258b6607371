"""Text for synthetic pages: the column notation, plain text, character lists, what is held out."""

from __future__ import annotations

import lzma
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tongguocr.errors import InputError
from tongguocr.training.synth.text import Column, Run, from_characters, is_held_out, load_text, parse_column

COLUMNS = "##classics KR1 #W=5\n　天地（玄黃宇）洪\n-\n\n日月\n##poetry KR2 #W=7\n盈昃。辰，宿\n"


def test_column_notation() -> None:
    runs = (Run("天地"), Run("玄黃宇", True), Run("洪"))
    assert parse_column("　　天地（玄黃宇）洪") == Column(2, runs)
    assert parse_column("（臣）") == Column(0, (Run("臣", True),))
    assert parse_column("-") == parse_column("") == Column(0, ())
    assert Run("玄黃宇", True).cells == 2 and Run("天地").cells == 2


@pytest.mark.parametrize("suffix", [".txt", ".txt.xz"])
def test_documents_of_a_column_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"columns{suffix}"
    data = COLUMNS.encode()
    path.write_bytes(lzma.compress(data) if suffix.endswith("xz") else data)
    source = load_text(path)
    assert [(d.name, d.rows) for d in source.documents] == [("KR1", 5), ("KR2", 7)]
    rows, columns = source.passage(np.random.default_rng(0))
    texts = {"".join(run.text for run in column.runs) for column in islice(columns, 9)}
    assert texts == ({"天地玄黃宇洪", "日月"} if rows == 5 else {"盈昃辰宿"})


def test_training_and_held_out_documents_never_meet(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("".join(f"##x D{k} #W=20\n天地\n" for k in range(400)), encoding="utf-8")
    train = {d.name for d in load_text(path).documents}
    held = {d.name for d in load_text(path, held_out=True).documents}
    assert not train & held and len(train | held) == 400
    assert 5 <= len(held) <= 40
    assert all(is_held_out(name) for name in held)


def test_plain_text_flows_into_columns(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_text("天地玄黃，宇宙洪荒。\nabc 日月盈昃" * 30, encoding="utf-8")
    rows, columns = load_text(path).passage(np.random.default_rng(1))
    assert len("".join(run.text for run in next(columns).runs)) == rows == 20


def test_the_thousand_characters_are_there_without_a_file() -> None:
    stream = load_text(None).stream(np.random.default_rng(3))
    assert len(set(islice(stream, 1000))) == 1000


def test_character_lists() -> None:
    source = from_characters("天𤣥\n天 地㑹")
    drawn = set(islice(source.stream(np.random.default_rng(0)), 400))
    assert drawn == set("天𤣥地㑹")


def test_bad_files_give_one_sentence(tmp_path: Path) -> None:
    empty, latin, cut = tmp_path / "empty.txt", tmp_path / "latin.txt", tmp_path / "cut.xz"
    empty.write_text("")
    latin.write_text("no Chinese here")
    cut.write_bytes(lzma.compress(COLUMNS.encode())[:20])
    for path in (empty, latin, cut, tmp_path / "none.txt", tmp_path):
        with pytest.raises(InputError, match=path.name):
            load_text(path)
    with pytest.raises(InputError):
        from_characters("abc")
