"""A glyph atlas: every character of every face as a small bitmap, for the renderer on the GPU.

In: a font book and characters. Out: packed bits and an index, kept in .npz files. An atlas also knows its
faces and what they draw, so pages can be composed from it on a machine that has none of the fonts.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.errors import InputError
from tongguocr.page import Pixels
from tongguocr.training.synth.fonts import Face, FontBook, glyph_mask, mask_side

PART_BYTES = 48_000_000
"""A part file holds at most this much, before compression."""
CHUNK = 1000
"""Glyphs that a worker draws at a time."""

Progress: TypeAlias = Callable[[int, int], None]
"""Takes the number of glyphs drawn so far and of all."""


@dataclass(frozen=True)
class Atlas:
    """Glyphs of one size, one bit a pixel."""

    em: int
    faces: tuple[Face, ...]
    chars: str
    """Every character once, by code point."""
    index: NDArray[np.int32]
    """faces x characters: the glyph's cell, or -1 where the face does not draw the character."""
    bits: NDArray[np.uint8]
    """cells x side x side / 8: first pixel in the highest bit; the em box lies in the middle."""

    def cells(self, faces: NDArray[np.int16], chars: Sequence[str]) -> NDArray[np.int64]:
        """The cells of these glyphs, -1 for those that are not here."""
        columns = np.array([self._columns.get(char, -1) for char in chars], np.int64)
        found = self.index[faces.astype(np.int64), columns].astype(np.int64)
        return np.where(columns >= 0, found, -1)

    def mask(self, face: int, char: str) -> NDArray[np.bool_]:
        """One glyph's pixels."""
        cell = int(self.cells(np.array([face], np.int16), [char])[0])
        if cell < 0:
            raise KeyError(f"{self.faces[face].key} has no {char}")
        return self.mask_of(cell)

    def random_mask(self, rng: np.random.Generator) -> Pixels:
        """Any glyph of any face, 255 for ink."""
        return self.mask_of(int(rng.integers(len(self.bits)))) * np.uint8(255)

    def mask_of(self, cell: int) -> NDArray[np.bool_]:
        """The pixels of one cell."""
        return np.unpackbits(self.bits[cell], axis=1).astype(np.bool_)

    def book(self) -> FontBook:
        """The faces with the characters that are here: enough to compose pages, not to draw new sizes."""
        return FontBook(self.faces)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {char: k for k, char in enumerate(self.chars)}


def build_atlas(
    book: FontBook, chars: Iterable[str], em: int = 64, workers: int = 1, progress: Progress | None = None
) -> Atlas:
    """Draw every character in every face that has it."""
    if mask_side(em) % 8:
        raise ValueError(f"an em of {em} pixels has cells of {mask_side(em)}, which do not fill whole bytes")
    points = np.array(sorted({ord(char) for char in chars}), np.uint32)
    drawn = np.stack([np.isin(points, face.codepoints) for face in book.faces])
    index = np.where(drawn, np.cumsum(drawn).reshape(drawn.shape) - 1, -1).astype(np.int32)
    faces = tuple(_narrowed(face, points[row]) for face, row in zip(book.faces, drawn, strict=True))
    jobs = [
        (face, "".join(map(chr, face.codepoints[k : k + CHUNK].tolist())), em)
        for face in faces
        for k in range(0, len(face.codepoints), CHUNK)
    ]
    bits = _draw_all(jobs, mask_side(em), workers, progress)
    return Atlas(em, faces, "".join(map(chr, points.tolist())), index, bits)


def _narrowed(face: Face, points: NDArray[np.uint32]) -> Face:
    return Face(
        face.key, face.path, face.index, face.weight, face.group, face.held_out, face.baseline, points
    )


def _draw_all(
    jobs: list[tuple[Face, str, int]], side: int, workers: int, progress: Progress | None
) -> NDArray[np.uint8]:
    """The jobs' glyphs in their order, whatever the number of workers."""
    total = sum(len(chars) for _, chars, _ in jobs)
    bits = np.zeros((total, side, side // 8), np.uint8)
    done = 0
    with ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else _Here() as pool:
        for part in pool.map(_draw, jobs):
            bits[done : done + len(part)] = part
            done += len(part)
            if progress:
                progress(done, total)
    return bits


class _Here:
    """A pool without processes."""

    map = staticmethod(map)

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _draw(job: tuple[Face, str, int]) -> NDArray[np.uint8]:
    face, chars, em = job
    # Each glyph is drawn once, so keeping it would only take memory.
    masks = np.stack([glyph_mask.__wrapped__(face, char, em) for char in chars])
    return np.packbits(masks >= 128, axis=2)


def save_atlas(atlas: Atlas, path: Path) -> list[Path]:
    """Write PATH and, beside it, parts with the bits; the files."""
    rows = max(PART_BYTES // max(atlas.bits[:1].nbytes, 1), 1)
    parts = [atlas.bits[k : k + rows] for k in range(0, len(atlas.bits), rows)]
    paths = [path, *(_part(path, k) for k in range(len(parts)))]
    head: dict[str, Any] = {
        "em": atlas.em,
        "parts": len(parts),
        "points": np.array([ord(char) for char in atlas.chars], np.uint32),
        "index": atlas.index,
        "keys": np.array([face.key for face in atlas.faces]),
        "groups": np.array([face.group for face in atlas.faces]),
        "weights": np.array([face.weight for face in atlas.faces]),
        "held_out": np.array([face.held_out for face in atlas.faces]),
        "baselines": np.array([face.baseline for face in atlas.faces]),
    }
    try:
        np.savez_compressed(path, **head)
        for part, file in zip(parts, paths[1:], strict=True):
            np.savez_compressed(file, bits=part)
    except OSError as error:
        raise InputError(f"{path}: the atlas cannot be written ({error.strerror}).") from None
    return paths


def load_atlas(path: Path) -> Atlas:
    """An atlas from its files."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as head:
            parts = [_part(path, k) for k in range(int(head["parts"]))]
            points, index = head["points"], head["index"]
            details = ("keys", "weights", "groups", "held_out", "baselines")
            rows = zip(*(head[name].tolist() for name in details), index, strict=True)
            faces = tuple(
                Face(key, Path(key), 0, weight, group, held_out, baseline, points[cells >= 0])
                for key, weight, group, held_out, baseline, cells in rows
            )
            em = int(head["em"])
        side = mask_side(em)
        bits = [np.zeros((0, side, side // 8), np.uint8), *(_bits(part) for part in parts)]
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: there is no such file.") from None
    except (OSError, ValueError, LookupError, EOFError, TypeError, zipfile.BadZipFile):
        raise InputError(f"{path}: this is not a glyph atlas, or it is damaged.") from None
    return Atlas(em, faces, "".join(map(chr, points.tolist())), index, np.concatenate(bits))


def _bits(path: Path) -> NDArray[np.uint8]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as part:
        bits: NDArray[np.uint8] = part["bits"]
        return bits


def _part(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number:03d}{path.suffix}")
