"""A few words about every page of a book, and its text for search, without keeping the pages in memory.

In: files, looked at once in the background, and changes as they come. Out: the list of pages and their texts.
What was learned of files lies in a file of its own, so that a book of a thousand pages opens at once the next
time; a page whose files have changed since is looked at anew.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes
from tongguocr.formats.doubts import reason_for
from tongguocr.formats.page_json import FORMAT
from tongguocr.page import Char
from tongguocr.proofread.book import Book, BookPage
from tongguocr.proofread.changes import Change, changes_of
from tongguocr.proofread.models import PageEntry, State
from tongguocr.proofread.page_data import count_doubts
from tongguocr.proofread.store import PageState, Store, stamp_of

CACHE, VERSION = "pages.json", 1


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a page."""

    known: bool = False
    """Whether there is a page, and not only a picture."""
    proofread: bool = False
    version: int = 0
    doubts: int = 0
    width: int = 0
    height: int = 0
    lines: tuple[tuple[str, str], ...] = ()
    """Ids and texts."""
    problem: str = ""
    journal: int = 0
    """Bytes of its journal."""
    stale: bool = False
    """Whether its files are to be written yet."""
    changes: tuple[Change, ...] = ()
    """What was changed in it, as far as its files were written."""


class Overview:
    """The summaries of a book's pages."""

    def __init__(self, store: Store) -> None:
        self.store, self.book = store, store.book
        self._lock = threading.Lock()
        self._found = _read_cache(self.book)
        self._reading: dict[int, State] = {}
        """Pages that are being read, or could not be."""
        self._messages: dict[int, str] = {}
        self._scan: threading.Thread | None = None
        self._closed = False

    def summary(self, number: int) -> Summary:
        """What is known of a page; its files are looked at if nobody did so yet."""
        with self._lock:
            found = self._found.get(number)
        if found is None:
            found = self._look(self.book.page(number))
            with self._lock:
                found = self._found.setdefault(number, found)
        return found

    def update(self, state: PageState) -> Summary:
        """Take note of a page that has changed."""
        number = state.book_page.number
        with self._lock:
            before = self._found.get(number, Summary())
        summary = replace(summarise(state), changes=before.changes)
        with self._lock:
            self._found[number] = summary
        return summary

    def update_changes(self, state: PageState) -> None:
        """Take note of what was changed in a page: not with every edit, but when its files are written."""
        with state.lock:
            summary = replace(summarise(state), changes=changes_of_state(state))
            with self._lock:
                self._found[state.book_page.number] = summary

    def changes(self) -> list[Change]:
        """What was changed in the pages that were looked at."""
        with self._lock:
            return [change for number in sorted(self._found) for change in self._found[number].changes]

    @property
    def complete(self) -> bool:
        """Whether every page was looked at."""
        with self._lock:
            return len(self._found) == len(self.book.pages)

    def set_reading(self, number: int, state: State | None, message: str = "") -> None:
        """Take note that a page is being read, could not be, or is neither."""
        with self._lock:
            if state is None:
                self._reading.pop(number, None)
            else:
                self._reading[number] = state
            self._messages[number] = message

    def set_size(self, number: int, width: int, height: int) -> None:
        """Take note of the size of a page that has not been read."""
        with self._lock:
            if number in self._found and not self._found[number].known:
                self._found[number] = replace(self._found[number], width=width, height=height)

    def state(self, number: int) -> State:
        """Where the page is on its way."""
        summary = self.summary(number)
        with self._lock:
            reading = self._reading.get(number)
        if reading == "reading":
            return "reading"
        if summary.known:
            return "proofread" if summary.proofread else "read"
        return "failed" if summary.problem else reading or "unread"

    def entry(self, number: int) -> PageEntry:
        """The page in the list of the book."""
        found, page = self.summary(number), self.book.page(number)
        message = found.problem or self._messages.get(number) or None
        state = self.state(number)
        return PageEntry.model_construct(
            number=number,
            name=page.name,
            width=found.width,
            height=found.height,
            state=state,
            doubts=found.doubts,
            version=found.version,
            message=message,
        )

    def entries(self) -> list[PageEntry]:
        """All pages of the book; those that nobody looked at yet are there with what their names tell."""
        with self._lock:
            looked = set(self._found)
        return [
            self.entry(page.number) if page.number in looked else self._unlooked(page)
            for page in self.book.pages
        ]

    def _unlooked(self, page: BookPage) -> PageEntry:
        there = self.book.file(page, ".json").exists() or self.book.journal(page).exists()
        state: State = "read" if there else self._reading.get(page.number, "unread")
        return PageEntry.model_construct(
            number=page.number,
            name=page.name,
            width=0,
            height=0,
            state=state,
            doubts=0,
            version=0,
            message=None,
        )

    def ready(self) -> int:
        """How many pages are marked as proofread."""
        with self._lock:
            return sum(summary.proofread for summary in self._found.values())

    def start(self, told: Callable[[int], None], done: Callable[[], None]) -> None:
        """Look at all pages in the background; `told` of each, `done` at the end."""

        def scan() -> None:
            for page in self.book.pages:
                if self._closed:
                    return
                self.summary(page.number)
                told(page.number)
            self.save()
            done()

        self._scan = threading.Thread(target=scan, daemon=True)
        self._scan.start()

    def wait(self, seconds: float | None = None) -> None:
        """Until every page was looked at."""
        if self._scan is not None:
            self._scan.join(seconds)

    def close(self) -> None:
        """Look no further, and keep what is known."""
        self._closed = True
        self.wait()
        self.save()

    def save(self) -> None:
        """Write down what is known of files."""
        with self._lock:
            found = dict(self._found)
        pages = {
            page.name: {"stamp": stamp_of(self.book.file(page, ".json")), **asdict(summary)}
            for page in self.book.pages
            if (summary := found.get(page.number)) is not None and summary.known and not summary.stale
        }
        data = json.dumps({"version": VERSION, "pages": pages}, ensure_ascii=False)
        write_bytes(data.encode(), self.book.own(CACHE))

    def _look(self, page: BookPage) -> Summary:
        try:
            if (found := _quick_look(self.book, page)) is not None:
                return found
            state = self.store.state(page.number)
            return replace(summarise(state), changes=changes_of_state(state))
        except InputError as error:
            return Summary(problem=str(error))


def changes_of_state(state: PageState) -> tuple[Change, ...]:
    """What was changed in an open page."""
    if not state.version:
        return ()
    return tuple(changes_of(state.book_page.name, state.page, state.machine, state.journal.rows))


def summarise(state: PageState) -> Summary:
    """What there is to know of an open page."""
    page = state.page
    lines = tuple((line.id, line.text) for line in page.lines)
    return Summary(
        known=state.known,
        proofread=state.proofread,
        version=state.version,
        doubts=count_doubts(page),
        width=page.width,
        height=page.height,
        lines=lines,
        journal=state.journal.size,
        stale=state.stale,
    )


def _quick_look(book: Book, page: BookPage) -> Summary | None:
    """What our JSON tells of a page that nobody edited; None where more has to be looked at.

    Checking everything in the file, as opening the page does, takes five times as long.
    """
    path = book.file(page, ".json")
    if book.journal(page).exists() or not path.exists():
        return None
    try:
        data = json.loads(read_bytes(path))
        if data["format"] != FORMAT:
            return None
        chars = [char for line in data["lines"] for char in line.get("chars", ())]
        doubts = sum(reason_for(_judged(char)) is not None for char in chars)
        lines = tuple((str(line["id"]), str(line.get("text", ""))) for line in data["lines"])
        return Summary(True, False, 0, doubts, int(data["width"]), int(data["height"]), lines)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _judged(char: dict[str, Any]) -> Char:
    """As much of a character as its doubts hang on."""
    confidence, picture, surprise = (char.get(key) for key in ("confidence", "picture", "surprise"))
    return Char("", (0, 0, 0, 0), confidence, (), picture, surprise)


def _read_cache(book: Book) -> dict[int, Summary]:
    """What was known of the pages whose files are as they were."""
    try:
        data = json.loads(book.own(CACHE).read_bytes())
        pages = dict(data["pages"]) if data["version"] == VERSION else {}
        return {
            page.number: _summary(pages[page.name])
            for page in book.pages
            if page.name in pages and _is_valid(pages[page.name], book, page)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _is_valid(cached: dict[str, Any], book: Book, page: BookPage) -> bool:
    """Whether the page's file is the one that was looked at, and its journal as long."""
    stamp, journal = stamp_of(book.file(page, ".json")), stamp_of(book.journal(page))
    return bool(stamp) and tuple(cached["stamp"]) == stamp and cached["journal"] == (journal or (0, 0))[1]


def _summary(cached: dict[str, Any]) -> Summary:
    words = {key: value for key, value in cached.items() if key not in ("stamp", "lines", "changes")}
    lines = tuple((str(name), str(text)) for name, text in cached["lines"])
    return Summary(**words, lines=lines, changes=tuple(Change(**change) for change in cached["changes"]))
