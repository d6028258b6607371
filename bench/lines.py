"""Real woodblock lines, each read alone: `python -m bench.lines LINES.tsv [--count N] [--weights DIR]`.

LINES.tsv is a table of tar, member and text with its tars beside it. Read are the lines of classical Chinese
whose book page `tongguocr train-data` holds out, so that no training has seen them; each image is a page with
one line that fills it. Printed: AR and CR over all lines together, plain and with variants folded, and time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.engines import ENGINES, open_engine
from tongguocr.engines.base import Engine
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.page import Line, Page
from tongguocr.reader import Reader
from tongguocr.training.synth.real_ink import is_history, read_images, split


def to_page(name: str, pixels: np.ndarray) -> Page:
    high, wide = pixels.shape
    return Page(name, wide, high, (Line("l1", (0, 0, wide, high)),), pixels)


def row(name: str, engine: Engine, lines: Sequence[tuple[str, str, np.ndarray]]) -> list[str]:
    """One engine's figures."""
    start = time.perf_counter()
    reader = Reader(engine)
    found = [reader.read(to_page(image, pixels)).text.replace("\n", "") for image, _, pixels in lines]
    seconds = time.perf_counter() - start
    wanted = [text for _, text, _ in lines]
    plain, folded = (score_lines(found, wanted, PROTOCOLS["strict"], folded=f) for f in (False, True))
    figures = (plain.figures["AR"], folded.figures["AR"], plain.figures["CR"])
    return [name, *(f"{100 * value:.2f}" for value in figures), f"{1000 * seconds / len(lines):.0f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read held-out line images one by one.")
    parser.add_argument("table", type=Path, metavar="LINES.tsv")
    parser.add_argument("--count", type=int, metavar="N", help="only N of them, at random")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: ours and rapidocr")
    parser.add_argument("--weights", type=Path, metavar="DIR")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    lines = list(read_images(chosen.table, lambda name: is_history(name) and split(name) == "test"))
    if not lines:
        raise InputError(f"{chosen.table}: no line of it is held out.")
    if chosen.count:
        picked = np.random.default_rng(0).permutation(len(lines))[: chosen.count]
        lines = [lines[k] for k in sorted(picked)]
    table = Table(title=f"{len(lines)} held-out lines, percent; {machine()}")
    for name in ("engine", "AR", "AR folded", "CR", "ms/line"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for name in chosen.engine or ("tongguocr", "rapidocr"):
        table.add_row(*row(name, open_engine(name, chosen.weights, chosen.threads), lines))
    Console(width=100).print(table)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.lines: {error}")
