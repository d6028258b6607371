"""A job on a Ray cluster of this machine, as a program that tests start, and whose workers they may kill.

`python cluster_job.py IN OUT LOG`: every page is read as its shade, and its name logged with the number of
the actor that had it.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path

from job_readers import pages_of, read_shade

from tongguocr.batch import Job, ReadPage, run_with_progress
from tongguocr.batch.job import Cluster
from tongguocr.page import Page


def read_logged(page: Page, name: str, log: Path) -> Page:
    read = read_shade(page, name)
    time.sleep(0.05)
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(handle, f"{name} {os.getppid()}\n".encode())
    os.close(handle)
    return read


def open_logged(log: Path) -> ReadPage:
    return partial(read_logged, log=log)


def main() -> int:
    # By its name: a function of the program itself is none of a module elsewhere.
    from cluster_job import open_logged

    source, out, log = (Path(argument) for argument in sys.argv[1:4])
    job = Job(out, ("txt", "json"), cluster=Cluster(workers=2))
    return run_with_progress(pages_of(source), partial(open_logged, log), job)


if __name__ == "__main__":
    sys.exit(main())
