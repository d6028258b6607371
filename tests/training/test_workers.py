"""Worker processes of a training run: they end with it, however it ends."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import sys, time
from itertools import repeat
from tongguocr.training.workers import Workers
workers = Workers(lambda number: repeat(b"batch"), 2)
workers.made.get()
print("begun", flush=True)
time.sleep(3600)
"""


def test_workers_end_with_a_run_that_is_killed() -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "begun\n"
    run.kill()
    # Workers hold this pipe, too: it is at its end when all of them are.
    assert run.communicate(timeout=300) == ("", None)
