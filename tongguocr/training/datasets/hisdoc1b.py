"""HisDoc1B: one annotation file a book; its folder in, pages out.

`annos/NAME.json` annotates `books/NAME.pdf` or `.djvu`. The names of its fields are not public, so they are
given as a `Mapping`; an error names the key that is missing. The books themselves are not opened here: a
page's image is `NAME.pdf#page=N`. One after another the pages are read book by book; drawn one at a time, by
an index that knows where in its file each page lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.files import read_bytes
from tongguocr.formats.numbers import is_number
from tongguocr.formats.page_json import load_json, one_line
from tongguocr.geometry import Point, bounds, make_box
from tongguocr.page import Char, Line, Page, guess_direction
from tongguocr.training.datasets.book_index import BookIndex, index_books
from tongguocr.training.datasets.indexed import OnError, read_each
from tongguocr.training.datasets.labels import extent, make_line

ANNOTATIONS = "annos"
BOOK_SUFFIXES = (".pdf", ".djvu")


@dataclass(frozen=True, slots=True)
class Mapping:
    """The keys of the annotation file. Only the first four must be there in every file."""

    pages: str = "pages"
    """The list of pages; empty where the file itself is that list."""
    lines: str = "lines"
    box: str = "box"
    """Four numbers x0, y0, x1, y1; or the numbers of more points; or a list of points."""
    text: str = "text"
    chars: str = "chars"
    """The characters of a line, each with `box` and `text`."""
    order: str = "order"
    """A line's place in reading order; where a line has none, the lines stay as they stand."""
    number: str = "page"
    """The page's number in its book from 1; its place in the list where it has none."""
    width: str = "width"
    height: str = "height"


def read_hisdoc1b(
    root: Path, mapping: Mapping | None = None, on_error: OnError | None = None
) -> Iterator[Page]:
    """Every page of every book, by book; a book or a page that cannot be read is one error."""
    paths = sorted((root / ANNOTATIONS).glob("*.json"))
    if not paths:
        raise InputError(f"{root}: there is no annos/NAME.json.")
    for path in paths:
        try:
            pages = _pages(path, mapping or Mapping())
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
            continue
        book = _book_name(root, path.stem)
        jobs = [partial(_page, page, n, book, path, mapping or Mapping()) for n, page in enumerate(pages)]
        yield from read_each(jobs, on_error)


@dataclass(frozen=True, slots=True)
class Books:
    """All pages of all books, each read by itself."""

    root: Path
    mapping: Mapping
    index: BookIndex

    def __len__(self) -> int:
        return len(self.index)

    def read(self, number: int) -> Page:
        """The page of this number from 0."""
        name, place = self.index.find(number)
        path = self.root / ANNOTATIONS / name
        data = load_json(self.index.read_bytes(number, path), path)
        return _page(data, place, _book_name(self.root, path.stem), path, self.mapping)


def open_hisdoc1b(
    root: Path,
    mapping: Mapping | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    on_error: OnError | None = None,
) -> Books:
    """Every page of every book, by book, none of them read yet; a book that cannot be read is one error."""
    if not any((root / ANNOTATIONS).glob("*.json")):
        raise InputError(f"{root}: there is no annos/NAME.json.")
    mapping = mapping or Mapping()
    explain = partial(_pages, mapping=mapping)
    return Books(
        root, mapping, index_books(root / ANNOTATIONS, mapping.pages, explain, say, on_error or _raise)
    )


def _raise(error: InputError) -> None:
    raise error


def _book_name(root: Path, stem: str) -> str:
    names = (f"{stem}{suffix}" for suffix in BOOK_SUFFIXES)
    return next((name for name in names if (root / "books" / name).exists()), stem)


def _pages(path: Path, mapping: Mapping) -> list[Any]:
    data = load_json(read_bytes(path), path)
    return _list(_get(data, mapping.pages, f"{path}:") if mapping.pages else data, f"{path}: the pages")


def _page(data: Any, index: int, book: str, path: Path, mapping: Mapping) -> Page:
    where = f"{path}: page {index + 1}"
    rows = _list(_get(data, mapping.lines, where), f"{where}: the lines")
    if rows and all(isinstance(row, dict) and is_number(row.get(mapping.order)) for row in rows):
        rows = sorted(rows, key=lambda row: row[mapping.order])
    lines = tuple(_line(row, n, f"{where}, line {n}", mapping) for n, row in enumerate(rows, start=1))
    number = data.get(mapping.number)
    number = number if isinstance(number, int) else index + 1
    size = [data.get(key) for key in (mapping.width, mapping.height)]
    known = all(is_number(value) and value >= 0 for value in size)
    width, height = map(int, size) if known else extent(lines)
    return Page(f"{book}#page={number}", width, height, lines)


def _line(data: Any, number: int, where: str, mapping: Mapping) -> Line:
    text = _text(data, where, mapping)
    points = _points(_get(data, mapping.box, where), where)
    rows = _list(data.get(mapping.chars) or [], f"{where}: the characters")
    chars = tuple(
        Char(_text(row, where, mapping), bounds(_points(_get(row, mapping.box, where), where)))
        for row in rows
    )
    if len(points) > 2:
        return replace(make_line(f"l{number}", text, points), chars=chars)
    box = make_box(*points[0], *points[1])
    return Line(f"l{number}", box, text, direction=guess_direction(box, text), chars=chars)


def _get(data: Any, key: str, where: str) -> Any:
    if not isinstance(data, dict) or key not in data:
        raise InputError(f"{where} has no key {key!r}.")
    return data[key]


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where} must be a list.")
    return value


def _text(data: Any, where: str, mapping: Mapping) -> str:
    return one_line(_get(data, mapping.text, where), f"{where}: {mapping.text!r}")


def _points(value: Any, where: str) -> list[Point]:
    """Two corners of a box, or the corners of a polygon."""
    values = value if isinstance(value, list) else []
    numbers = [n for point in values for n in (point if isinstance(point, list) else [point])]
    if len(numbers) < 4 or len(numbers) % 2 or not all(map(is_number, numbers)):
        raise InputError(f"{where}: the box must be four numbers, or points.")
    return list(zip(numbers[::2], numbers[1::2], strict=True))
