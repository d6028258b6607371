"""How well a full-size model reads, lines being given: `python -m bench.full_size_read FOLDER MODEL`.

FOLDER holds pages as our JSON with their images beside them (`tongguocr synth --bench` writes such), MODEL is
a folder that `tongguocr train` wrote. The blocks of all pages are read together, which is what a GPU wants.
Printed are AR and CR over all characters, nothing folded, and characters a second.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.machine import machine
from bench.pages import load_folder
from tongguocr.alignment import DELETION, INSERTION, MATCH, SUBSTITUTION, align
from tongguocr.blocks import cut_blocks
from tongguocr.crops import crop_blocks
from tongguocr.engines.base import fill_page, make_inputs
from tongguocr.engines.glm.engine import HfEngine, HfSettings
from tongguocr.engines.guard import Guarded
from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.reader import without_text


def read_together(pages: Sequence[Page], engine: Guarded) -> list[Page]:
    """All pages with what was read of them."""
    bare = [without_text(page) for page in pages]
    blocks = [cut_blocks(page) for page in bare]
    inputs = [make_inputs(page, crop_blocks(page, cut)) for page, cut in zip(bare, blocks, strict=True)]
    readings = iter(engine.read([block for page in inputs for block in page]))
    return [
        fill_page(page, cut, [next(readings) for _ in cut]) for page, cut in zip(bare, blocks, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read pages with a full-size model, and score the text.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--rows", type=int, default=96, help="blocks written together")
    parser.add_argument("--image-tokens", type=int, default=60_000, help="of all of them")
    parser.add_argument("--pages", type=int, default=1_000_000, metavar="N", help="the first N pages")
    chosen = parser.parse_args(arguments)
    pages = list(load_folder(chosen.folder))[: chosen.pages]
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    settings = HfSettings(rows=chosen.rows, image_tokens=chosen.image_tokens)
    engine = Guarded(HfEngine(chosen.model, settings))
    start = time.perf_counter()
    found = read_together(pages, engine)
    seconds = time.perf_counter() - start
    steps: Counter[str] = Counter()
    for wanted, read in zip(pages, found, strict=True):
        steps.update(align(*("".join(line.text for line in page.lines) for page in (wanted, read))))
    total = sum(steps[step] for step in (MATCH, SUBSTITUTION, DELETION))
    written = sum(steps[step] for step in (MATCH, SUBSTITUTION, INSERTION))
    print(f"{len(pages)} pages, {total} characters; {machine()}")
    print(f"AR {(steps[MATCH] - steps[INSERTION]) / total:.4f}, CR {steps[MATCH] / total:.4f}")
    print(f"{seconds:.1f} s, {written / seconds:.0f} characters a second")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.full_size_read: {error}")
