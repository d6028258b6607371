"""Real pages with a box for every character: a folder in, packed pages with links and kinds out.

The folder has `pages.json`, a list of pages with `image` and `chars`, each of these with a `box` and perhaps
with `ch`, what it says, which the detector does not need and the recogniser does (char_lines.py). Lines are
not given. They follow from the boxes by geometry, and kinds from the lines by the rules of reading order;
only the fold is told by its place, since these pages are all spreads whose fold's text begins as high as the
columns. A fifth of the pages is held out, by their names alone. Pages with labelled lines (line_pages.py) are
kept in the same way; of these whole parts of the book are held out.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.geometry import centre
from tongguocr.layout.link import Linking, link_characters, make_lines
from tongguocr.layout.order import order_lines
from tongguocr.layout.peaks import Characters, Flags, Floats, Ints
from tongguocr.page import KINDS, Line, Page, Pixels
from tongguocr.sources import load_pixels

FILE = "char_pages.npz"
HELD_OUT = 5
"""One page in so many is never trained on."""
HELD_OUT_PARTS = {"DVSKTT_": ("DVSKTT_ngoai_", "DVSKTT_thu_")}
"""Of a book whose pages' names begin so, these parts are never trained on, and all others are."""
FOLD = 0.03
"""The fold's text stands within this share of the printed width from its middle."""
LOOSE = Linking(reach=0.55, skipped=0.0, uneven=1.45, aside=0.3)
"""How characters hang together that only their boxes tell about."""


@dataclass(frozen=True, slots=True)
class RealPage:
    """One page in grey, and its characters."""

    name: str
    pixels: Pixels
    boxes: Floats
    """n x 4."""
    following: Ints
    """n: the next character of the same line, or -1."""
    kinds: Ints
    """n: numbers of `page.KINDS`."""
    labels: tuple[str, ...]
    """n: what each says; empty where that is unknown."""
    ignored: Flags
    """n: whether it may be found or not: nobody has said what is there."""


def is_held_out(name: str) -> bool:
    """The same pages everywhere and for ever."""
    for book, parts in HELD_OUT_PARTS.items():
        if name.startswith(book):
            return name.startswith(parts)
    return sha256(name.encode("utf-8")).digest()[0] % HELD_OUT == 0


def read_char_pages(folder: Path) -> list[RealPage]:
    """All pages of a folder."""
    path = folder / "pages.json"
    try:
        entries = json.loads(decode_utf8(read_bytes(path), path))
        named = [(str(entry["image"]), _boxes(entry), _labels(entry)) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: this is not a list of pages with image and chars ({error!r}).") from None
    return [make_page(name, _grey(folder / name), boxes, labels) for name, boxes, labels in named]


def _boxes(entry: dict[str, Any]) -> Floats:
    boxes = np.array([char["box"] for char in entry["chars"]], np.float32).reshape(-1, 4)
    if not (np.isfinite(boxes).all() and (boxes[:, 2:] > boxes[:, :2]).all()):
        raise ValueError(f"{entry['image']} has a box without area")
    return boxes


def _labels(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(char.get("ch") or "") for char in entry["chars"])


def _grey(path: Path) -> Pixels:
    return np.asarray(Image.fromarray(load_pixels(path)).convert("L"))


def make_page(name: str, pixels: Pixels, boxes: Floats, labels: tuple[str, ...] = ()) -> RealPage:
    """The page with its links and kinds worked out."""
    following, kinds = trace_lines(boxes, pixels.shape[1], pixels.shape[0])
    known = np.zeros(len(boxes), np.bool_)
    return RealPage(name, pixels, boxes, following, kinds, labels or ("",) * len(boxes), known)


def trace_lines(boxes: Floats, width: int, height: int) -> tuple[Ints, Ints]:
    """For each character the next of its line, or -1, and the kind of the line it is in."""
    chars = _guess_links(boxes)
    chains = link_characters(chars, LOOSE)
    lines = make_lines(chars, chains)
    ordered = order_lines(Page("", width, height, tuple(line for line in lines if not _in_fold(line, boxes))))
    # A fold that the rules find beside the real one is a short column.
    kind_of = {line.id: KINDS.index(line.kind if line.kind != "fold" else "main") for line in ordered.lines}
    following = np.full(len(boxes), -1, np.int64)
    kinds = np.zeros(len(boxes), np.int64)
    for chain, line in zip(chains, lines, strict=True):
        following[chain[:-1]] = chain[1:]
        kinds[chain] = kind_of.get(line.id, KINDS.index("fold"))
    return following, kinds


def _in_fold(line: Line, boxes: Floats) -> bool:
    left, right = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    return abs(centre(line.box)[0] - (left + right) / 2) < FOLD * (right - left)


def _guess_links(boxes: Floats) -> Characters:
    """Columns are the rule: the next character is the nearest one below that stands under this one."""
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T
    unit = np.maximum(wide, high)
    following = centres + np.stack([np.zeros_like(unit), unit], 1)
    for k, (x, y) in enumerate(centres):
        gap = np.maximum(boxes[:, 1] - boxes[k, 3], -0.3 * unit[k])
        aside = np.abs(centres[:, 0] - x)
        below = (centres[:, 1] > y + 0.2 * unit[k]) & (aside < 0.3 * wide[k]) & (gap < 0.7 * unit[k])
        below &= np.maximum(wide, wide[k]) < LOOSE.uneven * np.minimum(wide, wide[k])
        if below.any():
            following[k] = centres[np.flatnonzero(below)[np.argmin(gap[below] + aside[below])]]
    count = len(boxes)
    sure, even = np.ones(count, np.float32), np.full((count, 4), 0.25, np.float32)
    return Characters(boxes, sure, following.astype(np.float32), 0 * sure, even, 0 * sure, even)


def save_pages(pages: Sequence[RealPage], path: Path, quality: int = 90) -> None:
    """All pages in one file, their images as JPEG of this quality, one behind the other."""
    images = [np.frombuffer(_encoded(page.pixels, quality), np.uint8) for page in pages]
    try:
        np.savez_compressed(
            path,
            names=np.array([page.name for page in pages]),
            sizes=np.array([len(image) for image in images], np.int64),
            images=np.concatenate([np.zeros(0, np.uint8), *images]),
            counts=np.array([len(page.boxes) for page in pages], np.int64),
            boxes=np.concatenate([np.zeros((0, 4), np.float32), *(page.boxes for page in pages)]),
            following=np.concatenate([np.zeros(0, np.int64), *(page.following for page in pages)]),
            kinds=np.concatenate([np.zeros(0, np.int64), *(page.kinds for page in pages)]),
            labels=np.array([label for page in pages for label in page.labels], np.str_),
            ignored=np.concatenate([np.zeros(0, np.bool_), *(page.ignored for page in pages)]),
        )
    except OSError as error:
        raise InputError(f"{path}: the pages cannot be written ({error.strerror}).") from None


def _encoded(pixels: Pixels, quality: int) -> bytes:
    image = BytesIO()
    Image.fromarray(pixels).save(image, "JPEG", quality=quality)
    return image.getvalue()


def _decoded(data: Pixels) -> Pixels:
    with Image.open(BytesIO(data.tobytes())) as image:
        return np.asarray(image.convert("L"))


def load_pages(path: Path) -> list[RealPage]:
    """What `save_pages` wrote."""
    try:
        with np.load(BytesIO(read_bytes(path)), allow_pickle=False) as data:
            images = np.split(data["images"], np.cumsum(data["sizes"])[:-1])
            ends = np.cumsum(data["counts"])[:-1]
            fields = ("boxes", "following", "kinds", "labels", "ignored")
            columns = (np.split(data[name], ends) for name in fields)
            return [
                RealPage(name, _decoded(image), boxes, following, kinds, tuple(labels.tolist()), ignored)
                for name, image, boxes, following, kinds, labels, ignored in zip(
                    data["names"].tolist(), images, *columns, strict=True
                )
            ]
    except (OSError, ValueError, LookupError, EOFError, TypeError, zipfile.BadZipFile):
        raise InputError(f"{path}: these are not packed pages, or the file is damaged.") from None
