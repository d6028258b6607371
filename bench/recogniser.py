"""How well and how fast blocks are read when their lines are known: `python -m bench.recogniser FOLDER`.

    python -m bench.recogniser FOLDER [--weights DIR] [--engine NAME ...] [--no-language-model]
    python -m bench.recogniser --dev PAGES.json FOLDER

FOLDER holds pages as our JSON with their images beside them; with `--dev`, images that one JSON list speaks
of: `image`, and `lines` with `box` and `text`, where （…） marks a double-row note, its brackets not being on
the page. Line boxes and order are given, blocks are our own, and no engine sees any text. Figures are those
of the strict protocol, a page's own and their mean; seconds do not count loading or the first warm-up.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from bench.given_lines import add_reader_arguments, open_readers
from bench.machine import machine
from bench.pages import load_dev, load_folder
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.page import Page
from tongguocr.reader import Reader


@dataclass(frozen=True)
class Score:
    """One page read by one engine; fractions."""

    page: str
    ar: float
    folded: float
    cr: float
    length: float
    """Characters read, over those of the reference."""
    seconds: float
    characters: int
    marked: int
    """Lines that are empty or failed."""


def score(page: Page, reader: Reader) -> Score:
    start = time.perf_counter()
    result = reader.read(page)
    seconds = time.perf_counter() - start
    found, wanted = ([line.text for line in p.lines] for p in (result, page))
    plain, folded = (score_lines(found, wanted, PROTOCOLS["strict"], folded=f) for f in (False, True))
    return Score(
        page.image,
        plain.figures["AR"],
        folded.figures["AR"],
        plain.figures["CR"],
        plain.tally.prediction / max(plain.tally.reference, 1),
        seconds,
        plain.tally.prediction,
        sum(not line.confidence for line in result.lines),
    )


def mean(scores: Sequence[Score]) -> Score:
    return Score(
        "mean",
        fmean(s.ar for s in scores),
        fmean(s.folded for s in scores),
        fmean(s.cr for s in scores),
        fmean(s.length for s in scores),
        fmean(s.seconds for s in scores),
        round(fmean(s.characters for s in scores)),
        sum(s.marked for s in scores),
    )


def tabulate(results: dict[str, list[Score]]) -> Table:
    table = Table(title=f"Given lines and order; strict protocol, percent; {machine()}")
    for name in ("page", "engine", "AR", "AR folded", "CR", "length", "s/page", "chars/s", "marked"):
        table.add_column(name, justify="left" if name in ("page", "engine") else "right")
    pages = len(next(iter(results.values())))
    for number in range(pages + 1):
        for engine, scores in results.items():
            s = scores[number] if number < pages else mean(scores)
            percent = (f"{100 * v:.2f}" for v in (s.ar, s.folded, s.cr, s.length))
            speed = s.characters / max(s.seconds, 1e-9)
            table.add_row(s.page, engine, *percent, f"{s.seconds:.2f}", f"{speed:.0f}", f"{s.marked}")
        table.add_section()
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read pages whose lines are known, and score the text.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--dev", type=Path, metavar="PAGES.json")
    add_reader_arguments(parser)
    parser.add_argument("--text", action="store_true", help="print what was read, beside the reference")
    chosen = parser.parse_args(arguments)
    console = Console(width=120)
    pages = list(load_dev(chosen.dev, chosen.folder) if chosen.dev else load_folder(chosen.folder))
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    results: dict[str, list[Score]] = {}
    start = time.perf_counter()
    for name, reader in open_readers(chosen):
        console.print(f"{name}: loaded in {time.perf_counter() - start:.2f} s")
        reader.read(pages[0])
        results[name] = [score(page, reader) for page in pages]
        for page in pages if chosen.text else ():
            for line, wanted in zip(reader.read(page).lines, page.lines, strict=False):
                console.print(f"{page.image} {line.id} {wanted.text}\n    {line.text}", highlight=False)
        start = time.perf_counter()
    console.print(tabulate(results))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.recogniser: {error}")
