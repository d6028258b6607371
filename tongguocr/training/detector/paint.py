"""Packed windows -> images and labels, on the device, for the detector's training.

The renderer of the recogniser's blocks paints the ink and degrades it. What lies around a page comes
afterwards, cut out along the page's edge as the camera bent it; then windows of real pages, what shows
through from the other side, seals, the scanner, and each image's exposure; last, some are turned by quarters.
Labels go the same way. A character counts if its middle is in the window, on the page, under no slip of
paper, and neither too small nor too large to be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.detector.pictures import make_scenes
from tongguocr.training.detector.placing import NO_LINE
from tongguocr.training.detector.real_pages import RealPage
from tongguocr.training.detector.recipe import WindowRecipe
from tongguocr.training.detector.windows import Windows
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.gpu.bitonal import bitonal, show_through
from tongguocr.training.synth.gpu.degradation import DegradationBatch
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.render import GlyphAtlas, render_batch
from tongguocr.training.synth.gpu.seals import press_masks
from tongguocr.training.synth.gpu.warp import source_points, target
from tongguocr.training.synth.real_ink import Lines
from tongguocr.training.synth.seals import make_seals

READABLE = (10.0, 120.0)
"""Pixels: the least and the most of the longer side of characters that are to be found."""
DOUBTFUL = (7.5, 150.0)
"""The same of characters that may be found or not. Text beyond that must not be taken for larger or smaller
text: the page is looked at again in another size."""
COARSE = 8
"""A page's edge is worked out at every so many pixels, and is straight between them."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The characters of a batch of images."""

    block: Tensor
    """n: which image."""
    boxes: Tensor
    """n x 4, in pixels of the image."""
    following: Tensor
    """n: the next of the same line, or -1."""
    kinds: Tensor
    wanted: Tensor
    """n: whether it is to be found."""
    ignored: Tensor
    """n: whether it is there, but need not be found."""
    turns: Tensor
    """n: quarter turns clockwise."""

    def tensors(self) -> list[Tensor]:
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True, slots=True)
class PageStore:
    """Real pages on a device."""

    pixels: Tensor
    """pages x height x width, bytes; smaller pages are continued by their edge."""
    starts: Tensor
    """pages + 1: where each page's characters begin."""
    boxes: Tensor
    following: Tensor
    """Numbers within the page."""
    kinds: Tensor
    ignored: Tensor
    sizes: Tensor
    """pages x 2: width and height of each."""
    fullest: int
    """Characters of the page that has most."""

    @staticmethod
    def load(pages: Sequence[RealPage], device: torch.device) -> PageStore:
        height, width = (max(page.pixels.shape[k] for page in pages) for k in (0, 1))
        sizes = [(height - page.pixels.shape[0], width - page.pixels.shape[1]) for page in pages]
        shown = [
            np.pad(page.pixels, ((0, down), (0, right)), mode="edge")
            for page, (down, right) in zip(pages, sizes, strict=True)
        ]
        arrays = (
            np.stack(shown),
            np.cumsum([0, *(len(page.boxes) for page in pages)]),
            np.concatenate([page.boxes for page in pages]),
            np.concatenate([page.following for page in pages]),
            np.concatenate([page.kinds for page in pages]),
            np.concatenate([page.ignored for page in pages]),
            np.array([page.pixels.shape[::-1] for page in pages], np.float32),
        )
        tensors = [torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays]
        pixels, starts, boxes, following, kinds, ignored, extents = tensors
        fullest = max(len(page.boxes) for page in pages)
        return PageStore(pixels, starts, boxes, following, kinds, ignored, extents, fullest)

    def show(self, views: Tensor, side: int) -> tuple[Tensor, Labels]:
        """Windows cut by these views: n x 1 x side x side from 0 to 1, and their labels."""
        number, scale, angle, x, y, ground = views.unbind(1)
        number = number.long()
        height, width = self.pixels.shape[1:]
        middle = torch.stack([x, y], 1)
        cos, sin = torch.cos(angle), torch.sin(angle)
        turn = torch.stack([torch.stack([cos, -sin], 1), torch.stack([sin, cos], 1)], 1)
        at = torch.arange(side, device=views.device) + 0.5 - side / 2
        grid = torch.stack(torch.meshgrid(at, at, indexing="xy"), -1).reshape(1, -1, 2)
        seen = grid @ turn.transpose(1, 2) / scale[:, None, None] + middle[:, None]
        size = torch.tensor([width, height], device=views.device)
        images = F.grid_sample(
            self.pixels[number][:, None].float() / 255,
            (seen * 2 / size - 1).reshape(-1, side, side, 2),
            padding_mode="border",
            align_corners=False,
        )
        within = ((seen >= 0) & (seen < self.sizes[number][:, None])).all(-1).view_as(images)
        images = torch.where(within, images, ground[:, None, None, None])
        return images, self._labels(number, scale, turn, middle, side)

    def _labels(self, number: Tensor, scale: Tensor, turn: Tensor, middle: Tensor, side: int) -> Labels:
        """As many rows for every view as the fullest page has characters: so the device is never asked."""
        start, stop = self.starts[number], self.starts[number + 1]
        index = start[:, None] + torch.arange(self.fullest, device=number.device)
        here = (index < stop[:, None]).flatten()
        index = index.clamp(max=len(self.boxes) - 1).flatten()
        block = torch.arange(len(number), device=number.device).repeat_interleave(self.fullest)
        corners = _corners(self.boxes[index]) - middle[block][:, None]
        # The view's turn is undone by its transpose.
        corners = corners @ turn[block] * scale[block][:, None, None] + side / 2
        after = self.following[index]
        following = torch.where(after >= 0, after + block * self.fullest, after)
        boxes = torch.cat([corners.amin(1), corners.amax(1)], 1)
        return sorted_out(block, boxes, following, self.kinds[index], here, side, self.ignored[index])


@dataclass(frozen=True, slots=True)
class Painter:
    """Everything on the device that turns packed windows into images and labels."""

    atlas: GlyphAtlas
    lines: LineStore | None
    pages: PageStore | None
    scenes: Tensor
    seals: Tensor

    @staticmethod
    def load(
        atlas: Atlas,
        lines: Lines | None,
        pages: Sequence[RealPage],
        recipe: WindowRecipe,
        device: torch.device,
    ) -> Painter:
        scenes = make_scenes(recipe.scenes, recipe.side, 1, atlas)
        return Painter(
            GlyphAtlas.load(atlas, device),
            LineStore.load(lines, device) if lines is not None and len(lines) else None,
            PageStore.load(pages, device) if pages else None,
            torch.from_numpy(scenes).to(device),
            torch.from_numpy(make_seals(recipe.seals, 1, atlas)).to(device),
        )

    @torch.no_grad()
    def paint(self, work: Windows) -> tuple[Tensor, Labels]:
        """n x 1 x side x side from 0 to 1, painted windows first, and the labels of all."""
        shown = render_batch(work.batch, self.atlas, work.degradation, work.seed, self.lines)
        images = shown.images.float() / 255
        side = images.shape[-1]
        paper = self._paper(work, side)
        scenes = self._scenes(work, side)
        images = images * paper + scenes * (1 - paper)
        labels = _drawn_labels(work, paper, side)
        if self.pages is not None and len(work.views):
            real, more = self.pages.show(work.views, side)
            images, labels = torch.cat([images, real]), _joined(labels, more, work.batch.blocks)
        images = press_masks(show_through(images, work.behind), self.seals, work.seals)
        images = toned(bitonal(images, work.bitonal, work.seed), work.tones)
        return turn_windows(images, labels, work.turns)

    def _paper(self, work: Windows, side: int) -> Tensor:
        """blocks x 1 x side x side: 1 on the page, 0 on its table and where a slip lies."""
        edges = page_edges(work.pages, work.degradation, side)
        bare = (work.scenes[:, 0] < 0)[:, None, None]
        paper = torch.where(bare, torch.ones_like(edges), edges)
        at = torch.arange(side, device=paper.device) + 0.5
        x0, y0, x1, y1 = (v[:, None] for v in work.covers.unbind(1))
        across, down = (at > x0) & (at < x1), (at > y0) & (at < y1)
        return (paper * ~(down[:, :, None] & across[:, None, :]))[:, None]

    def _scenes(self, work: Windows, side: int) -> Tensor:
        """Each window's table, shifted round and round."""
        number, x, y = work.scenes.unbind(1)
        at = torch.arange(side, device=number.device)
        rows, columns = (at + y[:, None]) % side, (at + x[:, None]) % side
        number = number.clamp(min=0)[:, None, None]
        return self.scenes[number, rows[:, :, None], columns[:, None, :]][:, None].float() / 255


def page_edges(pages: Tensor, degradation: DegradationBatch, side: int) -> Tensor:
    """blocks x side x side, 0 to 1: how much of each pixel lies on one of the pages, bent as they are."""
    small = side // COARSE
    at = (torch.arange(small, device=pages.device) + 0.5) * COARSE
    points = torch.stack(torch.meshgrid(at, at, indexing="xy"), -1).expand(len(pages), -1, -1, -1)
    flat = source_points(points, degradation, side, side).movedim(-1, 1)
    flat = F.interpolate(flat, size=(side, side), mode="bilinear", align_corners=False)
    paper = torch.zeros(len(pages), side, side, device=pages.device)
    for x0, y0, x1, y1 in (page.unbind(1) for page in pages.unbind(1)):
        left, top = (flat[:, k] - v[:, None, None] for k, v in ((0, x0), (1, y0)))
        right, bottom = (v[:, None, None] - flat[:, k] for k, v in ((0, x1), (1, y1)))
        within = torch.minimum(torch.minimum(left, top), torch.minimum(right, bottom))
        inside = (within + 0.5).clamp(0, 1) * (x1 > x0)[:, None, None]
        paper = torch.maximum(paper, inside)
    return paper


def toned(images: Tensor, tones: Tensor) -> Tensor:
    """Each image's own exposure; some inverted."""
    exponent, contrast, brightness, inverted = (v[:, None, None, None] for v in tones.unbind(1))
    images = ((images.clamp(1e-3, 1) ** exponent - 0.5) * contrast + 0.5 + brightness).clamp(0, 1)
    return torch.where(inverted > 0.5, 1 - images, images)


def turn_windows(images: Tensor, labels: Labels, turns: Tensor) -> tuple[Tensor, Labels]:
    """Each square image turned clockwise by so many quarters, and its labels with it."""
    side, each = images.shape[-1], turns[labels.block]
    x0, y0, x1, y1 = labels.boxes.unbind(1)
    ways = [labels.boxes]
    ways.append(torch.stack([side - y1, x0, side - y0, x1], 1))
    ways.append(torch.stack([side - x1, side - y1, side - x0, side - y0], 1))
    ways.append(torch.stack([y0, side - x1, y1, side - x0], 1))
    boxes = torch.stack(ways)[each, torch.arange(len(each), device=each.device)]
    pictures = torch.stack([torch.rot90(images, -k, (2, 3)) for k in range(4)])
    images = pictures[turns, torch.arange(len(turns), device=turns.device)]
    return images, replace(labels, boxes=boxes, turns=each)


def _drawn_labels(work: Windows, paper: Tensor, side: int) -> Labels:
    block = work.batch.of_block
    flat = _corners(work.batch.boxes)
    repeated = block[:, None].expand(-1, 4).reshape(-1)
    bent = target(flat.reshape(-1, 2), repeated, work.degradation, side, side).reshape(-1, 4, 2)
    boxes = torch.cat([bent.amin(1), bent.amax(1)], 1)
    # A glyph off the flat canvas was never painted, wherever the bend would have brought it.
    middle = flat.mean(1)
    painted = ((middle > 0) & (middle < side)).all(1)
    column, row = (v.long().clamp(0, side - 1) for v in ((boxes[:, :2] + boxes[:, 2:]) / 2).unbind(1))
    here = painted & (paper[block, 0, row, column] > 0.5) & (work.kinds != NO_LINE)
    return sorted_out(block, boxes, work.following, work.kinds, here, side)


def _corners(boxes: Tensor) -> Tensor:
    x0, y0, x1, y1 = boxes.unbind(1)
    return torch.stack([x0, y0, x1, y0, x1, y1, x0, y1], 1).reshape(-1, 4, 2)


def sorted_out(
    block: Tensor,
    boxes: Tensor,
    following: Tensor,
    kinds: Tensor,
    here: Tensor,
    side: int,
    spared: Tensor | None = None,
) -> Labels:
    """Which characters are wanted, and which are seen in part or in a size that does not count.

    Those that are `spared` may be found or not, whatever their size.
    """
    spared = torch.zeros_like(here) if spared is None else spared
    middle, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    inside = ((middle >= 0) & (middle < side)).all(1)
    readable, doubtful = (
        (sides.amax(1) >= low) & (sides.amax(1) <= high) for low, high in (READABLE, DOUBTFUL)
    )
    seen = ((boxes[:, 2:] > 0) & (boxes[:, :2] < side)).all(1)
    # A character may lie under a slip: then the line ends before it and begins behind it, for all that can
    # be seen.
    hidden = inside & ~here
    cut = hidden | hidden[following.clamp(min=0)]
    following = torch.where(cut, torch.full_like(following, -1), following)
    return Labels(
        block,
        boxes,
        following,
        kinds,
        here & inside & readable & ~spared,
        seen & here & (spared | (doubtful & ~(inside & readable))),
        torch.zeros_like(block),
    )


def _joined(a: Labels, b: Labels, blocks: int) -> Labels:
    """The labels of two batches of images, the second behind the first."""
    moved = replace(
        b,
        block=b.block + blocks,
        following=torch.where(b.following >= 0, b.following + len(a.block), b.following),
    )
    pairs = {f.name: torch.cat([getattr(a, f.name), getattr(moved, f.name)]) for f in fields(Labels)}
    return Labels(**pairs)


def to_device(work: Windows, device: torch.device) -> Windows:
    """The batch on the device, by way of page-locked memory on a GPU."""
    changed: dict[str, Any] = {}
    for field in fields(work):
        value = getattr(work, field.name)
        if isinstance(value, Tensor):
            value = value.pin_memory() if device.type == "cuda" and value.numel() else value
            changed[field.name] = value.to(device, non_blocking=True)
    batch = work.batch.pinned() if device.type == "cuda" else work.batch
    return replace(work, batch=batch.to(device), degradation=work.degradation.to(device), **changed)
