"""Fonts of this system that draw Chinese characters: for pictures with text; none is a part of the package.

In: a character and a size. Out: the first font of the system's that has the character. The fonts are looked
for where Linux, macOS and Windows keep them: a well-known face, else any that draws Chinese, and behind it
those for rare characters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from PIL import ImageFont

KNOWN = (
    *("notoserifcjk-regular", "notoserifcjktc", "notoseriftc", "sourcehanserif", "notosanscjk-regular"),
    *("sourcehansans", "songti", "uming", "mingliu", "simsun", "msung", "tw-sung-98", "batang"),
    *("pingfang", "stheiti", "heiti", "msjh", "msyh", "simhei", "wqy", "ipamj", "lxgwwenkai"),
)
"""Beginnings of file names, in lower case, in the order in which these faces are taken."""
RARE = (
    "tw-sung-ext",
    "tw-sung-plus",
    "simsunb",
    "mingliub",
    "hanamina",
    "hanaminb",
    "babelstonehan",
    "jigmo",
)
"""Those with the rare characters."""
ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
PROBE = "書龍"
"""A font that has these draws Chinese."""
MOST = 6
"""More fonts are not kept: each is looked through for every rare character."""
NO_FONT = "No font with Chinese characters was found on this system: the overlay has no text."
_MISSING = "\U0010ffff"
"""No font has this character: what is drawn for it is drawn for all that are missing."""


@dataclass(frozen=True, slots=True)
class Face:
    """One font file, opened at the sizes that are asked for."""

    path: Path

    def at(self, size: int) -> ImageFont.FreeTypeFont:
        return _open(self.path, size)

    def has(self, char: str) -> bool:
        """Whether the font draws the character."""
        return _draws(self.path, char)


@cache
def find_faces() -> tuple[Face, ...]:
    """The system's fonts that draw Chinese, one for most characters first; none where it has none."""
    paths = {path for folder in _folders() for path in _fonts_in(folder)}
    files = sorted(paths, key=lambda path: (path.name.lower(), path))
    usable = (path for path in (*_named(KNOWN, files), *files) if all(_draws(path, c) for c in PROBE))
    found = dict.fromkeys((*islice(usable, 1), *_named(RARE, files)))
    return tuple(map(Face, islice(found, MOST)))


def _named(names: Sequence[str], files: Sequence[Path]) -> Iterator[Path]:
    """The files with these beginnings of names, in the order of the names."""
    yield from (path for name in names for path in files if path.name.lower().startswith(name))


def face_for(char: str, faces: tuple[Face, ...]) -> Face | None:
    """The first of the fonts that has the character."""
    return next((face for face in faces if face.has(char)), None)


def _folders() -> Iterator[Path]:
    """Where systems keep their fonts."""
    home = Path.home()
    if sys.platform == "win32":
        yield Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"
        yield home / "AppData/Local/Microsoft/Windows/Fonts"
    elif sys.platform == "darwin":
        yield from (Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts")
    else:
        shared = os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        yield from (Path(folder) / "fonts" for folder in shared.split(":") if folder)
        yield from (home / ".local/share/fonts", home / ".fonts")


def _fonts_in(folder: Path) -> Iterator[Path]:
    for where, _, names in os.walk(folder, followlinks=True):
        yield from (Path(where) / name for name in names if name.lower().endswith(ENDINGS))


@cache
def _open(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size)


@cache
def _draws(path: Path, char: str) -> bool:
    try:
        font = _open(path, 20)
        return bytes(font.getmask(char[0])) != _missing(path)
    except (OSError, ValueError):
        return False  # A file that is no font, whatever its name says.


@cache
def _missing(path: Path) -> bytes:
    return bytes(_open(path, 20).getmask(_MISSING))
