"""The camera: the flat page bent, laid on its table, lit, filmed, blurred and compressed.

A flat colour page comes in, the final image goes out, and with it the `Warp` that moves the labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from math import ceil

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from tongguocr.page import Pixels
from tongguocr.training.synth.degradation import Degradation
from tongguocr.training.synth.fields import Shape, ramp, smooth_noise, through_mesh
from tongguocr.training.synth.surroundings import Margins, facing_strip, lay_things, make_ground, make_margins
from tongguocr.training.synth.warp import Warp

_MESH = 40
"""Pixels between the points at which a warp is worked out; it is bilinear between them."""


@dataclass(frozen=True, slots=True)
class View:
    """Where the page lies in the picture."""

    width: int
    height: int
    warp: Warp
    margins: Margins
    pad: int
    """How far the sheet must reach beyond the page on all sides, so that a bent page fills the picture."""


def held_straight(degradation: Degradation) -> Degradation:
    """The same, but photographed from right above with the page filling the picture.

    A page that cuts through characters has to end where the picture does: any bend would show paper beyond.
    """
    straight = replace(degradation, skew=0.0, perspective=(0.0, 0.0), curl=0.0, waver=0.0)
    return replace(straight, ground="none", facing=False, ruler=False, chart=False, label=False)


def make_view(degradation: Degradation, shape: Shape, em: float, rng: np.random.Generator) -> View:
    """Choose the picture's size and the page's place on it."""
    height, width = shape
    warp = degradation.warp(width, height, em, rng)
    margins = make_margins(degradation, shape, em, rng)
    pad = 0 if degradation.ground != "none" else _overreach(warp)
    full = (width + margins.left + margins.right, height + margins.top + margins.bottom)
    return View(*full, warp.moved(margins.left, margins.top), margins, pad)


def _overreach(warp: Warp) -> int:
    """How far beyond the page a picture of the page's own size looks."""
    if warp.is_plain:
        return 0
    across, down = np.linspace(0, warp.width, 17), np.linspace(0, warp.height, 17)
    edges = [(x, y) for x in across for y in (0, warp.height)]
    edges += [(x, y) for y in down for x in (0, warp.width)]
    seen = warp.source(np.array(edges))
    beyond = float(np.maximum(-seen, seen - np.array([warp.width, warp.height])).max())
    return max(ceil(beyond), 0) + 2


def photograph(
    sheet: Pixels, degradation: Degradation, view: View, em: float, rng: np.random.Generator
) -> Pixels:
    """The sheet (the page and `view.pad` around it) as the camera sees it, before it is developed."""
    flat = Image.fromarray(sheet)
    size = (view.width, view.height)
    if degradation.ground == "none":
        return np.asarray(_bend(flat, view, size))
    picture = make_ground((view.height, view.width), degradation, em, rng)
    _lay_facing(picture, degradation, view, em, rng)
    lay_things(picture, degradation, view.margins, em, rng)
    outline = _bend(_sheet_outline(flat.size, degradation, em, rng), view, size)
    _drop_shadow(picture, outline, em)
    _lay_leaves(picture, outline, degradation, em, rng)
    picture.paste(_bend(flat, view, size), (0, 0), outline)
    return np.asarray(picture)


def _bend(flat: Image.Image, view: View, size: tuple[int, int]) -> Image.Image:
    """The flat image through the warp, cell by cell."""
    if view.warp.is_plain:
        x, y = view.margins.left, view.margins.top
        return flat.crop((-x, -y, size[0] - x, size[1] - y)) if (x or y or flat.size != size) else flat
    return through_mesh(flat, size, _MESH, lambda points: view.warp.source(points) + view.pad)


def _sheet_outline(
    size: tuple[int, int], degradation: Degradation, em: float, rng: np.random.Generator
) -> Image.Image:
    """The leaf's shape: nearly straight edges, corners rounded by handling."""
    width, height = size
    count = 24
    inset = np.abs(rng.normal(0, 0.03 * em, 4 * count))
    t = np.arange(count) / count
    sides = [
        np.stack([t * width, np.zeros(count)], 1),
        np.stack([np.full(count, width), t * height], 1),
        np.stack([(1 - t) * width, np.full(count, height)], 1),
        np.stack([np.zeros(count), (1 - t) * height], 1),
    ]
    ring = np.concatenate(sides)
    centre = np.array([width / 2, height / 2])
    ring += np.sign(centre - ring) * np.where(np.abs(ring - centre) > centre * 0.999, inset[:, None], 0)
    for corner in range(4):
        ring[corner * count] += np.sign(centre - ring[corner * count]) * em * rng.uniform(0, 0.12)
    mask = Image.new("L", size)
    ImageDraw.Draw(mask).polygon([(x, y) for x, y in ring.tolist()], fill=255)
    return mask


def _drop_shadow(picture: Image.Image, outline: Image.Image, em: float) -> None:
    """A soft dark rim below and right of the leaf."""
    small = outline.reduce(4)
    shift = max(round(0.03 * em), 1)
    soft = ImageChops.offset(small.filter(ImageFilter.GaussianBlur(max(0.05 * em, 1))), shift, shift)
    shade = soft.resize(picture.size, Image.Resampling.BILINEAR).point(lambda v: v * 0.6)
    picture.paste((8, 8, 8), (0, 0), shade)


def _lay_leaves(
    picture: Image.Image, outline: Image.Image, degradation: Degradation, em: float, rng: np.random.Generator
) -> None:
    """The edges of the leaves below, each a little further out and darker by turns."""
    step = max(0.035 * em, 1.0)
    side = -1 if degradation.binding > 0 else 1
    for k in range(int(rng.integers(0, 5)), 0, -1):
        shade = float(rng.uniform(0.6, 0.92))
        r, g, b = (round(v * shade) for v in degradation.paper)
        place = (round(side * k * step), round(k * step * 0.6))
        picture.paste((r, g, b), (0, 0), ImageChops.offset(outline, *place))


def _lay_facing(
    picture: Image.Image, degradation: Degradation, view: View, em: float, rng: np.random.Generator
) -> None:
    """The facing page's margin beyond the binding, up to the picture's edge."""
    room = view.margins.left if degradation.binding <= 0 else view.margins.right
    if not degradation.facing or room < 2:
        return
    # A page that is turned uncovers some table at its edge: the strip reaches below it.
    under = round(0.5 * em) + abs(round(float(np.tan(np.deg2rad(degradation.skew))) * view.height))
    height = view.height - view.margins.top - view.margins.bottom
    strip = facing_strip(degradation, (height, view.width), room + under, em, rng)
    x = 0 if degradation.binding <= 0 else view.width - room - under
    picture.paste(Image.fromarray(strip), (x, view.margins.top))


def develop(picture: Pixels, degradation: Degradation, em: float, rng: np.random.Generator) -> Pixels:
    """Light, film, resolution, blur, noise and JPEG."""
    image = Image.fromarray(picture)
    if degradation.light:
        image = _uneven_light(image, degradation.light, rng)
    if degradation.film != "none" or degradation.grey:
        image = image.convert("L")
    if degradation.film == "grey":
        image = _grey_film(image, degradation, em, rng)
    elif degradation.film == "binary":
        image = _binary_film(image, degradation, em, rng)
    if degradation.resolution < 1:
        image = _coarser(image, degradation.resolution)
    if degradation.blur >= 0.05:
        image = image.filter(ImageFilter.GaussianBlur(degradation.blur))
    if degradation.noise:
        image = _noisy(image, degradation.noise, rng)
    if degradation.jpeg:
        image = _compressed(image, degradation.jpeg)
    return np.array(image.convert("RGB"))


def _uneven_light(image: Image.Image, strength: float, rng: np.random.Generator) -> Image.Image:
    slope = ramp((64, 64), rng) * np.float32(0.5) - np.float32(0.5)
    light = (255 * (1 + slope * strength * 0.45)).clip(0, 255).astype(np.uint8)
    field = Image.fromarray(light).resize(image.size, Image.Resampling.BICUBIC)
    return ImageChops.multiply(image, Image.merge("RGB", (field, field, field)))


def _levels(degradation: Degradation) -> tuple[float, float]:
    """The grey of ink and of paper."""
    weights = np.array([0.299, 0.587, 0.114])
    return float(weights @ np.array(degradation.ink)), float(weights @ np.array(degradation.paper))


def _grey_film(
    image: Image.Image, degradation: Degradation, em: float, rng: np.random.Generator
) -> Image.Image:
    """Hard contrast, dust and a scratch."""
    ink, paper = _levels(degradation)
    low, high = ink + 0.1 * (paper - ink), ink + rng.uniform(0.85, 1.0) * (paper - ink)
    curve = [min(max((v - low) / max(high - low, 1), 0), 1) for v in range(256)]
    image = image.point([round(12 + 236 * t * t * (3 - 2 * t)) for t in curve])
    return _dust(image, em, rng)


def _binary_film(
    image: Image.Image, degradation: Degradation, em: float, rng: np.random.Generator
) -> Image.Image:
    """Black and white against the local paper, with specks. Films are scanned finely and reduced later, so
    small characters keep soft edges and their hairlines."""
    ink, paper = _levels(degradation)
    small = image.reduce(8)
    reach = 2 * max(round(em / 16), 1) + 1
    local = small.filter(ImageFilter.MaxFilter(reach)).filter(ImageFilter.BoxBlur(reach))
    ground = np.asarray(local.resize(image.size, Image.Resampling.BILINEAR), np.float32)
    small_type = float(np.clip((48 - em) / 26, 0, 1))
    reflect = ink / max(paper, 1)
    cut = (0.57 + 0.08 * small_type + rng.normal(0, 0.03)) * (1 - reflect) + reflect
    level = np.asarray(image, np.float32) - ground * np.float32(cut)
    shape = (image.height, image.width)
    level += smooth_noise(rng, shape, 1.5) * np.float32(rng.uniform(2, 7))
    span = 10 + small_type * 0.55 * (paper - ink)
    black = np.clip(level * np.float32(1 / span) + np.float32(0.5), 0, 1) * np.float32(255)
    # Where the picture is dark all over there is no paper to compare with.
    black[ground < paper * 0.35] = 0
    return _dust(Image.fromarray(black.astype(np.uint8)), em, rng)


def _dust(image: Image.Image, em: float, rng: np.random.Generator) -> Image.Image:
    """Specks of both kinds, and now and then a scratch along the film."""
    image = image.copy()
    draw = ImageDraw.Draw(image)
    for _ in range(int(image.width * image.height / (em * em) * rng.uniform(0.02, 0.25))):
        x, y, r = rng.random() * image.width, rng.random() * image.height, em * rng.uniform(0.005, 0.03)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=int(rng.choice([0, 40, 255], p=[0.5, 0.3, 0.2])))
    if rng.random() < 0.2:
        x = rng.random() * image.width
        draw.line((x, 0, x + rng.normal(0, 3), image.height), fill=int(rng.choice([70, 235])))
    return image


def _coarser(image: Image.Image, share: float) -> Image.Image:
    small = (max(round(image.width * share), 1), max(round(image.height * share), 1))
    return image.resize(small, Image.Resampling.BOX).resize(image.size, Image.Resampling.BICUBIC)


def _noisy(image: Image.Image, sigma: float, rng: np.random.Generator) -> Image.Image:
    """Sensor noise: mostly of lightness, a little of colour."""
    pixels = np.asarray(image).astype(np.int16)
    grain = (rng.standard_normal(pixels.shape[:2], np.float32) * np.float32(255 * sigma)).astype(np.int16)
    pixels += grain if pixels.ndim == 2 else grain[..., None]
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _compressed(image: Image.Image, quality: int) -> Image.Image:
    data = BytesIO()
    image.save(data, "JPEG", quality=quality)
    with Image.open(data) as again:
        again.load()
        return again.copy()
