"""Labelled pages -> training samples: whole pages, or the blocks that reading would cut them into.

In: data sets of `datasets`. Out: for each page its samples: a grey picture, its target, and for
each character of it where it lies. Paper 3.3: stages 1 and 2 train on pages, stage 3 on blocks made by the
very preprocessing used when reading (`cut_blocks`, `crop_blocks`, `prepare`), so that all sizes agree. Pages
that have no character boxes get their characters' places estimated from the ink.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.blocks.segment import Objective
from tongguocr.crops import crop_blocks
from tongguocr.engines.base import BlockInput, make_inputs
from tongguocr.engines.prepare import STEP, Prepared, Scaling, prepare, to_grey
from tongguocr.errors import InputError
from tongguocr.geometry import Point, centre, clip, cross_section
from tongguocr.page import Block, Line, Page, Pixels, turn_pixels
from tongguocr.sources import load_pixels
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.blocks import IGNORED
from tongguocr.training.recogniser.labelled import LabelledPage
from tongguocr.training.synth.line_cuts import cut_cells, extract_ink
from tongguocr.training.synth.real_ink import characters

Granularity: TypeAlias = Literal["page", "block"]
LeftOut: TypeAlias = Counter[str]
"""Why samples were left out, and how many."""
Places: TypeAlias = NDArray[np.float32]

ROUNDED = 64
"""Sides of a picture are multiples of this, so that many have the same shape."""
INNER = 0.8
"""The part of a line's thickness that is looked at for ink: rules run along the sides."""


@dataclass(frozen=True, slots=True)
class PageRecipe:
    """What the samples of a stage are like."""

    granularity: Granularity = "block"
    kinds: tuple[str, ...] = ()
    """Kinds of data sets that the stage is for; none: any."""
    validated_on: tuple[str, ...] = ()
    """Those whose validation pages choose the checkpoint, if they are given; otherwise all."""
    longest_side: int = 1024
    longest: int = 8192
    """Tokens of a sample at most."""
    batch_pixels: int = 4_000_000
    """Pixels of a batch at most, filling included; a single picture may have more."""
    weights: tuple[float, float, float] = (2.0, 2.0, 1.0)
    """Of block, adjacent and page penalties when blocks are cut: the paper's lambdas."""
    validation_mean: Literal["pages", "characters"] = "pages"
    """Whether a validation's AR is the mean of the pages' own, as all of the paper's figures are, or that of
    all characters together, in which a page that goes wrong altogether counts no more than it is long."""
    validation_pages: int = 0
    """Validation pages at most, spread evenly; 0 for all of the split, as in the paper."""
    augment: bool = True
    scale: tuple[float, float] = (0.9, 1.1)
    brightness: float = 0.08
    contrast: float = 0.15
    blur: float = 0.8
    """Radius in pixels at most, of the third of samples that are out of focus."""
    noise: float = 0.03
    """Grain at most, of the third of samples that have any."""

    def __post_init__(self) -> None:
        if self.granularity not in ("page", "block"):
            raise ValueError("granularity is page or block")
        if self.validation_mean not in ("pages", "characters"):
            raise ValueError("validation_mean is pages or characters")
        if self.longest_side < ROUNDED or self.longest_side % ROUNDED:
            raise ValueError(f"longest_side is a multiple of {ROUNDED}")


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture and what it says."""

    picture: Pixels
    """height x width, sides multiples of ROUNDED."""
    paper: int
    """The colour that fills it up."""
    tokens: tuple[int, ...]
    """The target with eos."""
    places: tuple[int, ...]
    """For each token but eos the number of the character that it reads, or that a transition leads to."""
    characters: tuple[int, ...]
    """The token of each character, or IGNORED."""
    points: Places
    """n x 2: the middle of each character, in pixels of the picture."""
    page: str = ""
    """The page's image."""


def make_samples(
    labelled: LabelledPage, recipe: PageRecipe, codec: Codec, rng: np.random.Generator | None
) -> tuple[list[Sample], LeftOut]:
    """A page's samples, changed a little by this generator if there is one, and what was left out."""
    page = with_pixels(labelled)
    if isinstance(page, str):
        return [], Counter({page: 1})
    samples, left_out = list[Sample](), LeftOut()
    assert page.pixels is not None
    grey = to_grey(page.pixels)
    for block, given in cut(page, recipe):
        made = _sample(given, prepare(given, _scaling(recipe, rng)), block.lines(page), grey, codec)
        if isinstance(made, str):
            left_out[made] += 1
        elif len(made.tokens) > recipe.longest:
            left_out["samples that are too long"] += 1
        else:
            samples.append(change(made, recipe, rng) if rng is not None else made)
    return samples, left_out


def with_pixels(labelled: LabelledPage) -> Page | str:
    """The page with its image, or why there is nothing to learn from it."""
    if not labelled.page.lines:
        return "pages without lines"
    try:
        pixels = turn_pixels(load_pixels(labelled.image), labelled.page.angle)
    except InputError:
        return "pages without a readable image"
    high, wide = pixels.shape[:2]
    if (labelled.page.width, labelled.page.height) not in ((0, 0), (wide, high)):
        return "pages whose image has another size"
    return replace(labelled.page, width=wide, height=high, pixels=pixels)


def cut(page: Page, recipe: PageRecipe) -> Iterator[tuple[Block, BlockInput]]:
    """The page as one block, or its blocks as they are cut when its text is not known yet."""
    bare = replace(page, lines=tuple(replace(line, text="", chars=()) for line in page.lines))
    whole = Block(0, len(page.lines), (0, 0, page.width, page.height))
    settings = BlockSettings(objective=Objective(*recipe.weights))
    blocks = cut_blocks(bare, settings) if recipe.granularity == "block" else (whole,)
    yield from zip(blocks, make_inputs(bare, crop_blocks(bare, blocks)), strict=True)


def _scaling(recipe: PageRecipe, rng: np.random.Generator | None) -> Scaling:
    """How large the picture is: as when reading, or, for a page, as large as the stage allows."""
    factor = float(rng.uniform(*recipe.scale)) if rng is not None else 1.0
    return reading_scale(recipe.granularity, recipe.longest_side, factor)


def reading_scale(granularity: Granularity, longest_side: int, factor: float = 1.0) -> Scaling:
    """How large blocks or pages are shown to a model that was trained on such."""
    usual = Scaling()
    if granularity == "block":
        return Scaling(character=usual.character * factor, longest=min(longest_side, usual.longest))
    longest = round(longest_side * min(factor, 1.0) / STEP) * STEP
    return Scaling(character=np.inf, most=factor, longest=longest)


def _sample(
    given: BlockInput, prepared: Prepared, lines: Sequence[Line], grey: Pixels, codec: Codec
) -> Sample | str:
    """One block's sample, or why there is none."""
    if not all(line.text.strip() for line in lines):
        return "samples with lines without text"
    if prepared.blank:
        return "samples without ink"
    high, wide = prepared.picture.shape
    try:
        target = codec.encode_lines(lines, wide / prepared.scale[0], high / prepared.scale[1])
    except InputError:
        return "samples whose text is not that of single lines"
    places, known, points = read_places(lines, grey, codec)
    seen = (np.array(points, np.float64) - prepared.origin) * prepared.scale
    paper = int(to_grey(np.array(given.crop.background, np.uint8).reshape(1, 1, -1))[0, 0])
    picture = np.full([-(-side // ROUNDED) * ROUNDED for side in (high, wide)], paper, np.uint8)
    picture[:high, :wide] = np.rint(prepared.picture * 255)
    return Sample(picture, paper, (*target, codec.eos), tuple(places), tuple(known), seen.astype(np.float32))


def read_places(
    lines: Sequence[Line], grey: Pixels, codec: Codec
) -> tuple[list[int], list[int], list[Point]]:
    """For each token but eos the number of its character; each character's token, or IGNORED, and place."""
    places, known, points = list[int](), list[int](), list[Point]()
    for number, line in enumerate(lines):
        places += [len(points)] * (number > 0)
        for char, at in place_characters(line, grey):
            ids = codec.encode(char)
            places += [len(points)] * len(ids)
            known.append(ids[0] if len(ids) == 1 and not char.isspace() else IGNORED)
            points.append(at)
    return places, known, points


def change(sample: Sample, recipe: PageRecipe, rng: np.random.Generator) -> Sample:
    """The same sample in another light; a third are a little out of focus, a third are grainy."""
    changed, gain, shift = relight(sample.picture, recipe, rng)
    return replace(sample, picture=changed, paper=round(min(max(sample.paper * gain + shift, 0), 255)))


def relight(pixels: Pixels, recipe: PageRecipe, rng: np.random.Generator) -> tuple[Pixels, float, float]:
    """Pixels, grey or in colours, in another light, and how it was changed."""
    gain = 1 + rng.uniform(-1, 1) * recipe.contrast
    shift = 255 * rng.uniform(-1, 1) * recipe.brightness + (1 - gain) * 127.5
    picture = pixels.astype(np.float32) * gain + shift
    kind = rng.integers(3)
    if kind == 1:
        picture += rng.standard_normal(picture.shape, np.float32) * (255 * rng.uniform(0, recipe.noise))
    changed = np.rint(np.clip(picture, 0, 255)).astype(np.uint8)
    if kind == 2:
        blur = ImageFilter.GaussianBlur(float(rng.uniform(0, recipe.blur)))
        changed = np.asarray(Image.fromarray(changed).filter(blur))
    return changed, gain, shift


def place_characters(line: Line, grey: Pixels) -> list[tuple[str, Point]]:
    """Each character of the line, marks joined to it, and where its middle lies on the page."""
    text = characters(line.text)
    boxed = [(point, centre(char.box)) for char in line.chars for point in char.text if not point.isspace()]
    if "".join(point for point, _ in boxed) != "".join(line.text.split()):
        return list(zip(text, estimate_places(line, len(text), grey), strict=True))
    found: list[tuple[str, Point]] = []
    at = 0
    for char in text:
        # White space has no box: it is where the character before it is.
        found.append((char, boxed[min(max(at - char.isspace(), 0), len(boxed) - 1)][1]))
        at += sum(not point.isspace() for point in char)
    return found


def estimate_places(line: Line, count: int, grey: Pixels) -> list[Point]:
    """Middles of so many cells along the line's ink, cut where there is little of it."""
    high, wide = grey.shape
    axis = 1 if line.is_vertical else 0
    x0, y0, x1, y1 = (round(value) for value in clip(line.box, wide, high))
    cut = grey[y0:y1, x0:x1] if line.is_vertical else grey[y0:y1, x0:x1].T
    side = round((1 - INNER) / 2 * cut.shape[1])
    cut = cut[:, side : cut.shape[1] - side]
    if cut.shape[0] >= 2 * count and cut.shape[1]:
        ends = cut_cells(extract_ink(cut), count).astype(np.float64) + (y0, x0)[1 - axis]
    else:
        ends = np.linspace(line.box[axis], line.box[axis + 2], count + 1)
    middles: list[float] = ((ends[1:] + ends[:-1]) / 2).tolist()
    if line.direction in ("bottom-to-top", "right-to-left"):
        middles.reverse()
    return [_on_the_line(line, at, axis) for at in middles]


def _on_the_line(line: Line, along: float, axis: int) -> Point:
    """The middle of the line at this place along it: columns may lean."""
    found = cross_section(line.polygon, along, axis) if line.polygon else None
    low, high = found or (line.box[1 - axis], line.box[3 - axis])
    across = (low + high) / 2
    return (across, along) if axis == 1 else (along, across)
