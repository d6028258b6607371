"""A whole book into one file, killed again and again: `python -m bench.books [--epubcheck JAR]`, on Linux.

Small pages cut out of the example, their lines given, are read by the real recogniser with the real command,
`tongguocr read IN -o BOOK.pdf`; then the same pages become BOOK.tei.xml and BOOK.epub. Each is done once in
peace and once killed with SIGKILL, while pages are read and while the book is put together. Is the book the
same, byte for byte; what do all processes weigh together; do other programs find fault with it? Then as many
pages as large as the example, which were read before, become a book in every format by `tongguocr convert`.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from bench.batch import EXAMPLE, TICK, Watched, children_seconds, done, finish, write_pages
from bench.machine import machine
from tongguocr.errors import InputError
from tongguocr.formats import FORMATS

ENDINGS = ("pdf", "tei.xml", "epub")
WHILE_READING = 0.7
"""Of the kills of the first book; the others come while it is put together."""


def begin(source: Path, book: Path) -> Watched:
    command = [
        sys.executable,
        "-m",
        "tongguocr",
        "read",
        str(source),
        "--lines",
        str(source),
        "-o",
        str(book),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return Watched(process, book.parent / "BOOK.pages")


def kill_while_reading(source: Path, book: Path, count: int, kills: int, chance: random.Random) -> list[str]:
    """Kill the job at so many moments, one after the other; how many pages there were each time."""
    stops = []
    for number in range(kills):
        run = begin(source, book)
        aim = done(run.out) + chance.randint(1, max((count - done(run.out)) // (kills - number + 1), 1))
        while run.process.poll() is None and done(run.out) < aim:
            time.sleep(TICK)
        time.sleep(chance.uniform(0, 0.5))
        stops.append(str(done(run.out)) if kill(run) else "too late")
    return stops


def kill_while_writing(
    source: Path, book: Path, seconds: float, kills: int, chance: random.Random
) -> list[str]:
    """Kill the job while it writes the book, which takes so many seconds; after how many, each time."""
    stops = []
    while len(stops) < kills:
        book.unlink(missing_ok=True)
        run, after = begin(source, book), chance.uniform(0.1, seconds)
        time.sleep(after)
        if kill(run):
            stops.append(f"{after:.1f} s")
    return stops


def kill(run: Watched) -> bool:
    """Kill a job; whether it was still at work."""
    alive = run.process.poll() is None
    run.process.kill()
    run.process.communicate()
    return alive


def faults(book: Path, count: int, epubcheck: Path | None) -> str:
    """What other programs say of a book of so many pages."""
    if book.suffix == ".pdf":
        import pikepdf

        with pikepdf.open(book) as pdf:
            said = pdf.check_pdf_syntax()
            said += [] if len(pdf.pages) == count else [f"{len(pdf.pages)} pages"]
        return f"pikepdf (qpdf): {'; '.join(said) or 'none'}"
    if book.suffix == ".xml":
        found = len(ElementTree.parse(book).getroot().findall(".//{*}pb"))
        return f"well-formed: none, {found} pb" if found == count else f"{found} pb"
    with zipfile.ZipFile(book) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if "pages-" in name]
    found = sum(len(re.findall('epub:type="pagebreak"', text)) for text in texts)
    if found != count:
        return f"{found} page breaks"
    if epubcheck is None:
        return f"{found} page breaks; epubcheck was not run (--epubcheck)"
    run = subprocess.run(["java", "-jar", epubcheck, book], capture_output=True, text=True)
    return next((line for line in run.stdout.splitlines() if line.startswith("Messages")), run.stderr[-200:])


def stress(count: int, kills: int, work: Path, epubcheck: Path | None) -> Table:
    chance, source = random.Random(1), work / "in"
    write_pages(source, count)
    for name in ("calm", "killed"):
        (work / name).mkdir()
    columns = ("killed at pages, or after seconds of writing", "byte-equal", "faults")
    table = Table("", "size", "time", "peak", *columns, title=f"{count} small pages into one book")
    for ending in ENDINGS:
        calm, killed = (work / name / f"BOOK.{ending}" for name in ("calm", "killed"))
        first = ending == ENDINGS[0]
        run = begin(source, calm)
        seconds = finish(run)
        stops = []
        if first:
            reading = round(WHILE_READING * kills)
            stops = kill_while_reading(source, killed, count, reading, chance)
            finish(begin(source, killed))
            killed.unlink()
        # How long it takes once all pages are there.
        writing = finish(begin(source, calm))
        stops += kill_while_writing(source, killed, writing, kills - len(stops), chance)
        finish(begin(source, killed))
        same = "yes" if calm.read_bytes() == killed.read_bytes() else "NO"
        left = [path.name for path in killed.parent.iterdir() if path.name.startswith(".")]
        table.add_row(
            ending,
            f"{calm.stat().st_size / 1e6:.1f} MB",
            f"{seconds:.0f} s, of them {writing:.0f} s once all is read" if first else f"{seconds:.0f} s",
            f"{run.peak:.0f} MB",
            ", ".join(stops),
            f"{same}{f', left behind: {left}' if left else ''}",
            faults(killed, count, epubcheck),
        )
    return table


def write_large(count: int, work: Path) -> Table:
    """Copies of the example page into a book in every format."""
    (work / "full").mkdir()
    for number in range(count):
        for suffix in (".json", ".jpg"):
            os.link(shared_copy(work, suffix), work / "full" / f"p{number:04d}{suffix}")
    table = Table("", "size", "CPU", "peak", title=f"{count} pages of the example into one book, once read")
    for format in FORMATS.values():
        if not format.book:
            continue
        book, before = work / f"FULL{format.ending}", children_seconds()
        command = [sys.executable, "-m", "tongguocr", "convert", str(work / "full"), "-o", str(book)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        run = Watched(process, work / "full")
        finish(run)
        seconds, size = children_seconds() - before, book.stat().st_size / 1e6
        table.add_row(format.name, f"{size:.1f} MB", f"{seconds:.0f} s", f"{run.peak:.0f} MB")
        book.unlink()
    return table


def shared_copy(work: Path, suffix: str) -> Path:
    """The example's file on the disk where its links are to be."""
    path = work / f"example{suffix}"
    if not path.exists():
        shutil.copy(EXAMPLE.with_suffix(suffix), path)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill books, compare and weigh them.")
    parser.add_argument("--pages", type=int, default=1000, metavar="N")
    parser.add_argument("--kills", type=int, default=10, metavar="N", help="0: no job is killed")
    parser.add_argument("--epubcheck", type=Path, metavar="JAR", help="epubcheck.jar, which needs Java")
    chosen = parser.parse_args(arguments)
    console = Console(width=160)
    console.print(machine())
    with tempfile.TemporaryDirectory() as name:
        if chosen.kills:
            console.print(stress(chosen.pages, chosen.kills, Path(name), chosen.epubcheck))
        console.print(write_large(chosen.pages, Path(name)))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.books: {error}")
