"""The files that are written from a page's state, and exports of pages and of the book.

After a change, and a short while in which others may follow, a page is written as our JSON, plain text and
PAGE XML, and in every other of our formats in which it lies in the folder. Each file is replaced whole. What
was there before the first change is kept in the folder `machine`, with the machine's own reading.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from tongguocr.errors import InputError
from tongguocr.files import make_folder, open_whole
from tongguocr.formats import FORMATS, Format, find_format, render_page, write_book, write_page
from tongguocr.page import Page, turn_pixels
from tongguocr.proofread.book import MACHINE, Book, BookPage
from tongguocr.proofread.store import Store

ALWAYS = ("json", "txt", "page")
DELAY = 0.4
"""Seconds after a change."""
RETRY, LONGEST_RETRY = 5.0, 600.0
"""Seconds until files that could not be written are tried again; each time twice as many."""


class FileWriter:
    """Writes the files of pages that have changed, in the background."""

    def __init__(self, store: Store, written: Callable[[int, str], None]) -> None:
        self.store, self.written = store, written
        self._due: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        """How often in a row a page's files could not be written."""
        self._wait = threading.Condition()
        self._writing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, number: int) -> None:
        """The page has changed."""
        self._add(number, DELAY)

    def _add(self, number: int, delay: float) -> None:
        """Write the page's files in so many seconds, or sooner if they are due already."""
        with self._wait:
            if number not in self._due:
                self.store.hold(number)
            self._due[number] = min(self._due.get(number, math.inf), time.monotonic() + delay)
            self._wait.notify()

    def flush(self, number: int | None = None) -> None:
        """Write what is due now, of this page or of all; what is being written is waited for."""
        with self._writing:
            with self._wait:
                due = [n for n in self._due if number in (n, None)]
                for n in due:
                    del self._due[n]
            for n in due:
                self._write(n)

    def close(self) -> None:
        """Write what is due, and end."""
        with self._wait:
            self._closed = True
            self._wait.notify()
        self._thread.join()
        self.flush()

    def _work(self) -> None:
        while not self._closed:
            with self._wait:
                now = time.monotonic()
                ready = [n for n, at in self._due.items() if at <= now]
                if not ready:
                    self._wait.wait(min((at - now for at in self._due.values()), default=None))
                    continue
            for number in ready:
                self.flush(number)

    def _write(self, number: int) -> None:
        with self.store.using(number) as state:
            page, machine, state.stale, state.writing = state.page, state.machine, False, state.page
            problems = [state.damaged] if state.damaged else []
        problems = problems or write_files(self.store.book, state.book_page, page, machine)
        state.stale = state.stale or bool(problems)
        if problems:
            # The disk may have room again, or the other program may have mended what it wrote.
            failures = self._failures[number] = self._failures.get(number, 0) + 1
            self._add(number, min(RETRY * 2 ** (failures - 1), LONGEST_RETRY))
        else:
            self._failures.pop(number, None)
        self.written(number, " ".join(problems))
        self.store.hold(number, -1)


def write_files(book: Book, book_page: BookPage, page: Page, machine: Page | None) -> list[str]:
    """Write a page's files; a sentence for each that cannot be written, which costs no other."""
    begun, problems = book.journal(book_page).exists(), []
    for format in FORMATS.values():
        path = book.file(book_page, format.ending)
        if format.name in ALWAYS or path.exists():
            try:
                if begun:
                    _keep_first(path, book)
                write_page(_with_pixels(page, book_page, format), path)
            except (InputError, OSError) as error:
                problems.append(str(error))
    if begun and machine is not None:
        try:
            make_folder(book.folder / MACHINE)
            write_page(machine, book.machine(book_page))
        except InputError as error:
            problems.append(str(error))
    return problems


def _keep_first(path: Path, book: Book) -> None:
    """Copy a file that is to be replaced for the first time."""
    kept = book.folder / MACHINE / path.name
    if path.exists() and not kept.exists():
        make_folder(kept.parent)
        with path.open("rb") as old, open_whole(kept) as copy:
            shutil.copyfileobj(old, copy)


def _with_pixels(page: Page, book_page: BookPage, format: Format) -> Page:
    """The page with its pixels, for formats that show them."""
    if not format.image or book_page.source is None:
        return page
    return replace(page, pixels=turn_pixels(book_page.source.load(), page.angle))


def export_page(store: Store, number: int, name: str) -> tuple[str, bytes]:
    """A page as a file of this format: its name and its bytes."""
    format = find_format(name)
    state = store.state(number)
    page = _with_pixels(state.page, state.book_page, format)
    file = f"{state.book_page.name}{format.ending}"
    return file, _rendered(page, store.book, file, format)


def _rendered(page: Page, book: Book, file: str, format: Format) -> bytes:
    """The file's bytes; formats that want the page's image find it beside the file that they would be."""
    try:
        return render_page(page, book.folder / file, format.name)
    except InputError as error:
        raise InputError(str(error).replace(str(book.folder / file), file)) from None


def export_book(store: Store, name: str) -> tuple[str, bytes]:
    """All pages that were read: one file where the format has such a thing, else an archive of files."""
    format = find_format(name)
    if format.name == "txt":
        texts = [data for _, data in _files(store, format)]
        return f"{store.book.title}.txt", b"\n".join(texts)
    if format.book:
        return f"{store.book.title}{format.ending}", _one_file(store, format)
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for file, data in _files(store, format):
            archive.writestr(file, data)
    return f"{store.book.title}.{format.name}.zip", out.getvalue()


def _files(store: Store, format: Format) -> Iterator[tuple[str, bytes]]:
    for page in store.book.pages:
        if store.state(page.number).known:
            yield export_page(store, page.number, format.name)


def _one_file(store: Store, format: Format) -> bytes:
    known = (store.state(page.number) for page in store.book.pages)
    pages = (_with_pixels(state.page, state.book_page, format) for state in known if state.known)
    with tempfile.TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / f"book{format.ending}"
        write_book(pages, path, format.name)
        return path.read_bytes()
