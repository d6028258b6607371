"""Composition: where every glyph, rule and mark of a page goes, before any ink.

The composer makes it, both renderers paint it, and `to_page` turns it into the ground truth. Glyphs lie in
arrays, because the GPU path handles thousands of compositions a second. Coordinates are pixels, top left
first. A glyph keeps its em box: 日 and 曰 differ only in how they fill it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.geometry import Box, Point, bounds
from tongguocr.page import Char, Direction, Kind, Line, Page

Floats: TypeAlias = NDArray[np.float32]

OVERHANG = 0.0625
"""Ink may leave its em box by this share of it (brush faces do): masks and atlas cells leave that room."""


@dataclass(frozen=True, slots=True)
class ComposedLine:
    """The glyphs `start:stop` of a composition, one line of the page in reading order."""

    start: int
    stop: int
    kind: Kind = "main"
    direction: Direction = "top-to-bottom"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight printed line: a rule between columns, a side of the frame, a box around a character."""

    start: Point
    end: Point
    width: float
    role: Literal["rule", "frame", "box"] = "rule"


@dataclass(frozen=True, slots=True)
class Patch:
    """A filled polygon of solid ink: a fish-tail, the ground of white-on-black characters."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A reading mark beside a character: 圈 (a ring) or 點 (a dot), printed or added in red by a reader."""

    centre: Point
    radius: float
    shape: Literal["ring", "dot"] = "ring"
    red: bool = False


@dataclass(frozen=True, slots=True)
class Composition:
    """One page, or one block of a page."""

    kind: str
    width: int
    height: int
    seed: int
    """Everything random that a renderer adds starts from here, so that a page can be painted again."""
    text: tuple[str, ...]
    """One character a glyph, in reading order; those in no line come last (`labelled`)."""
    faces: NDArray[np.int16]
    """n: which face of the font book draws the glyph."""
    boxes: Floats
    """n x 4: each glyph's em box. It may be higher or wider than square: the glyph is stretched to it. One
    that lies partly beyond the page is cut through by its edge (`cut_edge`)."""
    angles: Floats
    """n: small turns of single glyphs about their centre, in radians, counter-clockwise."""
    white: NDArray[np.bool_]
    """n: whether the glyph is cut out of a patch of ink."""
    lines: tuple[ComposedLine, ...]
    strokes: tuple[Stroke, ...] = ()
    patches: tuple[Patch, ...] = ()
    marks: tuple[Mark, ...] = ()
    frame: Box = field(default=(0.0, 0.0, 0.0, 0.0))
    """The printed area with its frame; paper lies around it."""

    def __len__(self) -> int:
        return len(self.text)

    def labelled(self) -> NDArray[np.bool_]:
        """n: whether the glyph belongs to a line. One that does not is ink that nobody is to read, such as
        the slice of a facing page: it is painted, but is in no label."""
        found = np.zeros(len(self.text), np.bool_)
        for line in self.lines:
            found[line.start : line.stop] = True
        return found


def cut_edge(composition: Composition) -> Literal["left", "right"] | None:
    """The side at which the page's edge cuts through glyphs. Nothing may be shown beyond it: the ink there is
    not cut off, and would appear whole."""
    reach = OVERHANG * (composition.boxes[:, 2] - composition.boxes[:, 0])
    if (composition.boxes[:, 0] < -reach).any():
        return "left"
    return "right" if (composition.boxes[:, 2] > composition.width + reach).any() else None


def to_page(composition: Composition, image: str = "") -> Page:
    """The ground truth: lines in reading order, a box for every character, cut off at the page's edge."""
    boxes = [tuple(box) for box in _on_page(composition).astype(np.float64).round(2).tolist()]
    lines = []
    for number, line in enumerate(composition.lines, start=1):
        span = slice(line.start, line.stop)
        chars = tuple(
            Char(char, (box[0], box[1], box[2], box[3]))
            for char, box in zip(composition.text[span], boxes[span], strict=True)
        )
        x0, y0 = (min(c.box[k] for c in chars) for k in (0, 1))
        x1, y1 = (max(c.box[k] for c in chars) for k in (2, 3))
        text = "".join(composition.text[span])
        lines.append(Line(f"l{number}", (x0, y0, x1, y1), text, line.kind, line.direction, chars=chars))
    return Page(image, composition.width, composition.height, tuple(lines))


def _on_page(composition: Composition) -> Floats:
    """The em boxes without what lies beyond the page; those that lie all beyond it as they are."""
    size = np.array([composition.width, composition.height] * 2, np.float32)
    cut = np.clip(composition.boxes, 0, size)
    seen = (cut[:, 2:] > cut[:, :2]).all(axis=1, keepdims=True)
    return np.where(seen, cut, composition.boxes)


def scaled(composition: Composition, factor: float) -> Composition:
    """The same page at another resolution."""

    def point(p: Point) -> Point:
        return (p[0] * factor, p[1] * factor)

    x0, y0, x1, y1 = (v * factor for v in composition.frame)
    return replace(
        composition,
        width=max(round(composition.width * factor), 1),
        height=max(round(composition.height * factor), 1),
        boxes=composition.boxes * np.float32(factor),
        strokes=tuple(
            replace(s, start=point(s.start), end=point(s.end), width=s.width * factor)
            for s in composition.strokes
        ),
        patches=tuple(Patch(tuple(point(p) for p in patch.points)) for patch in composition.patches),
        marks=tuple(replace(m, centre=point(m.centre), radius=m.radius * factor) for m in composition.marks),
        frame=(x0, y0, x1, y1),
    )


def cut_out(composition: Composition, box: Box, lines: range, width: int, height: int) -> Composition:
    """The lines `lines` of a page as a composition of their own: `box` of the page on a canvas of this size.

    The box is centred and scaled to fit, as a crop is. Other lines are left out as a crop masks them: their
    glyphs, and the marks, boxes and black grounds of their glyphs. Rules and frames stay.
    """
    factor = 1 / max((box[2] - box[0]) / width, (box[3] - box[1]) / height)
    dx = (box[0] + box[2] - width / factor) / 2
    dy = (box[1] + box[3] - height / factor) / 2
    kept = [composition.lines[k] for k in lines]
    index = np.concatenate([np.arange(line.start, line.stop) for line in kept])
    starts = np.cumsum([0, *(line.stop - line.start for line in kept)])

    own = composition.boxes[index]
    others = np.delete(composition.boxes, index, axis=0)

    def point(p: Point) -> Point:
        return (p[0] - dx, p[1] - dy)

    def kept_at(p: Point) -> bool:
        return (
            _near(own, p, 0.0)
            or not _near(others, p, 0.2)
            or (_near(own, p, 0.2) and not _near(others, p, 0.0))
        )

    moved = replace(
        composition,
        text=tuple(composition.text[k] for k in index),
        faces=composition.faces[index],
        boxes=composition.boxes[index] - np.array([dx, dy, dx, dy], np.float32),
        angles=composition.angles[index],
        white=composition.white[index],
        lines=tuple(
            replace(line, start=int(a), stop=int(b))
            for line, a, b in zip(kept, starts, starts[1:], strict=False)
        ),
        strokes=tuple(
            replace(s, start=point(s.start), end=point(s.end))
            for s in composition.strokes
            if s.role != "box" or kept_at(_middle((s.start, s.end)))
        ),
        patches=tuple(
            Patch(tuple(point(p) for p in patch.points))
            for patch in composition.patches
            if _holds(patch, own) or not _holds(patch, others)
        ),
        marks=tuple(replace(m, centre=point(m.centre)) for m in composition.marks if kept_at(m.centre)),
        frame=(
            composition.frame[0] - dx,
            composition.frame[1] - dy,
            composition.frame[2] - dx,
            composition.frame[3] - dy,
        ),
    )
    return replace(scaled(moved, factor), width=width, height=height)


def _middle(points: tuple[Point, ...]) -> Point:
    return (sum(p[0] for p in points) / len(points), sum(p[1] for p in points) / len(points))


def _holds(patch: Patch, boxes: Floats) -> bool:
    """Whether the middle of one of these em boxes lies in the patch's bounds."""
    x0, y0, x1, y1 = bounds(patch.points)
    x, y = (boxes[:, :2] + boxes[:, 2:]).T / 2
    return bool(((x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)).any())


def _near(boxes: Floats, point: Point, reach: float) -> bool:
    """Whether a point lies in one of these em boxes, or within so many em of it."""
    grow = reach * (boxes[:, 3] - boxes[:, 1])
    x, y = point
    across = (boxes[:, 0] - grow <= x) & (x <= boxes[:, 2] + grow)
    return bool((across & (boxes[:, 1] - grow <= y) & (y <= boxes[:, 3] + grow)).any())
