"""`tongguocr read` without a folder: text on standard output, one page into a file, any format with `-o -`.

In: sources, and how they are read and written. Out: an exit code. Pages are read in order in this process,
or, where each has a limit of time, in one apart that can be ended.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tongguocr.batch.job import failure_outcome
from tongguocr.batch.listing import SourceListing, list_source, name_pages, skipped_sentence
from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.cli.arguments import warn_of_fonts
from tongguocr.cli.standard_output import STDOUT, check_several, write_several
from tongguocr.errors import InputError
from tongguocr.formats import (
    ENDINGS,
    Format,
    Style,
    ending_of,
    find_format,
    format_of,
    render_page,
    write_page,
)
from tongguocr.page import Page
from tongguocr.reader import Reader, Setup, open_reader
from tongguocr.sources import MemoryFile, SourcePage
from tongguocr.stdout import complain, write_out


def list_here(args: argparse.Namespace, sources: Sequence[str | MemoryFile]) -> list[SourceListing]:
    """What each source has, looked at in this process, which is quicker; not before `-o` makes sense."""
    if args.output not in (None, STDOUT):
        output_file(args.output, sources)
    return [list_source(source, args.pages, args.recursive, args.password) for source in sources]


def read_here(args: argparse.Namespace, listed: Sequence[SourceListing], setup: Setup, style: Style) -> int:
    """Read all pages; 1 if some of several failed."""
    path = None if args.output in (None, STDOUT) else Path(args.output)
    format = find_format(args.format or "txt")
    pages, problems = name_pages(listed), [one.problem for one in listed if one.problem]
    several = len(pages) + len(problems) > 1
    check_lines(args, several)
    if path and several:
        raise InputError(f"{path}: several pages need a folder; end its name with a slash.")
    if several:
        check_several(format)
    if not several and problems:
        raise InputError(problems[0])
    for problem in problems:
        complain(problem)
    warn_of_fonts([format_of(path).name if path else format.name])

    def failed(reason: str) -> None:
        if not several:
            raise InputError(reason)
        problems.append(reason)
        complain(reason)

    _write(_results(pages, setup, args.time_limit, failed), path, format, style, several)
    if skipped := "" if args.quiet else skipped_sentence(listed):
        complain(skipped)
    return 1 if problems else 0


def check_lines(args: argparse.Namespace, several: bool) -> None:
    """Refuse one page's lines for several pages."""
    if args.lines and several and not args.lines.is_dir():
        raise InputError(f"{args.lines}: this file has one page's lines, and there are several pages.")


def output_file(written: str, sources: Sequence[str | MemoryFile]) -> Path:
    """The file to be written; what would keep it from being written is told before anything is read."""
    path = Path(written)
    if any(isinstance(source, str) and path.exists() and _is_same(path, source) for source in sources):
        raise InputError(f"{path}: this file would be written over; choose another place.")
    if not ending_of(path):
        raise InputError(f"{path}: the name does not tell the format; take one of {', '.join(ENDINGS)}.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent} to write it into.")
    return path


def _is_same(path: Path, source: str) -> bool:
    try:
        return path.samefile(source)
    except (OSError, ValueError):
        return False


def _write(
    results: Iterator[tuple[SourcePage, Page]], path: Path | None, format: Format, style: Style, several: bool
) -> None:
    """Each page as it comes; several pages of a format that is no text as one file on standard output."""
    if several:
        write_several((page for _, page in results), format, style)
        return
    for page, result in results:
        if path:
            write_page(result, path, style=style)
        else:
            write_out(render_page(result, Path(page.name), format.name, style))


def _results(
    pages: Sequence[SourcePage], setup: Setup, limit: float | None, failed: Callable[[str], None]
) -> Iterator[tuple[SourcePage, Page]]:
    """The pages that could be read, in order; of the others the reason goes to `failed`."""
    for page, result in _in_process(pages, setup) if limit is None else _limited(pages, setup, limit):
        if isinstance(result, Page):
            for warning in result.warnings:
                complain(f"page {page.name}: {warning}")
            yield page, result
        else:
            failed(result)


def _in_process(pages: Sequence[SourcePage], setup: Setup) -> Iterator[tuple[SourcePage, Page | str]]:
    read = _open(open_reader, setup)
    for page in pages:
        yield page, read(page)


def _limited(
    pages: Sequence[SourcePage], setup: Setup, limit: float
) -> Iterator[tuple[SourcePage, Page | str]]:
    with Pool[SourcePage, Page | str](partial(_open, open_reader, setup), 1, limit) as pool:
        for page, result in pool.run(pages):
            if isinstance(result, WorkerFailure):
                result = f"{page.file}: page {page.name} {result.reason}."
            yield page, result


def _open(opening: Callable[[Setup], Reader], setup: Setup) -> Callable[[SourcePage], Page | str]:
    """What reads a page; of one that cannot be read, the reason."""
    return partial(_read, opening(setup).read)


def _read(read: Callable[[Page, str], Page], page: SourcePage) -> Page | str:
    try:
        return read(page.load_page(), page.name)
    except Exception as error:
        return failure_outcome(error, page).reason
