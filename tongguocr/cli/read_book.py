"""`tongguocr read -o BOOK.epub`: all pages of all sources into one file, as a job that may be stopped.

In: the arguments and what the sources have. Out: the file, the folder with its pages beside it, of which
batch/book.py tells, and an exit code.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TypeAlias

from tongguocr.batch.book import Book, assemble, begin_book, keep_scans, left_over
from tongguocr.batch.listing import SourceListing, name_pages, skipped_sentence
from tongguocr.batch.results import json_of
from tongguocr.cli.arguments import complain, text_style
from tongguocr.cli.read_here import check_lines, output_file
from tongguocr.errors import InputError
from tongguocr.formats import ENDINGS, Style, ending_of
from tongguocr.progress import page_bar
from tongguocr.sources import MemoryFile, SourcePage, is_one_image
from tongguocr.stdout import STOPPED, say

RunJob: TypeAlias = Callable[[list[SourcePage], list[tuple[str, str]], Path, tuple[str, ...], Style], int]
"""Pages, sources that cannot be opened, a folder, formats and a style in; a job's exit code out."""
SHOWN_NAMES = 5
"""So many names of pages that could not be read are told."""


def may_be_book(written: str, sources: Sequence[str | MemoryFile]) -> bool:
    """Whether the file is of a format that holds a book, and the sources may have several pages."""
    ending = ending_of(output_file(written, sources))
    return bool(ENDINGS[ending].book) and not (len(sources) == 1 and _is_one_image(sources[0]))


def _is_one_image(source: str | MemoryFile) -> bool:
    if not isinstance(source, str) or "://" in source:
        return False
    return Path(source).is_file() and is_one_image(Path(source))


def read_book(args: argparse.Namespace, listed: Sequence[SourceListing], run_job: RunJob) -> int:
    """Read what is not read yet, then write the book; 1 if pages or sources failed."""
    book = Book(Path(args.output), text_style(args))
    problems = [(one.source, one.problem) for one in listed if one.problem]
    pages = keep_scans(name_pages(listed), book)
    if not pages:
        raise InputError(problems[0][1])
    check_lines(args, len(pages) > 1)
    day = begin_book(book, args.again)
    code = run_job(pages, problems, book.folder, ("json",), Style())
    if code == STOPPED or left_over(pages, book):
        return code
    if not any(json_of(page.name, book.folder).exists() for page in pages):
        complain(f"{book.path}: no page could be read, and so there is no book.")
        return 1
    code = max(code, _write(pages, book, day, args.quiet))
    if not args.quiet and (skipped := skipped_sentence(listed)):
        complain(skipped)
    return code


def _write(pages: Sequence[SourcePage], book: Book, day: date, quiet: bool) -> int:
    """Put the pages together; 1 if some of them only have their place in the book."""
    with page_bar(len(pages), not quiet) as bar:
        empty = assemble(pages, book, day, lambda sentence: bar.say(f"tongguocr: {sentence}"), bar.step)
    if empty:
        names = ", ".join(empty[:SHOWN_NAMES])
        more = f" and {len(empty) - SHOWN_NAMES} more" if len(empty) > SHOWN_NAMES else ""
        complain(f"{book.path}: {len(empty)} of {len(pages)} pages could not be read: {names}{more}.")
    if not quiet:
        say(f"Book: {len(pages)} pages: {book.path}")
    return 1 if empty else 0
