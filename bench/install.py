"""What an installation takes: `python -m bench.install [PACKAGE ...]`, by default this clone and RapidOCR.

Each is installed with all that it needs into an environment of its own, without pip. Printed: megabytes on
the disk, Python itself left out, and the quickest of five imports in a fresh process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.machine import machine

ROOT = Path(__file__).parent.parent


def install(package: str, folder: Path) -> Path:
    """The Python of a new environment that has the package."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "-q", package], check=True)
    return python


def megabytes(folder: Path) -> float:
    """Whole blocks of the disk, as du counts them, in 10^6 bytes."""
    entries = (path.lstat() for path in folder.rglob("*"))
    return sum(512 * entry.st_blocks for entry in entries) / 1e6


def seconds_to_import(python: Path, module: str) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([python, "-c", f"import {module}"], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main(packages: Sequence[str]) -> None:
    table = Table(title=f"Installed with all that it needs; {machine()}")
    for name in ("package", "MB", "s to import"):
        table.add_column(name, justify="left" if name == "package" else "right")
    for package in packages or (str(ROOT), "rapidocr"):
        module = "tongguocr" if package == str(ROOT) else package
        with tempfile.TemporaryDirectory() as folder:
            python = install(package, Path(folder) / "environment")
            taken, slow = megabytes(Path(folder)), seconds_to_import(python, module)
        table.add_row(module, f"{taken:.0f}", f"{slow:.2f}")
    Console(width=80).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
