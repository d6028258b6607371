"""Real pages with labelled lines: a folder in, pages with a box for every character out.

The folder has `pages.jsonl`, one page a line: `image`, `lines` in reading order (each with `box` and `text`;
a row of a double-row note is a line of its own), and perhaps `tar`, the archive that holds the image,
`unlabelled` and `erased`, boxes that nobody has read or that were painted over. Characters have no boxes:
those of a line are the ones that a detector finds in it if it finds as many as the label has, otherwise even
cuts. Such labels leave out the fold and the margins. What the detector finds at the picture's right or left
edge, outside of all lines, is the fold's. Anything else that it finds, and all room beyond the lines, counts
neither way; but what is much fainter than the lines shows through from the other side: it is no text.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.layout.link import link_characters
from tongguocr.layout.peaks import Characters, Flags, Floats, Ints
from tongguocr.page import KINDS, Pixels
from tongguocr.training.detector.real_pages import RealPage

FindCharacters = Callable[[Pixels], Characters]

FILE = "line_pages.npz"
LIST = "pages.jsonl"
NOTE = 0.68
"""Lines thinner than this share of the page's typical line are rows of notes."""
EDGE = 0.75
"""The fold's characters have their middle within so many typical widths of the picture's edge."""
SURE = 0.5
"""What the detector must be sure of to be taken for the fold's."""
FAINT = 0.6
"""What has less than this share of the lines' contrast shows through from the other side, and is no text."""


def read_line_pages(folder: Path, find: FindCharacters) -> Iterator[RealPage]:
    """The pages of a folder one by one, with characters where the detector and the labels agree on them."""
    for entry, pixels in read_entries(folder):
        yield place_characters(entry, pixels, find(pixels))


def read_entries(folder: Path) -> Iterator[tuple[dict[str, Any], Pixels]]:
    """Each page's entry and its grey picture."""
    path = folder / LIST
    with ExitStack() as opened:
        archives: dict[str, tarfile.TarFile] = {}
        for number, row in enumerate(decode_utf8(read_bytes(path), path).splitlines(), start=1):
            entry = _entry(row, f"{path}: row {number}")
            tar = entry.get("tar")
            if tar is not None and tar not in archives:
                archives[tar] = opened.enter_context(_open_archive(folder / tar))
            yield entry, _grey(folder, str(entry["image"]), None if tar is None else archives[tar])


def _entry(row: str, where: str) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(row)
        if not np.isfinite(line_boxes(entry)).all() or not all(line["text"] for line in entry["lines"]):
            raise ValueError("a line has no place or no text")
        str(entry["image"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where} is not a page with image and lines ({error!r}).") from None
    return entry


def _open_archive(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except (OSError, tarfile.TarError) as error:
        raise InputError(f"{path}: the archive cannot be read ({error}).") from None


def line_boxes(entry: dict[str, Any], key: str = "lines") -> Floats:
    """n x 4: the boxes of a page's lines, or of what is `unlabelled` or `erased`."""
    values = entry.get(key, [])
    boxes = [value["box"] if isinstance(value, dict) else value for value in values]
    return np.array(boxes, np.float32).reshape(-1, 4)


def _grey(folder: Path, name: str, archive: tarfile.TarFile | None) -> Pixels:
    try:
        member = archive.extractfile(name) if archive is not None else None
        data = member.read() if member is not None else read_bytes(folder / name)
        with Image.open(BytesIO(data)) as image:
            return np.asarray(image.convert("L"))
    except (OSError, KeyError, tarfile.TarError) as error:
        raise InputError(f"{folder / name}: the page's picture cannot be read ({error}).") from None


def line_kinds(boxes: Floats) -> Ints:
    """Main text or note, of each line: by its thickness against the typical one, counted by length."""
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T
    order = np.argsort(wide)
    reach = np.cumsum(high[order])
    # Notes may fill most of a page, so the typical line of main text is among the thicker ones.
    typical = wide[order][np.searchsorted(reach, 0.7 * reach[-1])] if len(boxes) else 1.0
    return np.where(wide < NOTE * typical, KINDS.index("note"), KINDS.index("main")).astype(np.int64)


def place_characters(entry: dict[str, Any], pixels: Pixels, found: Characters) -> RealPage:
    """A page with boxes, links and kinds of its labelled characters, and what counts neither way."""
    lines, texts = line_boxes(entry), [str(line["text"]) for line in entry["lines"]]
    free = np.ones(len(found), np.bool_)
    boxes, following, kinds = list[Floats](), list[int](), list[int]()
    for line, text, kind in zip(lines, texts, line_kinds(lines).tolist(), strict=True):
        inside = _inside(found.centres, line)
        free &= ~inside
        own = _cut(line, len(text)) if inside.sum() != len(text) else _from_top(found.boxes[inside])
        start = len(following)
        following += [*range(start + 1, start + len(own)), -1][: len(own)]
        kinds += [kind] * len(own)
        boxes.append(own)
    known = np.concatenate([np.zeros((0, 4), np.float32), *boxes])
    fold, after = _fold(found, free, lines, pixels.shape[1])
    dark = _contrast(pixels, found.boxes) >= FAINT * _middle(_contrast(pixels, known))
    spare = np.concatenate([found.boxes[free & ~fold & dark], _beyond(lines, entry, pixels)])
    count, added = len(known), int(fold.sum())
    return RealPage(
        name=str(entry["image"]),
        pixels=pixels,
        boxes=np.concatenate([known, found.boxes[fold], spare]).astype(np.float32),
        following=np.concatenate(
            [following, np.where(after >= 0, after + count, -1), np.full(len(spare), -1)]
        ).astype(np.int64),
        kinds=np.array([*kinds, *[KINDS.index("fold")] * added, *[0] * len(spare)], np.int64),
        labels=(*"".join(texts), *[""] * (added + len(spare))),
        ignored=np.arange(count + added + len(spare)) >= count + added,
    )


def _inside(points: Floats, box: Floats) -> Flags:
    return np.asarray(((points >= box[:2]) & (points < box[2:])).all(1))


def _from_top(boxes: Floats) -> Floats:
    return boxes[np.argsort(boxes[:, 1] + boxes[:, 3], kind="stable")]


def _cut(line: Floats, count: int) -> Floats:
    """A line cut evenly into so many characters."""
    x0, y0, x1, y1 = line
    at = np.linspace(y0, y1, count + 1)
    sides = np.tile(np.array([x0, x1], np.float32), (count, 1))
    return np.stack([sides[:, 0], at[:-1], sides[:, 1], at[1:]], 1).astype(np.float32)


def _contrast(pixels: Pixels, boxes: Floats) -> Floats:
    """For each box how much darker its ink is than its paper."""
    values = []
    for x0, y0, x1, y1 in np.maximum(boxes.round().astype(np.int64), 0).tolist():
        inside = pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
        ink, paper = np.percentile(inside, [10, 85]) if inside.size else (0.0, 0.0)
        values.append(paper - ink)
    return np.array(values, np.float32)


def _middle(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def _fold(found: Characters, free: Flags, lines: Floats, width: int) -> tuple[Flags, Ints]:
    """Which of the characters outside of all lines are the fold's, and of these the next of each, or -1."""
    if not len(lines):
        return np.zeros(len(found), np.bool_), np.zeros(0, np.int64)
    x, typical = found.centres[:, 0], float(np.median(lines[:, 2] - lines[:, 0]))
    at_edge = np.minimum(x, width - x) < EDGE * typical
    outside = (x < lines[:, 0].min()) | (x > lines[:, 2].max())
    fold = np.asarray(free & at_edge & outside & (found.scores >= SURE))
    chars = found[fold]
    after = np.full(len(chars), -1, np.int64)
    for chain in link_characters(chars):
        after[chain[:-1]] = chain[1:]
    return fold, after


def _beyond(lines: Floats, entry: dict[str, Any], pixels: Pixels) -> Floats:
    """Boxes that cover all room outside of the block of lines, and all that nobody has read."""
    height, width = pixels.shape
    boxes = np.concatenate([lines, line_boxes(entry, "erased")])
    side = max(float(np.median(lines[:, 2] - lines[:, 0])) if len(lines) else 24.0, 8.0)
    block = [*boxes[:, :2].min(0), *boxes[:, 2:].max(0)] if len(boxes) else [0.0] * 4
    x, y = (np.arange(0, size, side) for size in (width, height))
    tiles = np.stack([v.ravel() for v in np.meshgrid(x, y)], 1)
    tiles = np.concatenate([tiles, tiles + side], 1)
    middle = (tiles[:, :2] + tiles[:, 2:]) / 2
    outside = ((middle < np.array(block[:2])) | (middle > np.array(block[2:]))).any(1)
    unread = [_cut(box, max(round((box[3] - box[1]) / side), 1)) for box in line_boxes(entry, "unlabelled")]
    return np.concatenate([tiles[outside], *unread]).astype(np.float32)
