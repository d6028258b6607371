"""`tongguocr read`: sources in, text and files out."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.commands import Subparsers
from tongguocr.commands.layout import DIRECTIONS
from tongguocr.errors import InputError

if TYPE_CHECKING:
    from tongguocr.jobs import ReadPage
    from tongguocr.sources import SourcePage

_SUFFIXES = ".txt, .json, .xml (PAGE), .alto.xml, .tei.xml, .hocr, .md, .pdf, .csv"


def add(commands: Subparsers) -> None:
    read = commands.add_parser("read", help="read images, folders, PDFs, IIIF manifests")
    read.add_argument("source", nargs="+", metavar="SOURCE", help="image, folder, PDF, IIIF manifest")
    read.add_argument("-o", "--output", metavar="OUT", help="a folder, or for one page a file: " + _SUFFIXES)
    read.add_argument(
        "--format", metavar="F,...", help="txt, json, page, alto, tei, hocr, md, pdf, csv (doubts)"
    )
    read.add_argument("--pages", metavar="RANGE", help="pages of each source, as in 1-3,7,12-")
    read.add_argument("--lines", type=Path, metavar="FILE", help="one page's lines: our JSON, PAGE XML, ALTO")
    read.add_argument(
        "--detector", default="tongguocr", metavar="NAME", help="what finds lines: tongguocr, rapidocr"
    )
    read.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    read.add_argument("--engine", metavar="NAME", help="rapidocr, tongguocr (default: what reads best)")
    read.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of the engine tongguocr")
    read.set_defaults(run=_read)


def _read(args: argparse.Namespace) -> int:
    from itertools import chain, islice

    from tongguocr.formats import write_page
    from tongguocr.jobs import list_pages, load_page
    from tongguocr.pipeline import DEFAULT_ENGINE, line_finder, read_lines
    from tongguocr.recognise import SHIPPED, open_engine

    find = line_finder(args.lines, args.detector, args.direction)
    engine = open_engine(args.engine or DEFAULT_ENGINE, args.weights or SHIPPED)
    pages = list_pages(args.source, args.pages)
    first = list(islice(pages, 2))
    if args.lines and len(first) > 1:
        raise InputError(f"{args.lines}: lines can be given for one page, and there are several.")
    every = chain(first, pages)
    if args.output and (args.format or len(first) > 1 or _is_folder(args.output)):
        return _read_many(every, lambda page: read_lines(find(page), engine), args)
    for page in every:
        result = read_lines(find(load_page(page)), engine)
        if args.output:
            write_page(result, Path(args.output))
        else:
            print(result.text, flush=True)
    return 0


def _is_folder(written: str) -> bool:
    return written.endswith(("/", "\\")) or Path(written).is_dir() or not Path(written).suffix


def _read_many(pages: Iterator[SourcePage], read: ReadPage, args: argparse.Namespace) -> int:
    """A job, with a line for each page that failed and a summary; 1 if there were such."""
    from tongguocr.jobs import parse_formats, run_job

    counts: Counter[str] = Counter()
    for outcome in run_job(pages, read, Path(args.output), parse_formats(args.format or "txt,json")):
        counts[outcome.state] += 1
        counts["characters"] += outcome.characters
        if outcome.reason:
            print(f"tongguocr: {outcome.reason}", file=sys.stderr, flush=True)
    print(
        f"Pages: {counts['read']} read ({counts['characters']} characters), {counts['done']} done before,"
        f" {counts['failed']} failed: {args.output}"
    )
    return 1 if counts["failed"] else 0
