"""Processes that read: results and refusals come through, and a death costs one request."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import serve_work
from recognise_pages import make_page
from serve_models import TEXTS, ask, complaint, in_thread, png

from tongguocr.errors import InputError
from tongguocr.serve.queue import StatusError
from tongguocr.serve.workers import Processes, WorkerError


@pytest.fixture(scope="module")
def pair() -> Iterator[Processes]:
    with Processes(serve_work.open_fakes, 2) as readers:
        yield readers


def test_two_read_at_the_same_time_in_processes_of_their_own(pair: Processes, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(partial(pair.call, serve_work.meet, tmp_path, others=2), "ab"))
    pids = {pair.call(serve_work.process) for _ in range(4)}
    assert len(pids) == 2 and os.getpid() not in pids
    assert pair.name == "fake"


def test_refusals_come_through_whatever_their_class(pair: Processes) -> None:
    with pytest.raises(InputError, match=r"^page\.png: bad\.$") as caught:
        pair.call(serve_work.say_no, "input")
    assert not hasattr(caught.value, "status")
    with pytest.raises(InputError, match=r"pip install 'tongguocr\[pdf\]'"):
        pair.call(serve_work.say_no, "extra")
    with pytest.raises(StatusError, match="too large") as refused:
        pair.call(serve_work.say_no, "status")
    assert refused.value.status == 422
    with pytest.raises(WorkerError, match=r"(?s)Traceback.*ZeroDivisionError: secret detail"):
        pair.call(serve_work.say_no, "fault")
    assert pair.call(serve_work.process)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_dies_costs_its_request_and_is_replaced(how: signal.Signals) -> None:
    with Processes(serve_work.open_fakes, 1) as readers:
        first = readers.call(serve_work.process)
        with pytest.raises(StatusError, match=how.name) as caught:
            readers.call(serve_work.die, how)
        assert caught.value.status == 500
        second = readers.call(serve_work.process)
        os.kill(second, signal.SIGKILL)
        # It may be seen to be dead before it is asked, or while it is.
        third = next(filter(None, (_pid(readers) for _ in range(2))))
        assert len({first, second, third}) == 3


def _pid(readers: Processes) -> int | None:
    try:
        return readers.call(serve_work.process)
    except StatusError:
        return None


def test_signals_to_the_whole_group_do_not_end_what_is_read() -> None:
    with Processes(serve_work.open_fakes, 1) as readers:
        pid = readers.call(serve_work.process)
        for ends in (signal.SIGINT, signal.SIGTERM):
            readers.call(serve_work.die, ends)
        assert readers.call(serve_work.process) == pid


def test_who_has_no_time_left_stops_the_work_and_not_the_next(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def check() -> None:
        if begun.exists():
            raise StatusError(504, "Too late.")

    with Processes(serve_work.open_fakes, 1, check) as readers:
        pid = readers.call(serve_work.process)
        with pytest.raises(StatusError, match="Too late"):
            readers.call(serve_work.until_stopped, begun)
        begun.unlink()
        assert readers.call(serve_work.process) == pid, "the process goes on"


def test_what_cannot_be_opened_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^weights: there are none\.$"):
        Processes(serve_work.refuse, 2)
    with pytest.raises(WorkerError, match="secret"):
        Processes(serve_work.break_down, 1)


def test_weights_that_have_gone_meanwhile_are_no_fault_of_the_request(tmp_path: Path) -> None:
    with Processes(serve_work.only_once(tmp_path / "opened"), 1) as readers:
        with pytest.raises(StatusError):
            readers.call(serve_work.die, signal.SIGKILL)
        with pytest.raises(StatusError, match="they have gone") as caught:
            readers.call(serve_work.process)
        assert caught.value.status == 503


def test_what_cannot_be_sent_harms_nobody(pair: Processes) -> None:
    with pytest.raises((AttributeError, TypeError)):
        pair.call(lambda models: 1)
    with pytest.raises(WorkerError, match="pickle"):
        pair.call(serve_work.cannot_be_sent)
    assert pair.call(serve_work.process)


def test_the_end_comes_in_the_middle_of_work(tmp_path: Path) -> None:
    begun, ends = tmp_path / "begun", list[Exception]()
    with Processes(serve_work.open_fakes, 1) as readers:

        def work() -> None:
            try:
                readers.call(serve_work.until_stopped, begun)
            except StatusError as error:
                ends.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        while not begun.exists():
            thread.join(0.01)
    thread.join(120)
    assert len(ends) == 1
    with pytest.raises(StatusError, match="going down"):
        readers.call(serve_work.process)


def test_the_service_reads_with_them(pair: Processes) -> None:
    pixels = make_page(3).pixels
    assert pixels is not None
    with in_thread(pair, workers=2) as url, ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(lambda _: ask(f"{url}/v1/read?format=txt", png(pixels)), range(8)))
        assert [status for status, _ in answers] == [200] * 8
        assert {data.decode() for _, data in answers} == {"\n".join(TEXTS.values()) + "\n"}
        status, said = complaint(ask(f"{url}/v1/read", b"junk"))
        assert status == 400 and "not an image" in said
