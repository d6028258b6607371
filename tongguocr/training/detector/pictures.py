"""What is no text and must give no characters: illustrations on the page, and the table around it.

`draw_picture` fills a box of a composition with the strokes of a woodcut: outlines, hatching, leaves, rocks.
`stitch` sews a page's edge. `make_scenes` paints tables with rulers, colour charts, bar codes, sewn backs of
books and library labels, whose letters are of Pillow's own face, since a machine that trains has no fonts,
and whose characters come from the atlas. None aims to be beautiful: they have to be varied.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tongguocr.geometry import Box
from tongguocr.page import Pixels
from tongguocr.training.detector.placing import keep_glyphs
from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Composition, Mark, Patch, Stroke
from tongguocr.training.synth.degradation import Degradation, Ground
from tongguocr.training.synth.fields import smooth_noise
from tongguocr.training.synth.surroundings import barcode, make_ground, stitches

GROUNDS: tuple[Ground, ...] = ("black", "felt", "wood", "cloth")
LETTERS = "ABCDEFGHIKLMNOPRSTUVWXYZabcdefghiklmnoprstuvwxyz0123456789.,:-/()&"
COLOURS = ((20, 20, 22), (244, 244, 242), (178, 178, 178), (110, 110, 110), (196, 40, 44), (232, 200, 40))


def illustrate(composition: Composition, rng: np.random.Generator) -> Composition:
    """A picture above the text, beside it, or over the whole page; text in its place gives way."""
    x0, y0, x1, y1 = composition.frame if composition.frame[2] > 0 else (0, 0, *_size(composition))
    shape = str(rng.choice(["above", "half", "page"], p=[0.5, 0.3, 0.2]))
    if shape == "above":
        y1 = y0 + (y1 - y0) * rng.uniform(0.25, 0.6)
    elif shape == "half":
        x0 = x0 + (x1 - x0) * rng.uniform(0.3, 0.6)
    boxes = composition.boxes
    apart = (boxes[:, 0] >= x1) | (boxes[:, 2] <= x0) | (boxes[:, 1] >= y1) | (boxes[:, 3] <= y0)
    bare = keep_glyphs(composition, apart)
    bare = replace(bare, marks=(), patches=(), strokes=tuple(s for s in bare.strokes if s.role == "frame"))
    return draw_picture(bare, (float(x0), float(y0), float(x1), float(y1)), rng)


def _size(composition: Composition) -> tuple[float, float]:
    return float(composition.width), float(composition.height)


def draw_picture(composition: Composition, box: Box, rng: np.random.Generator) -> Composition:
    """Strokes, leaves and dots inside the box, and a border around it."""
    x0, y0, x1, y1 = box
    side = min(x1 - x0, y1 - y0)
    strokes = [Stroke(a, b, max(side * 0.006, 1.0), "frame") for a, b in _sides(box)]
    patches, marks = list[Patch](), list[Mark]()
    for _ in range(int(rng.integers(12, 60))):
        x, y = float(rng.uniform(x0, x1)), float(rng.uniform(y0, y1))
        size = side * float(rng.uniform(0.03, 0.3))
        kind = rng.random()
        if kind < 0.45:
            strokes += _curve(x, y, size, rng)
        elif kind < 0.75:
            strokes += _hatching(x, y, size, rng)
        elif kind < 0.9:
            patches.append(_leaf(x, y, 0.4 * size, rng))
        else:
            shape = "ring" if rng.random() < 0.7 else "dot"
            marks.append(Mark((x, y), 0.15 * size, "ring" if shape == "ring" else "dot"))
    return replace(
        composition,
        strokes=(*composition.strokes, *(s for s in strokes if _inside(s, box))),
        patches=(*composition.patches, *patches),
        marks=(*composition.marks, *marks),
    )


def _sides(box: Box) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    x0, y0, x1, y1 = box
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def _inside(stroke: Stroke, box: Box) -> bool:
    return all(
        box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in (stroke.start, stroke.end)
    )  # fmt: skip


def _curve(x: float, y: float, size: float, rng: np.random.Generator) -> list[Stroke]:
    """An outline that winds on: the robe of a figure, a branch, a mountain."""
    turn, bend = float(rng.random() * 2 * pi), float(rng.normal(0, 0.35))
    width, step = max(size * float(rng.uniform(0.01, 0.04)), 1.0), size / 6
    strokes = []
    for _ in range(int(rng.integers(5, 16))):
        turn += bend + float(rng.normal(0, 0.3))
        end = (x + step * cos(turn), y + step * sin(turn))
        strokes.append(Stroke((x, y), end, width, "frame"))
        x, y = end
    return strokes


def _hatching(x: float, y: float, size: float, rng: np.random.Generator) -> list[Stroke]:
    """Parallel strokes: shade, water, a roof; now and then crossed, like a lattice or a character."""
    turn, gap = float(rng.random() * pi), size * float(rng.uniform(0.06, 0.2))
    width, strokes = max(gap * float(rng.uniform(0.1, 0.45)), 1.0), list[Stroke]()
    for angle in (turn, turn + pi / 2)[: 1 + int(rng.random() < 0.3)]:
        dx, dy = cos(angle), sin(angle)
        for k in range(int(rng.integers(3, 9))):
            half = size * float(rng.uniform(0.3, 0.6))
            cx, cy = x - dy * (k - 3) * gap, y + dx * (k - 3) * gap
            start, end = (cx - dx * half, cy - dy * half), (cx + dx * half, cy + dy * half)
            strokes.append(Stroke(start, end, width, "frame"))
    return strokes


def _leaf(x: float, y: float, size: float, rng: np.random.Generator) -> Patch:
    """A filled shape of six corners."""
    turns = np.sort(rng.random(6)) * 2 * pi
    away = size * rng.uniform(0.3, 1.0, 6)
    return Patch(
        tuple((x + float(r * np.cos(t)), y + float(r * np.sin(t))) for t, r in zip(turns, away, strict=True))
    )


def stitch(composition: Composition, em: float, rng: np.random.Generator) -> Composition:
    """The page with the holes and the thread of its binding at one edge."""
    shape = (composition.height, composition.width)
    sewn = stitches(shape, em, bool(rng.random() < 0.5), rng)
    width = sewn.radius * float(rng.uniform(0.8, 1.6))
    thread = tuple(Stroke((x0, y0), (x1, y1), width, "frame") for x0, y0, x1, y1 in sewn.thread)
    holes = tuple(Mark(hole, sewn.radius, "dot") for hole in sewn.holes)
    return replace(composition, strokes=(*composition.strokes, *thread), marks=(*composition.marks, *holes))


def make_scenes(count: int, side: int, seed: int, atlas: Atlas) -> Pixels:
    """count x side x side: tables seen from above, in grey, most with things on them."""
    rng = np.random.default_rng([seed, 5])
    return np.stack([_any_scene(side, atlas, rng) for _ in range(count)])


def _any_scene(side: int, atlas: Atlas, rng: np.random.Generator) -> Pixels:
    """A table, most often; a slip on a page shows a part of these, so some are labels all over."""
    kind = rng.random()
    if kind < 0.15:
        return _view(side, rng)
    return _labels(side, atlas, rng) if kind < 0.27 else _scene(side, atlas, rng)


def _labels(side: int, atlas: Atlas, rng: np.random.Generator) -> Pixels:
    """Light paper full of bar codes, labels, rulers and charts, one over the other."""
    picture = Image.new("RGB", (side, side), (int(rng.integers(200, 250)),) * 3)
    for _ in range(int(rng.integers(12, 30))):
        picture = _lay_thing(picture, side * float(rng.uniform(0.02, 0.06)), atlas, rng)
    return np.asarray(picture.convert("L"))


def _view(side: int, rng: np.random.Generator) -> Pixels:
    """Something else altogether: clouds of all sizes with hard edges here and there, waves, grain."""
    total = np.zeros((side, side), np.float32)
    at = np.arange(side, dtype=np.float32)
    for scale in side * np.exp(rng.uniform(np.log(0.002), np.log(0.5), 4)):
        cloud = smooth_noise(rng, (side, side), max(float(scale), 1.0))
        if rng.random() < 0.3:
            turn, length = rng.random() * pi, float(scale)
            across = np.float32(cos(turn)) * at + np.float32(sin(turn)) * at[:, None]
            cloud = np.sin(across / np.float32(length) + cloud * np.float32(rng.random())) * np.float32(1.4)
        total += np.where(cloud > 0, 1, -1) if rng.random() < 0.4 else cloud
    low, high = np.percentile(total, [2, 98])
    view: Pixels = (np.clip((total - low) / max(high - low, 1e-3), 0, 1) * 255).astype(np.uint8)
    return _strewn(view, rng) if rng.random() < 0.5 else view


def _strewn(view: Pixels, rng: np.random.Generator) -> Pixels:
    """Round things in rows or anywhere, with something on them: coins, buttons, fruit, windows of a house."""
    picture, side = Image.fromarray(view), len(view)
    size, gap = side * float(np.exp(rng.uniform(np.log(0.02), np.log(0.15)))), float(rng.uniform(1.0, 2.0))
    spots = np.mgrid[0 : side : size * gap, 0 : side : size * gap].reshape(2, -1).T
    if rng.random() < 0.4:
        spots = rng.uniform(0, side, spots.shape)
    base = float(rng.uniform(60, 220))
    for x, y in spots[:150]:
        round_thing = Image.new("L", (int(size) + 1,) * 2)
        wide, high = size * rng.uniform(0.7, 1.0, 2)
        ImageDraw.Draw(round_thing).ellipse((0, 0, wide, high), fill=255)
        shade = smooth_noise(rng, (int(size) + 1,) * 2, max(size * float(rng.uniform(0.04, 0.3)), 1.0))
        thing = Image.fromarray(np.clip(base + 35 * shade, 0, 255).astype(np.uint8))
        picture.paste(thing, (int(x), int(y)), round_thing)
    return np.asarray(picture)


def _scene(side: int, atlas: Atlas, rng: np.random.Generator) -> Pixels:
    ground = GROUNDS[int(rng.choice(4, p=[0.45, 0.3, 0.12, 0.13]))]
    picture = make_ground((side, side), Degradation(ground=ground), 28.0, rng)
    for _ in range(int(rng.integers(0, 6))):
        picture = _lay_thing(picture, side * float(rng.uniform(0.02, 0.06)), atlas, rng)
    if rng.random() < 0.5:
        picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 1.2))))
    return np.asarray(picture.convert("L"))


def _lay_thing(picture: Image.Image, em: float, atlas: Atlas, rng: np.random.Generator) -> Image.Image:
    """The picture with a ruler, a colour chart, a label, a bar code or a sewn back on it."""
    thing, side = rng.random(), picture.width
    if thing < 0.3:
        return _ruled(picture, em, rng)
    if thing < 0.5:
        _chart(ImageDraw.Draw(picture), side, em, rng)
    elif thing < 0.75:
        _label(picture, side, em, atlas, rng)
    elif thing < 0.92:
        _lay_barcode(picture, em, rng)
    else:
        _lay_binding(picture, em, rng)
    return picture


def _lay_barcode(picture: Image.Image, em: float, rng: np.random.Generator) -> None:
    """A bar code anywhere, lying or standing."""
    wide = em * float(rng.uniform(4, 14))
    slip = barcode((max(int(wide), 24), max(int(wide * rng.uniform(0.25, 0.6)), 10)), rng)
    if rng.random() < 0.5:
        slip = slip.transpose(Image.Transpose.ROTATE_90)
    x, y = (int(rng.uniform(-0.3 * size, picture.width - 0.5 * size)) for size in slip.size)
    picture.paste(slip.convert("RGB"), (x, y))


def _lay_binding(picture: Image.Image, em: float, rng: np.random.Generator) -> None:
    """A strip of a book's cover along its back, sewn, from edge to edge."""
    side, wide = picture.width, max(int(em * rng.uniform(1.5, 4)), 8)
    paper, ink = ((225, 60), (70, 215), (40, 180), (180, 40))[int(rng.integers(4))]
    strip = Image.new("RGB", (wide, side), (paper,) * 3)
    draw, sewn = ImageDraw.Draw(strip), stitches((side, wide), em, False, rng)
    for line in sewn.thread:
        draw.line(line, fill=(ink,) * 3, width=max(round(sewn.radius), 1))
    for x, y in sewn.holes:
        r = sewn.radius
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(20, 20, 20))
    picture.paste(strip, (int(rng.uniform(0, side - wide)), 0))


def _ruled(picture: Image.Image, em: float, rng: np.random.Generator) -> Image.Image:
    """A ruler across the table, ticks and figures on it, lying or standing; figures turned with it or not."""
    turned, upright = rng.random() < 0.5, rng.random() < 0.6
    if turned:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
    draw, side = ImageDraw.Draw(picture), picture.width
    paper, ink = ((236, 30), (30, 230), (210, 60))[int(rng.integers(3))]
    y, high = float(rng.uniform(0, side)), em * float(rng.uniform(1.0, 2.5))
    step = max(em / float(rng.uniform(3, 10)), 2.5)
    draw.rectangle((0, y, side, y + high), fill=(paper,) * 3)
    font = ImageFont.load_default(max(high * float(rng.uniform(0.25, 0.6)), 6))
    each, first, most = int(rng.choice([5, 10, 10])), int(rng.integers(40)), int(rng.choice([10, 100]))
    for k in range(int(side / step)):
        reach = high * (0.45 if k % 10 == 0 else 0.32 if k % 5 == 0 else 0.2)
        draw.line((k * step, y, k * step, y + reach), fill=(ink,) * 3)
        if k % each == 0:
            figure = _figure(str((first + k // each) % most), font, turned and upright)
            picture.paste((ink,) * 3, (int(k * step), int(y + 0.5 * high)), figure)
    return picture.transpose(Image.Transpose.ROTATE_270) if turned else picture


def _figure(text: str, font: Any, turned: bool) -> Image.Image:
    """A mask of this text; turned, so that it stands upright once the picture is turned back."""
    x0, y0, x1, y1 = (int(v) for v in font.getbbox(text))
    mask = Image.new("L", (x1 + 1, y1 + 1))
    ImageDraw.Draw(mask).text((0, 0), text, fill=255, font=font)
    mask = mask.crop((x0, y0, x1 + 1, y1 + 1))
    return mask.transpose(Image.Transpose.ROTATE_90) if turned else mask


def _chart(draw: ImageDraw.ImageDraw, side: int, em: float, rng: np.random.Generator) -> None:
    """Grey and colour patches in a row or a column."""
    x, y, patch = rng.uniform(0, side), rng.uniform(0, side), em * rng.uniform(0.8, 2.0)
    across = rng.random() < 0.5
    for k in rng.permutation(len(COLOURS)).tolist():
        draw.rectangle((x, y, x + patch, y + patch), fill=COLOURS[k])
        x, y = (x + patch, y) if across else (x, y + patch)


def _label(picture: Image.Image, side: int, em: float, atlas: Atlas, rng: np.random.Generator) -> None:
    """A slip with a few lines: letters and figures, a bar code, or print in characters."""
    draw = ImageDraw.Draw(picture)
    rows, wide = int(rng.integers(1, 5)), em * float(rng.uniform(3, 10))
    x, y, high = rng.uniform(0, side), rng.uniform(0, side), em * float(rng.uniform(0.6, 1.2))
    draw.rectangle((x, y, x + wide, y + 1.2 * rows * high), fill=(int(rng.integers(190, 250)),) * 3)
    font = ImageFont.load_default(max(high * 0.8, 6))
    for row in range(rows):
        top, kind = y + (1.2 * row + 0.1) * high, rng.random()
        if kind < 0.12:
            for at in np.arange(x, x + wide, 3.0):
                draw.rectangle((at, top, at + rng.uniform(0.5, 2.5), top + high), fill=(30, 30, 30))
        elif kind < 0.5:
            count = int(wide / (0.5 * high))
            text = "".join(rng.choice(list(LETTERS + " " * 8), max(count, 1)))
            draw.text((x + 0.1 * high, top), text, fill=(40, 40, 40), font=font)
        else:
            for at in np.arange(x + 0.1 * high, x + wide - 0.8 * high, 0.85 * high):
                glyph = Image.fromarray(atlas.random_mask(rng)).resize((max(int(0.8 * high), 4),) * 2)
                picture.paste((40, 40, 40), (int(at), int(top)), glyph)
