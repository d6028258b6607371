"""Hypothesis strategies: pages of every shape, and the example page of the golden files."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tongguocr.geometry import Box, Point, bounds, make_box
from tongguocr.page import ANGLES, DIRECTIONS, KINDS, Char, Line, Page

any_text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), max_size=8)
xml_text = st.text(
    st.one_of(
        st.sampled_from("天地玄黃宇宙洪荒，、 　\t𠀀𫝀﨑<&>\"']]>\ue000"),
        st.characters(min_codepoint=0x20, exclude_categories=("Cs", "Cc", "Cn")),
    ),
    max_size=8,
)
confidences = st.none() | st.floats(0, 1)
floats = st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9)
whole = st.integers(0, 5000)
around = st.integers(5000, 10**9)
"""Sizes of pages on which all of these whole numbers lie."""


def boxes(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Box]:
    return st.builds(make_box, numbers, numbers, numbers, numbers)


def polygons(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Point, ...]]:
    return st.lists(st.tuples(numbers, numbers), min_size=3, max_size=6).map(tuple)


def is_box(polygon: tuple[Point, ...] | None, box: Box) -> bool:
    """Whether an outline is the box itself, from whichever corner it begins."""
    x0, y0, x1, y1 = box
    return sorted(polygon or ()) == sorted(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


@st.composite
def chars(draw: st.DrawFn, text: st.SearchStrategy[str], numbers: st.SearchStrategy[float]) -> Char:
    candidates = draw(st.lists(st.tuples(text, st.floats(0, 1)), max_size=2))
    return Char(draw(text), draw(boxes(numbers)), draw(confidences), tuple(candidates))


@st.composite
def pages(
    draw: st.DrawFn,
    text: st.SearchStrategy[str] = any_text,
    numbers: st.SearchStrategy[float] = floats,
    ids: st.SearchStrategy[str] = any_text,
    bounded: bool = False,
    sizes: st.SearchStrategy[int] = st.integers(0, 10**9),
    angles: Sequence[int] = ANGLES,
) -> Page:
    """Any page; `bounded` makes a polygon's bounds the line's box, and no polygon the box itself."""
    lines = []
    for name in draw(st.lists(ids, unique=True, max_size=4)):
        box, polygon = draw(boxes(numbers)), draw(st.none() | polygons(numbers))
        if bounded and polygon is not None:
            box = bounds(polygon)
            polygon = None if is_box(polygon, box) else polygon
        line = Line(
            name,
            box,
            draw(text),
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from(DIRECTIONS)),
            draw(confidences),
            polygon,
            tuple(draw(st.lists(chars(text, numbers), max_size=3))),
        )
        lines.append(line)
    angle = draw(st.sampled_from(angles))
    return Page(draw(text), draw(sizes), draw(sizes), tuple(lines), angle=angle)


def example_page() -> Page:
    """Two columns, a double-row note between their parts, and a head note."""
    return Page(
        "page-001.png",
        600,
        800,
        (
            Line("l1", (500, 100, 550, 250), "天地玄", confidence=0.98, chars=_column("天地玄", 500, 100)),
            Line("l2", (527, 250, 550, 350), "注右行", kind="note", confidence=0.5),
            Line("l3", (500, 250, 523, 325), "左行", kind="note"),
            Line(
                "l4", (430, 100, 482, 250), "黃𠀀洪", polygon=((430, 100), (480, 101), (482, 250), (433, 249))
            ),
            Line("l5", (100, 20, 300, 50), "眉批", kind="margin", direction="right-to-left"),
            Line("l6", (290, 400, 310, 500), kind="fold"),
        ),
    )


def _column(text: str, x: float, y: float) -> tuple[Char, ...]:
    found = []
    for n, c in enumerate(text):
        others = (("夫", 0.25), ("大󠄀", 0.125)) if c == "天" else ()
        found.append(Char(c, (x, y + 50 * n, x + 50, y + 50 * n + 50), 0.5 if c == "天" else 1, others))
    return tuple(found)
