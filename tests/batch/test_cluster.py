"""Jobs on a Ray cluster: as without one, wherever the workers are and whatever becomes of them."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from chat_server import completion, serve
from hypothesis import given
from hypothesis import strategies as st
from job_readers import (
    FAULT,
    HANGS,
    KILLED,
    REFUSED,
    do,
    files,
    open_notes,
    open_refused,
    open_shades,
    pages_of,
    write_pages,
)
from paths import HELPERS

from tongguocr.batch import FAILED, Job, run_job
from tongguocr.batch.actor import PageActor, Row, Step, make_finder, make_reader
from tongguocr.batch.cluster import ClusterPool, local_cpus, plan
from tongguocr.batch.job import Cluster, Task
from tongguocr.batch.locks import FOLDER
from tongguocr.batch.pool import WorkerFailure
from tongguocr.batch.results import result_paths
from tongguocr.cli import main
from tongguocr.errors import InputError
from tongguocr.formats import Style, write_page
from tongguocr.page import Line, Page
from tongguocr.reader import Setup, open_reader
from tongguocr.sources import SourcePage

needs_ray = pytest.mark.skipif(find_spec("ray") is None or os.name != "posix", reason="needs Ray")
READ: Step = partial(make_reader, open_shades)


def task_of(page: SourcePage, out: Path) -> Task:
    unfinished = out / FOLDER / "leader"
    unfinished.mkdir(parents=True, exist_ok=True)
    return Task(page, result_paths(page.name, out, ("txt",)), unfinished, Style())


def row_of(task: Task) -> Row:
    return {"number": 7, "task": pickle.dumps(task)}


def settle(step: Step, row: Row, limit: float = 60.0) -> Row:
    worker = PageActor(step, limit, ".", "elsewhere")
    with worker.pool:
        return worker.process(row)


# What a worker makes of a task


def test_a_worker_reads_a_page_once(tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    (page,) = pages_of(write_pages(tmp_path / "in", {"p1": 5}))
    step, task = partial(make_reader, partial(open_shades, log)), task_of(page, out)
    row = settle(step, row_of(task))
    assert (row["number"], row["state"], row["characters"]) == (7, "read", 1)
    assert (out / "p1.txt").read_text(encoding="utf-8") == chr(0x4E05) + "\n"
    again = settle(step, row_of(task))
    assert (again["state"], again["characters"]) == ("read", 1) and log.read_text().split() == ["p1"], (
        "the actor died after the last file"
    )
    assert settle(step, row) == row, "what is settled passes through"


def test_lines_are_found_by_one_worker_and_read_by_another(tmp_path: Path) -> None:
    (page,) = pages_of(write_pages(tmp_path / "in", {"p1": 5}))
    task = task_of(page, tmp_path / "out")
    found = settle(partial(make_finder, open_notes), row_of(task))
    assert found["state"] == "" and not (tmp_path / "out" / "p1.txt").exists()
    sent = pickle.loads(found["task"])
    assert [line.text for line in sent.loaded.lines] == ["大學", "程子曰"] and sent.loaded.pixels is not None
    assert sent.unfinished == task.unfinished
    assert settle(READ, found)["state"] == "read"
    (tmp_path / "in" / "p1.png").write_bytes(b"junk")
    failed = settle(partial(make_finder, open_notes), row_of(task))
    assert failed["state"] == "failed" and "p1.png" in failed["reason"]
    assert settle(READ, failed) == failed


@pytest.mark.parametrize(
    ("shade", "state", "said"),
    [
        (FAULT, "failed", "ZeroDivisionError"),
        (REFUSED, "failed", "refused"),
        (KILLED, "lost", "SIGKILL"),
        (HANGS, "lost", "took longer than 3 seconds"),
    ],
)
def test_a_page_that_fails_does_not_cost_the_worker(
    shade: int, state: str, said: str, tmp_path: Path
) -> None:
    bad, good = pages_of(write_pages(tmp_path / "in", {"bad": shade, "good": 1}))
    worker = PageActor(READ, 3.0, ".", "elsewhere")
    with worker.pool:
        row = worker.process(row_of(task_of(bad, tmp_path / "out")))
        assert row["state"] == state and said in row["reason"]
        assert worker.process(row_of(task_of(good, tmp_path / "out")))["state"] == "read"


def die_once(page: Page, name: str, mark: Path) -> Page:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return page


def open_die_once(mark: Path) -> partial[Page]:
    return partial(die_once, mark=mark)


def test_a_page_whose_process_is_killed_is_tried_again(tmp_path: Path) -> None:
    (page,) = pages_of(write_pages(tmp_path / "in", {"p1": 5}))
    step = partial(make_reader, partial(open_die_once, tmp_path / "mark"))
    assert settle(step, row_of(task_of(page, tmp_path / "out")))["state"] == "read"


def test_what_cannot_begin_is_refused(tmp_path: Path) -> None:
    (page,) = pages_of(write_pages(tmp_path / "in", {"p1": 5}))
    task = task_of(page, tmp_path / "out")
    row = settle(partial(make_reader, open_refused), row_of(task))
    assert row["state"] == "refused" and row["reason"].startswith("weights: there are none (on ")
    shutil.rmtree(task.unfinished)
    row = settle(READ, row_of(task))
    assert row["state"] == "refused" and f"{tmp_path / 'out'}: it is not there" in row["reason"]


def test_both_halves_are_the_whole(tmp_path: Path) -> None:
    (source,) = pages_of(write_pages(tmp_path / "in", {"p1": 200}))
    write_page(Page("p1.png", 20, 30, (Line("l1", (2, 2, 18, 28)),)), tmp_path / "p1.json")
    setup = Setup(lines=tmp_path, threads=1)
    pixels = source.load()
    page = Page("p1.png", 20, 30, pixels=pixels)
    found = open_reader(replace(setup, engine=None))(page, "p1")
    assert [line.id for line in found.lines] == ["l1"]
    second = open_reader(replace(setup, lines=None, detector=None))
    assert second(found, "p1") == open_reader(setup)(page, "p1")


# What the leading process makes of what comes back


class Played(ClusterPool):
    """A cluster that says what it is told to."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def _rows(self, wave: Sequence[Task]) -> Iterator[Row]:
        yield from self.rows


def played(number: int, state: str = "read", reason: str = "") -> Row:
    return {
        "number": number,
        "task": None,
        "state": state,
        "reason": reason,
        "characters": number,
        "warning": "",
        "disk_full": False,
    }


@given(st.data())
def test_every_task_is_told_once(data: st.DataObject) -> None:
    tasks = [Task(SourcePage(f"p{k}", f"p{k}.png", 1, np.empty), (), Path(), Style()) for k in range(4)]
    numbers = data.draw(st.lists(st.integers(0, 3), max_size=10))
    told = list(Played([played(number) for number in numbers]).run(tasks))
    assert sorted(task.page.name for task, _ in told) == ["p0", "p1", "p2", "p3"]
    lost = {task.page.name for task, result in told if isinstance(result, WorkerFailure)}
    assert lost == {f"p{k}" for k in range(4)} - {f"p{k}" for k in numbers}


class Faithful(Played):
    """A cluster that reads everything, and keeps count of what it was given at a time."""

    def _rows(self, wave: Sequence[Task]) -> Iterator[Row]:
        self.rows = [*self.rows, played(len(wave))]
        yield from (played(number) for number in reversed(range(len(wave))))


def test_pages_go_out_in_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.batch.cluster.WAVE", 3)
    tasks = [Task(SourcePage(f"p{k}", f"p{k}.png", 1, np.empty), (), Path(), Style()) for k in range(7)]
    claimed: list[str] = []
    pool = Faithful([])
    told = pool.run(claimed.append(task.page.name) or task for task in tasks)  # type: ignore[func-returns-value]
    assert next(told)[0] == tasks[2] and claimed == ["p0", "p1", "p2"], (
        "no more is claimed than is handed out"
    )
    assert [task.page.name for task, _ in told] == ["p1", "p0", "p5", "p4", "p3", "p6"]
    assert [row["number"] for row in pool.rows] == [3, 3, 1]


def test_a_refusal_ends_the_job() -> None:
    task = Task(SourcePage("p", "p.png", 1, np.empty), (), Path(), Style())
    with pytest.raises(InputError, match="no weights"):
        list(Played([played(0, "refused", "no weights")]).run([task]))


# How a cluster is shared out


@given(
    st.integers(1, 500),
    st.integers(0, 64),
    st.integers(1, 4),
    st.integers(1, 10_000),
    st.sampled_from([0, 0.25, 1]),
)
def test_workers_find_room(cpus: int, gpus: int, threads: int, tasks: int, share: float) -> None:
    cluster = Cluster(threads=threads, gpus_each=share, find=open_notes)
    if share > gpus or threads > cpus:
        with pytest.raises(InputError, match=f"{cpus} processors and {gpus} GPUs: too few"):
            plan(cluster, READ, tasks, {"CPU": cpus, "GPU": gpus})
        return
    find, read = plan(cluster, READ, tasks, {"CPU": cpus, "GPU": gpus})
    assert (
        1 <= find.min_workers <= find.max_workers <= tasks
        and 1 <= read.min_workers == read.max_workers <= tasks
    )
    assert find.max_workers * find.cpus <= cpus and (read.cpus, read.gpus) == (0, share)
    assert read.max_workers * read.gpus <= gpus
    (both,) = plan(Cluster(threads=threads), READ, tasks, {"CPU": cpus})
    assert 1 <= both.max_workers <= tasks and both.max_workers * both.cpus <= cpus


def test_a_cluster_of_our_own_has_room_for_what_is_asked() -> None:
    assert local_cpus(Cluster(workers=300, threads=2), 1000) == 600
    assert local_cpus(Cluster(workers=300, threads=2), 200) == 400
    assert local_cpus(Cluster(workers=300, threads=200, find=open_notes), 1000) == 200


# The command


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "OUT/", "--ray", "SCANS"], "--ray SCANS: an address"),
        (["-o", "OUT/", "--ray", "ray://head:10001"], "use --ray auto"),
        (["--ray"], "--ray reads into a folder"),
        (["-o", "OUT/", "--gpus-each", "1"], "add --ray"),
        (["-o", "OUT/", "--ray", "--gpus-each", "-1"], "--gpus-each: -1.0 is not more than 0."),
    ],
)
def test_one_sentence(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tongguocr.errors.find_spec", lambda name: name)
    assert main(["read", "page.png", *options]) == 2
    assert said in capsys.readouterr().err


def test_without_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tongguocr.errors.find_spec", lambda name: None)
    assert main(["read", str(tmp_path), "-o", f"{tmp_path}/out/", "--ray"]) == 2
    assert "pip install 'tongguocr[ray]'" in capsys.readouterr().err
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1}))
    with pytest.raises(InputError, match="Ray cluster needs"):
        list(run_job(pages, open_shades, Job(tmp_path / "out", cluster=Cluster())))


# A real cluster, on this machine


@needs_ray
@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    shades = {f"p{k}": 100 + k for k in range(60)}
    folder, log, out = (
        write_pages(tmp_path / "in", {**shades, "bad": FAULT}),
        tmp_path / "log",
        tmp_path / "out",
    )
    program = [
        sys.executable,
        str(HELPERS / "cluster_job.py"),
        str(folder),
        str(out),
        str(log),
    ]
    job = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while job.poll() is None and (not log.exists() or log.read_text().count("\n") < 20):
        time.sleep(0.01)
    victim = int(log.read_text().split()[-1])
    os.kill(victim, signal.SIGKILL)
    said, complaints = job.communicate(timeout=600)
    assert job.returncode == 1, (said, complaints)
    assert (
        said == f"Pages: 60 read (60 characters), 0 done before, 1 failed: {out}; {out / FAILED} says why\n"
    )
    assert complaints.count("\n") == 1 and "bad.png: ZeroDivisionError" in complaints
    rows = [row.split() for row in log.read_text().splitlines()]
    assert {name for name, _ in rows} == set(shades) and len(rows) <= len(shades) + 1
    assert victim not in {int(actor) for _, actor in rows[-20:]} and len({actor for _, actor in rows}) == 3
    do(pages_of(folder), Job(tmp_path / "plain"))
    assert files(out) == files(tmp_path / "plain"), "and the same table of what failed"


@needs_ray
@pytest.mark.slow
def test_the_command_finds_lines_here_and_asks_a_server_there(tmp_path: Path) -> None:
    folder, out = write_pages(tmp_path / "in", dict.fromkeys(("p1", "p2", "p3"), 200)), tmp_path / "out"
    for name in ("p1", "p2"):
        # Ink on the paper: blank pictures are not sent.
        from PIL import Image

        image = Image.new("L", (20, 30), 240)
        image.paste(0, (5, 5, 15, 25))
        image.save(folder / f"{name}.png")
        write_page(Page(f"{name}.png", 20, 30, (Line("l1", (2, 2, 18, 28)),)), folder / f"{name}.json")
    with serve(lambda question: completion("天")) as server:
        read = [sys.executable, "-m", "tongguocr.cli", "read", "in", "--lines", "in", "-o", "out/"]
        means = ["--engine", "server", "--url", server.url, "--model", "m", "--ray", "--format", "txt"]
        run = subprocess.run([*read, *means], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 1, run.stderr
    assert run.stdout.startswith("Pages: 2 read (2 characters), 0 done before, 1 failed")
    assert run.stderr == "tongguocr: in: there are no lines for the page p3 (p3.json, p3.xml …).\n"
    assert len(server.questions) == 2
    assert set(files(out)) == {"p1.txt", "p2.txt", FAILED}
    assert (out / "p1.txt").read_text(encoding="utf-8") == "天\n"
