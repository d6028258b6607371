"""A job on a Ray cluster under stress, and its size: `python -m bench.cluster [FOLDER]`, on Linux.

The real command reads small pages cut out of the example over two workers of a cluster on this machine, and
in the midst of it one of them is killed. Is every page there, once, and byte for byte as without Ray? Each
page's files carry the time at which they came into place: a page that was written twice shows. With a FOLDER
of images that have our JSON beside them, its pages are timed with Ray and without; from these rates, or from
any that is given as `--rate NAME=PAGES_A_MINUTE`, comes the table of how long a library takes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.batch import Watched, begin, contents, done, finish, write_pages
from bench.machine import machine
from tongguocr.errors import InputError
from tongguocr.sources import image_named

LIBRARIES = (10_000, 100_000, 1_000_000, 10_000_000)
TICK = 0.05
ACTOR = b"ray::"
SUMMARY = re.compile(r"Pages: (\d+) read \(\d+ characters\), (\d+) done before, (\d+) failed")


@dataclass
class Seen:
    """What was seen of a run from outside."""

    killed: list[str] = field(default_factory=list)
    written: dict[str, set[int]] = field(default_factory=dict)
    """For each page, the different files that stood in its place."""


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    members = {pid}
    while more := {child for child, parent in parents.items() if parent in members} - members:
        members |= more
    return sorted(members)


def actors(pid: int) -> list[tuple[int, str]]:
    """The workers of a running job: processes that Ray has named after what they do."""
    found = []
    for member in family(pid):
        with contextlib.suppress(OSError):
            title = Path(f"/proc/{member}/cmdline").read_bytes().replace(b"\0", b" ").strip()
            if title.startswith(ACTOR) and b"Worker" in title and b"IDLE" not in title:
                found.append((member, title.decode(errors="replace")))
    return found


def look(out: Path, seen: Seen) -> None:
    for path in out.glob("*.json"):
        with contextlib.suppress(OSError):
            seen.written.setdefault(path.name, set()).add(path.stat().st_mtime_ns)


def disturb(run: Watched, count: int, kills: int) -> Seen:
    """Kill a worker, as often as asked, evenly over the job; look at the results all the while."""
    seen = Seen()
    aims = [count * (k + 1) // (kills + 1) for k in range(kills)]
    while run.process.poll() is None:
        look(run.out, seen)
        if aims and done(run.out) >= aims[0] and (living := actors(run.process.pid)):
            pid, title = living[len(aims) % len(living)]
            os.kill(pid, signal.SIGKILL)
            seen.killed.append(f"{title} at page {done(run.out)}")
            aims.pop(0)
        time.sleep(TICK)
    look(run.out, seen)
    return seen


def told(said: str) -> tuple[int, ...]:
    """Pages read, done before, failed: by the command's own summary."""
    match = SUMMARY.search(said)
    if match is None:
        raise InputError(f"The command said no summary: {said!r}.")
    return tuple(map(int, match.groups()))


def stress(count: int, workers: int, kills: int, work: Path) -> Table:
    source = work / "in"
    write_pages(source, count)
    plain = begin(source, source, work / "plain", "--workers", str(workers), "--threads", "1")
    plain.process.communicate()
    seconds = {"without Ray": time.perf_counter() - plain.start}
    run = begin(source, source, work / "ray", "--workers", str(workers), "--threads", "1", "--ray")
    seen = disturb(run, count, kills)
    seconds["with Ray"] = time.perf_counter() - run.start
    said, complaints = run.process.communicate()
    if run.process.returncode:
        raise InputError(f"{run.out}: the run failed: {complaints or said}")
    expected, found = contents(work / "plain"), contents(work / "ray")
    read, before, failed = told(said)
    twice = sum(len(times) > 1 for times in seen.written.values())
    table = Table(title=f"{count} small pages over {workers} Ray workers", show_header=False)
    table.add_row("killed with SIGKILL", "\n".join(seen.killed) or "NONE")
    table.add_row("told: read, done before, failed", f"{read}, {before}, {failed}")
    table.add_row("files: without Ray, with Ray", f"{len(expected)}, {len(found)}")
    table.add_row("byte-equal", "yes" if expected == found else "NO")
    table.add_row("pages seen written twice", str(twice))
    table.add_row("characters", str(sum(map(characters, (work / "ray").glob("*.json")))))
    for name, spent in seconds.items():
        table.add_row(f"{name}, start and end included", f"{spent:.0f} s, {60 * count / spent:.0f} pages/min")
    return table


def speed(folder: Path, detector: str | None, workers: int, work: Path) -> Iterator[tuple[str, float]]:
    """Pages a minute between the first result and the last: starting up is left out."""
    source = work / "pages"
    source.mkdir()
    images = [image for path in sorted(folder.glob("*.json")) if (image := image_named(folder, path.stem))]
    if len(images) < 3 * workers:
        raise InputError(f"{folder}: {len(images)} images with our JSON beside them are too few for a rate.")
    for image in images:
        (source / image.name).symlink_to(image.resolve())
    for finder in (None, detector) if detector else (None,):
        means = ("--detector", finder) if finder else ()
        lines = f"found by {finder}" if finder else "given"
        for ray in ("without", "with"):
            out = work / f"{finder}-{ray}"
            options = ("--workers", str(workers), "--threads", "1", "--ray" if ray == "with" else "--quiet")
            finish(begin(source, None if finder else folder, out, *options, *means))
            times = sorted(path.stat().st_mtime for path in out.glob("*.json"))
            # The first of each worker came when it did because of its start.
            rate = 60 * (len(times) - workers) / (times[-1] - times[workers - 1])
            yield f"{workers} processors, {ray} Ray, lines {lines}", rate


def sizing(rates: Sequence[tuple[str, float]]) -> Table:
    table = Table("", "pages/min", "pages a day", *(f"{pages:,}" for pages in LIBRARIES), title="Sizes")
    for name, rate in rates:
        a_day = 60 * 24 * rate
        table.add_row(name, f"{rate:.1f}", f"{a_day:,.0f}", *(duration(p / a_day) for p in LIBRARIES))
    return table


def duration(days: float) -> str:
    return f"{24 * days:.1f} hours" if days < 2 else f"{days:,.0f} days"


def characters(path: Path) -> int:
    return sum(len(line.get("text", "")) for line in json.loads(path.read_bytes())["lines"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill workers of a job on a Ray cluster.")
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="images with our JSON: speed")
    parser.add_argument("--pages", type=int, default=200, metavar="N", help="0: no worker is killed")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--detector", metavar="NAME", help="find the lines of FOLDER's pages too")
    parser.add_argument("--kills", type=int, default=1, metavar="N")
    parser.add_argument(
        "--rate", action="append", default=[], metavar="NAME=N", help="of your own, for sizes"
    )
    chosen = parser.parse_args(arguments)
    rates = [parse_rate(written) for written in chosen.rate]
    console = Console(width=120)
    console.print(machine())
    with tempfile.TemporaryDirectory() as name:
        if chosen.pages:
            console.print(stress(chosen.pages, chosen.workers, chosen.kills, Path(name)))
        if chosen.folder:
            rates += speed(chosen.folder, chosen.detector, chosen.workers, Path(name))
    if rates:
        console.print(sizing(rates))


def parse_rate(written: str) -> tuple[str, float]:
    name, _, rate = written.rpartition("=")
    try:
        return name, float(rate)
    except ValueError:
        raise InputError(f"--rate {written}: a rate is written as NAME=PAGES_A_MINUTE.") from None


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.cluster: {error}")
