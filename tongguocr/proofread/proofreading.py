"""A book that is being proofread: all that the addresses ask for, put together.

In: a book and what its pages are read with. Out: pages, edits, readings, and events of whatever changes.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tongguocr.batch.pool import share_cores
from tongguocr.engines import ENGINES, find_engine
from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.formats import FORMATS
from tongguocr.proofread.book import MACHINE, OWN, Book, BookPage
from tongguocr.proofread.changes import CHANGES, render_changes
from tongguocr.proofread.events import Events
from tongguocr.proofread.journal import Row
from tongguocr.proofread.models import (
    BookData,
    Event,
    Hits,
    PageAnswer,
    ReadRequest,
    Record,
    Settings,
)
from tongguocr.proofread.output import FileWriter
from tongguocr.proofread.overview import Overview
from tongguocr.proofread.page_data import PageCache, page_data
from tongguocr.proofread.pictures import Pictures, thumbnail_path
from tongguocr.proofread.reading import BackgroundReading, ReadingResult, ReadingTask
from tongguocr.proofread.search import PageText, search
from tongguocr.proofread.store import PageState, Store, record
from tongguocr.reader import Setup
from tongguocr.weights import MANIFEST

PACKAGE, GIVEN = "package", "given"
"""The weights of the package, and those of --weights."""
MAX_WORKERS = 4
SCAN_TIMEOUT = 60.0
"""Seconds that a search waits for pages to be looked at; then it looks itself."""


@dataclass(frozen=True, slots=True)
class Means:
    """What pages are read with."""

    setup: Setup = field(default_factory=lambda: Setup(threads=1))
    can_read: bool = True
    workers: int = 0
    """Processes that read; 0: one a core but one, and four at most."""


class Proofreading:
    """A book, open for work."""

    def __init__(self, book: Book, means: Means = Means()) -> None:
        self.book, self.means = book, means
        self.events = Events()
        self.store = Store(book, self._changed, self._opened)
        self.overview = Overview(self.store)
        self.pictures = Pictures(book)
        self.writer = FileWriter(self.store, self._written)
        workers = means.workers or min(max(share_cores(len(book.pages), None, 1)[0] - 1, 1), MAX_WORKERS)
        self.reading = BackgroundReading(workers, self._reading_begins, self._reading_done)
        self._caches: dict[int, PageCache] = {}
        self._unwritten: set[int] = set()
        """Pages whose files could not be written the last time."""

    def start(self) -> None:
        """Look at all pages, and read those that were not read yet."""
        self.reading.start()
        self.overview.start(self._looked, self._all_looked)

    def close(self) -> None:
        """Write everything down."""
        self.events.close()
        self.reading.close()
        self.writer.close()
        self.overview.close()

    def data(self) -> BookData:
        """The book, and its pages in a few words each."""
        return BookData(
            title=self.book.title,
            id=self.book.id,
            pages=self.overview.entries(),
            settings=self.settings(),
            formats=list(FORMATS),
            ready_for_training=self.overview.ready(),
            train_command=train_command(self.book),
        )

    def settings(self) -> Settings:
        """What pages are read with, and what they might be read with."""
        setup = self.means.setup
        engines = [name for name, entry in ENGINES.items() if not entry.remote or name == setup.engine]
        return Settings(
            engine=setup.engine or "",
            weights=GIVEN if setup.weights else PACKAGE,
            can_read=self.means.can_read,
            engines=engines,
            weights_choices=list(self.weights()),
        )

    def weights(self) -> dict[str, Path | None]:
        """The weights that may be chosen: the package's, those given, those in the book's folder."""
        found: dict[str, Path | None] = {PACKAGE: None}
        if self.means.setup.weights is not None:
            found[GIVEN] = self.means.setup.weights
        manifests = [*self.book.folder.glob(f"*/{MANIFEST}"), *self.book.folder.glob(f"*/*/{MANIFEST}")]
        for path in sorted(manifests):
            name = path.parent.relative_to(self.book.folder)
            if name.parts[0] not in (OWN, MACHINE):
                found[name.as_posix()] = path.parent
        return found

    def page(self, number: int) -> PageAnswer:
        """The page, its picture's size at least."""
        if not self.store.state(number).known:
            self.reading.prefer(number)
            self._measure(self.store.state(number))
        with self.store.using(number) as state:
            page, machine, version, edited = state.page, state.machine, state.version, state.edited
        return PageAnswer.model_construct(
            number=number,
            version=version,
            state=self.overview.state(number),
            page=page_data(page, self._cache(number)),
            machine=None if machine is None else page_data(machine, self._cache(-number)),
            undoable=edited,
        )

    def _cache(self, number: int) -> PageCache:
        """What was made of a page's lines; of a few pages, the latest."""
        if number not in self._caches and len(self._caches) > 16:
            self._caches.pop(next(iter(self._caches)), None)
        return self._caches.setdefault(number, {})

    def render(self, state: PageState) -> tuple[int, object]:
        """A page's version and its data, of one moment."""
        with state.lock:
            page, version = state.page, state.version
        return version, page_data(page, self._cache(state.book_page.number))

    def _measure(self, state: PageState) -> None:
        """Take the page's size from its picture, which is all that is known of it."""
        if state.book_page.source is None or state.page.width:
            return
        try:
            width, height = self.pictures.pyramid(state.book_page).size
        except InputError:
            return
        with state.lock:
            if not state.known:
                state.page = replace(state.page, width=width, height=height)
        self.overview.set_size(state.book_page.number, width, height)

    def angle(self, number: int) -> int:
        """By how much the page's scan is turned to be read."""
        return self.store.state(number).page.angle

    def history(self, number: int) -> list[Record]:
        """Every record of the page."""
        state = self.store.state(number)
        with state.lock:
            rows = list(state.journal.rows)
        return [record(version, row) for version, row in enumerate(rows, start=1)]

    def search(self, words: str, folded: bool, limit: int) -> Hits:
        """Where the words stand in the book."""
        self.overview.wait(SCAN_TIMEOUT)
        pages = [PageText(p.number, self.overview.summary(p.number).lines) for p in self.book.pages]
        return search(pages, words, folded, limit)

    def read(self, number: int, request: ReadRequest) -> None:
        """Read a page again, before all others; and those that nobody has touched, if that is wanted."""
        page = self.book.page(number)
        if not self.means.can_read or page.source is None:
            raise InputError(f"{page.name}: there is nothing to read this page from.")
        setup = self._setup(request)
        for other in self.book.pages if request.others else ():
            found = self.overview.summary(other.number)
            if other.number != number and not (found.proofread or found.changes or found.problem):
                self._read_again(other, setup, request.keep_lines, spare=True)
        self._read_again(page, setup, request.keep_lines, spare=False)

    def _setup(self, request: ReadRequest) -> Setup:
        """What pages are to be read with."""
        setup = self.means.setup
        if request.engine is not None:
            find_engine(request.engine)
            if request.engine not in self.settings().engines:
                raise InputError(f"The engine {request.engine} needs an address; give it to the command.")
            setup = replace(setup, engine=request.engine)
        if request.weights is not None:
            choices = self.weights()
            if request.weights not in choices:
                raise InputError(f"There are no weights {request.weights!r} in this book.")
            setup = replace(setup, weights=choices[request.weights])
        return setup

    def _read_again(self, page: BookPage, setup: Setup, keep_lines: bool, spare: bool) -> None:
        """Put a page into the queue: at its end, or at its beginning if it is read whatever somebody did."""
        if page.source is None:
            return
        self.overview.set_reading(page.number, "reading")
        self._tell_progress(page.number)
        task = ReadingTask(
            page.number,
            page.source,
            setup,
            keep_lines,
            thumbnail=thumbnail_path(self.book, page),
            asked=True,
            spare=spare,
        )
        self.reading.add(task, first=not spare)

    def _looked(self, number: int) -> None:
        """The files of a page were looked at."""
        summary, page = self.overview.summary(number), self.book.page(number)
        if not summary.known and not summary.problem and page.source is not None and self.means.can_read:
            thumbnail = thumbnail_path(self.book, page)
            self.reading.add(ReadingTask(number, page.source, self.means.setup, thumbnail=thumbnail))
        self._tell_progress(number)

    def _opened(self, state: PageState) -> None:
        """A page was opened: if its files were not written before the last end, they are now."""
        if state.stale:
            self.writer.add(state.book_page.number)

    def _reading_begins(self, task: ReadingTask) -> ReadingTask | None:
        if not task.asked and self.overview.summary(task.number).known:
            return None
        state = self.store.state(task.number)
        with state.lock:
            page, left = state.page, task.spare and state.touched
        self.overview.set_reading(task.number, None if left else "reading")
        self._tell_progress(task.number)
        if left:
            return None
        return replace(task, known=page if task.keep_lines and page.lines else None)

    def _reading_done(self, result: ReadingResult) -> None:
        number, reason = result.task.number, result.reason
        if result.page is not None:
            try:
                task = result.task
                self.store.put_reading(number, result.page, _reader_name(task), task.asked, task.spare)
            except InputError as error:
                reason = str(error)
        self.overview.set_reading(number, "failed" if reason else None, reason)
        self._tell_progress(number)

    def _changed(self, state: PageState, row: Row) -> None:
        """A page has changed: its files are to be written, and everybody is told."""
        number = state.book_page.number
        self.overview.update(state)
        self.writer.add(number)
        client, who = str(row.get("client", "")), str(row.get("who", ""))
        self.events.tell(Event(type="changed", page=number, version=state.version, client=client, who=who))
        if row.get("kind") != "edits":
            self._tell_progress(number)

    def _written(self, number: int, problem: str) -> None:
        """A page's files were written: the table of changes follows."""
        if problem or number in self._unwritten:
            self.overview.set_reading(number, None, problem)
            (self._unwritten.add if problem else self._unwritten.discard)(number)
        state = self.store.state(number)
        self.overview.update_changes(state)
        if state.version and self.overview.complete:
            self._write_changes()
        self._tell_progress(number)

    def _all_looked(self) -> None:
        """Every page was looked at: the table of changes has all of them."""
        if self.overview.changes():
            self._write_changes()
        self.events.tell(Event(type="book"))

    def _write_changes(self) -> None:
        with suppress(InputError):
            write_bytes(render_changes(self.overview.changes()), self.book.folder / CHANGES)

    def changes(self) -> bytes:
        """The table of all that was changed in the book."""
        self.overview.wait(SCAN_TIMEOUT)
        self.writer.flush()
        return render_changes(self.overview.changes())

    def _tell_progress(self, number: int) -> None:
        entry = self.overview.entry(number)
        self.events.tell(
            Event(
                type="progress",
                page=number,
                state=entry.state,
                doubts=entry.doubts,
                version=entry.version,
                message=entry.message,
            )
        )


def train_command(book: Book) -> str:
    """What teaches the recogniser with the pages that are marked as proofread."""
    folder = book.folder.resolve()
    pages, run = shlex.quote(f"folder={folder}"), folder / "tuned"
    weights = shlex.quote(str(run / "weights"))
    return (
        f"tongguocr train tune --pages {pages} --out {shlex.quote(str(run))}"
        f" && tongguocr export {shlex.quote(str(run / 'model.pt'))} -o {weights}"
    )


def _reader_name(task: ReadingTask) -> str:
    return task.setup.engine or ""
