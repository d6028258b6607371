"""What a set of HisDoc1B's size asks of memory and patience: `python -m bench.dataset_stream [--pages N]`.

Makes books of made-up annotations in a temporary folder (2 GB for 100,000 pages: 342 characters a page with
their boxes, as HisDoc1B has on average) and a few page images that all pages share by links. Then it opens
them as a training run of stage 1 does, and waits for the first batches. Memory is that of all processes
together, shared pages counted once (PSS); that of torch before anything is opened is told beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.engines.weights import CODEC
from tongguocr.tokens.codec import load_codec
from tongguocr.training.datasets.book_index import INDEX
from tongguocr.training.recogniser.labelled import Labelled, read_pages
from tongguocr.training.recogniser.page_feed import PageFeed, PageMaker
from tongguocr.training.recogniser.stage import PageStage
from tongguocr.training.stage import find_stage, load_stage
from tongguocr.weights import SHIPPED

BOOKS, PAGES = 40_281, 3_163_330
"""Of HisDoc1B itself."""
A_BOOK = round(PAGES / BOOKS)
COLUMNS, ROWS = 18, 19
CELL = (52, 70)
SIZE = (1000, 1400)
IMAGES = 16
"""Distinct images: a file system allows only so many links to one."""


def write_set(root: Path, pages: int, characters: str) -> int:
    """Write so many pages; the bytes of their annotations."""
    rng = np.random.default_rng(1)
    for name in ("annos", "books", "images", "shared"):
        (root / name).mkdir()
    for k in range(IMAGES):
        grey = np.full(SIZE[::-1], 220, np.uint8)
        for x, y in rng.integers((0, 0), (SIZE[0] - 30, SIZE[1] - 30), (600, 2)):
            grey[y : y + 28, x : x + 28 : 3] = 40
        Image.fromarray(grey).save(root / "shared" / f"{k}.jpg")
    written = 0
    for book in range(-(-pages // A_BOOK)):
        count = min(A_BOOK, pages - book * A_BOOK)
        page = _page("".join(rng.choice(list(characters), COLUMNS * ROWS)))
        rows = ",".join(page.replace('"page": 0', f'"page": {n + 1}', 1) for n in range(count))
        written += (root / "annos" / f"b{book:05d}.json").write_bytes(f'{{"pages": [{rows}]}}'.encode())
        (root / "books" / f"b{book:05d}.pdf").touch()
        folder = root / "images" / f"b{book:05d}"
        folder.mkdir()
        for n in range(count):
            os.link(root / "shared" / f"{(book + n) % IMAGES}.jpg", folder / f"{n + 1:04d}.jpg")
    return written


def _page(text: str) -> str:
    """The annotation of one page, as JSON."""
    lines = []
    for column in range(COLUMNS):
        x = SIZE[0] - 30 - CELL[0] * (column + 1)
        said = text[column * ROWS : (column + 1) * ROWS]
        chars = [
            {"text": c, "box": [x, 35 + CELL[1] * k, x + CELL[0], 35 + CELL[1] * (k + 1)]}
            for k, c in enumerate(said)
        ]
        box = [x, 35, x + CELL[0], 35 + CELL[1] * ROWS]
        lines.append({"text": said, "box": box, "order": column, "chars": chars})
    page = {"page": 0, "width": SIZE[0], "height": SIZE[1], "lines": lines}
    return json.dumps(page, ensure_ascii=False)


def memory(process: int | str = "self") -> int:
    """Bytes of a process and those it has started, each shared page counted once among its sharers."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    own = next(1024 * int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    children = Path(f"/proc/{process}/task").glob("*/children")
    return own + sum(memory(int(child)) for file in children for child in file.read_text().split())


class Peak:
    """The most memory of a stretch of work."""

    def __init__(self) -> None:
        self.most, self.over = 0, threading.Event()

    def watch(self) -> None:
        while not self.over.wait(0.1):
            try:
                self.most = max(self.most, memory())
            except OSError:  # a process ended while it was asked
                continue


@contextmanager
def watched() -> Iterator[Peak]:
    """Ask for the memory ten times a second."""
    peak = Peak()
    thread = threading.Thread(target=peak.watch)
    thread.start()
    try:
        yield peak
    finally:
        peak.over.set()
        thread.join()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2, help="processes that make samples")
    parser.add_argument("--batches", type=int, default=20)
    args = parser.parse_args(argv)
    codec = load_codec(SHIPPED / CODEC)
    stage = load_stage(find_stage("1"))
    assert isinstance(stage, PageStage)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        size = write_set(root, args.pages, "".join(codec.characters[:5000]))
        before = memory()
        rows = [("torch, nothing opened", 0.0, before, 0)]

        def opened(what: str) -> tuple[Labelled, float]:
            start = time.perf_counter()
            with watched() as peak:
                pages = read_pages([("hisdoc1b", root)], say=lambda _: None)
            rows.append((what, time.perf_counter() - start, peak.most, memory()))
            return pages, start

        opened("opened for the first time: the index is made")
        pages, start = opened("opened again: the index is read")
        with watched() as peak:
            feed = PageFeed(PageMaker(pages, stage.pages, codec, 1), args.workers)
            batches = feed.epoch(0)
            next(batches)
            rows.append(
                ("first batch, from opening again on", time.perf_counter() - start, peak.most, memory())
            )
            for _ in range(args.batches):
                next(batches)
            rows.append((f"{args.batches} more batches", time.perf_counter() - start, peak.most, memory()))
            feed.stop()
        index = (root / INDEX).stat().st_size
    table = Table(title=f"{args.pages:,} pages, {size / 1e9:.2f} GB of annotations; {machine()}")
    for head in ("", "s", "MB at most", "MB at the end"):
        table.add_column(head, justify="right" if head else "left")
    for what, seconds, most, end in rows:
        table.add_row(what, f"{seconds:.1f}", f"{most / 1e6:.0f}", f"{end / 1e6:.0f}" if end else "")
    console = Console(width=110)
    console.print(table)
    console.print(
        f"Index: {index / 1e6:.2f} MB, {index / args.pages:.1f} bytes a page;"
        f" {index / args.pages * PAGES / 1e6:.0f} MB for the {PAGES:,} pages of HisDoc1B."
    )


if __name__ == "__main__":
    main()
