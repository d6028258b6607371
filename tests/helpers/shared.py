"""What takes long to make, made once for all the processes that run tests side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

folder = Path(tempfile.gettempdir())
"""Where it lies; tests/conftest.py sets it to a folder of this run."""


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, which the first process that asks for it fills; others wait meanwhile."""
    made, done = folder / name, folder / f"{name}.done"
    with FileLock(folder / f"{name}.lock"):
        if not done.exists():
            made.mkdir(exist_ok=True)
            make(made)
            done.touch()
    return made
