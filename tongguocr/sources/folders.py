"""Image files and folders of them -> their pages, in the order that people count in.

In: a path. Out: one page an image, several for a TIFF that has several. Hidden files and whatever is no image
by its suffix are passed over; `passed_over` tells what that is, but for hidden files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.sources.images import IMAGE_SUFFIXES, StoredFile, load_frame, tiff_pages
from tongguocr.sources.listing import NaturalKey, SourcePage, content_of, natural_key, page_name, unique_page


def list_file(file: StoredFile) -> Iterator[SourcePage]:
    """The pages of one image file."""
    return iter(_pages_of(file, file.stem))


def list_folder(folder: Path, recursive: bool = False) -> Iterator[SourcePage]:
    """The pages of a folder's images; those of its subfolders only when asked for."""
    try:
        files = sorted(_images_in(folder, recursive), key=lambda path: _place(path, folder))
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read ({error.strerror}).") from None
    if not files:
        raise InputError(f"{folder}: there is no image in this folder.")
    return _number_pages(zip(files, _stems(files, folder), strict=True))


def passed_over(folder: Path, recursive: bool = False) -> list[str]:
    """What a folder has besides its images and what belongs to them: other files, unread subfolders."""
    try:
        entries = list(_entries(folder, recursive))
    except OSError:
        return []  # Listing it says why.
    images = {(path.parent, path.stem) for path in entries if _is_image(path)}
    found = [path for path in entries if not _is_image(path) and not _belongs(path, images)]
    shown = (path.relative_to(folder).as_posix() + ("/" if path.is_dir() else "") for path in found)
    return sorted(shown, key=natural_key)


def _belongs(path: Path, images: set[tuple[Path, str]]) -> bool:
    """Whether a file has the name of an image beside it, as its lines and its results have."""
    parts = path.name.split(".")
    stems = [".".join(parts[:count]) for count in range(1, len(parts))]
    # Of a TIFF with several pages, each has its number behind the stem.
    stems += [re.sub(r"-[0-9]{4,}$", "", stem) for stem in stems]
    return any((path.parent, stem) in images for stem in stems)


def _images_in(folder: Path, recursive: bool) -> Iterator[Path]:
    return filter(_is_image, _entries(folder, recursive))


def _is_image(path: Path) -> bool:
    # A broken link is a page too: loading it says what is wrong.
    return path.suffix.lower() in IMAGE_SUFFIXES and (path.is_file() or not path.exists())


def _entries(folder: Path, recursive: bool) -> Iterator[Path]:
    """Whatever is in a folder; of subfolders that are gone through, what is in them."""
    for entry in folder.iterdir():
        if entry.name.startswith("."):
            continue
        # A link to a folder may lead back up, and round and round.
        if recursive and entry.is_dir() and not entry.is_symlink():
            yield from _entries(entry, recursive)
        else:
            yield entry


def _place(path: Path, folder: Path) -> tuple[NaturalKey, ...]:
    parts = path.relative_to(folder).parent.parts
    return tuple(natural_key(part) for part in (*parts, path.stem, path.suffix))


def _stems(files: list[Path], folder: Path) -> Iterator[str]:
    """What each file's results are called: its stem, subfolders in front.

    Files that differ only in suffix or case keep their suffix (a.jpg and a.png), all of them, so that no name
    ever passes from one file to another when files are added.
    """
    places = [path.relative_to(folder).parts[:-1] for path in files]
    stems = ["_".join((*place, path.stem)) for place, path in zip(places, files, strict=True)]
    often = Counter(stem.casefold() for stem in stems)
    for place, path, stem in zip(places, files, stems, strict=True):
        yield stem if often[stem.casefold()] == 1 else "_".join((*place, path.name))


def _number_pages(files: Iterator[tuple[Path, str]]) -> Iterator[SourcePage]:
    """All pages counted through; a name that is still taken (a-0001.jpg beside a TIFF a) gets _2, _3 …"""
    used: set[str] = set()
    number = 0
    for path, stem in files:
        for page in _pages_of(path, stem):
            number += 1
            yield replace(unique_page(page, used), number=number)


def _pages_of(file: StoredFile, stem: str) -> list[SourcePage]:
    frames, content = tiff_pages(file), content_of(file)
    several = len(frames) > 1
    return [
        SourcePage(
            page_name(stem, number, len(frames)),
            str(file),
            number,
            partial(load_frame, file, frame, f"{file}, page {number}" if several else str(file)),
            content,
        )
        for number, frame in enumerate(frames, 1)
    ]
