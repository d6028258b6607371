"""How quick the server of `tongguocr proofread` is: `python -m bench.proofread [--pages N] [--chars N]`.

A book of so many pages (1,000) with so many characters each (1,000 in 40 columns, four candidates a
character) is drawn up in a folder, and opened. Measured over real HTTP, by a client on the same machine, the
middle of several times: a page that nobody looked at yet, the same page again, an edit until it is on the
disk and answered, the page's files until they are written, a word searched in the whole book, a tile and a
thumbnail of a scan of 100 megapixels; and the most memory that this process took, the client's included.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import numpy as np
import uvicorn
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.formats.page_json import render_json
from tongguocr.page import Char, Line, Page
from tongguocr.proofread.app import make_app
from tongguocr.proofread.book import open_book
from tongguocr.proofread.proofreading import Means, Proofreading
from tongguocr.serve.run import open_socket

COLUMNS, CELL = 40, 60
TIMES = 20
SIDE = 10_000
SEED = 1644


@dataclass(frozen=True)
class Row:
    what: str
    milliseconds: float
    kilobytes: float | None = None
    """Of the last answer."""


def draw_up(folder: Path, pages: int, chars: int) -> None:
    """Our JSON of so many pages, and one scan of 100 megapixels, which is the first page's."""
    dice = random.Random(SEED)
    words = [chr(0x4E00 + dice.randrange(6000)) for _ in range(4 * chars)]
    noise = np.random.default_rng(SEED).integers(0, 255, (SIDE, SIDE), np.uint8)
    Image.fromarray(noise).save(folder / "p0001.jpg", quality=80)
    for number in range(1, pages + 1):
        dice.shuffle(words)
        (folder / f"p{number:04}.json").write_bytes(render_json(make_page(number, words, chars)))


def make_page(number: int, words: list[str], chars: int) -> Page:
    """A page of columns from the right."""
    rows = -(-chars // COLUMNS)
    width, height = 2 * CELL * COLUMNS, CELL * (rows + 2)
    lines = []
    for column in range(COLUMNS):
        x = width - 2 * CELL * (column + 1)
        found = tuple(
            Char(word, (x, CELL * (k + 1), x + CELL, CELL * (k + 2)), 0.9123, others(words, k))
            for k, word in enumerate(words[column * rows : (column + 1) * rows])
        )
        text = "".join(char.text for char in found)
        box = (x, CELL, x + CELL, CELL * (rows + 1))
        lines.append(Line(f"l{column + 1}", box, text, confidence=0.9123, chars=found))
    return Page(f"p{number:04}.jpg", width, height, tuple(lines))


def others(words: list[str], k: int) -> tuple[tuple[str, float], ...]:
    return tuple((word, 0.0123) for word in words[k + 1 : k + 5])


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Proofreading, HTTPConnection, float]]:
    """The server in a thread, a connection to it, and the seconds until all pages were looked at."""
    start = time.perf_counter()
    work = Proofreading(open_book(str(folder)), Means(can_read=False))
    work.start()
    with open_socket("127.0.0.1", 0) as listening:
        config = uvicorn.Config(make_app(work), lifespan="off", log_level="warning", timeout_keep_alive=60)
        server = uvicorn.Server(config)
        listening.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        work.overview.wait()
        looked = time.perf_counter() - start
        client = HTTPConnection("127.0.0.1", listening.getsockname()[1])
        try:
            yield work, client, looked
        finally:
            client.close()
            server.should_exit = True
            thread.join()
            work.close()


def ask(client: HTTPConnection, path: str, body: object = None) -> bytes:
    """An answer's bytes."""
    data = None if body is None else json.dumps(body)
    client.request("GET" if body is None else "POST", path, data, {"Content-Type": "application/json"})
    answer = client.getresponse()
    said = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {said[:200]!r}")
    return said


def timed(what: str, work: Callable[[int], bytes | None], times: int = TIMES) -> Row:
    """The middle of several times."""
    taken, answer = [], None
    for k in range(times):
        start = time.perf_counter()
        answer = work(k)
        taken.append(1000 * (time.perf_counter() - start))
    return Row(what, median(taken), None if answer is None else len(answer) / 1000)


def measure(work: Proofreading, client: HTTPConnection) -> Iterator[Row]:
    """The rows of the table."""
    pages = len(work.book.pages)
    spread = [1 + (7 * k + 1) % pages for k in range(TIMES)]
    yield timed("a page, opened", lambda k: ask(client, f"/api/pages/{spread[k]}"))
    yield timed("the page again", lambda k: ask(client, f"/api/pages/{spread[0]}"))
    yield timed("the list of pages", lambda k: ask(client, "/api/book"))
    base = 0

    def edit(k: int) -> bytes:
        nonlocal base
        one = {"op": "text", "line": "l3", "at": k, "count": 1, "insert": ["字"]}
        call = {"base": base, "client": "bench", "edits": [one]}
        answer = ask(client, f"/api/pages/{spread[0]}/edits", call)
        base = json.loads(answer)["version"]
        return answer

    yield timed("an edit, on the disk and answered", edit)
    work.writer.flush()

    def write(k: int) -> None:
        work.writer.add(spread[0])
        work.writer.flush()

    yield timed("the page's JSON, PAGE and text, written", write, 5)
    word = "%E5%AD%97"
    yield timed("a character searched in the book", lambda k: ask(client, f"/api/search?q={word}"), 5)
    yield timed("with variants as one", lambda k: ask(client, f"/api/search?q={word}&fold=1"), 5)
    yield timed("the scan's first tile", lambda k: ask(client, "/api/pages/1/tiles/0/0_0.jpg"), 1)
    yield timed("another tile", lambda k: ask(client, f"/api/pages/1/tiles/5/{k % 19}_3.jpg"))
    yield timed("its thumbnail", lambda k: ask(client, "/api/pages/1/thumbnail"), 1)
    yield timed("the thumbnail again", lambda k: ask(client, "/api/pages/1/thumbnail"))


def memory() -> float:
    """Megabytes that this process has taken at most."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e6 if sys.platform == "darwin" else 1e3)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--chars", type=int, default=1000, help="of a page")
    args = parser.parse_args(argv)
    table = Table(title=f"{args.pages} pages of {args.chars} characters; {machine()}")
    table.add_column("what")
    table.add_column("ms", justify="right")
    table.add_column("kB", justify="right")
    with tempfile.TemporaryDirectory(prefix="tongguocr-bench-") as name:
        folder = Path(name)
        draw_up(folder, args.pages, args.chars)
        with serving(folder) as (work, client, looked):
            rows = [Row("all pages looked at, the first time", 1000 * looked), *measure(work, client)]
        with serving(folder) as (_, _, looked):
            rows.append(Row("all pages looked at, the next time", 1000 * looked))
    for row in rows:
        size = "" if row.kilobytes is None else f"{row.kilobytes:.0f}"
        table.add_row(row.what, f"{row.milliseconds:.{1 if row.milliseconds < 10 else 0}f}", size)
    table.add_row("memory at most, MB", f"{memory():.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
