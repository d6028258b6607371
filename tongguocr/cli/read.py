"""`tongguocr read`: sources in, text and files out.

Without `-o` text is printed; one page may go into a file (read_here.py), several into a book (read_book.py);
a folder takes any number of pages, as a job (docs/batches.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import (
    DIRECTIONS,
    add_language_model,
    add_no_turn,
    add_reading_device,
    add_reread,
    add_text,
    check_positive,
    complain,
    is_file,
    is_folder,
    language_folder,
    option,
    text_style,
    warn_of_fonts,
)
from tongguocr.cli.in_vain import check_password, check_reading
from tongguocr.cli.standard_output import STDOUT
from tongguocr.engines import ENGINES
from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, Style, check_style, find_format, format_of

if TYPE_CHECKING:
    from tongguocr.batch import Cluster, ReadPage, SourceListing
    from tongguocr.engines import EngineEntry
    from tongguocr.reader import Setup
    from tongguocr.sources import MemoryFile, SourcePage

HELP = "read images, folders, PDFs, IIIF manifests"
STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    endings = ", ".join(format.ending for format in FORMATS.values())
    kinds = "image, folder, ZIP, PDF, DjVu, IIIF manifest; - is standard input"
    parser.add_argument("source", nargs="+", metavar="SOURCE", help=kinds)
    places = "a folder; - for standard output; a file for one page, or for a whole book where it holds one: "
    parser.add_argument("-o", "--output", metavar="OUT", help=places + endings)
    parser.add_argument("--format", metavar="F,...", help=", ".join(FORMATS))
    parser.add_argument("--pages", metavar="RANGE", help="pages of each source, as in 1-3,7,12-")
    parser.add_argument("--recursive", action="store_true", help="a folder's subfolders too")
    parser.add_argument("--password", metavar="WORD", help="opens PDFs that need one")
    add_text(parser.add_argument_group("how text is written (docs/formats.md)"))
    _add_means(parser.add_argument_group("how pages are read"))
    _add_batch(parser.add_argument_group("many pages (docs/batches.md, docs/cluster.md)"))


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
    add_reread(means)
    means.add_argument("--url", metavar="URL", help="the engine server's address")
    means.add_argument("--model", metavar="NAME", help="server: its model; hf: a folder or a hub's name")
    add_reading_device(means)


def _add_batch(batch: argparse._ArgumentGroup) -> None:
    batch.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: one a core, up to 8; 1 with hf)"
    )
    batch.add_argument(
        "--threads", type=int, metavar="N", help="threads a process (default: cores / workers)"
    )
    batch.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds a page (into a folder 300, else none)"
    )
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
        raise InputError("--format says what is written: name a folder with -o, or standard output by -o -.")
    if args.gpus_each and not args.ray:
        raise InputError("--gpus-each belongs to a cluster: add --ray.")
    check_reading(args, _engines(args))
    into_file = not args.output or args.output == STDOUT or is_file(args.output, args.format)
    if not into_file and (args.format or args.ray or is_folder(args.output)):
        return _read_into_folder(args)
    if args.ray:
        raise InputError("--ray reads into a folder: name it with -o.")
    from tongguocr.cli.read_book import may_be_book, read_book
    from tongguocr.cli.read_here import list_here, read_here

    named = args.output not in (None, STDOUT)
    format = format_of(Path(args.output)) if named else find_format(args.format or "txt")
    check_style(text_style(args), [format], option)
    sources = sources_of(args)
    book = named and may_be_book(args.output, sources)
    if args.workers and not book:
        raise InputError("--workers is for a folder or a book: here pages are read one after the other.")
    listed = _list(args, sources) if book else list_here(args, sources)
    if book and sum(len(one.pages) + bool(one.problem) for one in listed) > 1:
        return read_book(args, listed, partial(_run_job, args))
    return read_here(args, listed, _setup(args, args.threads or 0), text_style(args))


def sources_of(args: argparse.Namespace) -> list[str | MemoryFile]:
    """The sources as they are typed; what comes in on standard input is read now."""
    sources: list[str | MemoryFile] = list(dict.fromkeys(args.source))
    if STDIN in sources:
        from tongguocr.sources import MemoryFile

        sources[sources.index(STDIN)] = MemoryFile("standard input", "stdin", sys.stdin.buffer.read())
    check_password(args.password, sources)
    return sources


def _setup(args: argparse.Namespace, threads: int) -> Setup:
    from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, Setup
    from tongguocr.weights import warn_of_card

    if not args.ray:
        warn_of_card(args.device)
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
        reread=args.reread,
        threads=threads,
        device=args.device,
    )


def _read_into_folder(args: argparse.Namespace) -> int:
    """A job; 1 if pages failed."""
    from tongguocr.batch import parse_formats
    from tongguocr.batch.listing import name_pages, skipped_sentence

    formats = parse_formats(args.format or "txt,json")
    check_style(text_style(args), [FORMATS[name] for name in formats], option)
    warn_of_fonts(formats)
    listed = _list(args, sources_of(args))
    problems = [(one.source, one.problem) for one in listed if one.problem]
    code = _run_job(args, name_pages(listed), problems, Path(args.output), formats, text_style(args))
    if not args.quiet and (skipped := skipped_sentence(listed)):
        complain(skipped)
    return code


def _list(args: argparse.Namespace, sources: list[str | MemoryFile]) -> list[SourceListing]:
    """What each source has, looked at in a process apart."""
    from tongguocr.batch import list_sources

    return list_sources(sources, args.pages, args.recursive, args.password)


def _run_job(
    args: argparse.Namespace,
    pages: list[SourcePage],
    problems: list[tuple[str, str]],
    out: Path,
    formats: tuple[str, ...],
    style: Style,
) -> int:
    """Read these pages into a folder."""
    from dataclasses import replace

    from tongguocr.batch import Job, describe_setup, run_with_progress, share_cores
    from tongguocr.cli.read_here import check_lines
    from tongguocr.reader import open_reader

    prepare, cluster = _spread(args) if args.ray else (None, None)
    check_lines(args, len(pages) > 1)
    # Each process has the model for itself, and a full-size one may fill a machine.
    wanted = args.workers or (1 if any(entry.full_size for entry in _entries(args)) else None)
    workers, threads = share_cores(len(pages), wanted, args.threads)
    setup = _setup(args, threads)
    job = Job(out, formats, workers, style=style, again=args.again, cluster=cluster)
    job = replace(job, settings=describe_setup(setup, out), time_limit=args.time_limit or job.time_limit)
    return run_with_progress(pages, prepare or partial(open_reader, setup), job, problems, args.quiet)


def _spread(args: argparse.Namespace) -> tuple[Callable[[], ReadPage], Cluster]:
    """What reads on a cluster, and where; with a GPU or a server for it, lines are found by other workers."""
    from dataclasses import replace

    from tongguocr.batch import Cluster
    from tongguocr.errors import need
    from tongguocr.reader import check_device, open_reader, where_it_can

    need("Reading on a Ray cluster", "ray", "ray", "pyarrow")
    if args.ray not in ("auto", "local") and ":" not in args.ray:
        raise InputError(f"--ray {args.ray}: an address of a cluster is auto or HOST:PORT.")
    if "://" in args.ray:
        raise InputError(
            f"--ray {args.ray}: Ray Data does not work from outside; use --ray auto on one of its machines."
        )
    threads = args.threads or 1
    setup = _setup(args, threads)
    check_device(setup)
    apart = bool(args.gpus_each) or any(entry.remote for entry in _entries(args))
    cluster = Cluster(
        address=None if args.ray == "local" else args.ray,
        workers=args.workers,
        threads=threads,
        gpus_each=args.gpus_each or 0.0,
        find=partial(open_reader, where_it_can(replace(setup, engine=None))) if apart else None,
    )
    read = where_it_can(replace(setup, lines=None, detector=None)) if apart else setup
    return partial(open_reader, read), cluster


def _engines(args: argparse.Namespace) -> list[str]:
    """The engines that are to read."""
    from tongguocr.reader import DEFAULT_ENGINE

    return [args.engine or DEFAULT_ENGINE, *([args.second] if args.second else [])]


def _entries(args: argparse.Namespace) -> list[EngineEntry]:
    """What is known of these engines before they are opened."""
    from tongguocr.engines import find_engine

    return [find_engine(name) for name in _engines(args)]
