"""A page's results as files: what they are called, which are missing, and how they come whole into place.

In: a page as read, and the paths that are missing. Out: files that are complete on the disk before they have
their names, so that whatever has its name can be trusted, also after a power cut.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from tongguocr.batch.locks import Failure
from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes, write_error
from tongguocr.formats import FORMATS, Style, find_format, write_page
from tongguocr.page import Page

FAILED = "failed.tsv"
"""The pages of the last run that were not read, and why."""
WARNINGS = "warnings.tsv"
"""The pages that were read in this or an earlier run, without finding text or with text not to be trusted."""


def parse_formats(written: str) -> tuple[str, ...]:
    """The names of formats, as they are typed: "txt,json"."""
    return tuple(dict.fromkeys(find_format(name.strip()).name for name in written.split(",")))


def result_paths(name: str, out: Path, formats: Sequence[str]) -> tuple[Path, ...]:
    """Where a page's results go, one file a format."""
    return tuple(out / f"{name}{FORMATS[format].ending}" for format in formats)


def json_of(name: str, out: Path) -> Path:
    """Where a page's JSON lies, which holds all that was read on it."""
    return result_paths(name, out, ("json",))[0]


def missing(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Those of the files that are not there."""
    return tuple(path for path in paths if not path.exists())


def write_results(page: Page, paths: Sequence[Path], unfinished: Path, style: Style = Style()) -> None:
    """Write all files into the folder for unfinished ones; then move each into its place."""
    temporaries = [(unfinished / path.name, path) for path in paths]
    try:
        for temporary, path in temporaries:
            try:
                write_page(page, temporary, style=style)
                flush(temporary)
            except InputError as error:
                raise type(error)(str(error).replace(str(temporary), str(path))) from None
            except OSError as error:
                raise write_error(path, error) from None
        for temporary, path in temporaries:
            try:
                temporary.replace(path)
            except OSError as error:
                raise write_error(path, error) from None
    finally:
        # What is left here after a failure would take room from the pages that follow.
        for temporary, _ in temporaries:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Onto the disk: a file that is renamed before its content is written may come back empty."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: the file cannot be removed ({error.strerror}).") from None


def write_failures(failures: Sequence[Failure], out: Path) -> None:
    """The table of pages that failed; none where nothing failed."""
    path = out / FAILED
    if not failures:
        remove(path)
        return
    _write_table(path, [("page", "file", "reason"), *((f.page, f.file, f.reason) for f in failures)])


def read_failures(out: Path) -> set[str]:
    """The names of the pages that the last run could not read."""
    return {row[0] for row in _read_table(out / FAILED)[1:]}


def record_warning(page: str, file: str, warning: str, out: Path) -> None:
    """Put a page that was read into the table of warnings, or take it out if nothing is said against it.

    The table has pages of earlier runs, too: what is done is not read again. Without rows there is none.
    """
    path = out / WARNINGS
    head, *rows = _read_table(path) or [("page", "file", "warning")]
    kept = [row for row in rows if row[0] != one_line(page)]
    if warning:
        kept.append((page, file, warning))
    if kept:
        if warning or len(kept) < len(rows):
            _write_table(path, [head, *sorted(kept)])
    elif rows:
        remove(path)


def _read_table(path: Path) -> list[tuple[str, ...]]:
    if not path.exists():
        return []
    text = read_bytes(path).decode(errors="replace")
    return [tuple(row.split("\t")) for row in text.splitlines()]


def _write_table(path: Path, rows: Sequence[Sequence[str]]) -> None:
    table = "".join("\t".join(one_line(cell) for cell in row) + "\n" for row in rows)
    write_bytes(table.encode(errors="replace"), path)


def one_line(text: str) -> str:
    """A sentence or a name fit for one row of a table or a terminal, whatever a file was called."""
    return "".join(char if char.isprintable() else " " if char.isspace() else "?" for char in text)
