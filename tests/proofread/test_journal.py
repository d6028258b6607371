"""Journals: whatever happens to a file's end, what was answered is there, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.proofread.journal import (
    has_journals,
    is_proofread,
    open_journal,
    proofread_names,
)

ROWS = [
    {"v": n, "kind": "edits", "who": "某\r\n", "edits": [{"text": "天\u2028地" * n}]} for n in range(1, 4)
]


def written(path: Path) -> bytes:
    journal = open_journal(path)
    for row in ROWS:
        journal.append(row)
    return path.read_bytes()


def test_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / "p1.journal.jsonl"
    data = written(path)
    assert data.count(b"\n") == len(ROWS)
    opened = open_journal(path)
    assert (opened.rows, opened.version, opened.size) == (ROWS, 3, len(data))


@given(cut=st.integers(0, 400))
def test_a_torn_end_costs_no_row_but_its_own(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("torn") / "p1.journal.jsonl"
    data = written(path)
    torn = data[: len(data) - min(cut, len(data))]
    path.write_bytes(torn)
    opened = open_journal(path)
    # A row that is whole but for its line feed is as good as the others.
    whole = sum(torn.startswith(data[: end + 1]) or torn == data[:end] for end in line_ends(data))
    assert opened.rows == ROWS[:whole]
    opened.append(ROWS[-1])
    assert open_journal(path).rows == [*ROWS[:whole], ROWS[-1]]


def line_ends(data: bytes) -> list[int]:
    return [k for k, byte in enumerate(data) if byte == 10]


def test_damage_in_the_middle_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "p1.journal.jsonl"
    damaged = written(path).replace(b'"kind"', b'"knid"', 1)
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"p1\.journal\.jsonl: row 1 is no record"):
        open_journal(path)
    assert path.read_bytes() == damaged


def test_a_journal_that_somebody_removed_is_written_anew_whole(tmp_path: Path) -> None:
    path = tmp_path / "p1.journal.jsonl"
    journal = open_journal(path)
    journal.append(ROWS[0])
    path.unlink()
    journal.append(ROWS[1])
    assert open_journal(path).rows == ROWS[:2]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"")
    path = tmp_path / "p1.journal.jsonl"
    path.symlink_to(outside)
    with pytest.raises(InputError, match="nothing can be added"):
        open_journal(path).append(ROWS[0])
    assert outside.read_bytes() == b""


def test_a_full_disk_leaves_no_half_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p1.journal.jsonl"
    journal = open_journal(path)
    journal.append(ROWS[0])
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left"):
            journal.append(ROWS[1])
    assert (path.read_bytes(), journal.rows) == (before, ROWS[:1])
    journal.append(ROWS[2])
    assert open_journal(path).rows == [ROWS[0], ROWS[2]]


def test_the_latest_mark_counts(tmp_path: Path) -> None:
    assert not has_journals(tmp_path)
    for name, marks in {"p1": [True], "p2": [True, False], "p3": [], "p4": [False, True]}.items():
        journal = open_journal(tmp_path / f"{name}.journal.jsonl")
        journal.append(ROWS[0])
        for mark in marks:
            journal.append({"kind": "state", "proofread": mark})
        journal.append(ROWS[0])
        assert is_proofread(journal.rows) == (marks[-1:] == [True])
    assert has_journals(tmp_path)
    assert list(proofread_names(tmp_path)) == ["p1", "p4"]
