"""Which pages a book has, and where its files lie: what the user names in, a `Book` out.

A folder is the book itself: its images, or the files that `read` wrote, are its pages. Anything else that
holds pages (a PDF, an IIIF manifest, an image file) gets a folder beside it, into which each page's image is
put when it is first looked at. All that is ever written lies in this folder.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path

from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import make_folder, open_whole, write_bytes
from tongguocr.formats import FORMATS, LINE_ENDINGS, ending_of, page_stem
from tongguocr.proofread.journal import ENDING
from tongguocr.sources import IMAGE_SUFFIXES, SourcePage, image_named, is_one_image, open_source
from tongguocr.sources.images import Scan, load_scan
from tongguocr.sources.listing import natural_key

OWN = ".proofread"
"""The folder inside the book for what can be made again, and the lock."""
MACHINE = "machine"
"""The folder inside the book with the machine's own reading, one file a page."""
ENDING_OF_FOLDERS = ".proofread"
JPEG_QUALITY = 95
START = 2000
"""Bytes by which a page's file is known."""


@dataclass(frozen=True, slots=True)
class BookPage:
    """One page of a book."""

    number: int
    name: str
    """What its files are called, without endings."""
    source: SourcePage | None
    """Where its picture comes from; None where only its text is there."""


@dataclass(frozen=True, slots=True)
class Book:
    """Pages, and the folder with all that is known of them."""

    title: str
    folder: Path
    pages: tuple[BookPage, ...]

    @property
    def id(self) -> str:
        """The same for the same folder, and for no other."""
        return hashlib.sha256(str(self.folder.resolve()).encode(errors="surrogateescape")).hexdigest()[:16]

    def page(self, number: int) -> BookPage:
        """The page of this number, from 1."""
        if not 1 <= number <= len(self.pages):
            raise InputError(f"There is no page {number}: the book has {len(self.pages)}.")
        return self.pages[number - 1]

    def file(self, page: BookPage, ending: str) -> Path:
        """A file of a page."""
        return self.folder / f"{page.name}{ending}"

    def journal(self, page: BookPage) -> Path:
        return self.file(page, ENDING)

    def machine(self, page: BookPage) -> Path:
        """The machine's own reading."""
        return self.folder / MACHINE / f"{page.name}.json"

    def own(self, name: str) -> Path:
        """A file, or a folder, of what can be made again."""
        return self.folder / OWN / name


def open_book(source: str, images: str | None = None) -> Book:
    """The book that the user names; `images` has pictures for pages whose own folder has none."""
    if "://" not in source and Path(source).is_dir():
        book = _open_folder(Path(source))
    else:
        book = _open_source(source)
    if images is not None:
        book = replace(book, pages=tuple(_with_images(book, images)))
    for name in (OWN, MACHINE):
        if (book.folder / name).is_symlink():
            raise InputError(f"{book.folder / name}: this is a link, and would lead out of the book.")
    make_folder(book.folder / OWN)
    return book


def _open_source(source: str) -> Book:
    pages = list(open_source(source))
    stem = pages[0].name.removesuffix("-0001") if len(pages) > 1 else pages[0].name
    beside = Path() if "://" in source else Path(source).parent
    folder = beside / f"{stem}{ENDING_OF_FOLDERS}"
    make_folder(folder)
    return Book(stem, folder, _numbered((page.name, _kept(page, folder)) for page in pages))


def _open_folder(folder: Path) -> Book:
    try:
        found: dict[str, SourcePage | None] = dict.fromkeys(_names_of_texts(folder))
        found |= {page.name: page for page in _images_in(folder)}
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read ({error.strerror}).") from None
    if not found:
        raise InputError(f"{folder}: there is neither an image nor a page in this folder.")
    title = folder.resolve().name.removesuffix(ENDING_OF_FOLDERS)
    return Book(title, folder, _numbered(sorted(found.items(), key=lambda one: natural_key(one[0]))))


def _numbered(
    pages: Iterator[tuple[str, SourcePage | None]] | list[tuple[str, SourcePage | None]],
) -> tuple[BookPage, ...]:
    return tuple(BookPage(number, name, source) for number, (name, source) in enumerate(pages, start=1))


def _images_in(folder: Path) -> Iterator[SourcePage]:
    """The pages of a folder's images; pictures that `read` drew are none."""
    pictures = tuple(e for f in FORMATS.values() if f.media_type.startswith("image/") for e in f.endings)
    has_images = any(path.suffix.lower() in IMAGE_SUFFIXES for path in folder.iterdir())
    for page in open_source(folder) if has_images else ():
        if not page.file.lower().endswith(pictures):
            yield page


def _names_of_texts(folder: Path) -> Iterator[str]:
    """The pages of a folder's files of text with places, in our JSON, PAGE XML or ALTO."""
    for path in folder.iterdir():
        if path.name.startswith(".") or ending_of(path) not in LINE_ENDINGS or not path.is_file():
            continue
        with path.open("rb") as file:
            start = file.read(START)
        if any(word in start for word in (b'"tongguocr-page"', b"PcGts", b"<alto")):
            yield page_stem(path)


def _with_images(book: Book, images: str) -> Iterator[BookPage]:
    """The pages, with pictures of pages of the same names where they have none."""
    named = {page.name: page for page in open_source(images)}
    if not any(page.name in named for page in book.pages):
        raise InputError(
            f"{images}: no page here is called as one of {book.folder}, like {book.pages[0].name}."
        )
    for page in book.pages:
        found = named.get(page.name)
        if page.source is None and found is not None:
            page = replace(page, source=_kept(found, book.folder))
        yield page


def _kept(page: SourcePage, folder: Path) -> SourcePage:
    """The page with its image in the book's folder, from the first time that it is looked at."""
    return replace(page, loader=partial(_load_kept, page, folder))


def _load_kept(page: SourcePage, folder: Path) -> Scan:
    """The page as it was stored; its image is put into the folder where it is not there yet."""
    there = image_named(folder, page.name)
    if there is not None:
        return load_scan(there)
    file = Path(page.file)
    named = file.suffix.lower() in IMAGE_SUFFIXES and file.stem == page.name
    if named and file.is_file() and is_one_image(file):
        target = folder / file.name
        with file.open("rb") as stored, open_whole(target) as copy:
            shutil.copyfileobj(stored, copy)
        return load_scan(target)
    scan, out = page.loader(), BytesIO()
    if scan.jpeg is None:
        Image.fromarray(scan.pixels).save(out, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    target = folder / f"{page.name}.jpg"
    write_bytes(scan.jpeg or out.getvalue(), target)
    return load_scan(target)


def image_file(book: Book, page: BookPage) -> str:
    """The name of the page's image in the book's folder; empty where there is none."""
    kept = image_named(book.folder, page.name)
    if kept is not None:
        return kept.name
    file = Path(page.source.file) if page.source is not None else None
    return file.name if file is not None and file.parent == book.folder else ""
