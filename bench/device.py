"""Pages a minute on each device that can be used, beside the CPU: `python -m bench.device [PAGE ...]`.

PAGES are images or folders of them, the example page unless given; `tongguocr synth` draws some. Each device
of ONNX Runtime's (docs/devices.md) reads all of them with one model, after a first round that does not count,
and the best of `--rounds` is taken; then with `--workers` processes, as `tongguocr read -o OUT/` does. Last
comes how much of the text is what the CPU read, and what opening the models and the first round took.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.alignment import MATCH, align
from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.devices import CPU, find_devices
from tongguocr.errors import InputError
from tongguocr.page import bare_page
from tongguocr.reader import Setup, open_reader
from tongguocr.sources import IMAGE_SUFFIXES, load_pixels

EXAMPLE = Path(__file__).parents[1] / "examples" / "page.jpg"
TIME_LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one device did."""

    pages_a_minute: float
    by_workers: float
    """With several processes; 0 where nobody asked."""
    texts: list[str]
    open_seconds: float
    first_seconds: float


def find_images(paths: Sequence[Path]) -> list[Path]:
    """The images that are named, and those of folders."""
    found = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [one for one in inside if one.suffix.lower() in IMAGE_SUFFIXES]
    if not found:
        raise InputError("There are no images to read.")
    return found


def open_read(device: str, threads: int) -> Callable[[Path], str]:
    """What reads an image's text on a device."""
    reader = open_reader(Setup(device=device, threads=threads))
    return lambda path: reader.read(bare_page(path.name, load_pixels(path))).full_text


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(images: Sequence[Path], device: str, threads: int, rounds: int, workers: int) -> Measured:
    """A round that does not count, then the best of several; and one of several processes."""
    start = time.perf_counter()
    read = open_read(device, threads)
    opened = time.perf_counter() - start
    texts: list[str] = []
    first = seconds_of(lambda: texts.extend(read(path) for path in images))
    best = min(seconds_of(lambda: [read(path) for path in images]) for _ in range(rounds))
    by_workers = measure_workers(images, device, workers) if workers > 1 else 0.0
    return Measured(60 * len(images) / best, by_workers, texts, opened, first)


def measure_workers(images: Sequence[Path], device: str, workers: int) -> float:
    """Pages a minute of several processes with one thread each, once all have read a page."""
    with Pool[Path, str](partial(open_read, device, 1), workers, TIME_LIMIT) as pool:
        _run(pool, [images[0]] * 2 * workers)
        # Enough pages that all processes are busy most of the time.
        many = list(images) * -(-4 * workers // len(images))
        return 60 * len(many) / seconds_of(lambda: _run(pool, many))


def _run(pool: Pool[Path, str], images: Sequence[Path]) -> None:
    for path, result in pool.run(images):
        if isinstance(result, WorkerFailure):
            raise InputError(f"{path}: reading it {result.reason}.")


def share_alike(texts: Sequence[str], others: Sequence[str]) -> float:
    """How much of the text is the same, in the longest alignment."""
    steps = [step for a, b in zip(texts, others, strict=True) for step in align(a, b)]
    return sum(step == MATCH for step in steps) / max(len(steps), 1)


def tabulate(measured: dict[str, Measured], pages: int, workers: int) -> Table:
    table = Table(title=f"pages: {pages}; {machine()}")
    several = (f"by {workers} workers", "beside the CPU") if workers > 1 else ()
    names = ("pages a minute", "beside the CPU", *several, "same text", "opening, s", "first round, s")
    for name in ("device", *names):
        table.add_column(name, justify="left" if name == "device" else "right")
    cpu = measured[CPU]
    for name, one in measured.items():
        row = [f"{one.pages_a_minute:.1f}", f"{one.pages_a_minute / cpu.pages_a_minute:.2f}"]
        if workers > 1:
            row += [f"{one.by_workers:.1f}", f"{one.by_workers / (cpu.by_workers or 1):.2f}"]
        row += [f"{100 * share_alike(one.texts, cpu.texts):.2f} %"]
        table.add_row(name, *row, f"{one.open_seconds:.1f}", f"{one.first_seconds:.1f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Pages a minute on every device.")
    parser.add_argument("pages", nargs="*", type=Path, default=[EXAMPLE], metavar="PAGE")
    parser.add_argument("--device", action="append", metavar="NAME", help="only these, beside the CPU")
    parser.add_argument("--threads", type=int, default=0, help="of the one model (0: one a core)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="this many processes, too")
    chosen = parser.parse_args(arguments)
    images = find_images(chosen.pages)
    measured: dict[str, Measured] = {}
    absent: list[str] = []
    for device in dict.fromkeys([CPU, *(chosen.device or find_devices())]):
        try:
            measured[device] = measure(images, device, chosen.threads, chosen.rounds, chosen.workers)
        except InputError as error:
            if device == CPU:
                raise
            absent.append(str(error))
    console = Console(width=140)
    console.print(tabulate(measured, len(images), chosen.workers))
    for sentence in absent:
        console.print(sentence, markup=False)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.device: {error}")
