"""Reading a corpus: texts, folders and frequency tables, and every way in which they can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongguocr.errors import InputError
from tongguocr.tokens import corpus as module
from tongguocr.tokens.corpus import MAX_RUN, count_ideographs, read_runs, read_table


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_only_ideographs_are_counted_and_nothing_is_normalised(tmp_path: Path) -> None:
    file = write(tmp_path / "a.text", "\ufeff天地，天a\t▁⁇〇\r\n\uf900\u8c48𠀀\U0003347f\ufe00")
    assert count_ideographs([file]) == {"天": 2, "地": 1, "\uf900": 1, "\u8c48": 1, "𠀀": 1, "\U0003347f": 1}


def test_a_folder_is_its_txt_files_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "天")
    write(tmp_path / "deep" / "er" / "B.TXT", "地天")
    write(tmp_path / "empty.txt", "")
    write(tmp_path / "notes.md", "玄")
    write(tmp_path / "picture.png", b"\x89PNG\xff")
    assert count_ideographs([tmp_path]) == {"天": 2, "地": 1}


def test_corpora_add_up(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "天地")
    table = write(tmp_path / "b.tsv", "char\ttotal\n天\t40\n玄\t0\n")
    assert count_ideographs([text, table]) == {"天": 41, "地": 1}


def test_long_lines_are_cut_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 1234)
    text = "𠀀" * 5000 + "天" * 3
    runs = list(read_runs(write(tmp_path / "a.txt", text)))
    assert "".join(runs) == text
    assert max(map(len, runs)) <= MAX_RUN
    assert max(len(run.encode()) for run in runs) < 4192


def test_a_table_may_have_other_columns_and_odd_characters(tmp_path: Path) -> None:
    rows = '\ufeffcp\ttotal\tchar\r\nx\t7\t天\r\nx\t3\t"\r\nx\t9\t\u2028\r\n\r\nx\t1\t𠀀\r\nx\t2\t天\r\n'
    file = write(tmp_path / "a.tsv", rows)
    assert list(read_table(file)) == [("天", 7), ("𠀀", 1), ("天", 2)]
    assert count_ideographs([file]) == {"天": 9, "𠀀": 1}


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.txt", "", "holds no ideographs"),
        ("a.txt", "abc 〇", "holds no ideographs"),
        ("a.txt", "天\n天\n".encode() + "天地".encode("gb18030"), "line 3 is not UTF-8 text"),
        ("a.txt", "天".encode()[:2], "line 1 is not UTF-8 text"),
        ("a.txt", "天\0地", "NUL"),
        ("a.tsv", "", "first line"),
        ("a.tsv", "天\t5\n", "first line"),
        ("a.tsv", "char\tcount\n天\t5\n", "first line"),
        ("a.tsv", "char\ttotal\n", "holds no ideographs"),
        ("a.tsv", "char\ttotal\n天\t0\n", "holds no ideographs"),
        ("a.tsv", "char\ttotal\n天\n", "line 2 has fewer columns"),
        ("a.tsv", "char\ttotal\n天\t5\n天地\t5\n", "line 3 has '天地'"),
        ("a.tsv", "char\ttotal\n\t5\n", "line 2 has ''"),
        ("a.tsv", "char\ttotal\n天\t-5\n", "line 2 has '-5'"),
        ("a.tsv", "char\ttotal\n天\t5.0\n", "line 2 has '5.0'"),
        ("a.tsv", "char\ttotal\n天\t٣\n", "line 2 has '٣'"),
        ("a.tsv", "char\ttotal\n天\t" + "9" * 5000 + "\n", "line 2 has '999"),
        ("a.tsv", b"char\ttotal\n\xff\t5\n", "line 2 is not UTF-8 text"),
        ("a.tsv", b"\xff\xfe", "line 1 is not UTF-8 text"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, complaint: str) -> None:
    file = write(tmp_path / name, content)
    with pytest.raises(InputError) as caught:
        count_ideographs([file])
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert complaint in message
    assert "\n" not in message


def test_missing_files_and_folders_without_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        count_ideographs([tmp_path / "none.txt"])
    with pytest.raises(InputError, match=r"no \.txt files"):
        count_ideographs([tmp_path])
