"""`tongguocr read`: sources in, text and files out.

Without `-o` text is printed; one page may go into a file; a folder takes any number of pages, as a job
(docs/batches.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import (
    DIRECTIONS,
    add_language_model,
    add_no_turn,
    check_positive,
    complain,
    language_folder,
)
from tongguocr.engines import ENGINES
from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, Style, render_page, write_page

if TYPE_CHECKING:
    from tongguocr.batch import Cluster, ReadPage
    from tongguocr.engines import EngineEntry
    from tongguocr.reader import Setup

HELP = "read images, folders, PDFs, IIIF manifests"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    endings = ", ".join(format.ending for format in FORMATS.values())
    parser.add_argument("source", nargs="+", metavar="SOURCE", help="image, folder, PDF, IIIF manifest")
    parser.add_argument("-o", "--output", metavar="OUT", help="a folder, or for one page a file: " + endings)
    parser.add_argument("--format", metavar="F,...", help=", ".join(FORMATS))
    parser.add_argument("--pages", metavar="RANGE", help="pages of each source, as in 1-3,7,12-")
    parser.add_argument("--recursive", action="store_true", help="a folder's subfolders too")
    _add_text(parser.add_argument_group("how text is written (docs/formats.md)"))
    _add_means(parser.add_argument_group("how pages are read"))
    _add_batch(parser.add_argument_group("many pages (docs/batches.md, docs/cluster.md)"))


def _add_text(text: argparse._ArgumentGroup) -> None:
    styled = " and ".join(format.ending for format in FORMATS.values() if format.styled)
    text.add_argument(
        "--notes",
        choices=("lines", "inline", "omit"),
        help=f"double-row notes in {styled}: lines of their own, in brackets, left out",
    )
    text.add_argument("--flow", action="store_true", help=f"join lines that read on, in {styled}")
    text.add_argument(
        "--fold",
        action="store_true",
        help=f"running titles and folio numbers too, in {styled}; other formats always have them",
    )
    text.add_argument(
        "--script", choices=("keep", "simplified"), default="keep", help="simplified: one for one, everywhere"
    )
    text.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="X",
        help="characters less sure than this, from 0 to 1, are not written as read",
    )
    text.add_argument(
        "--doubtful", choices=("mark", "omit"), default="mark", help="what is written for them: 〓, nothing"
    )


def _add_means(means: argparse._ArgumentGroup) -> None:
    means.add_argument(
        "--lines",
        type=Path,
        metavar="PATH",
        help="given lines (our JSON, PAGE XML, ALTO): a file or a folder",
    )
    means.add_argument("--detector", metavar="NAME", help="what finds lines: tongguocr, rapidocr")
    means.add_argument(
        "--detector-weights", type=Path, metavar="DIR", help="exported weights of our detector"
    )
    means.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    add_no_turn(means)
    means.add_argument("--engine", metavar="NAME", help=", ".join(ENGINES))
    means.add_argument("--second", metavar="NAME", help="another engine, to show where the two differ")
    means.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of the engine tongguocr")
    add_language_model(means)
    means.add_argument("--url", metavar="URL", help="the engine server's address")
    means.add_argument("--model", metavar="NAME", help="server: its model; hf: a folder or a hub's name")


def _add_batch(batch: argparse._ArgumentGroup) -> None:
    batch.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one a core, up to 8; 1 with hf)"
    )
    batch.add_argument(
        "--threads", type=int, metavar="N", help="threads a process (default: cores / workers)"
    )
    batch.add_argument("--time-limit", type=float, default=300.0, metavar="S", help="seconds a page (300)")
    batch.add_argument(
        "--again",
        "--no-resume",
        action="store_true",
        help="do everything anew; without it what is done stays",
    )
    batch.add_argument("--quiet", action="store_true", help="no bar and no summary, only what failed")
    batch.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="on a Ray cluster: auto, its address, none for this machine; stands behind SOURCE",
    )
    batch.add_argument(
        "--gpus-each", type=float, metavar="G", help="of a GPU for each worker that reads, with --ray"
    )


def run(args: argparse.Namespace) -> int:
    check_positive(args, "workers", "threads", "time_limit", "gpus_each")
    if args.format and not args.output:
        raise InputError("--format says what goes into a folder: name the folder with -o.")
    if args.gpus_each and not args.ray:
        raise InputError("--gpus-each belongs to a cluster: add --ray.")
    if args.output and (args.format or args.ray or _is_folder(args.output)):
        return _read_into_folder(args)
    if args.ray:
        raise InputError("--ray reads into a folder: name it with -o.")
    return _read_here(args)


def _is_folder(written: str) -> bool:
    return written.endswith(("/", "\\")) or Path(written).is_dir() or not Path(written).suffix


def _style(args: argparse.Namespace) -> Style:
    """How text is written; without the table of characters that it needs, nothing is begun."""
    from tongguocr.formats.style import simplify

    if args.script == "simplified":
        simplify("學")
    return Style(args.notes, args.flow, args.script, args.fold, args.min_confidence, args.doubtful)


def _setup(args: argparse.Namespace, threads: int) -> Setup:
    from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, Setup

    return Setup(
        engine=args.engine or DEFAULT_ENGINE,
        weights=args.weights,
        second=args.second,
        url=args.url,
        model=args.model,
        lines=args.lines,
        detector=args.detector or DEFAULT_DETECTOR,
        detector_weights=args.detector_weights,
        language=language_folder(args),
        direction=args.direction,
        turn=args.turn,
        threads=threads,
    )


def _read_here(args: argparse.Namespace) -> int:
    """One page into a file, or all pages onto standard output, in order and in this process."""
    from tongguocr.batch.listing import list_source, name_pages
    from tongguocr.reader import open_reader

    style = _style(args)
    listed = [list_source(source, args.pages, args.recursive) for source in dict.fromkeys(args.source)]
    pages, problems = name_pages(listed), [one.problem for one in listed if one.problem]
    several = len(pages) + len(problems) > 1
    _check_lines(args, several)
    if args.output and several:
        raise InputError(f"{args.output}: several pages need a folder; end its name with a slash.")
    if not several and problems:
        raise InputError(problems[0])
    for problem in problems:
        complain(problem)
    reader = open_reader(_setup(args, args.threads or 0))
    for page in pages:
        try:
            result = reader.read(page.load_page(), page.name)
        except InputError as error:
            if not several:
                raise
            problems.append(str(error))
            complain(str(error))
            continue
        for warning in result.warnings:
            complain(f"page {page.name}: {warning}")
        if args.output:
            write_page(result, Path(args.output), style=style)
        else:
            text = render_page(result, Path(page.name), "txt", style)
            print(text.decode(), end="", flush=True)
    return 1 if problems else 0


def _check_lines(args: argparse.Namespace, several: bool) -> None:
    if args.lines and several and not args.lines.is_dir():
        raise InputError(f"{args.lines}: this file has one page's lines, and there are several pages.")


def _read_into_folder(args: argparse.Namespace) -> int:
    """A job; 1 if pages failed."""
    from functools import partial

    from tongguocr.batch import Job, list_pages, parse_formats, run_with_progress, share_cores
    from tongguocr.reader import open_reader

    formats = parse_formats(args.format or "txt,json")
    prepare, cluster = _spread(args) if args.ray else (None, None)
    pages, problems = list_pages(args.source, args.pages, args.recursive)
    _check_lines(args, len(pages) > 1)
    # Each process has the model for itself, and a full-size one may fill a machine.
    wanted = args.workers or (1 if any(entry.full_size for entry in _entries(args)) else None)
    workers, threads = share_cores(len(pages), wanted, args.threads)
    prepare = prepare or partial(open_reader, _setup(args, threads))
    job = Job(Path(args.output), formats, workers, args.time_limit, _style(args), args.again, cluster)
    failed = [(one.source, one.problem) for one in problems]
    return run_with_progress(pages, prepare, job, failed, args.quiet)


def _spread(args: argparse.Namespace) -> tuple[Callable[[], ReadPage], Cluster]:
    """What reads on a cluster, and where; with a GPU or a server for it, lines are found by other workers."""
    from dataclasses import replace
    from functools import partial

    from tongguocr.batch import Cluster
    from tongguocr.errors import need
    from tongguocr.reader import open_reader

    need("Reading on a Ray cluster", "ray", "ray", "pyarrow")
    if args.ray not in ("auto", "local") and ":" not in args.ray:
        raise InputError(f"--ray {args.ray}: an address of a cluster is auto or HOST:PORT.")
    if "://" in args.ray:
        raise InputError(
            f"--ray {args.ray}: Ray Data does not work from outside; use --ray auto on one of its machines."
        )
    threads = args.threads or 1
    setup = _setup(args, threads)
    apart = bool(args.gpus_each) or any(entry.remote for entry in _entries(args))
    cluster = Cluster(
        address=None if args.ray == "local" else args.ray,
        workers=args.workers,
        threads=threads,
        gpus_each=args.gpus_each or 0.0,
        find=partial(open_reader, replace(setup, engine=None)) if apart else None,
    )
    return partial(open_reader, replace(setup, lines=None, detector=None) if apart else setup), cluster


def _entries(args: argparse.Namespace) -> list[EngineEntry]:
    """What is known of the engines that are asked for, before they are opened."""
    from tongguocr.engines import find_engine

    return [find_engine(name) for name in (args.engine, args.second) if name]
