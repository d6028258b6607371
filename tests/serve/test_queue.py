"""As many readings at a time as there are workers: order, bounds, time, and clients that go."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from tongguocr.serve.queue import Bounds, Budget, Deadline, RequestQueue, StatusError

T = TypeVar("T")


async def here() -> bool:
    return False


async def take(queue: RequestQueue, work: Callable[[], T]) -> T:
    with queue.admit() as deadline:
        return await queue.run(work, deadline, here)


def test_one_at_a_time_in_order() -> None:
    queue, order, busy = RequestQueue(Bounds(waiting=20)), list[int](), list[int]()

    def work(number: int) -> int:
        busy.append(1)
        assert len(busy) == 1, "two at a time"
        time.sleep(0.002)
        order.append(number)
        busy.pop()
        return number * 2

    async def main() -> list[int]:
        return await asyncio.gather(*(take(queue, lambda k=k: work(k)) for k in range(20)))  # type: ignore[misc]

    assert asyncio.run(main()) == [2 * k for k in range(20)]
    assert order == list(range(20)) and queue.pending == 0
    queue.close()


def test_no_fault_keeps_its_client_waiting() -> None:
    queue = RequestQueue(Bounds(seconds=3600))
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(take(queue, lambda: next(iter(()))))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(take(queue, lambda: 1 // 0))
    assert asyncio.run(take(queue, lambda: 7)) == 7
    queue.close()


def test_those_beyond_the_bound_are_refused_and_places_come_back() -> None:
    queue, gate = RequestQueue(Bounds(waiting=2)), threading.Event()

    async def main() -> list[object]:
        asked = [asyncio.create_task(take(queue, gate.wait)) for _ in range(5)]
        await asyncio.sleep(0.01)
        assert queue.pending == 3
        gate.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = asyncio.run(main())
    assert answers[:3] == [True] * 3
    assert [getattr(answer, "status", 0) for answer in answers[3:]] == [503, 503]
    assert asyncio.run(take(queue, lambda: 7)) == 7
    queue.close()


def test_what_takes_too_long_is_told_to_stop_and_frees_the_thread() -> None:
    queue, begun, stopped = RequestQueue(), threading.Event(), list[StatusError]()

    def work() -> None:
        begun.set()
        try:
            while True:
                queue.check()
                time.sleep(0.005)
        except StatusError as error:
            stopped.append(error)
            raise

    async def main() -> None:
        with queue.admit() as deadline:
            asked = asyncio.create_task(queue.run(work, deadline, here))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            # Only now does its time run: on a busy machine it might be over before the work begins.
            deadline.begin(0.1)
            with pytest.raises(StatusError, match=r"longer than 0\.1 seconds"):
                await asked
        for _ in range(5000):
            if stopped:
                break
            await asyncio.sleep(0.01)
        assert await take(queue, lambda: "next") == "next"

    asyncio.run(main())
    assert stopped[0].status == 504
    queue.check()  # Nothing is being read, so nothing is to stop.
    queue.close()


def test_who_waited_too_long_is_not_read_at_all() -> None:
    queue, gate, read = RequestQueue(Bounds(seconds=0.15)), threading.Event(), list[int]()

    async def main() -> None:
        first = asyncio.create_task(take(queue, gate.wait))
        second = asyncio.create_task(take(queue, lambda: read.append(2)))
        answers = await asyncio.gather(first, second, return_exceptions=True)
        assert [getattr(answer, "status", 0) for answer in answers] == [504, 504]
        gate.set()
        queue.bounds = Bounds()
        await take(queue, lambda: read.append(3))

    asyncio.run(main())
    assert read == [3]
    queue.close()


def test_a_client_that_goes_is_not_read_for() -> None:
    queue, gate = RequestQueue(), threading.Event()
    gone = False

    async def is_gone() -> bool:
        return gone

    async def main() -> None:
        nonlocal gone
        first = asyncio.create_task(take(queue, gate.wait))

        async def leaves() -> None:
            with queue.admit() as deadline:
                await queue.run(lambda: pytest.fail("was read"), deadline, is_gone)

        second = asyncio.create_task(leaves())
        await asyncio.sleep(0.01)
        gone = True
        with pytest.raises(StatusError, match="gone"):
            await second
        assert queue.pending == 1
        gate.set()
        assert await first

    asyncio.run(main())
    queue.close()


def test_the_end_comes_after_a_moment_of_grace() -> None:
    queue, gate = RequestQueue(Bounds(grace=0.05)), threading.Event()

    async def main() -> None:
        reading = asyncio.create_task(take(queue, gate.wait))
        await asyncio.sleep(0.01)
        queue.end_soon()
        with pytest.raises(StatusError, match="going down"):
            await reading

    asyncio.run(main())
    gate.set()
    queue.close()


def test_faults_of_the_work_come_through() -> None:
    queue = RequestQueue()

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(take(queue, broken))
    assert queue.pending == 0
    queue.close()


def test_as_many_at_a_time_as_there_are_workers() -> None:
    queue, meeting = RequestQueue(Bounds(waiting=1), workers=3), threading.Barrier(3)

    async def main() -> list[object]:
        asked = [asyncio.create_task(take(queue, lambda: meeting.wait(300) >= 0)) for _ in range(3)]
        waits = [asyncio.create_task(take(queue, lambda: "next")) for _ in range(2)]
        return await asyncio.gather(*asked, *waits, return_exceptions=True)

    *read, waited, refused = asyncio.run(main())
    assert read == [True] * 3 and waited == "next" and getattr(refused, "status", 0) == 503
    queue.close()


def test_each_thread_looks_at_its_own_time() -> None:
    queue, late = RequestQueue(workers=2), Deadline(1000)

    def work(deadline: Deadline) -> bool:
        meeting.wait(300)
        deadline.stopped = deadline is late
        meeting.wait(300)
        try:
            queue.check()
        except StatusError:
            return False
        return True

    async def one(deadline: Deadline) -> bool:
        with queue.admit(deadline):
            return await queue.run(lambda: work(deadline), deadline, here)

    async def main() -> list[object]:
        return await asyncio.gather(one(late), one(Deadline(1000)), return_exceptions=True)

    meeting = threading.Barrier(2)
    gone, stays = asyncio.run(main())
    assert gone is False or getattr(gone, "status", 0) == 504
    assert stays is True
    queue.close()


def test_a_page_of_a_job_has_its_time_from_when_it_is_begun() -> None:
    queue, gate = RequestQueue(Bounds(seconds=0.5)), threading.Event()

    async def main() -> str:
        with queue.admit(Deadline(1000)) as deadline:
            before = asyncio.create_task(queue.run(gate.wait, deadline, here))
            page = asyncio.create_task(queue.run_page(lambda: "page", here))
            # It waits for longer than it may take.
            await asyncio.wait({page}, timeout=0.6)
            assert not page.done()
            gate.set()
            await before
            return await page

    assert asyncio.run(main()) == "page"
    gate.clear()
    with pytest.raises(StatusError, match=r"longer than 0\.5 seconds"):
        asyncio.run(queue.run_page(gate.wait, here))
    gate.set()
    queue.close()


def test_what_all_bodies_take_is_bounded_and_comes_back() -> None:
    budget = Budget(100)
    with budget.account() as one, budget.account() as other:
        one(60)
        other(40)
        with pytest.raises(StatusError, match="Too much") as caught:
            other(1)
        assert caught.value.status == 503
    assert budget.used == 0
    with pytest.raises(ZeroDivisionError), budget.account() as one:
        one(100)
        raise ZeroDivisionError
    assert budget.used == 0
