"""Work for the tests of the pool, in a module that a new process imports quickly."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from tongguocr.errors import InputError


def double(task: int) -> tuple[int, int]:
    """Twice the number, and who did it; negative ones are fatal."""
    if task == -1:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == -2:
        time.sleep(600)
    if task == -3:
        os._exit(5)
    if task == -4:
        os.kill(os.getpid(), signal.SIGSEGV)
    return 2 * task, os.getpid()


def open_double() -> Callable[[int], tuple[int, int]]:
    return double


def refuse() -> Callable[[int], tuple[int, int]]:
    raise InputError("weights: there are none.")


def break_down(reason: str) -> Callable[[int], tuple[int, int]]:
    raise RuntimeError(reason)


def die() -> Callable[[int], tuple[int, int]]:
    os._exit(7)
