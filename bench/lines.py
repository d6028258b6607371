"""Real woodblock lines, each read alone: `python -m bench.lines LINES.tsv [--count N] [--drop-mislabelled]`.

LINES.tsv is a table of tar, member and text with its tars beside it. Read are the lines of classical Chinese
whose book page `tongguocr train-data` holds out, so that no training has seen them; each image is a page with
one line that fills it. Printed: AR and CR over all lines together, plain and with variants folded, and time.

With `--drop-mislabelled` there are figures for the lines whose labels are theirs, too. The rule does not look
at what the measured engine reads (bench/mislabelled.py): dropped are labels with a question mark, labels that
do not fit the image's length by far, and labels that the peer's reading shows to be another line's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from unicodedata import category

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.given_lines import PEER, add_reader_arguments, open_readers
from bench.machine import machine
from bench.mislabelled import LabelledLine, find_mislabelled
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.page import Line, Page
from tongguocr.reader import Reader
from tongguocr.training.synth.real_ink import is_history, read_images, split


def to_page(name: str, pixels: np.ndarray) -> Page:
    high, wide = pixels.shape
    return Page(name, wide, high, (Line("l1", (0, 0, wide, high)),), pixels)


def read_all(reader: Reader, lines: Sequence[LabelledLine]) -> tuple[list[str], float]:
    """What an engine reads, and the milliseconds that a line takes."""
    start = time.perf_counter()
    found = [reader.read(to_page(name, pixels)).text.replace("\n", "") for name, _, pixels in lines]
    return found, 1000 * (time.perf_counter() - start) / len(lines)


def cells(found: Sequence[str], lines: Sequence[LabelledLine], numbers: Sequence[int]) -> list[str]:
    """One engine's figures on the lines of these numbers."""
    read, wanted = [found[k] for k in numbers], [lines[k][1] for k in numbers]
    plain, folded = (score_lines(read, wanted, PROTOCOLS["strict"], folded=f) for f in (False, True))
    ar, cr = plain.figures["AR"], plain.figures["CR"]
    return [f"{100 * value:.2f}" for value in (ar, folded.figures["AR"], cr, cr - ar)]


def private(lines: Sequence[LabelledLine], numbers: Sequence[int]) -> tuple[int, int]:
    """Characters of these lines in private use, which nobody can write, and all of them."""
    text = "".join(lines[k][1] for k in numbers)
    return sum(category(char) == "Co" for char in text), len(text)


def report(
    lines: Sequence[LabelledLine],
    readings: Mapping[str, tuple[list[str], float]],
    kept: Sequence[int] | None = None,
) -> Table:
    """A row for each engine on all lines, and one on those that are kept, if any were dropped."""
    table = Table(title=f"{len(lines)} held-out lines, percent; {machine()}")
    for name in ("engine", "lines", "AR", "AR folded", "CR", "CR-AR", "ms/line"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for numbers in (range(len(lines)), *([kept] if kept is not None else [])):
        for name, (found, speed) in readings.items():
            table.add_row(name, str(len(numbers)), *cells(found, lines, numbers), f"{speed:.0f}")
        table.add_section()
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read held-out line images one by one.")
    parser.add_argument("table", type=Path, metavar="LINES.tsv")
    parser.add_argument("--count", type=int, metavar="N", help="only N of them, at random")
    add_reader_arguments(parser)
    parser.add_argument("--drop-mislabelled", action="store_true", help="figures without wrong labels too")
    chosen = parser.parse_args(arguments)
    lines = list(read_images(chosen.table, lambda name: is_history(name) and split(name) == "test"))
    if not lines:
        raise InputError(f"{chosen.table}: no line of it is held out.")
    labels = {name: text for name, text, _ in lines}
    if chosen.count:
        picked = np.random.default_rng(0).permutation(len(lines))[: chosen.count]
        lines = [lines[k] for k in sorted(picked)]
    console, readings = Console(width=100), dict[str, tuple[list[str], float]]()
    if chosen.drop_mislabelled and chosen.engine:
        # Its readings tell which labels were swapped.
        chosen.engine.append(PEER)
    for name, reader in open_readers(chosen):
        readings[name] = read_all(reader, lines)
    kept = None
    if chosen.drop_mislabelled:
        dropped = find_mislabelled(lines, readings[PEER][0], labels)
        gone = set[int]().union(*dropped.values())
        kept = [k for k in range(len(lines)) if k not in gone]
        unknown, every = private(lines, kept)
        console.print("dropped: " + ", ".join(f"{sign} {len(found)}" for sign, found in dropped.items()))
        console.print(f"of {every} characters of kept lines, {unknown} are in private use: nobody is right")
    console.print(report(lines, readings, kept))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.lines: {error}")
