"""Where pages begin in annotation files: files of many pages in, one small index out, kept beside the data.

An annotation file of HisDoc1B is the JSON of a whole book. It is gone through once; from then on a page is
read by itself, from its first byte to its last, so that pages can be drawn in any order and no book is parsed
for one of them. The index takes 12 bytes a page: 38 MB for three million. It lies in the data set's folder,
and only files that have changed since are gone through again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.errors import InputError
from tongguocr.files import open_whole

INDEX = "tongguocr-index.npz"
"""The index's file in a data set's folder."""
VERSION = 1
MANY = 200
"""So many files are gone through by several processes."""

Spans: TypeAlias = NDArray[np.int64]
"""pages x 2: the first byte of each page, and how many it has."""
Places: TypeAlias = list[tuple[int, int]]
"""Where elements begin and end in a text."""
Stamp: TypeAlias = tuple[int, int]
"""A file's size and when it was changed."""
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder().raw_decode
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class BookIndex:
    """The pages of some annotation files, in the files' order."""

    names: tuple[str, ...]
    """The files."""
    first: NDArray[np.int64]
    """The number of each file's first page, and that behind the last page of all."""
    offsets: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    """Where each page begins in its file, and how many bytes it has."""

    def __len__(self) -> int:
        return len(self.offsets)

    def find(self, number: int) -> tuple[str, int]:
        """The file of a page, and the page's number in it from 0."""
        book = int(np.searchsorted(self.first, number, "right")) - 1
        return self.names[book], number - int(self.first[book])

    def read_bytes(self, number: int, path: Path) -> bytes:
        """The JSON of one page, from its file."""
        try:
            with path.open("rb") as file:
                file.seek(int(self.offsets[number]))
                return file.read(int(self.lengths[number]))
        except OSError as error:
            raise InputError(f"{path}: the file cannot be read ({error.strerror}).") from None


def index_books(
    folder: Path,
    key: str,
    explain: Callable[[Path], object],
    say: Callable[[str], None],
    on_error: Callable[[InputError], None],
) -> BookIndex:
    """The index of a folder's JSON files, each an object with a list of pages under `key`, or such a list.

    It is read from the folder's parent and written there; without leave to write it is made anew each time. A
    file that has no list of pages is given to `explain`, whose error goes to `on_error`.
    """
    stamps = _stamps(folder)
    file = folder.parent / INDEX
    known = _load(file, key)
    books = {name: known[name] for name in stamps if name in known and known[name][0] == stamps[name]}
    new = [name for name in stamps if name not in books]
    if len(new) >= MANY:
        say(f"{folder}: finding the pages of {len(new)} books, once: {file} will know where they are.")
    for name, spans in zip(new, _scan_all([folder / name for name in new], key), strict=True):
        if spans is not None:
            books[name] = stamps[name], spans
            continue
        try:
            explain(folder / name)
        except InputError as error:
            on_error(error)
        else:
            on_error(InputError(f"{folder / name}: this is no JSON with a list of pages."))
    if books.keys() != known.keys() or any(name in books for name in new):
        try:
            _save(books, file, key)
        except InputError as error:
            if len(new) >= MANY:
                say(f"The index of pages is not kept: {error}")
    return _join({name: books[name][1] for name in sorted(books)})


def find_pages(data: bytes, key: str) -> Spans:
    """Where each page of this JSON lies; a ValueError where there is no list of pages."""
    text = data.decode("utf-8-sig")
    pages, end = _elements(text, _skip(text, 0)) if not key else _under_key(text, key)
    if _skip(text, end) != len(text):
        raise ValueError("something stands behind the JSON")
    spans: list[tuple[int, int]] = []
    at, behind = len(_MARK) if data.startswith(_MARK) else 0, 0
    # Places in a text are counted in characters, those in a file in bytes.
    for begin, end in pages:
        at += len(text[behind:begin].encode())
        length = len(text[begin:end].encode())
        spans.append((at, length))
        at, behind = at + length, end
    return np.array(spans, np.int64).reshape(-1, 2)


def _under_key(text: str, key: str) -> tuple[Places, int]:
    """The elements of the list that an object has under a key, and where the object ends.

    Of several members of one name the last counts, as everywhere in Python.
    """
    found: Places | None = None
    at = _opened(text, _skip(text, 0), "{")
    more = text[at : at + 1] != "}"
    at += not more
    while more:
        name, at = _DECODE(text, at)
        at = _opened(text, _skip(text, at), ":")
        if name == key:
            found, at = _elements(text, at)
        else:
            at = _DECODE(text, at)[1]
        more, at = _more(text, _skip(text, at), "}")
    if found is None:
        raise ValueError("there is no such key")
    return found, at


def _elements(text: str, at: int) -> tuple[Places, int]:
    """Where the elements of the list that begins here begin and end, and where the list ends."""
    places: Places = []
    at = _opened(text, at, "[")
    more = text[at : at + 1] != "]"
    at += not more
    while more:
        end = _DECODE(text, at)[1]
        places.append((at, end))
        more, at = _more(text, _skip(text, end), "]")
    return places, at


def _opened(text: str, at: int, sign: str) -> int:
    """What follows this sign, which must stand here."""
    if text[at : at + 1] != sign:
        raise ValueError(f"there is no {sign}")
    return _skip(text, at + 1)


def _more(text: str, at: int, last: str) -> tuple[bool, int]:
    """Whether a comma stands here, and where it goes on; if not, the closing sign must."""
    if text[at : at + 1] == ",":
        return True, _skip(text, at + 1)
    if text[at : at + 1] != last:
        raise ValueError(f"there is no {last}")
    return False, at + 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _scan_all(paths: Sequence[Path], key: str) -> Iterator[Spans | None]:
    """Each file's pages; None where it has none to find. Many files are shared out among processes."""
    scan, forks = partial(_scan, key=key), "fork" in multiprocessing.get_all_start_methods()
    count = min(os.cpu_count() or 1, 8)
    if len(paths) < MANY or count == 1 or not forks:
        yield from map(scan, paths)
        return
    with ProcessPoolExecutor(count, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(scan, paths, chunksize=8)


def _scan(path: Path, key: str) -> Spans | None:
    try:
        return find_pages(path.read_bytes(), key)
    except (OSError, ValueError, RecursionError):
        return None


def _stamps(folder: Path) -> dict[str, Stamp]:
    """The JSON files of a folder by name, each with its size and when it was changed."""
    with os.scandir(folder) as entries:
        found = ((entry.name, entry.stat()) for entry in entries if entry.name.endswith(".json"))
        return dict(sorted((name, (held.st_size, held.st_mtime_ns)) for name, held in found))


def _join(books: Mapping[str, Spans]) -> BookIndex:
    spans = np.concatenate([np.empty((0, 2), np.int64), *books.values()])
    first = np.cumsum([0, *map(len, books.values())], dtype=np.int64)
    return BookIndex(tuple(books), first, spans[:, 0].copy(), spans[:, 1].astype(np.uint32))


def _save(books: Mapping[str, tuple[Stamp, Spans]], path: Path, key: str) -> None:
    index = _join({name: spans for name, (_, spans) in books.items()})
    stamps = np.array([stamp for stamp, _ in books.values()], np.int64).reshape(-1, 2)
    said = json.dumps({"version": VERSION, "key": key, "names": index.names}).encode()
    with open_whole(path) as file:
        np.savez(
            file,
            said=np.frombuffer(said, np.uint8),
            stamps=stamps,
            first=index.first,
            offsets=index.offsets,
            lengths=index.lengths,
        )


def _load(path: Path, key: str) -> dict[str, tuple[Stamp, Spans]]:
    """What an index that was kept says of each file; nothing where there is none of this kind."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            said: dict[str, Any] = json.loads(held["said"].tobytes())
            if (said["version"], said["key"]) != (VERSION, key):
                return {}
            spans = np.stack([held["offsets"], held["lengths"].astype(np.int64)], 1)
            first, stamps = held["first"], held["stamps"].tolist()
            return {
                name: ((stamps[k][0], stamps[k][1]), spans[first[k] : first[k + 1]])
                for k, name in enumerate(said["names"])
            }
    except FileNotFoundError:
        return {}
    except Exception:  # a damaged file fails in the unpacker in any way it likes, and is made anew
        return {}
