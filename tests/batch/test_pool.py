"""Processes that work: none takes another's task with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_work import break_down, die, open_double, refuse

from tongguocr.batch.pool import DEFAULT_MAX_WORKERS, Pool, WorkerFailure, share_cores
from tongguocr.errors import InputError


def test_deaths_cost_one_task_each() -> None:
    tasks = [1, -1, 2, -2, 3, -3, 4, -4, 5]
    with Pool(open_double, 2, 1.0) as pool:
        found = dict(pool.run(tasks))
        values = {task: result[0] for task, result in found.items() if not isinstance(result, WorkerFailure)}
        assert values == {1: 2, 2: 4, 3: 6, 4: 8, 5: 10}
        reasons = {task: result.reason for task, result in found.items() if isinstance(result, WorkerFailure)}
        assert "SIGKILL" in reasons[-1] and "memory" in reasons[-1]
        assert reasons[-2] == "took longer than 1 seconds and was given up"
        assert "exit code 5" in reasons[-3] and "SIGSEGV" in reasons[-4]
        # The processes are kept for the next run.
        kept = {worker.process.pid for worker in pool.workers}
        again = [result for _, result in pool.run(range(6))]
        assert {result[1] for result in again if not isinstance(result, WorkerFailure)} <= kept
    for pid in kept:
        with pytest.raises(ProcessLookupError):
            os.kill(pid or 0, 0)


def test_tasks_are_asked_for_one_by_one() -> None:
    asked: list[int] = []

    def tasks() -> Iterator[int]:
        for k in range(5):
            asked.append(k)
            yield k

    with Pool(open_double, 1, 60.0) as pool:
        assert not pool.workers, "nothing is started without a task"
        for done, _ in enumerate(pool.run(tasks()), 1):
            assert len(asked) == done


def test_a_process_that_dies_idle_is_replaced() -> None:
    with Pool(open_double, 1, 60.0) as pool:
        list(pool.run([1]))
        pool.workers[0].process.kill()
        pool.workers[0].process.join()
        assert [task for task, result in pool.run([2, 3]) if not isinstance(result, WorkerFailure)] == [2, 3]


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (refuse, "weights: there are none."),
        (partial(break_down, "no\nluck"), "RuntimeError: no luck"),
        (die, "exit code 7"),
    ],
)
def test_what_cannot_begin_is_told_in_one_sentence(
    prepare: Callable[[], Callable[[int], tuple[int, int]]], said: str
) -> None:
    with Pool(prepare, 2, 60.0) as pool, pytest.raises(InputError) as caught:
        list(pool.run([1, 2, 3]))
    assert said in str(caught.value) and "\n" not in str(caught.value)


@given(
    st.integers(0, 10_000),
    st.none() | st.integers(1, 64),
    st.none() | st.integers(1, 64),
    st.integers(1, 256),
)
def test_cores_are_shared(tasks: int, workers: int | None, threads: int | None, cores: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
        processes, each = share_cores(tasks, workers, threads)
    assert processes >= 1 and each >= 1 and processes <= max(tasks, 1)
    if workers is None and threads is None:
        assert processes * each <= cores and processes <= DEFAULT_MAX_WORKERS
        assert processes == min(cores, DEFAULT_MAX_WORKERS, max(tasks, 1))
    if threads is not None:
        assert each == threads
    if workers is not None:
        assert processes == min(workers, max(tasks, 1))


def test_no_limit_at_all() -> None:
    with Pool(open_double, 1, float("inf")) as pool:
        assert [task for task, result in pool.run([1]) if not isinstance(result, WorkerFailure)] == [1]
