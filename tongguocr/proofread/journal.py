"""The journal of a page: a file of one JSON object a row, to which rows are only ever added.

In: records, which are on the disk when `append` returns. Out: a file's records, however its writer ended: a
last row that was not written to its end was never answered for, and goes; whatever else is damaged is an
`InputError`, and the file stays as it is. Standard library alone: training reads the marks in here.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tongguocr.errors import InputError
from tongguocr.files import read_bytes

ENDING = ".journal.jsonl"
KINDS = ("edits", "read", "state", "file")

Row: TypeAlias = dict[str, Any]


class NotWrittenError(InputError):
    """The disk did not take a record: it may be sent again."""


@dataclass
class Journal:
    """One page's file; it is made with its first record."""

    path: Path
    rows: list[Row] = field(default_factory=list)
    _length: int = 0
    """Of the file's whole rows, in bytes; what stands behind is the torn end of one."""
    _ended: bool = True
    """Whether the last row has its line feed."""

    @property
    def version(self) -> int:
        """How many records there are."""
        return len(self.rows)

    def append(self, row: Row) -> None:
        """Add a record; it is on the disk when this returns, or it is not in the journal."""
        try:
            if not self.path.exists():
                # New, or somebody removed it under our hands: then all that is known is written again.
                self._length, self._ended = 0, True
                self._write(b"".join(map(_line, (*self.rows, row))), os.O_CREAT | os.O_EXCL)
                _flush_folder(self.path.parent)
            else:
                self._write((b"" if self._ended else b"\n") + _line(row))
        except OSError as error:
            raise NotWrittenError(f"{self.path}: nothing can be added ({error.strerror}).") from None
        self.rows.append(row)

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return self._length

    def _write(self, data: bytes, flags: int = 0) -> None:
        # A link would lead out of the book.
        flags |= os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.path, flags, 0o666), "r+b") as file:
            file.truncate(self._length)
            try:
                file.seek(self._length)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                # A full disk: half a row must not stand before the next one.
                with contextlib.suppress(OSError):
                    file.truncate(self._length)
                raise
        self._length, self._ended = self._length + len(data), True


def open_journal(path: Path) -> Journal:
    """The journal in this file, empty where there is none."""
    if not path.exists():
        return Journal(path)
    data = read_bytes(path)
    rows: list[Row] = []
    length, ended = 0, True
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        row = _parse(line)
        if row is None:
            if length + len(line) == len(data) and not line.endswith(b"\n"):
                break
            raise InputError(f"{path}: row {number} is no record of a journal.")
        rows.append(row)
        length, ended = length + len(line), line.endswith(b"\n")
    return Journal(path, rows, length, ended)


def _line(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _parse(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and row.get("kind") in KINDS else None


def is_proofread(rows: list[Row]) -> bool:
    """Whether the page is marked as proofread: by its latest mark."""
    marks = (row.get("proofread") for row in reversed(rows) if row["kind"] == "state")
    return next(marks, False) is True


def has_journals(folder: Path) -> bool:
    """Whether this is the folder of a book that somebody works on."""
    return any(folder.glob(f"*{ENDING}"))


def proofread_names(folder: Path) -> Iterator[str]:
    """The pages of a book that are marked as proofread, by the names of their files."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        if is_proofread(open_journal(path).rows):
            yield path.name.removesuffix(ENDING)


def _flush_folder(folder: Path) -> None:
    """A new file's name onto the disk, where a system has such a thing."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
