"""Each page's state: opened from its files when it is asked for, edited, and on the disk before an answer.

The journal has the truth: the page that the machine read, or that was there when work began, and every edit
since. `NAME.json` and the other files are written from it (output.py). A file that another program changed
meanwhile is taken as a new version; what was before stays in the journal.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.page_json import parse_json, render_json
from tongguocr.page import Page
from tongguocr.proofread.book import Book, BookPage, image_file
from tongguocr.proofread.edits import ALL, EditError, apply_all, inverse_all, meet, touched
from tongguocr.proofread.journal import Journal, Row, is_proofread, open_journal
from tongguocr.proofread.models import Edit, EditsRequest, Record
from tongguocr.reader import lines_file
from tongguocr.sources import IMAGE_SUFFIXES

MAX_OPEN = 24
"""Pages that are kept in memory."""
Stamp: TypeAlias = tuple[int, ...]
EDITS: TypeAdapter[list[Edit]] = TypeAdapter(list[Edit])


class ConflictError(Exception):
    """Others changed the same lines: `rows` are their records."""

    def __init__(self, rows: Sequence[tuple[int, Row]]) -> None:
        super().__init__("Others changed the same lines.")
        self.rows = rows


@dataclass
class PageState:
    """A page that is open."""

    book_page: BookPage
    journal: Journal
    page: Page
    machine: Page | None
    known: bool
    """Whether there is a page at all, and not only a picture."""
    stale: bool = False
    """Whether its files are older than its journal, or not there."""
    stamp: Stamp = ()
    """Of `NAME.json`, when it was last looked at."""
    writing: Page | None = None
    """What is being written into `NAME.json`, or was last."""
    damaged: str = ""
    """What is wrong with that file, if another program broke it: it is left alone; the journal goes on."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def version(self) -> int:
        return self.journal.version

    @property
    def proofread(self) -> bool:
        return is_proofread(self.journal.rows)

    @property
    def edited(self) -> bool:
        return any(row["kind"] == "edits" for row in self.journal.rows)

    @property
    def touched(self) -> bool:
        """Whether somebody worked on it: here, with another program, or by a mark that still stands.

        A text of which nobody says how sure it is was not read by a machine.
        """
        known = [char.confidence is not None for line in self.page.lines for char in line.chars]
        by_hand = bool(self.page.text) and not any(known)
        return self.proofread or by_hand or any(row["kind"] in ("edits", "file") for row in self.journal.rows)


Changed: TypeAlias = Callable[[PageState, Row], None]
"""Told of every change, with its record; of a first reading, which has none, with an empty one."""


class Store:
    """The pages of a book."""

    def __init__(
        self,
        book: Book,
        changed: Changed = lambda state, row: None,
        opened: Callable[[PageState], None] = lambda state: None,
    ) -> None:
        self.book, self.changed, self.opened = book, changed, opened
        self._open: OrderedDict[int, PageState] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: dict[int, threading.Lock] = {}
        self._used: Counter[int] = Counter()
        """Pages that must stay open: two states of one page would write over each other."""

    @contextmanager
    def using(self, number: int) -> Iterator[PageState]:
        """The page, open and locked for a change."""
        self.hold(number)
        try:
            state = self.state(number)
            with state.lock:
                self._look_again(state)
                yield state
        finally:
            self.hold(number, -1)

    def _look_again(self, state: PageState) -> None:
        """Take in what another program wrote into the page's file while it was open here."""
        path = self.book.file(state.book_page, ".json")
        stamp = stamp_of(path)
        if stamp == state.stamp or not stamp:
            state.damaged = ""
            return
        try:
            stored, state.stamp, state.damaged = read_page(path), stamp, ""
        except InputError as error:
            state.damaged = str(error)
            return
        if stored in (state.page, state.writing):
            return
        if state.journal.rows:
            self._append(state, stored, "file", "", {"page": page_object(stored)})
        else:
            state.page, state.machine, state.known = stored, stored, True
            self.changed(state, {})

    def hold(self, number: int, more: int = 1) -> None:
        """Keep a page open, until it is let go as often."""
        with self._lock:
            self._used[number] += more
            if not self._used[number]:
                del self._used[number]

    def state(self, number: int) -> PageState:
        """The page of this number, opened if need be; to be looked at, not to be changed."""
        page = self.book.page(number)
        with self._lock:
            turn = self._opening.setdefault(number, threading.Lock())
        with turn:
            with self._lock:
                if found := self._open.get(number):
                    self._open.move_to_end(number)
                    return found
            state = open_state(self.book, page)
            with self._lock:
                self._open[number] = state
                self._close_oldest()
            self.opened(state)
            return state

    def _close_oldest(self) -> None:
        spare = len(self._open) - MAX_OPEN
        newest = next(reversed(self._open))
        for number in [n for n in self._open if n not in self._used and n != newest][: max(spare, 0)]:
            del self._open[number]

    def edit(self, number: int, request: EditsRequest) -> tuple[PageState, list[Edit]]:
        """The page after the edits, which are on the disk, and what takes them back."""
        with self.using(number) as state:
            if request.id and any(row.get("id") == request.id for row in state.journal.rows):
                return state, []
            if request.base > state.version:
                raise EditError(f"The page has no version {request.base} yet.")
            others = conflicts(state.journal.rows, request)
            if others:
                raise ConflictError(others)
            back = inverse_all(state.page, request.edits)
            page = apply_all(state.page, request.edits)
            self._begin(state)
            written = [
                edit.model_dump(mode="json", by_alias=True, exclude_unset=True) for edit in request.edits
            ]
            row = {"client": request.client, "id": request.id, "base": request.base, "edits": written}
            self._append(state, page, "edits", request.who, row)
        return state, back

    def mark(self, number: int, proofread: bool, who: str, client: str = "") -> PageState:
        """Mark the page as proofread, or take the mark away."""
        with self.using(number) as state:
            if not state.known:
                raise EditError("This page has not been read yet.")
            self._begin(state)
            self._append(state, state.page, "state", who, {"client": client, "proofread": proofread})
        return state

    def put_reading(self, number: int, page: Page, who: str, asked: bool, spare: bool = False) -> PageState:
        """A page as the machine read it; one that nobody asked for does not replace what somebody wrote.

        With `spare`, none does that was asked for together with others.
        """
        with self.using(number) as state:
            if state.known and (not asked or (spare and state.touched)):
                return state
            page = replace(page, image=image_file(self.book, state.book_page) or page.image, pixels=None)
            if state.known or state.journal.rows:
                self._begin(state)
                self._append(state, page, "read", who, {"page": page_object(page)}, machine=page)
            else:
                # Nobody wrote anything: the page's file is all that there is to know.
                state.writing = page
                write_page(page, path := self.book.file(state.book_page, ".json"))
                state.stamp = stamp_of(path)
                state.page, state.machine, state.known = page, page, True
                self.changed(state, {})
        return state

    def _begin(self, state: PageState) -> None:
        """A journal begins with the page as it was."""
        if not state.journal.rows:
            self._append(state, state.page, "read", "", {"page": page_object(state.page)}, state.machine)

    def _append(
        self,
        state: PageState,
        page: Page,
        kind: str,
        who: str,
        more: dict[str, Any],
        machine: Page | None = None,
    ) -> None:
        row = {"v": state.version + 1, "kind": kind, "time": now(), "who": who}
        row |= {key: value for key, value in more.items() if value != ""}
        state.journal.append(row)
        state.page, state.machine, state.known, state.stale = page, machine or state.machine, True, True
        self.changed(state, row)

    def version(self, number: int, version: int) -> Page:
        """The page as it was after so many records."""
        state = self.state(number)
        if not 1 <= version <= state.version:
            raise InputError(f"There is no version {version}: the page has {state.version}.")
        rows = state.journal.rows[:version]
        return list(versions(rows, state.journal.path))[-1][0]


def open_state(book: Book, page: BookPage) -> PageState:
    """A page out of its files."""
    path = book.file(page, ".json")
    journal, stamp = open_journal(book.journal(page)), stamp_of(path)
    if not journal.rows:
        stored = _stored(book, page)
        blank = Page(image_file(book, page), 0, 0)
        return PageState(page, journal, stored or blank, stored, stored is not None, stamp=stamp)
    stored = read_page(path) if path.exists() else None
    before = list(versions(journal.rows, journal.path))
    now_page, machine = before[-1]
    state = PageState(page, journal, now_page, machine, True, stored != now_page, stamp)
    if stored is not None and state.stale and not any(stored == page for page, _ in reversed(before)):
        # Another program wrote the file since: that is the newest version.
        row = {"v": state.version + 1, "kind": "file", "time": now(), "page": page_object(stored)}
        journal.append(row)
        state.page, state.stale = stored, False
    return state


def stamp_of(path: Path) -> Stamp:
    """Changes with the file; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _stored(book: Book, page: BookPage) -> Page | None:
    """The page's file: our JSON, or another that tells where lines stand."""
    try:
        path = lines_file(book.folder, page.name)
    except InputError:
        return None
    stored = read_page(path)
    if Path(stored.image).suffix.lower() in IMAGE_SUFFIXES and (book.folder / stored.image).is_file():
        return stored
    # It was read from a PDF, or elsewhere; what trains looks for the image that lies here.
    return replace(stored, image=image_file(book, page) or stored.image)


def versions(rows: Sequence[Row], path: Path) -> Iterator[tuple[Page, Page | None]]:
    """After each record the page, and what the machine read last."""
    page: Page | None = None
    machine: Page | None = None
    for number, row in enumerate(rows, start=1):
        try:
            if row["kind"] in ("read", "file"):
                page = parse_json(json.dumps(row["page"]).encode(), path)
                machine = page if row["kind"] == "read" else machine
            elif row["kind"] == "edits" and page is not None:
                page = apply_all(page, EDITS.validate_python(row["edits"]))
        except (KeyError, EditError, ValidationError):
            raise InputError(f"{path}: row {number} cannot be applied.") from None
        if page is None:
            raise InputError(f"{path}: the journal does not begin with a page.")
        yield page, machine


def conflicts(rows: Sequence[Row], request: EditsRequest) -> list[tuple[int, Row]]:
    """What other clients did since `base` to the lines that are to be edited, by version."""
    mine = frozenset[str]().union(*map(touched, request.edits))
    later = enumerate(rows[request.base :], start=request.base + 1)
    return [(v, row) for v, row in later if row.get("client") != request.client and meet(mine, _lines(row))]


def _lines(row: Row) -> frozenset[str]:
    """The lines that a record changed."""
    if row["kind"] == "edits":
        return frozenset[str]().union(*map(touched, EDITS.validate_python(row["edits"])))
    # The first record is the page as it was.
    return frozenset() if row["kind"] == "state" or row["v"] == 1 else frozenset({ALL})


def record(version: int, row: Row) -> Record:
    """A record as a browser gets it: without the whole page of a reading."""
    return Record(
        version=version,
        kind=row["kind"],
        time=str(row.get("time", "")),
        who=str(row.get("who", "")),
        client=str(row.get("client", "")),
        edits=EDITS.validate_python(row.get("edits", [])),
        proofread=row.get("proofread"),
    )


def page_object(page: Page) -> Any:
    """The page as our JSON, as an object."""
    return json.loads(render_json(page))


def now() -> str:
    """The time, to the millisecond, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
