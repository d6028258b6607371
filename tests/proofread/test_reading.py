"""Reading in the background: the order, what is asked for first, and pages that fail."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from proofread_books import write_book

from tongguocr.proofread import reading as module
from tongguocr.proofread.book import open_book
from tongguocr.proofread.reading import BackgroundReading, ReadingResult, ReadingTask, read_one
from tongguocr.reader import Setup


def tasks(tmp_path: Path, pages: int = 5) -> list[ReadingTask]:
    book = open_book(str(write_book(tmp_path / "book", pages, texts=False)))
    setup = Setup(engine=None, detector=None)
    return [ReadingTask(page.number, page.source, setup) for page in book.pages if page.source is not None]


class Heard:
    """What a reading tells."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.results: list[ReadingResult] = []
        self.more = threading.Condition()

    def begin(self, task: ReadingTask) -> ReadingTask | None:
        self.begun.append(task.number)
        return task if task.number != 4 else None

    def done(self, result: ReadingResult) -> None:
        with self.more:
            self.results.append(result)
            self.more.notify()

    def wait(self, count: int) -> None:
        with self.more:
            assert self.more.wait_for(lambda: len(self.results) >= count, 120)


@pytest.mark.slow
def test_pages_come_in_order_but_the_one_that_is_looked_at_first(tmp_path: Path) -> None:
    heard, todo = Heard(), tasks(tmp_path)
    Path(todo[1].source.file).write_bytes(b"no picture")
    reading = BackgroundReading(1, heard.begin, heard.done)
    for task in todo:
        reading.add(task)
    reading.prefer(3)
    reading.add(todo[4], first=True)
    reading.start()
    heard.wait(4)
    assert heard.begun == [5, 3, 1, 2, 4]
    assert [result.task.number for result in heard.results] == [5, 3, 1, 2]
    reasons = [result.reason for result in heard.results]
    assert reasons[:3] == ["", "", ""] and "p2.png" in reasons[3]
    assert all(result.page is None or result.page.pixels is None for result in heard.results)
    reading.close()
    assert not any(thread.is_alive() for thread in reading._threads)


@pytest.mark.slow
def test_a_page_that_brings_its_process_down_costs_itself(tmp_path: Path) -> None:
    heard, todo = Heard(), tasks(tmp_path, 2)
    reading = BackgroundReading(1, heard.begin, heard.done)
    deadly = replace(todo[0].source, loader=partial(os._exit, 3))
    reading.add(replace(todo[0], source=deadly))
    reading.add(todo[1])
    reading.start()
    heard.wait(2)
    assert "ended the process that read it" in heard.results[0].reason
    assert heard.results[1].page is not None
    reading.close()


def test_with_nothing_to_read_no_process_is_started(tmp_path: Path) -> None:
    reading = BackgroundReading(2, lambda task: task, lambda result: None)
    reading.start()
    assert not reading._pools
    reading.close()
    assert not any(thread.is_alive() for thread in reading._threads)


def test_a_fault_of_ours_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(setup: Setup) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(module, "_open", broken)
    assert read_one(tasks(tmp_path, 1)[0]) == "p1: RuntimeError: a fault"
