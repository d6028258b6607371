"""Pictures as GLM-OCR takes them: pixels in, patches, their grid and positions out.

A picture is scaled so that its sides are multiples of 28 and its area lies within bounds, cut into patches of
14 x 14 in the order of the 2 x 2 that become one token, and standardised. Every token has three positions:
time, height, width (all the same for text). Tests hold all of it against transformers' own processor, which
cuts patches on the host only; here that is done wherever the pixels are, on a GPU for example.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from tongguocr.engines.glm.config import MERGE, TEMPORAL
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.page import Pixels

PREPROCESSOR = "preprocessor_config.json"
PROCESSOR = "processor_config.json"
"""Where newer programs write the same, as a part of it."""
Grid: TypeAlias = tuple[int, int]
"""A picture's rows and columns of patches."""
MAX_ASPECT_RATIO = 200
"""The library's processor refuses pictures that are longer than so many times their breadth."""


@dataclass(frozen=True, slots=True)
class ProcessorConfig:
    """Settings of GLM-OCR's image processor; as they stand, those of the published model."""

    patch: int = 14
    min_pixels: int = 112 * 112
    max_pixels: int = 28 * 28 * 12_288
    """Both count a still picture twice, as two frames: 4.8 megapixels, 6,144 tokens."""
    mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073)
    std: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711)

    def within(self, side: int) -> ProcessorConfig:
        """The same, with pictures of at most side x side pixels (the paper's maximum resolution)."""
        return replace(self, max_pixels=min(self.max_pixels, TEMPORAL * side * side))


def read_processor_config(folder: Path) -> ProcessorConfig:
    """The settings that a model's folder has, in one of two files, or the published ones."""
    path = next((p for p in (folder / PREPROCESSOR, folder / PROCESSOR) if p.exists()), None)
    if path is None:
        return ProcessorConfig()
    try:
        held: dict[str, Any] = json.loads(decode_utf8(read_bytes(path), path))
        if path.name == PROCESSOR:
            held = held.get("image_processor") or {}
        size = held.get("size") or {}
        usual = ProcessorConfig()
        if (held.get("merge_size", MERGE), held.get("temporal_patch_size", TEMPORAL)) != (MERGE, TEMPORAL):
            raise ValueError("merge or temporal size")
        return ProcessorConfig(
            int(held.get("patch_size", usual.patch)),
            int(size.get("shortest_edge", usual.min_pixels)),
            int(size.get("longest_edge", usual.max_pixels)),
            tuple(map(float, held.get("image_mean", usual.mean))),
            tuple(map(float, held.get("image_std", usual.std))),
        )
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"{path}: these are not settings of GLM-OCR's image processor.") from None


def fit_size(high: int, wide: int, processor: ProcessorConfig) -> tuple[int, int]:
    """The height and width that a picture is scaled to."""
    unit = processor.patch * MERGE
    if min(high, wide) < unit:
        scale = max(unit / high, unit / wide)
        high, wide = int(high * scale), int(wide * scale)
    sides = [max(round(side / unit), 1) * unit for side in (high, wide)]
    frames = TEMPORAL * high * wide
    if TEMPORAL * math.prod(sides) > processor.max_pixels:
        shrink = math.sqrt(frames / processor.max_pixels)
        sides = [max(math.floor(side / shrink / unit), 1) * unit for side in (high, wide)]
    elif TEMPORAL * math.prod(sides) < processor.min_pixels:
        grow = math.sqrt(processor.min_pixels / frames)
        sides = [math.ceil(side * grow / unit) * unit for side in (high, wide)]
    return sides[0], sides[1]


def scale_picture(pixels: Pixels, processor: ProcessorConfig) -> Pixels:
    """The picture in RGB at the size that the model sees; a very oblong one is padded first."""
    pixels = _pad_oblong(pixels if pixels.ndim == 3 else pixels[..., None])
    high, wide = fit_size(pixels.shape[0], pixels.shape[1], processor)
    image = Image.fromarray(np.repeat(pixels, 3, 2) if pixels.shape[2] == 1 else pixels)
    return np.asarray(image.resize((wide, high), Image.Resampling.BICUBIC))


def _pad_oblong(pixels: Pixels) -> Pixels:
    """Repeat the last row or column until the picture is no more oblong than the model allows."""
    high, wide = pixels.shape[:2]
    rows, columns = (
        max(-(-longer // MAX_ASPECT_RATIO) - own, 0) for own, longer in ((high, wide), (wide, high))
    )
    return np.pad(pixels, ((0, rows), (0, columns), (0, 0)), mode="edge") if rows or columns else pixels


def image_tokens(picture: Pixels, processor: ProcessorConfig) -> int:
    """Tokens of a scaled picture, height x width x 3."""
    return picture.shape[0] * picture.shape[1] // (processor.patch * MERGE) ** 2


def to_patches(images: Tensor, processor: ProcessorConfig) -> Tensor:
    """Pictures of one size, n x channels x height x width from 0 to 1, as all their patches.

    Grey pictures have one channel; the model sees it three times.
    """
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    mean, std = (images.new_tensor(v)[:, None, None] for v in (processor.mean, processor.std))
    side = processor.patch
    rows, columns = images.shape[2] // (side * MERGE), images.shape[3] // (side * MERGE)
    cut = ((images - mean) / std).reshape(-1, 3, rows, MERGE, side, columns, MERGE, side)
    # picture, channel, row, row in 2 x 2, pixel row, column, column in 2 x 2, pixel column
    ordered = cut.permute(0, 2, 5, 3, 6, 1, 4, 7).flatten(0, 4)
    return ordered[:, :, None].expand(-1, -1, TEMPORAL, -1, -1).flatten(1)


def patch_pictures(pictures: Sequence[Tensor], processor: ProcessorConfig) -> tuple[Tensor, list[Grid]]:
    """The patches of pictures of any sizes, height x width x 3 bytes, one after another, and their grids."""
    patches = [to_patches(p.permute(2, 0, 1)[None].float() / 255, processor) for p in pictures]
    side = processor.patch
    return torch.cat(patches), [(p.shape[0] // side, p.shape[1] // side) for p in pictures]


def patch_places(grids: Sequence[Grid]) -> NDArray[np.int64]:
    """Row and column of every patch, in the order of `to_patches`."""
    return np.concatenate([_places_of(rows, columns) for rows, columns in grids])


@lru_cache(64)
def _places_of(rows: int, columns: int) -> NDArray[np.int64]:
    """Row and column of every patch of one picture; kept, since batches have few sizes and many pictures."""
    at = np.moveaxis(np.indices((rows, columns)), 0, -1)
    ordered = at.reshape(rows // MERGE, MERGE, columns // MERGE, MERGE, 2).swapaxes(1, 2)
    return ordered.reshape(-1, 2).astype(np.int64)


def positions(before: int, grid: Grid, after: int) -> NDArray[np.int64]:
    """3 x tokens: time, height and width of each token of a prompt with one picture, and what follows it."""
    rows, columns = grid[0] // MERGE, grid[1] // MERGE
    seen = np.stack([np.zeros((rows, columns), np.int64), *np.indices((rows, columns))]).reshape(3, -1)
    first, rest = np.arange(before), np.arange(after) + before + max(rows, columns)
    return np.concatenate([np.tile(first, (3, 1)), seen + before, np.tile(rest, (3, 1))], 1)
