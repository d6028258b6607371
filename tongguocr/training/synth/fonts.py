"""The faces of a font folder: which characters each really draws, which one a page takes, and its glyphs.

In: a folder of .ttf, .otf and .ttc files. Out: a FontBook, and glyphs as grey masks in their em box. The list
faces.json says how the fonts of docs/fonts.md are used; fonts that it does not know are used too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tongguocr.characters import is_ideograph
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.page import Pixels
from tongguocr.training.synth.composition import OVERHANG
from tongguocr.training.synth.outlines import CodePoints, read_face

Group: TypeAlias = Literal["song", "kai", "brush", "cut"]
"""Printed Song or Ming; regular script and Fangsong; written with a brush; antique, as if cut by hand."""

SUFFIXES = (".ttf", ".otf", ".ttc")
WIDE = 40_000
"""A face with this many characters has the rare ones too."""
SHARPNESS = 128
"""Glyphs are drawn about this large and reduced: hinting does not move them, no embedded bitmap is taken."""

_KAI_NAMES, _BRUSH_NAMES = ("kai", "fang"), ("brush", "mouhitsu", "gyosho", "xing")
_NEAREST_GROUP: dict[Group, Group] = {"brush": "kai", "kai": "brush", "cut": "song", "song": "cut"}


@dataclass(frozen=True, slots=True)
class Face:
    """One face of one font file."""

    key: str
    path: Path
    index: int
    weight: float
    """How often a page takes it; 0: only for characters that others lack."""
    group: Group
    held_out: bool
    """Kept for the benchmark: no training page may show it."""
    baseline: float
    """How far below the em box's top the baseline lies, as a share of the em."""
    codepoints: CodePoints = field(compare=False, repr=False)

    def draws(self, char: str) -> bool:
        at = int(np.searchsorted(self.codepoints, ord(char)))
        return at < len(self.codepoints) and int(self.codepoints[at]) == ord(char)


@dataclass(frozen=True)
class FontBook:
    """All faces of a folder; a face is named by its number here."""

    faces: tuple[Face, ...]

    def pick(self, rng: np.random.Generator, held_out: bool = False) -> int:
        """A face for a page, by weight; for the benchmark only held-out ones, otherwise none of them."""
        return self._draw(rng, self._pickable(held_out))

    def pick_group(self, rng: np.random.Generator, group: Group, held_out: bool = False) -> int:
        """A face of this group, or of the most similar one where there is none, or any."""
        choice = self._pickable(held_out)
        for wanted in (group, _NEAREST_GROUP[group]):
            if found := [k for k in choice if self.faces[k].group == wanted]:
                return self._draw(rng, found)
        return self._draw(rng, choice)

    def face_for(self, char: str, face: int) -> int | None:
        """The page's own face if it draws the character, else the one that stands in for it, else None."""
        key = (char, face)
        if key not in self._found:
            self._found[key] = next((k for k in self._order(face) if self.faces[k].draws(char)), None)
        return self._found[key]

    def drawable(self, held_out: bool | None = None) -> frozenset[str]:
        """The characters that some face draws: any, only held-out ones, or only the others."""
        chosen = [face for face in self.faces if held_out in (None, face.held_out)]
        points = {point for face in chosen for point in face.codepoints.tolist()}
        return frozenset(map(chr, points))

    def missing(self, chars: Iterable[str], held_out: bool | None = None) -> list[str]:
        """Those of the characters that no face draws, each once, in the order they were asked for."""
        drawn = self.drawable(held_out)
        return [char for char in dict.fromkeys(chars) if char not in drawn]

    def _pickable(self, held_out: bool) -> list[int]:
        choice = [k for k, face in enumerate(self.faces) if face.held_out == held_out and face.weight > 0]
        # A folder with fallback faces alone must still give pages.
        choice = choice or [k for k, face in enumerate(self.faces) if face.held_out == held_out]
        if not choice:
            what = "none of the faces held out for the benchmark" if held_out else "only held-out faces"
            raise InputError(f"{self.faces[0].path.parent}: there are {what}; docs/fonts.md lists them.")
        return choice

    def _draw(self, rng: np.random.Generator, choice: list[int]) -> int:
        weights = np.array([self.faces[k].weight or 1.0 for k in choice])
        return int(rng.choice(choice, p=weights / weights.sum()))

    def _order(self, face: int) -> list[int]:
        if face not in self._orders:
            self._orders[face] = _fallbacks(self.faces, face)
        return self._orders[face]

    @cached_property
    def _orders(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def _found(self) -> dict[tuple[str, int], int | None]:
        return {}


def _fallbacks(faces: tuple[Face, ...], face: int) -> list[int]:
    """The face, then those that stand in for it, nearest first: by group, then by coverage.

    A training face never falls back on a held-out one. A held-out face tries the held-out ones first and
    then, for what they lack, the others: a benchmark without rare characters would be too easy. Cut and brush
    faces show at a glance on another's page and come last. Wide faces of the group take turns by the page's
    face, so that a rare character is not always seen in the same one.
    """
    own = faces[face]

    def distance(k: int) -> tuple[bool, bool, int, int, str]:
        other = faces[k]
        group = 0 if other.group == own.group else 1 if other.group == _NEAREST_GROUP[own.group] else 2
        shows = group > 0 and other.group in ("cut", "brush")
        return shows, other.held_out != own.held_out, group, -len(other.codepoints), other.key

    allowed = (k for k, other in enumerate(faces) if k != face and (own.held_out or not other.held_out))
    order = sorted(allowed, key=distance)
    near = [k for k in order if (faces[k].group, faces[k].held_out) == (own.group, own.held_out)]
    wide = [k for k in near if len(faces[k].codepoints) >= WIDE]
    turn = face % len(wide) if wide else 0
    return [face, *wide[turn:], *wide[:turn], *(k for k in order if k not in wide)]


def load_fonts(folder: Path, unseen: bool = False) -> FontBook:
    """Every usable face under the folder, by key, so that numbers do not hang on the order of files.

    Faces that the list calls unseen are left out unless asked for: neither training nor the frozen benchmark
    shows them, only a bench of hands that a reader has never met.
    """
    if not folder.is_dir():
        what = "this is a file, not a folder of fonts" if folder.exists() else "there is no such folder"
        raise InputError(f"{folder}: {what}.")
    known = _known_faces()
    faces = [
        face
        for path in _font_files(folder)
        for entry in _entries(path, known)
        if unseen or not entry.get("unseen")
        if (face := _make_face(path, entry))
    ]
    if not faces and not unseen and load_fonts(folder, unseen=True):
        raise InputError(f"{folder}: there are only faces here that training must not see.")
    if not faces:
        raise InputError(f"{folder}: no font here has Chinese characters; docs/fonts.md lists some that do.")
    unique = {face.key: face for face in reversed(faces)}
    return FontBook(tuple(unique[key] for key in sorted(unique)))


def _font_files(folder: Path) -> list[Path]:
    """Every font file, each once: packages link some fonts under a second name, users link whole folders."""
    found: set[Path] = set()
    visited: set[Path] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        here = Path(parent).resolve()
        if here in visited:
            folders.clear()
        visited.add(here)
        found.update(here / name for name in names if name.lower().endswith(SUFFIXES))
    return sorted({path.resolve() for path in found if path.is_file()})


def known_faces() -> list[dict[str, Any]]:
    """The faces of the list, whether they are installed or not."""
    return cast("list[dict[str, Any]]", _known_faces()["faces"])


@lru_cache(maxsize=1)
def _known_faces() -> dict[str, Any]:
    text = (files("tongguocr.training.synth") / "faces.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def _entries(path: Path, known: dict[str, Any]) -> list[dict[str, Any]]:
    """How this file is used: its entries in the list, nothing where it is to be ignored, or a guess."""
    listed = [entry for entry in known["faces"] if path.name in entry["files"]]
    if listed or any(fnmatch(path.name, pattern) for pattern in known["ignore"]):
        return listed
    name = path.stem.lower()
    kai = any(part in name for part in _KAI_NAMES)
    group = "brush" if any(part in name for part in _BRUSH_NAMES) else "kai" if kai else "song"
    return [{"key": path.stem, "index": 0, "weight": 1, "group": group}]


def _make_face(path: Path, entry: dict[str, Any]) -> Face | None:
    """The face, or None where it draws no ideograph at all."""
    points, baseline = _read_once(path, entry["index"], path.stat().st_mtime_ns)
    excluded = entry.get("exclude", "") + _exclude_list(path)
    if excluded:
        points = points[~np.isin(points, [ord(char) for char in excluded])]
    if not any(is_ideograph(chr(point)) for point in points.tolist()):
        return None
    return Face(
        key=entry["key"],
        path=path,
        index=entry["index"],
        weight=entry["weight"],
        group=entry["group"],
        held_out=entry.get("held_out", False),
        baseline=baseline,
        codepoints=points,
    )


@lru_cache(maxsize=256)
def _read_once(path: Path, index: int, changed: int) -> tuple[CodePoints, float]:
    return read_face(path, index)


def _exclude_list(path: Path) -> str:
    """The characters of NAME.exclude.txt beside the font: those that it draws as another variant."""
    beside = path.with_name(f"{path.stem}.exclude.txt")
    if not beside.exists():
        return ""
    lines = decode_utf8(read_bytes(beside), beside).splitlines()
    return "".join(char for line in lines if not line.startswith("#") for char in line if not char.isspace())


def mask_side(size: float) -> int:
    """The side of a glyph's mask: its em with room for the overhang on all sides."""
    return round(size * (1 + 2 * OVERHANG))


@lru_cache(maxsize=8192)
def glyph_mask(face: Face, char: str, size: float) -> Pixels:
    """How much ink covers each pixel, 0 to 255: the em box, `size` pixels high and wide, in the middle.

    Ink beyond the overhang is cut off. The array is shared: do not write to it.
    """
    side = mask_side(size)
    zoom = max(round(SHARPNESS / size), 2)
    image = Image.new("L", (side * zoom, side * zoom))
    font = _font(face.path, face.index, size * zoom)
    margin = (side - size) / 2 * zoom
    x = margin + (size * zoom - font.getlength(char)) / 2
    y = margin + face.baseline * size * zoom
    ImageDraw.Draw(image).text((x, y), char, fill=255, font=font, anchor="ls")
    mask = np.asarray(image.reduce(zoom))
    mask.setflags(write=False)
    return mask


@lru_cache(maxsize=256)
def _font(path: Path, index: int, size: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size, index, layout_engine=ImageFont.Layout.BASIC)
