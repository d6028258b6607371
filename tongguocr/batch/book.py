"""A job whose result is one file: pages that were read in, a book of all of them out.

Beside the book `BOOK.epub` stands the folder `BOOK.pages`, with the JSON of each page and all that belongs to
a job in a folder. It stays: the same command goes on from there, the same book in another format is written
from it without reading again, and what is corrected there comes into the book. A page that could not be read,
or whose image is gone, keeps its place, and the book says so there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from io import BytesIO
from pathlib import Path

from PIL import Image

from tongguocr.batch.job import add_scan, failure_outcome
from tongguocr.batch.locks import PageLocks
from tongguocr.batch.results import flush, json_of, one_line, read_failures
from tongguocr.errors import InputError
from tongguocr.files import make_folder, read_bytes, write_bytes, write_error
from tongguocr.formats import Format, Style, format_of, page_stem, read_page, write_book
from tongguocr.formats.page_json import check_page
from tongguocr.formats.unread import today, unread_page
from tongguocr.formats.xml import check_xml_text
from tongguocr.page import Page
from tongguocr.sources import SourcePage, image_named, is_one_image
from tongguocr.sources.images import Scan, load_scan

PAGES = ".pages"
BEGUN = ".tongguocr-begun"
"""The day on which the job was begun, which TEI and EPUB name: going on later does not change the book."""
_SHOWN = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")
"""Images that every browser shows, by their suffixes."""


@dataclass(frozen=True, slots=True)
class Book:
    """What is to be written, and how its text."""

    path: Path
    style: Style = field(default_factory=Style)

    @property
    def format(self) -> Format:
        return format_of(self.path)

    @property
    def folder(self) -> Path:
        """Where the pages lie."""
        return self.path.parent / f"{page_stem(self.path)}{PAGES}"


def begin_book(book: Book, again: bool = False) -> date:
    """Make the folder for the pages; the day on which that was done first."""
    make_folder(book.folder)
    path = book.folder / BEGUN
    try:
        if not again and path.exists():
            return date.fromisoformat(read_bytes(path).decode())
    except ValueError:
        pass  # Somebody else's file.
    day = today()
    write_bytes(day.isoformat().encode(), path)
    return day


def keep_scans(pages: Sequence[SourcePage], book: Book) -> list[SourcePage]:
    """The pages, which keep their images in the folder if the book cannot do without that.

    A PDF holds every image, and a network is not asked for it again. A IIIF manifest only names images, which
    must be files that browsers show, and lie below it or have an address of their own.
    """
    return [
        replace(page, loader=partial(_load_kept, page, book.folder)) if _must_keep(page, book) else page
        for page in pages
    ]


def left_over(pages: Sequence[SourcePage], book: Book) -> list[str]:
    """The pages that were neither read nor failed, as the job was ended before: there can be no book yet."""
    failed = read_failures(book.folder)
    return [
        page.name
        for page in pages
        if one_line(page.name) not in failed and not json_of(page.name, book.folder).exists()
    ]


def assemble(
    pages: Sequence[SourcePage],
    book: Book,
    day: date,
    complain: Callable[[str], None] = lambda sentence: None,
    step: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write the book, whole or not at all, page by page; the names of pages that have but their place in it.

    `complain` gets a sentence for each page that was read and cannot be written; `step` is called at each.
    """
    empty: list[str] = []

    def opened() -> Iterator[Page]:
        for page in pages:
            step()
            try:
                yield _open_page(page, book)
            except _NotReadError:
                empty.append(page.name)
                yield unread_page(Path(page.file).name)
            except Exception as error:
                complain(failure_outcome(error, page).reason)
                empty.append(page.name)
                yield unread_page(Path(page.file).name)

    with PageLocks(book.folder) as locks:
        # There, what a process leaves that is killed is removed by the next.
        unfinished = locks.unfinished / book.path.name
        try:
            write_book(opened(), unfinished, style=book.style, day=day)
            flush(unfinished)
            unfinished.replace(book.path)
        except InputError as error:
            raise type(error)(str(error).replace(str(unfinished), str(book.path))) from None
        except OSError as error:
            raise write_error(book.path, error) from None
    return empty


class _NotReadError(Exception):
    """There is no text of this page."""


def _open_page(page: SourcePage, book: Book) -> Page:
    """The page as it was read, or corrected, with what the book's format needs."""
    path = json_of(page.name, book.folder)
    if not path.exists():
        raise _NotReadError
    known = read_page(path)
    check_page(known, path)
    for line in known.lines:
        check_xml_text(line.text, f"{path}: line {line.id}")
    if book.format.image:
        return add_scan(known, page)
    return replace(known, image=_shown_at(page, book)) if book.format.addressed else known


def _must_keep(page: SourcePage, book: Book) -> bool:
    if book.format.addressed:
        return not page.address and _place_below(page, book) is None
    return bool(book.format.image) and "://" in page.file


def _place_below(page: SourcePage, book: Book) -> str | None:
    """The page's image as seen from the book, if browsers show the file, and it lies below the book."""
    file, folder = Path(page.file), book.path.parent.resolve()
    if page.content or file.suffix.lower() not in _SHOWN or not (file.is_file() and is_one_image(file)):
        return None
    there = file.parent.resolve() / file.name
    return there.relative_to(folder).as_posix() if there.is_relative_to(folder) else None


def _shown_at(page: SourcePage, book: Book) -> str:
    """Where a manifest finds the page's image: an address, or a place as seen from the manifest."""
    if place := page.address or _place_below(page, book):
        return place
    if image_named(book.folder, page.name) is None:
        page.load()  # Which keeps it.
    kept = image_named(book.folder, page.name)
    return f"{book.folder.name}/{kept.name}" if kept else ""


def _load_kept(page: SourcePage, folder: Path) -> Scan:
    """The page as it was stored; its image is put into the folder where it is not there yet."""
    if there := image_named(folder, page.name):
        return load_scan(there)
    scan, data = page.loader(), BytesIO()
    if scan.jpeg is None:
        Image.fromarray(scan.pixels).save(data, "PNG")
    write_bytes(scan.jpeg or data.getvalue(), folder / f"{page.name}.{'png' if scan.jpeg is None else 'jpg'}")
    return scan
