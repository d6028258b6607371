"""How long a page takes into every format, from its JSON: `python -m bench.convert [PAGE.json ...]`.

The example page unless pages are given; their images lie beside them. Each is read and written in all formats
at once, as `tongguocr convert` does, and then in each alone; the figures are medians of RUNS, of the wall and
of the processor: on a busy machine only the latter means anything. Starting Python and importing numpy and
Pillow comes on top once, 0.2 to 0.3 s.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.cli import main as tongguocr
from tongguocr.formats import FORMATS

RUNS = 9


def measure(path: Path, formats: str, out: Path) -> tuple[float, float]:
    """Median seconds of converting a page, by the clock and of the processor, after a first time."""
    clock, processor = [], []
    for _ in range(RUNS + 1):
        starts = time.perf_counter(), time.process_time()
        assert tongguocr(["convert", str(path), "-o", str(out), "--format", formats]) == 0
        clock.append(time.perf_counter() - starts[0])
        processor.append(time.process_time() - starts[1])
    return median(clock[1:]), median(processor[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a page takes into every format.")
    parser.add_argument("pages", nargs="*", type=Path, default=[Path("examples/page.json")])
    args = parser.parse_args()
    table = Table(title="ms a page, by the clock (of the processor)", caption=machine())
    table.add_column("format")
    for path in args.pages:
        table.add_column(path.name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        for formats in (",".join(FORMATS), *FORMATS):
            times = [measure(path, formats, Path(folder)) for path in args.pages]
            cells = [f"{1000 * clock:.0f} ({1000 * processor:.0f})" for clock, processor in times]
            table.add_row(f"all {len(FORMATS)}" if "," in formats else formats, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
