"""Label files as MTHv2 and M5HisDoc have them: one for the lines of a page, one for its characters.

Files come in, a Page goes out. The two data sets differ only in their folders' names and in the order of a
row's fields; a `LabelFolders` says where a page's files lie and how its rows read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import atan2, ceil
from pathlib import Path
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.formats.numbers import parse_number
from tongguocr.geometry import Point, bounds, centre, cross_section, make_box, union
from tongguocr.page import Char, Line, Page, guess_direction
from tongguocr.sources import IMAGE_SUFFIXES, image_named, image_size

Fields: TypeAlias = Callable[[str], tuple[str, list[str]] | None]
"""A row's text and its numbers, still as text; None where the row has not the right shape."""

_ROW_END = re.compile(r"\r\n|\n|\r")
_LIST_SUFFIXES = (*IMAGE_SUFFIXES, ".txt")


@dataclass(frozen=True, slots=True)
class LabelFolders:
    """One folder of images with the labels beside it."""

    root: Path
    """The data set's own root: image names are given from here."""
    images: Path
    textlines: Path
    chars: Path
    textline_fields: Fields
    char_fields: Fields

    def read(self, name: str) -> Page:
        """The page of this name; the character labels may be missing, the line labels not."""
        lines = tuple(_lines(self.textlines / f"{name}.txt", self.textline_fields))
        chars_path = self.chars / f"{name}.txt"
        if chars_path.exists():
            lines = attach_chars(lines, list(_chars(chars_path, self.char_fields)))
        image = image_named(self.images, name)
        size = image_size(image) if image else extent(lines)
        return Page((image or self.images / name).relative_to(self.root).as_posix(), *size, lines)

    def names(self) -> list[str]:
        """Every page that has line labels."""
        return sorted(path.stem for path in self.textlines.glob("*.txt"))


def rows_of(path: Path) -> Iterator[tuple[int, str]]:
    """The file's rows with their numbers from 1, blank ones left out."""
    for number, row in enumerate(_ROW_END.split(decode_utf8(read_bytes(path), path)), start=1):
        if row.strip():
            yield number, row


def read_split(path: Path) -> list[str]:
    """The entries of an official list: names or paths, with or without a suffix."""
    return [row.strip().replace("\\", "/") for _, row in rows_of(path)]


def page_name(entry: str) -> str:
    """The page's name in an entry of a list: no folder, no image suffix (a name may hold other dots)."""
    name = entry.rsplit("/", 1)[-1]
    stem, dot, suffix = name.rpartition(".")
    return stem if f"{dot}{suffix}".lower() in _LIST_SUFFIXES else name


def extent(lines: Iterable[Line]) -> tuple[int, int]:
    """A page size for a page without its image: as far as its lines reach."""
    boxes = [line.box for line in lines]
    reach = union(boxes) if boxes else (0, 0, 0, 0)
    return max(0, ceil(reach[2])), max(0, ceil(reach[3]))


def clockwise(points: Iterable[Point]) -> tuple[Point, ...]:
    """Corners in no order, put in order: clockwise on the page, the one nearest its top left first."""
    corners = list(points)
    cx, cy = (sum(axis) / len(corners) for axis in zip(*corners, strict=True))
    # y grows downwards, so growing angles run clockwise.
    corners.sort(key=lambda p: atan2(p[1] - cy, p[0] - cx))
    first = min(range(len(corners)), key=lambda i: (corners[i][0] + corners[i][1], corners[i]))
    return tuple(corners[first:] + corners[:first])


def make_line(name: str, text: str, points: Iterable[Point]) -> Line:
    """A line from its outline; four corners are put in order, a longer outline is an order already."""
    polygon = tuple(points)
    polygon = clockwise(polygon) if len(polygon) == 4 else polygon
    box = bounds(polygon)
    return Line(name, box, text, direction=guess_direction(box, text), polygon=polygon)


def _lines(path: Path, fields: Fields) -> Iterator[Line]:
    for number, (row, text, values) in enumerate(_parsed(path, fields), start=1):
        if len(values) != 8:
            raise InputError(f"{path}: row {row} must hold a text and eight numbers.")
        yield make_line(f"l{number}", text, zip(values[::2], values[1::2], strict=True))


def _chars(path: Path, fields: Fields) -> Iterator[Char]:
    for row, text, values in _parsed(path, fields):
        if len(values) != 4 or not text:
            raise InputError(f"{path}: row {row} must hold a character and four numbers.")
        yield Char(text, make_box(*values))


def _parsed(path: Path, fields: Fields) -> Iterator[tuple[int, str, list[float]]]:
    for number, row in rows_of(path):
        found = fields(row)
        if found is None:
            raise InputError(f"{path}: row {number} is not a label: {row[:40]!r}.")
        text, values = found
        yield number, text, [parse_number(value, f"{path}: row {number}") for value in values]


def attach_chars(lines: Sequence[Line], chars: Sequence[Char]) -> tuple[Line, ...]:
    """The lines with their characters, which a label file gives without saying which line each belongs to.

    A character belongs to the line around its centre. A line gets its characters only if they spell its text,
    white space aside: in the order of their places along the line, or in the order of the label file, where
    stray boxes of a neighbour are left out if that can be done in one way only. Otherwise the line gets none:
    nothing is invented, and `chars` is complete or empty.
    """
    members: list[list[Char]] = [[] for _ in lines]
    for char in chars:
        line = _line_around(char, lines)
        if line is not None:
            members[line].append(char)
    return tuple(
        replace(line, chars=_spelling(line, found)) for line, found in zip(lines, members, strict=True)
    )


def _line_around(char: Char, lines: Sequence[Line]) -> int | None:
    """The line that the character's centre lies in; of several, one whose text has it, then the nearest.

    Outlines come first: only a character in no line's outline goes by the boxes.
    """
    point = centre(char.box)
    for outlines in (True, False):
        around = [
            (char.text not in line.text, distance, i)
            for i, line in enumerate(lines)
            if (distance := _distance_to_axis(point, line, outlines)) is not None
        ]
        if around:
            return min(around)[2]
    return None


def _distance_to_axis(point: Point, line: Line, outlines: bool) -> float | None:
    """How far across the line the point lies from its middle; None outside the line."""
    x0, y0, x1, y1 = line.box
    if not (x0 <= point[0] <= x1 and y0 <= point[1] <= y1):
        return None
    along, across = (1, 0) if line.is_vertical else (0, 1)
    edges: tuple[float, float] | None = (line.box[across], line.box[across + 2])
    if outlines and line.polygon:
        edges = cross_section(line.polygon, point[along], along)
    if edges is None or not edges[0] <= point[across] <= edges[1]:
        return None
    return abs(point[across] - (edges[0] + edges[1]) / 2)


def _spelling(line: Line, found: Sequence[Char]) -> tuple[Char, ...]:
    """Those of the characters that spell the line's text, or none."""
    text = "".join(line.text.split())
    axis, sign = (
        (1 if line.is_vertical else 0),
        (-1 if line.direction in ("right-to-left", "bottom-to-top") else 1),
    )
    along = sorted(found, key=lambda char: sign * centre(char.box)[axis])
    for order in (along, list(found)):
        if "".join(char.text for char in order) == text:
            return tuple(order)
    for order in (along, list(found)):
        first = _embedding(text, order)
        last = [len(order) - 1 - i for i in reversed(_embedding(text[::-1], order[::-1], reverse=True))]
        if first and first == last:
            return tuple(order[i] for i in first)
    return ()


def _embedding(text: str, chars: Sequence[Char], reverse: bool = False) -> list[int]:
    """The earliest characters that spell the text in this order, by their places; empty where they do not."""
    taken, at = [], 0
    for i, char in enumerate(chars):
        part = char.text[::-1] if reverse else char.text
        if at < len(text) and text.startswith(part, at):
            taken.append(i)
            at += len(part)
    return taken if at == len(text) else []
