"""What drafts save the decoder: `python -m bench.drafting FOLDER [--weights DIR]`.

FOLDER holds pages as our JSON with their images beside them, their lines given (bench.frozen). Each page is
read with drafts and without; printed are the passes of the decoder for each character, the seconds of the
processor for all pages, and on how many pages both ways read the same text. Pages take turns, so that what
else the machine does meets both ways alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.machine import machine
from bench.pages import load_folder
from tongguocr.engines.base import BlockInput
from tongguocr.engines.decoder_batch import EncodedBlock
from tongguocr.engines.guard import Guarded
from tongguocr.engines.prepare import Prepared
from tongguocr.engines.tongguocr import DecodedBlock, OnnxEngine, OnnxSettings
from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.reader import Reader
from tongguocr.weights import SHIPPED


@dataclass
class Tally:
    """What one way of reading took."""

    passes: int = 0
    characters: int = 0
    decoding: float = 0.0
    seconds: float = 0.0

    def row(self) -> list[str]:
        each = self.passes / max(self.characters, 1)
        a_pass = 1000 * self.decoding / max(self.passes, 1)
        return [f"{each:.3f}", f"{a_pass:.2f}", f"{self.decoding:.2f}", f"{self.seconds:.2f}"]


class Counted(OnnxEngine):
    """Our engine, which counts its decoder's passes."""

    def __init__(self, folder: Path, draft: bool, threads: int) -> None:
        super().__init__(folder, OnnxSettings(draft=draft), threads)
        self.tally = Tally()

    def decode(
        self, encoded: Sequence[EncodedBlock], blocks: Sequence[BlockInput], prepared: Sequence[Prepared]
    ) -> list[DecodedBlock]:
        start = time.process_time()
        decoded = super().decode(encoded, blocks, prepared)
        self.tally.decoding += time.process_time() - start
        # Blocks that are decoded together share their passes; the longest has them all.
        passes = [text.passes for text in decoded]
        shared = not (self.takes_runs and self.settings.draft)
        self.tally.passes += max(passes, default=0) if shared else sum(passes)
        return decoded


def read(page: Page, engine: Counted) -> list[str]:
    """The lines' texts."""
    start = time.process_time()
    result = Reader(Guarded(engine)).read(page)
    engine.tally.seconds += time.process_time() - start
    texts = [line.text for line in result.lines]
    engine.tally.characters += sum(map(len, texts))
    return texts


def compare(pages: Sequence[Page], engines: Sequence[Counted]) -> list[str]:
    """Read all pages in all ways; the images of those on which the ways differ."""
    differing = []
    for page in pages:
        first, *others = (read(page, engine) for engine in engines)
        if any(texts != first for texts in others):
            differing.append(page.image)
    return differing


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read pages with drafts and without.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--weights", type=Path, metavar="DIR", default=SHIPPED)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pages", type=int, metavar="N", help="the first N pages only")
    chosen = parser.parse_args(arguments)
    pages = list(load_folder(chosen.folder))[: chosen.pages]
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    ways = {name: Counted(chosen.weights, name == "drafts", chosen.threads) for name in ("drafts", "steps")}
    differing = compare(pages, list(ways.values()))
    table = Table(title=f"{len(pages)} pages; {machine()}")
    for name in ("decoding", "passes/character", "ms/pass", "s decoder", "s in all"):
        table.add_column(name, justify="left" if name == "decoding" else "right")
    for name, engine in ways.items():
        table.add_row(name, *engine.tally.row())
    console = Console(width=120)
    console.print(table)
    same = len(pages) - len(differing)
    console.print(f"the same text on {same} of {len(pages)} pages", *differing[:10], highlight=False)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.drafting: {error}")
