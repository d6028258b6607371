"""Jobs and their folder: what is done stays done, pages take turns, a cancelled job keeps what it has."""

from __future__ import annotations

import asyncio
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from recognise_pages import make_page, read_as
from serve_models import TEXTS, fake_models, png

from tongguocr.engines.trust import NO_TEXT
from tongguocr.errors import InputError
from tongguocr.formats.page_json import parse_json
from tongguocr.serve.bounded import list_source
from tongguocr.serve.job_addresses import job_status
from tongguocr.serve.jobs import FAULT, Job, JobOptions, JobReader, JobStore, load_job
from tongguocr.serve.models import Models
from tongguocr.serve.observe import Metrics
from tongguocr.serve.queue import Bounds, RequestQueue, StatusError


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def add_job(store: JobStore, pages: int, damaged: tuple[int, ...] = ()) -> Job:
    """A job of so many pages in the store."""
    folder = store.new_folder()
    pixels = make_page(3).pixels
    assert pixels is not None
    with zipfile.ZipFile(folder / "source" / "book.zip", "w") as archive:
        for number in range(1, pages + 1):
            archive.writestr(f"{number}.png", b"junk" if number in damaged else png(pixels))
    return store.add(folder, "book.zip", JobOptions(turn=False), list_source(folder / "source"))


def read_until(store: JobStore, models: Models, over: Callable[[], bool], workers: int = 1) -> None:
    """Let a server with this store read until that is so."""

    async def main() -> None:
        queue = RequestQueue(store.bounds, workers)
        reading = asyncio.create_task(JobReader(store, models, queue, Metrics()).run())
        while not over():
            assert not reading.done(), reading.exception()
            await asyncio.sleep(0.005)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        queue.close()

    asyncio.run(main())


def test_a_book_is_read_and_bad_pages_cost_only_themselves(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "jobs", clock=(clock := Clock()))
    job = add_job(store, 4, damaged=(2,))
    assert (job.state, job.names) == ("waiting", ("1", "2", "3", "4"))
    clock.now = 2000
    read_until(store, fake_models(found=True), lambda: job.finished is not None)
    assert (job.state, job.done, job.finished) == ("done", {1, 3, 4}, 2000)
    page = parse_json(job.result(3).read_bytes(), Path("3"))
    assert (page.text, page.image) == ("\n".join(TEXTS.values()), "3.png")
    (sentence,) = job.failed.values()
    assert sentence.startswith("book.zip/2.png: ") and str(tmp_path) not in sentence


def test_a_server_that_starts_again_goes_on(tmp_path: Path) -> None:
    store = JobStore(tmp_path, clock=Clock())
    job = add_job(store, 5, damaged=(1,))
    gate, asked = threading.Event(), list[int]()

    def slow(block: object) -> object:
        asked.append(1)
        assert len(asked) < 3 or gate.wait(300)
        return read_as(block, TEXTS)  # type: ignore[arg-type]

    models = fake_models(slow, found=True)  # type: ignore[arg-type]
    read_until(store, models, lambda: len(asked) == 3)
    assert job.done == {2, 3} and set(job.failed) == {1}
    again = JobStore(tmp_path, clock=Clock())
    gate.set()
    (found,) = again.unfinished
    assert (found.id, found.done, found.failed) == (job.id, {2, 3}, job.failed)
    assert list(found.waiting) == [4, 5], "what was being read is read again"
    assert (found.name, found.names, found.options) == (job.name, job.names, job.options)
    asked.clear()
    read_until(again, fake_models(found=True), lambda: found.finished is not None)
    assert found.done == {2, 3, 4, 5}
    (last,) = JobStore(tmp_path, clock=Clock()).jobs.values()
    assert last.state == "done" and not last.waiting


def test_pages_without_text_are_named_also_by_a_server_that_starts_again(tmp_path: Path) -> None:
    store = JobStore(tmp_path, clock=Clock())
    job = add_job(store, 2, damaged=(1,))
    read_until(store, fake_models(lambda block: read_as(block, {}), found=True), lambda: job.complete)
    (again,) = JobStore(tmp_path, clock=Clock()).jobs.values()
    for found in (job, again):
        assert (found.done, found.warnings, set(found.failed)) == ({2}, {2: NO_TEXT}, {1})
        assert job_status(found)["warnings"] == [{"page": 2, "name": "2", "message": NO_TEXT}]


def test_uploads_that_broke_off_are_cleared_away_and_nothing_else(tmp_path: Path) -> None:
    store = JobStore(tmp_path, clock=Clock())
    broken, kept = store.new_folder(), add_job(store, 1)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("")
    assert set(JobStore(tmp_path, clock=Clock()).jobs) == {kept.id}
    assert not broken.exists() and (tmp_path / "notes" / "mine.txt").exists()


@pytest.mark.parametrize("written", ["junk", "{}", "[]", '{"pages": 3, "options": {"colour": 1}}'])
def test_a_damaged_job_is_one_sentence(tmp_path: Path, written: str) -> None:
    (tmp_path / "job.json").write_text(written)
    with pytest.raises(InputError, match=r"job\.json"):
        load_job(tmp_path)


def test_jobs_take_turns_page_by_page(tmp_path: Path) -> None:
    store, order = JobStore(tmp_path, clock=Clock()), list[str]()
    jobs = [add_job(store, 3), add_job(store, 3)]

    class Noting(Models):
        def call(self, work, source, *more):  # type: ignore[no-untyped-def]
            order.append(Path(source.file).parents[2].name)
            return super().call(work, source, *more)

    fakes = fake_models(found=True)
    read_until(store, Noting("fake", fakes.reader), lambda: not store.unfinished)
    first, second = (job.id for job in jobs)
    assert order in ([first, second] * 3, [second, first] * 3)


def test_a_cancelled_job_keeps_what_it_has_and_reads_no_more(tmp_path: Path) -> None:
    store, gate, begun = JobStore(tmp_path, clock=Clock()), threading.Event(), threading.Event()
    job, other = add_job(store, 3), add_job(store, 1)

    def slow(block: object) -> object:
        if job.done:
            begun.set()
            assert gate.wait(300)
        return read_as(block, TEXTS)  # type: ignore[arg-type]

    def over() -> bool:
        if begun.is_set() and not job.cancelled:
            store.cancel(job)
            gate.set()
        return other.finished is not None and not job.reading and job.cancelled

    read_until(store, fake_models(slow, found=True), over)  # type: ignore[arg-type]
    assert (job.state, job.done) == ("cancelled", {1}) and not job.result(2).exists()
    assert JobStore(tmp_path, clock=Clock()).jobs[job.id].state == "cancelled"
    store.remove(job)
    assert not job.folder.exists()
    with pytest.raises(StatusError, match="no such job") as caught:
        store.find(job.id)
    assert caught.value.status == 404


def test_a_fault_of_ours_costs_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = JobStore(tmp_path, clock=Clock())
    job = add_job(store, 1)

    def broken(block: object) -> object:
        raise ZeroDivisionError("secret detail")

    read_until(store, fake_models(broken, found=True), lambda: job.finished is not None)  # type: ignore[arg-type]
    assert job.failed == {1: FAULT} and "secret detail" in capsys.readouterr().err


def test_a_full_disk_costs_pages_and_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = JobStore(tmp_path, clock=Clock())
    job = add_job(store, 2)

    def full(data: bytes, path: Path) -> None:
        raise InputError(f"{path}: the file cannot be written (no space left on device).")

    monkeypatch.setattr("tongguocr.serve.jobs.write_bytes", full)
    read_until(store, fake_models(found=True), lambda: job.finished is not None)
    assert len(job.failed) == 2 and "could not keep" in job.failed[1]
    assert "no space left" in capsys.readouterr().err
    monkeypatch.undo()
    assert list(JobStore(tmp_path, clock=Clock()).jobs[job.id].waiting) == [1, 2], "tried again next time"


def test_too_large_a_page_is_refused(tmp_path: Path) -> None:
    store = JobStore(tmp_path, Bounds(pixels=100), Clock())
    job = add_job(store, 1)
    read_until(store, fake_models(found=True), lambda: job.finished is not None)
    assert "megapixels" in job.failed[1]


def test_finished_jobs_are_kept_for_a_while(tmp_path: Path) -> None:
    clock = Clock()
    store = JobStore(tmp_path, Bounds(job_kept_seconds=100, jobs=2), clock)
    over, going = add_job(store, 1), add_job(store, 1)
    with pytest.raises(StatusError, match="2 jobs are waiting"):
        store.refuse_if_full()
    store.keep(over, 1, b"{}")
    store.refuse_if_full()
    clock.now += 99
    assert store.find(over.id) is over
    clock.now += 2
    assert store.find(going.id) is going
    with pytest.raises(StatusError):
        store.find(over.id)
    assert not over.folder.exists() and going.folder.exists()
