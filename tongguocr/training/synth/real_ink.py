"""Real ink: images of single lines, read and stored.

In: a table (tar, member, text; tab-separated) with tars of line images beside it. Out: `Lines`, in which each
image is ink from 0 to 255 against its own paper, with its characters' places estimated (line_cuts.py). Blocks
are made of them in real_blocks.py.

Pages are held out whole: `split` tells which by the page's name alone, so that it holds everywhere.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.page import Pixels
from tongguocr.tokens.transitions import joins_previous
from tongguocr.training.synth.line_cuts import CIRCLE, cut_line, extract_ink

Part: TypeAlias = Literal["train", "test"]

HELD_OUT = 10
"""One page in so many is for tests."""
HISTORY = "DVSKTT"
"""大越史記全書, in classical Chinese; all other books of this set are verse in Nôm."""


def page_of(name: str) -> str:
    """The book and page of a line's file name: BOOK__PAGE_NUMBER.webp without the line's number."""
    stem = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    page, _, number = stem.rpartition("_")
    return page if page and number.isdigit() else stem


def book_of(name: str) -> str:
    return page_of(name).partition("__")[0]


def is_history(name: str) -> bool:
    """Whether the line is classical Chinese and not Nôm verse."""
    return book_of(name).startswith(HISTORY)


def split(name: str) -> Part:
    """The part to which the line's whole page belongs."""
    digest = sha256(page_of(name).encode("utf-8")).digest()
    return "test" if int.from_bytes(digest[:4], "big") % HELD_OUT == 0 else "train"


@dataclass(frozen=True, slots=True)
class LineImage:
    """One line's ink and what it says."""

    name: str
    text: str
    ink: Pixels
    """height x width, 0 for paper to 255."""
    cuts: NDArray[np.float32]
    """Where each character begins along the line, and where the last one ends, in pixels."""


def characters(text: str) -> tuple[str, ...]:
    """The text's characters, each with the marks that belong to it."""
    found: list[str] = []
    for char in text:
        if found and joins_previous(char):
            found[-1] += char
        else:
            found.append(char)
    return tuple(found)


def read_lines(table: Path, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[LineImage]:
    """The lines of a table whose file name is wanted, tar by tar."""
    for name, text, grey in read_images(table, wanted):
        yield make_line(name, text, grey)


def line_names(table: Path) -> Iterator[str]:
    """The file names of a table's lines."""
    return (name for _, name, _ in _rows(table))


def read_images(
    table: Path, wanted: Callable[[str], bool] = lambda name: True
) -> Iterator[tuple[str, str, Pixels]]:
    """File name, text and grey image of the lines that are wanted, tar by tar."""
    rows = _rows(table)
    for archive in dict.fromkeys(row[0] for row in rows):
        texts = {name: text for tar, name, text in rows if tar == archive and wanted(name)}
        if texts:
            yield from _images_of(table.parent / archive, texts)


def _rows(table: Path) -> list[tuple[str, str, str]]:
    rows = []
    for number, line in enumerate(decode_utf8(read_bytes(table), table).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        if len(cells) != 3 or not all(cells):
            raise InputError(
                f"{table}, line {number}: this is not a tar, a file name and a text between tabs."
            )
        rows.append((cells[0], cells[1], cells[2]))
    if not rows:
        raise InputError(f"{table}: there are no lines in it.")
    return rows


def _images_of(archive: Path, texts: dict[str, str]) -> Iterator[tuple[str, str, Pixels]]:
    left = dict(texts)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                text = left.pop(member.name, None)
                if text is not None and (data := tar.extractfile(member)) is not None:
                    yield member.name, text, _open(data.read(), archive, member.name)
    except FileNotFoundError:
        raise InputError(f"{archive}: there is no such file.") from None
    except (tarfile.TarError, OSError, EOFError):
        raise InputError(f"{archive}: this is not a tar, or it is damaged.") from None
    if left:
        raise InputError(f"{archive}: {next(iter(left))} is in the table but not in this tar.")


def _open(data: bytes, archive: Path, name: str) -> Pixels:
    try:
        with Image.open(BytesIO(data)) as image:
            return np.asarray(image.convert("L"))
    except (OSError, ValueError, Image.DecompressionBombError):
        raise InputError(f"{archive}: {name} is not an image, or it is damaged.") from None


def make_line(name: str, text: str, grey: Pixels) -> LineImage:
    """A line from its grey image, with its characters' places and the circles that its text leaves out."""
    ink, chars = extract_ink(grey), list(characters(text))
    cuts, circles = cut_line(ink, len(chars))
    for row in circles:
        chars.insert(int(np.searchsorted(cuts[1:-1], row)), CIRCLE)
    return LineImage(name, "".join(chars), ink, cuts)


@dataclass(frozen=True)
class Lines:
    """Many lines, their ink one behind the other."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    ink: NDArray[np.uint8]
    starts: NDArray[np.int64]
    """Where each line's ink begins in `ink`."""
    sizes: NDArray[np.int32]
    """n x 2: width and height."""
    cuts: tuple[NDArray[np.float32], ...]

    def __len__(self) -> int:
        return len(self.names)


def gather(lines: Sequence[LineImage]) -> Lines:
    sizes = np.array([line.ink.shape[::-1] for line in lines], np.int32).reshape(-1, 2)
    areas = sizes.astype(np.int64).prod(axis=1)
    return Lines(
        names=tuple(line.name for line in lines),
        texts=tuple(line.text for line in lines),
        ink=np.concatenate([np.zeros(0, np.uint8), *(line.ink.ravel() for line in lines)]),
        starts=np.cumsum(areas) - areas,
        sizes=sizes,
        cuts=tuple(line.cuts for line in lines),
    )


def join(first: Lines, second: Lines) -> Lines:
    """The lines of both, those of the second behind those of the first."""
    return Lines(
        names=first.names + second.names,
        texts=first.texts + second.texts,
        ink=np.concatenate([first.ink, second.ink]),
        starts=np.concatenate([first.starts, second.starts + len(first.ink)]),
        sizes=np.concatenate([first.sizes, second.sizes]),
        cuts=first.cuts + second.cuts,
    )


def save_lines(lines: Lines, path: Path) -> None:
    try:
        np.savez_compressed(
            path,
            names=np.array(lines.names),
            texts=np.array(lines.texts),
            ink=lines.ink,
            sizes=lines.sizes,
            cuts=np.concatenate([np.zeros(0, np.float32), *lines.cuts]),
            counts=np.array([len(cuts) for cuts in lines.cuts], np.int64),
        )
    except OSError as error:
        raise InputError(f"{path}: the lines cannot be written ({error.strerror}).") from None


def load_lines(path: Path) -> Lines:
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as data:
            sizes, counts = data["sizes"], data["counts"]
            areas = sizes.astype(np.int64).prod(axis=1)
            cuts = tuple(np.split(data["cuts"], np.cumsum(counts)[:-1]))
            names, texts = tuple(data["names"].tolist()), tuple(data["texts"].tolist())
            return Lines(names, texts, data["ink"], np.cumsum(areas) - areas, sizes, cuts)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError, LookupError, EOFError, TypeError, zipfile.BadZipFile):
        raise InputError(f"{path}: these are not packed lines, or the file is damaged.") from None
