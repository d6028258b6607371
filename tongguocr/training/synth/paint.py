"""The CPU renderer: a composition as a colour image, and its ground truth.

A composition and the font book come in; RGB pixels and a Page with every label in those pixels go out. The
order is history's: block and ink, the sheet, what happened to it, the camera. Everything random comes from
one seed, so that a page can be painted again.
"""

from __future__ import annotations

import numpy as np

from tongguocr.geometry import Box
from tongguocr.page import Page, Pixels
from tongguocr.training.synth.camera import View, develop, held_straight, make_view, photograph
from tongguocr.training.synth.clutter import CLUTTERED_KINDS, add_clutter, place_seals, sample_clutter
from tongguocr.training.synth.composition import Composition, Floats, cut_edge, to_page
from tongguocr.training.synth.degradation import (
    Colour,
    Degradation,
    limit_for_size,
    sample_degradation,
)
from tongguocr.training.synth.fields import Shape
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.impression import carve, em_of, press, print_strokes
from tongguocr.training.synth.ink import as_floats, paint_black, paint_red
from tongguocr.training.synth.paper import make_sheet, show_through, worm_holes
from tongguocr.training.synth.seals import REDS, seal_layer
from tongguocr.training.synth.warp import warp_box, warp_page


def render(
    composition: Composition, fonts: FontBook, degradation: Degradation | None = None, seed: int | None = None
) -> tuple[Pixels, Page]:
    """A page's image and its labels.

    Without a `degradation`, one is drawn from the seed; `NO_DEGRADATION` gives a clean page. Without a
    `seed`, the composition's own is used.
    """
    seed = composition.seed if seed is None else seed
    rng, em = np.random.default_rng(seed), em_of(composition)
    degradation, view = _arrange(composition, degradation, em, seed, rng)
    strokes = print_strokes(composition, degradation, em, rng)
    block = carve(paint_black(composition, fonts, strokes), degradation, em, rng)
    density = press(block, degradation, em, rng)
    planes = _print(composition, fonts, degradation, density, view, em, rng)
    if degradation.cluttered:
        add_clutter(planes, view.pad, composition, fonts, degradation, em, seed)
    sheet = _as_pixels(planes)
    pixels = develop(photograph(sheet, degradation, view, em, rng), degradation, em, rng)
    return pixels, warp_page(to_page(composition), view.warp, view.width, view.height)


def seal_boxes(
    composition: Composition, degradation: Degradation | None = None, seed: int | None = None
) -> list[Box]:
    """Where the large seals lie on the image that `render` makes of the same arguments, without making it."""
    seed = composition.seed if seed is None else seed
    degradation, view = _arrange(
        composition, degradation, em_of(composition), seed, np.random.default_rng(seed)
    )
    places = place_seals((composition.height, composition.width), degradation, seed)
    return [warp_box(view.warp, place.box) for place in places]


def _arrange(
    composition: Composition,
    degradation: Degradation | None,
    em: float,
    seed: int,
    rng: np.random.Generator,
) -> tuple[Degradation, View]:
    """What happens to the page, drawn if it is not given, and where it lies in the picture."""
    if degradation is None:
        degradation = limit_for_size(sample_degradation(rng), em)
        if composition.kind in CLUTTERED_KINDS:
            # From a stream of its own: the other choices stay those of the seed.
            degradation = sample_clutter(np.random.default_rng([seed, 20]), degradation)
    if cut_edge(composition):
        degradation = held_straight(degradation)
    return degradation, make_view(degradation, (composition.height, composition.width), em, rng)


def _print(
    composition: Composition,
    fonts: FontBook,
    degradation: Degradation,
    density: Floats,
    view: View,
    em: float,
    rng: np.random.Generator,
) -> list[Floats]:
    """The sheet with its ink and what was added to it later, flat, `view.pad` larger on all sides."""
    height, width = density.shape
    pad = view.pad
    full = (height + 2 * pad, width + 2 * pad)
    planes = make_sheet(full, degradation, em, rng)
    inner = [plane[pad : pad + height, pad : pad + width] for plane in planes]
    if degradation.bleed:
        _lay(inner, show_through(density, degradation, em, rng), degradation.ink)
    _lay(inner, density, degradation.ink)
    red = paint_red(composition)
    if red is not None:
        _stamp(inner, as_floats(red) * np.float32(0.85), REDS[int(rng.integers(len(REDS)))])
    if degradation.seals:
        seals = seal_layer((height, width), degradation.seals, fonts, composition, em, rng)
        _stamp(inner, seals, REDS[int(rng.integers(len(REDS)))])
    _pierce(planes, full, degradation, em, rng)
    if degradation.binding:
        _shade_gutter(planes, degradation.binding, em)
    return planes


def _lay(planes: list[Floats], density: Floats, colour: Colour) -> None:
    """Cover with opaque ink."""
    for plane, value in zip(planes, colour, strict=True):
        plane += (np.float32(value / 255) - plane) * density


def _stamp(planes: list[Floats], density: Floats, colour: Colour) -> None:
    """Lay transparent colour over what is there: black stays black."""
    for plane, value in zip(planes, colour, strict=True):
        plane *= np.float32(1) - density * np.float32(1 - value / 255)


def _pierce(
    planes: list[Floats], shape: Shape, degradation: Degradation, em: float, rng: np.random.Generator
) -> None:
    holes = worm_holes(shape, degradation, em, rng)
    if holes is None:
        return
    mask, behind, shadow = holes
    through = as_floats(mask)
    lit = np.float32(1) - np.float32(0.35) * (np.float32(1) - as_floats(shadow))
    for plane, value in zip(planes, behind, strict=True):
        plane += (np.float32(value / 255) * lit - plane) * through


def _shade_gutter(planes: list[Floats], depth: float, em: float) -> None:
    """The shadow of the binding: dark at one edge, gone after a few characters' width."""
    width = planes[0].shape[1]
    away = np.arange(width, dtype=np.float32)
    if depth > 0:
        away = away[::-1]
    near = np.exp(-away / np.float32(0.9 * em)) * np.float32(0.6) + np.exp(
        -away / np.float32(3 * em)
    ) * np.float32(0.25)
    for plane in planes:
        plane *= np.float32(1) - near[None] * np.float32(abs(depth))


def _as_pixels(planes: list[Floats]) -> Pixels:
    out = np.empty((*planes[0].shape, 3), np.uint8)
    for k, plane in enumerate(planes):
        out[..., k] = np.clip(plane * np.float32(255) + np.float32(0.5), 0, 255)
    return out
