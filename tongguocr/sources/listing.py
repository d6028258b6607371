"""SourcePage, page ranges and names: what all kinds of source share.

A page's name becomes the name of its results, so it must be stable, must not depend on which pages are read,
and must never lead out of the folder that the results go to.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.page import Page, Pixels, bare_page
from tongguocr.sources.images import MemoryFile, Scan, StoredFile

PageRanges: TypeAlias = tuple[tuple[int, int | None], ...]
"""First and last page, both inside; None where the range goes on to the end."""

NaturalKey: TypeAlias = tuple[tuple[int, int, str], ...]

NAME_BYTES = 120
"""File systems allow 255 bytes, and a name still gets a page number and a suffix."""
_WINDOWS_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One page of a source, known by name; its pixels are read anew at each `load`.

    It holds no open file and can be sent to another process.
    """

    name: str
    """What results are called: the source's stem, with a number (book-0001) where it has several pages."""
    file: str
    """The file or address that holds the page."""
    number: int
    """Its place in the source, from 1: what page ranges count."""
    loader: Callable[[], Scan] = field(repr=False, compare=False)
    content: str = ""
    """What tells the file from others, where its name does not: of one in memory, a digest of its bytes."""
    address: str = ""
    """The http address at which others may have the page's image, where there is one."""

    def load(self) -> Pixels:
        """The page's pixels, 8-bit grey or RGB; an InputError that names file and page if there are none."""
        return self.loader().pixels

    def load_page(self) -> Page:
        """The page with its pixels, named after its file."""
        scan = self.loader()
        return bare_page(Path(self.file).name, scan.pixels, scan.jpeg)


def content_of(file: StoredFile) -> str:
    """What tells a file in memory from others of its name; one on the disk has its path."""
    return hashlib.sha256(file.data).hexdigest()[:24] if isinstance(file, MemoryFile) else ""


def page_name(stem: str, number: int, count: int) -> str:
    """What the results of a page are called: its source's stem, numbered where there are several pages."""
    return f"{stem}-{number:04d}" if count > 1 else stem


def unique_page(page: SourcePage, used: set[str]) -> SourcePage:
    """The page under a name that no other of its source has: with _2, _3 … where it is taken."""
    name, copy = page.name, 2
    while name.casefold() in used:
        name, copy = f"{page.name}_{copy}", copy + 1
    used.add(name.casefold())
    return replace(page, name=name)


def parse_pages(written: str) -> PageRanges:
    """Page ranges as a reader writes them: "1-3,7,12-"."""
    ranges: list[tuple[int, int | None]] = []
    for part in written.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(-?)\s*([0-9]{1,9})?\s*", part)
        if match is None or (match[3] and not match[2]):
            raise InputError(f"{written!r}: not a range of pages; write it like 1-3,7,12-.")
        first = int(match[1])
        last = int(match[3]) if match[3] else (None if match[2] else first)
        if first < 1 or (last is not None and last < first):
            raise InputError(f"{written!r}: pages count from 1, and a range goes from lower to higher.")
        ranges.append((first, last))
    return tuple(ranges)


def pick_pages(pages: Iterator[SourcePage], wanted: PageRanges, source: str) -> Iterator[SourcePage]:
    """The wanted pages in the source's own order; a source that has none of them is an InputError."""
    ends = [last for _, last in wanted]
    stop = None if None in ends else max(last for last in ends if last is not None)
    picked, seen = False, 0
    for page in pages:
        if stop is not None and page.number > stop:
            return
        seen = page.number
        if any(first <= seen and (last is None or seen <= last) for first, last in wanted):
            picked = True
            yield page
    if not picked:
        raise InputError(f"{source}: it ends with page {seen}, and only later ones are asked for.")


def natural_key(name: str) -> NaturalKey:
    """Sorts names as people count: page2 before page10."""
    parts = re.split(r"([0-9]+)", name)
    return (
        *((0, int(part), "") if i % 2 else (1, 0, part.casefold()) for i, part in enumerate(parts) if part),
        (-1, 0, name),
    )


def safe_name(written: str, fallback: str = "page") -> str:
    """A file name from a title that a stranger wrote: one harmless part of a path, never empty.

    Characters stay as they are, rare and private ones too; only what file systems, shells or the eye would
    take for something else becomes "_".
    """
    kept = "".join("_" if _is_trouble(char) else char for char in written)
    kept = re.sub("_{2,}", "_", kept).strip("._-")
    kept = kept.encode()[:NAME_BYTES].decode(errors="ignore").rstrip("._-")
    if _WINDOWS_DEVICES.match(kept):
        return f"_{kept}"
    return kept or fallback


def _is_trouble(char: str) -> bool:
    """Separators, wildcards and quotes; control, invisible and half characters; every kind of space."""
    return char in "/\\:*?\"<>|'`$&;%#" or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")
