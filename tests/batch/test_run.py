"""Jobs: every page by itself, once, and whole, whatever happens to the others and to the job."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from job_readers import (
    CRASHED,
    ENDS,
    FAULT,
    HANGS,
    KILLED,
    REFUSED,
    TOO_LARGE,
    command,
    do,
    files,
    open_notes,
    open_on_full_disk,
    open_refused,
    open_shades,
    pages_of,
    write_pages,
)

from tongguocr.batch import FAILED, Job, run_job
from tongguocr.batch.locks import FOLDER, PageLocks
from tongguocr.errors import DiskFullError, InputError
from tongguocr.formats import FORMATS, Style, read_page, write_page

SHADES = {f"p{k}": 100 + k for k in range(40)}


def test_every_page_in_every_format(tmp_path: Path) -> None:
    folder, out = write_pages(tmp_path / "in", {"p1": 1, "p2": 2, "p10": 10}), tmp_path / "out" / "deep"
    found = list(run_job(pages_of(folder), open_shades, Job(out, tuple(FORMATS))))
    assert [(d.name, d.state, d.characters) for d in found] == [(n, "read", 1) for n in ("p1", "p2", "p10")]
    assert set(files(out)) == {n + f.ending for n in ("p1", "p2", "p10") for f in FORMATS.values()}
    assert (out / "p10.txt").read_text(encoding="utf-8").strip() == chr(0x4E0A)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    folder, out = write_pages(tmp_path / "in", {"p1": 1, "p2": 2, "p10": 10}), tmp_path / "out"
    log = tmp_path / "log"
    pages, read = pages_of(folder), partial(open_shades, log)
    do(pages[:2], Job(out, ("txt",)), read)
    before = (out / "p1.txt").stat().st_mtime_ns
    (out / "p2.txt").unlink()
    again = do(pages, Job(out, ("txt",)), read)
    assert {name: one.state for name, one in again.items()} == {"p1": "done", "p2": "read", "p10": "read"}
    assert log.read_text().split() == ["p1", "p2", "p2", "p10"]
    assert (out / "p1.txt").stat().st_mtime_ns == before
    more = do(pages, Job(out, ("txt", "json")), read)
    assert {one.state for one in more.values()} == {"read"}, "a new format is new work"
    assert (out / "p1.txt").stat().st_mtime_ns == before, "what is there stays"
    anew = do(pages, Job(out, ("txt",), again=True), read)
    assert {one.state for one in anew.values()} == {"read"}
    assert (out / "p1.txt").stat().st_mtime_ns > before and (out / "p1.json").exists()
    # Nothing to do: no process is started.
    assert {one.state for one in do(pages, Job(out), open_refused).values()} == {"done"}


def test_a_page_that_fails_costs_only_itself(tmp_path: Path) -> None:
    bad = {
        "fault": (FAULT, "ZeroDivisionError: a fault of ours"),
        "refused": (REFUSED, "this page is refused."),
        "large": (TOO_LARGE, "does not fit into memory."),
        "killed": (KILLED, "SIGKILL"),
        "crashed": (CRASHED, "SIGSEGV"),
        "ends": (ENDS, "exit code 3"),
        "hangs": (HANGS, "took longer than 3 seconds"),
    }
    shades = {name: shade for name, (shade, _) in bad.items()} | {"good": 1, "alright": 2, "zuletzt": 3}
    folder, out = write_pages(tmp_path / "in", shades), tmp_path / "out"
    (folder / "junk.png").write_bytes(b"junk")
    job = Job(out, ("txt",), workers=2, time_limit=3.0)
    found = {one.name: one for one in run_job(pages_of(folder), open_shades, job, [("x.pdf", "x.pdf: no.")])}
    assert {name for name, one in found.items() if one.state == "read"} == {"good", "alright", "zuletzt"}
    for name, (_, said) in bad.items():
        assert said in found[name].reason and "\n" not in found[name].reason
        assert f"{name}.png" in found[name].reason
    rows = [row.split("\t") for row in (out / FAILED).read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in rows] == ["page", *sorted([*bad, "junk", "x.pdf"])]
    assert {row[0]: row[2] for row in rows[1:]} == {k: one.reason for k, one in found.items() if one.reason}
    assert set(files(out)) == {"good.txt", "alright.txt", "zuletzt.txt", FAILED}
    write_pages(folder, {**dict.fromkeys(bad, 5), "junk": 6})
    assert {one.state for one in do(pages_of(folder), job).values()} == {"read", "done"}, "tried again"
    assert not (out / FAILED).exists()


def test_text_in_the_style_that_was_asked_for(tmp_path: Path) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1}))
    do(pages, Job(tmp_path / "out", ("txt",), style=Style(notes="omit")), open_notes)
    assert (tmp_path / "out" / "p1.txt").read_text(encoding="utf-8") == "大學\n"


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    folder, log = write_pages(tmp_path / "in", {**SHADES, "bad": FAULT}), tmp_path / "log"
    jobs = [
        subprocess.Popen(
            command(folder, tmp_path / "out", log), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    said = [job.communicate() for job in jobs]
    assert [job.returncode for job in jobs] == [1, 1], said
    assert Counter(log.read_text().split()) == Counter(dict.fromkeys(SHADES, 1)), "every page once"
    assert all(b"1 failed" in out for out, _ in said), "both tell what failed"
    assert set(files(tmp_path / "out")) == {f"{n}{s}" for n in SHADES for s in (".txt", ".json")} | {FAILED}


def test_a_job_that_is_killed_goes_on(tmp_path: Path) -> None:
    folder, log = write_pages(tmp_path / "in", SHADES), tmp_path / "log"
    do(pages_of(folder), Job(tmp_path / "undisturbed"))
    chance = random.Random(7)
    kills = 0
    while kills < 3:
        job = subprocess.Popen(command(folder, tmp_path / "out", log), stdout=subprocess.DEVNULL)
        so_far = len(log.read_text().split()) if log.exists() else 0
        aim = so_far + chance.randint(1, 6)
        while job.poll() is None and not (log.exists() and len(log.read_text().split()) >= aim):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        assert job.poll() is None, "it was to be killed before it was done"
        job.kill()
        job.wait()
        kills += 1
        (tmp_path / "out" / FOLDER / "stray.tmp").write_bytes(b"half")
    last = subprocess.run(command(folder, tmp_path / "out", log), capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert files(tmp_path / "out") == files(tmp_path / "undisturbed"), "and nothing else is left"
    reads = Counter(log.read_text().split())
    assert set(reads) == set(SHADES) and reads.total() <= len(SHADES) + 2 * kills, "only what was under way"


def test_a_job_that_is_stopped_cleans_up(tmp_path: Path) -> None:
    folder, log = write_pages(tmp_path / "in", SHADES), tmp_path / "log"
    job = subprocess.Popen(
        command(folder, tmp_path / "out", log), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not log.exists():
        time.sleep(0.005)
    job.send_signal(signal.SIGTERM)
    out, err = job.communicate()
    assert job.returncode == 130 and "the same command goes on" in err and "read (" in out
    assert "Traceback" not in err
    assert not (tmp_path / "out" / FOLDER).exists()


def test_nothing_is_done_anew_under_anothers_hands(tmp_path: Path) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1}))
    do(pages, Job(tmp_path / "out"))
    with PageLocks(tmp_path / "out"), pytest.raises(InputError, match="another process"):
        do(pages, Job(tmp_path / "out", again=True))
    assert (tmp_path / "out" / "p1.txt").exists()


def test_what_cannot_begin_ends_the_job(tmp_path: Path) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1}))
    with pytest.raises(InputError, match="weights"):
        do(pages, Job(tmp_path / "out"), open_refused)
    assert not (tmp_path / "out" / FOLDER).exists()
    with pytest.raises(InputError, match="cannot be made"):
        do(pages, Job(tmp_path / "in" / "p1.png" / "out"))


def test_a_name_that_is_too_long_for_a_result(tmp_path: Path) -> None:
    long = "x" * 250
    pages = pages_of(write_pages(tmp_path / "in", {long: 1, "p2": 2}))
    found = do(pages, Job(tmp_path / "out", ("page",)))
    assert found[long].state == "failed" and found["p2"].state == "read"


def test_other_formats_are_written_from_the_json_that_is_there(tmp_path: Path) -> None:
    folder, out = write_pages(tmp_path / "in", {"p1": 1, "p2": 2, "p3": 3}), tmp_path / "out"
    log = tmp_path / "log"
    pages, read = pages_of(folder), partial(open_shades, log)
    do(pages[:2], Job(out, ("txt", "json")), read)
    page = read_page(out / "p1.json")
    write_page(replace(page, lines=(replace(page.lines[0], text="改"),)), out / "p1.json")
    done = do(pages, Job(out, tuple(FORMATS)), read)
    assert {name: one.state for name, one in done.items()} == {
        "p1": "converted",
        "p2": "converted",
        "p3": "read",
    }
    assert log.read_text().split() == ["p1", "p2", "p3"]
    made = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert made == {n + f.ending for n in done for f in FORMATS.values()}
    assert (out / "p1.md").read_text(encoding="utf-8").endswith("改\n"), "as the JSON was corrected"
    assert (out / "p1.txt").read_text(encoding="utf-8") != "改\n", "what is there stays"


def test_a_broken_json_costs_its_own_page(tmp_path: Path) -> None:
    folder, out = write_pages(tmp_path / "in", {"p1": 1, "p2": 2}), tmp_path / "out"
    pages = pages_of(folder)
    do(pages, Job(out, ("json",)))
    (out / "p1.json").write_text("{")
    done = do(pages, Job(out, ("txt", "json")))
    assert {name: one.state for name, one in done.items()} == {"p1": "failed", "p2": "converted"}
    assert done["p1"].reason.startswith(f"{out / 'p1.json'}: this is not JSON")
    again = do(pages, Job(out, ("txt", "json"), again=True))
    assert {one.state for one in again.values()} == {"read"}, "done anew, nothing is taken from before"


def test_a_full_disk_ends_the_job_with_all_failures_in_the_report(tmp_path: Path) -> None:
    folder, log = write_pages(tmp_path / "in", {"bad": REFUSED, **SHADES}), tmp_path / "log"
    job = Job(tmp_path / "out", ("txt", "json"), workers=2)
    read = partial(open_on_full_disk, log, 5)
    found = do(pages_of(folder), job, read)
    full = {name for name, one in found.items() if one.disk_full}
    assert 1 <= len(full) <= 2, "those that were under way"
    assert {name for name, one in found.items() if one.state == "failed"} == full | {"bad"}
    assert len(log.read_text().split()) < 10, "no other page is read in vain"
    rows = [row.split("\t") for row in (tmp_path / "out" / FAILED).read_text(encoding="utf-8").splitlines()]
    assert {row[0] for row in rows[1:]} == full | {"bad"}
    assert all("no space left on device" in row[2] for row in rows[1:] if row[0] != "bad")
    done = {name for name, one in found.items() if one.state == "read"}
    assert set(files(tmp_path / "out")) == {f"{n}{s}" for n in done for s in (".txt", ".json")} | {FAILED}
    # With room again, the same job goes on.
    states = {name: one.state for name, one in do(pages_of(folder), job).items()}
    assert {name for name, state in states.items() if state == "done"} == done
    assert {name for name, state in states.items() if state == "failed"} == {"bad"}


def test_failures_are_known_where_there_is_no_room_to_record_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(data: bytes, path: Path) -> None:
        raise DiskFullError(f"{path}: no.")

    monkeypatch.setattr("tongguocr.batch.locks.write_bytes", lambda data, path: path.write_bytes(data))
    folder = write_pages(tmp_path / "in", {"bad": REFUSED, "worse": FAULT})
    outcomes = run_job(pages_of(folder), open_shades, Job(tmp_path / "out", ("txt",)))
    first = next(outcomes)
    monkeypatch.setattr("tongguocr.batch.locks.write_bytes", refuse)
    assert {first.name, *(one.name for one in outcomes)} == {"bad", "worse"}
    rows = (tmp_path / "out" / FAILED).read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3
