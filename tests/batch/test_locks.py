"""PageLocks: one page, one process, whoever else is at work and however it ended."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from tongguocr.batch import locks as module
from tongguocr.batch.locks import FOLDER, STALE, PageLocks
from tongguocr.errors import InputError

GONE = 2**22 + 1
"""No process has this number: Linux counts to 2 to the 22nd."""


def leave_behind(out: Path, machine: str, age: float, page: str = "p1") -> str:
    """What a process that was killed leaves: a sign of life, a claim, a failure and half a file."""
    owner = f"{machine}.{GONE}.abcd"
    folder = out / FOLDER
    (folder / owner).mkdir(parents=True)
    (folder / owner / "half.json").write_bytes(b"{")
    with PageLocks(out) as theirs:
        theirs.owner = owner
        theirs.alive.write_text(owner, encoding="utf-8")
        theirs.acquire(page)
        theirs.record_failure("p9", "p9.png", "a reason")
        theirs.held.clear()
        alive = folder / f"{owner}.alive"
        alive.touch()
        os.utime(alive, (alive.stat().st_mtime - age,) * 2)
        # It ends without its own cleaning up.
        theirs._closed.set()
        theirs.alive.unlink()
        theirs.unfinished.rmdir()
        theirs.folder = out / "nowhere"
    return owner


def test_a_page_is_taken_once_and_the_folder_goes(tmp_path: Path) -> None:
    with PageLocks(tmp_path) as first:
        assert first.alone and first.acquire("p1")
        with PageLocks(tmp_path) as second:
            assert not second.alone
            assert not second.acquire("p1") and second.acquire("p2")
            first.release("p1")
            assert second.acquire("p1") and not first.acquire("p1")
        assert first.acquire("p1"), "who ends lets go"
        assert (tmp_path / FOLDER).is_dir()
    assert not (tmp_path / FOLDER).exists()


def test_a_dead_process_of_this_machine_is_topped_at_once(tmp_path: Path) -> None:
    owner = leave_behind(tmp_path, module._machine(), age=0)
    with PageLocks(tmp_path) as first, PageLocks(tmp_path) as second:
        assert first.alone
        assert not (tmp_path / FOLDER / owner).exists(), "half files go"
        assert first.failures() == [], "and so do its failures: they are tried again"
        assert first.acquire("p1") and not second.acquire("p1")
        first.release("p1")
        assert second.acquire("p1")
    assert not (tmp_path / FOLDER).exists()


def test_another_machine_is_given_time(tmp_path: Path) -> None:
    leave_behind(tmp_path, "elsewhere", age=STALE / 2)
    with PageLocks(tmp_path) as ours:
        assert not ours.alone and not ours.acquire("p1")
        assert [failure.page for failure in ours.failures()] == ["p9"]
        assert ours.failure("p9") is not None and ours.failure("p1") is None
    assert (tmp_path / FOLDER).is_dir(), "it may still live"
    for alive in (tmp_path / FOLDER).glob("*.alive"):
        os.utime(alive, (alive.stat().st_mtime - STALE,) * 2)
    with PageLocks(tmp_path) as ours:
        assert ours.alone and ours.acquire("p1")
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize("links", [True, False])
def test_a_claim_names_its_owner_with_links_and_without(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with PageLocks(tmp_path) as first, PageLocks(tmp_path) as second:
        assert first.acquire("p1") and not second.acquire("p1")
        assert first._path("p1", "1.claim").read_text(encoding="utf-8") == first.owner
        if links:
            assert first._path("p1", "1.claim").samefile(first.alive), "never there without its owner"


def test_a_claim_without_an_owner_is_old_some_day(tmp_path: Path) -> None:
    with PageLocks(tmp_path) as ours:
        path = ours._path("p1", "1.claim")
        path.touch()
        assert not ours.acquire("p1")
        os.utime(path, (path.stat().st_mtime - 2 * STALE,) * 2)
        assert ours.acquire("p1")


def test_a_sign_of_life_that_is_no_name(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "x.alive").touch()
    with PageLocks(tmp_path) as ours:
        assert not ours.alone


def test_signs_of_life_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    with PageLocks(tmp_path) as ours:
        os.utime(ours.alive, (0, 0))
        for _ in range(30_000):
            if ours.alive.stat().st_mtime > 0:
                break
            threading.Event().wait(0.01)
        assert ours.alive.stat().st_mtime > 0


def test_names_of_any_length_and_letters(tmp_path: Path) -> None:
    names = ["x" * 5000, "A", "a", "a/b", "", "書\udcff"]
    with PageLocks(tmp_path) as ours:
        assert [ours.acquire(name) for name in names] == [True] * len(names)


def test_many_at_once(tmp_path: Path) -> None:
    """Eight claimers over fifty pages of which a dead process had some."""
    for k in range(3):
        leave_behind(tmp_path / str(k), module._machine(), age=0, page=f"p{k}")
    out = tmp_path / "0"
    taken: list[str] = []
    start = threading.Barrier(8)

    def claim() -> None:
        with PageLocks(out) as ours:
            start.wait()
            taken.extend(name for name in (f"p{k}" for k in range(50)) if ours.acquire(name))
            start.wait()

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(taken) == Counter({f"p{k}": 1 for k in range(50)})
    assert not (out / FOLDER).exists()


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_bytes(b"a file")
    with pytest.raises(InputError, match=r"\.tongguocr"):
        PageLocks(tmp_path)
