"""Batches under stress: `python -m bench.batch [FOLDER]`, on Linux.

Four tables' worth of questions, answered with the real command on small pages cut out of the example:
is a job that is killed again and again byte for byte like one that was left in peace; does memory stay where
it was after the first pages; does a long PDF take more of it than a short one; and, with a FOLDER of images
that have our JSON beside them, how many pages a minute are read, by processes and threads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.page import Line, Page
from tongguocr.sources import image_named

EXAMPLE = Path(__file__).parents[1] / "examples" / "page.json"
MARGIN = 12
TICK = 0.05
MB = 1024 * 1024


@dataclass
class Watched:
    """A run of the command, with the memory of all its processes at every look."""

    process: subprocess.Popen[str]
    out: Path
    start: float = field(default_factory=time.perf_counter)
    looks: list[tuple[int, int]] = field(default_factory=list)
    """Pages done, and bytes taken."""

    def watch(self) -> None:
        while self.process.poll() is None:
            self.looks.append((done(self.out), tree_memory(self.process.pid)))
            time.sleep(10 * TICK)

    def memory_at(self, page: int, span: int = 10) -> float:
        """Megabytes while some pages around this one were read, the middle of all looks."""
        near = sorted(memory for pages, memory in self.looks if abs(pages - page) <= span) or [0]
        return near[len(near) // 2] / MB

    @property
    def peak(self) -> float:
        return max((memory for _, memory in self.looks), default=0) / MB


def done(out: Path) -> int:
    return sum(path.suffix == ".json" for path in out.iterdir()) if out.is_dir() else 0


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and all that it started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                # The name in brackets may hold anything; the parent is the second value behind it.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    pages = 0
    for member in family:
        with contextlib.suppress(OSError, IndexError):
            pages += int(Path(f"/proc/{member}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cut_example() -> list[tuple[Image.Image, Page]]:
    """Every line of the example page as a small page of its own."""
    page = read_page(EXAMPLE)
    cuts = []
    with Image.open(EXAMPLE.with_suffix(".jpg")) as image:
        for line in page.lines:
            x0, y0, x1, y1 = (round(value) for value in line.box)
            box = (x0 - MARGIN, y0 - MARGIN, x1 + MARGIN, y1 + MARGIN)
            part = image.convert("L").crop(box)
            small = Line("l1", (MARGIN, MARGIN, part.width - MARGIN, part.height - MARGIN))
            cuts.append(
                (part, Page("", part.width, part.height, (replace(small, direction=line.direction),)))
            )
    return cuts


def write_pages(folder: Path, count: int) -> None:
    """So many small images, and their lines beside them."""
    folder.mkdir()
    cuts = cut_example()
    for number in range(count):
        image, page = cuts[number % len(cuts)]
        image.save(folder / f"p{number:04d}.png")
        write_page(page, folder / f"p{number:04d}.json")


def write_pdf(path: Path, count: int) -> Path:
    """A PDF of such images, and a folder of their lines."""
    cuts = cut_example()
    lines = path.with_suffix("")
    lines.mkdir()
    images = [cuts[number % len(cuts)][0] for number in range(count)]
    images[0].save(path, save_all=True, append_images=images[1:], resolution=300, quality=90)
    for number in range(count):
        write_page(cuts[number % len(cuts)][1], lines / f"{path.stem}-{number + 1:04d}.json")
    return lines


def begin(source: Path, lines: Path | None, out: Path, *options: str) -> Watched:
    given = ["--lines", str(lines)] if lines else []
    command = [sys.executable, "-m", "tongguocr.cli", "read", str(source), *given, "-o", f"{out}/", *options]
    return Watched(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), out)


def finish(run: Watched) -> float:
    """Seconds that the run took; it must not have failed."""
    watcher = threading.Thread(target=run.watch)
    watcher.start()
    said, complaints = run.process.communicate()
    watcher.join()
    if run.process.returncode:
        raise InputError(f"{run.out}: the run failed: {complaints or said}")
    return time.perf_counter() - run.start


def kill_sometimes(source: Path, out: Path, count: int, kills: int, seed: int = 1) -> Iterator[int]:
    """Start the job and kill it, again and again; the pages that were done each time."""
    chance = random.Random(seed)
    for number in range(kills):
        run = begin(source, source, out)
        aim = done(out) + chance.randint(1, max((count - done(out)) // (kills - number + 1), 1))
        while run.process.poll() is None and done(out) < aim:
            time.sleep(TICK)
        # Not at the very moment at which a page was finished, but at any.
        time.sleep(chance.uniform(0, 0.5))
        run.process.kill()
        run.process.communicate()
        yield done(out)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def stress(count: int, kills: int, work: Path) -> Table:
    source = work / "in"
    write_pages(source, count)
    calm = begin(source, source, work / "calm")
    seconds = finish(calm)
    stops = list(kill_sometimes(source, work / "killed", count, kills))
    finish(begin(source, source, work / "killed"))
    expected, found = contents(work / "calm"), contents(work / "killed")
    early, late = calm.memory_at(min(50, count // 2)), calm.memory_at(count - 10)
    table = Table(title=f"{count} small pages", show_header=False)
    table.add_row("pages a minute", f"{60 * count / seconds:.0f}")
    table.add_row(f"killed {kills} times, at pages", ", ".join(map(str, stops)))
    table.add_row("files: undisturbed, killed", f"{len(expected)}, {len(found)}")
    table.add_row("byte-equal", "yes" if expected == found else "NO")
    table.add_row(f"memory around page {min(50, count // 2)}, {count}", f"{early:.0f} MB, {late:.0f} MB")
    table.add_row("growth", f"{100 * (late / early - 1):+.1f} %")
    return table


def long_pdf(count: int, work: Path) -> Table:
    table = Table("PDF", "peak", "time", title="PDF: memory of all processes")
    for pages in (count // 10, count):
        path = work / f"book{pages}.pdf"
        lines = write_pdf(path, pages)
        run = begin(path, lines, work / f"out{pages}")
        seconds = finish(run)
        table.add_row(f"{pages} pages", f"{run.peak:.0f} MB", f"{seconds:.0f} s")
    return table


def speed(folder: Path, detector: str | None, splits: Sequence[tuple[int, int]], work: Path) -> Table:
    source = work / "pages"
    source.mkdir()
    images = [image for path in sorted(folder.glob("*.json")) if (image := image_named(folder, path.stem))]
    if not images:
        raise InputError(f"{folder}: there are no images with our JSON beside them.")
    for image in images:
        (source / image.name).symlink_to(image.resolve())
    title = f"{len(images)} pages of {folder.name}, lines {f'found by {detector}' if detector else 'given'}"
    table = Table("processes x threads", "pages/min", "of 300 characters", "CPU s/page", "peak", title=title)
    for workers, threads in splits:
        out = work / f"speed{workers}x{threads}"
        options = ["--workers", str(workers), "--threads", str(threads)]
        options += ["--detector", detector] if detector else []
        before = children_seconds()
        run = begin(source, None if detector else folder, out, *options)
        minutes = finish(run) / 60
        each = (children_seconds() - before) / len(images)
        lines = (line for p in out.glob("*.json") for line in json.loads(p.read_bytes())["lines"])
        characters = sum(len(line.get("text", "")) for line in lines)
        rates = (f"{len(images) / minutes:.1f}", f"{characters / 300 / minutes:.1f}")
        table.add_row(f"{workers} x {threads}", *rates, f"{each:.2f}", f"{run.peak:.0f} MB")
    return table


def children_seconds() -> float:
    """What the processes that have ended took of the processor: on a busy machine the truer measure."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill jobs, weigh them, and time them.")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="images with our JSON: speed")
    parser.add_argument("--detector", metavar="NAME", help="find the lines of FOLDER's pages anew")
    parser.add_argument("--pages", type=int, default=1000, metavar="N", help="0: no job is killed")
    parser.add_argument("--kills", type=int, default=10, metavar="N")
    parser.add_argument("--pdf", type=int, default=300, metavar="N", help="pages of the long PDF; 0: none")
    parser.add_argument("--split", action="append", metavar="WxT", help="processes x threads (2x1, 1x2)")
    chosen = parser.parse_args(arguments)
    console = Console(width=120)
    console.print(machine())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if chosen.pages:
            console.print(stress(chosen.pages, chosen.kills, work))
        if chosen.pdf:
            console.print(long_pdf(chosen.pdf, work))
        if chosen.folder:
            splits = [tuple(map(int, text.split("x"))) for text in chosen.split or ("2x1", "1x2")]
            console.print(speed(chosen.folder, chosen.detector, [(w, t) for w, t in splits], work))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.batch: {error}")
