"""The GPU painters on a CPU: the ink of the CPU renderer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from painted_blocks import CHARS, HIGH, SIZE, WIDE, column, compose, ink_box

from tongguocr.training.synth.atlas import Atlas
from tongguocr.training.synth.composition import Composition, Mark, Patch, Stroke
from tongguocr.training.synth.fonts import FontBook
from tongguocr.training.synth.gpu.pack import SIDES, pack
from tongguocr.training.synth.gpu.render import GlyphAtlas, paint, unpack_bits
from tongguocr.training.synth.ink import paint_ink


def both(
    block: Composition, book: FontBook, atlas: Atlas, glyphs: GlyphAtlas
) -> tuple[np.ndarray, np.ndarray]:
    ours = paint(pack([block], atlas.cells), glyphs).all_black[0].numpy()
    return ours, paint_ink(block, book)


def test_bits_are_the_atlas_masks(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    cell = int(atlas.cells(np.zeros(1, np.int16), ["口"])[0])
    assert np.array_equal(unpack_bits(glyphs.bits)[cell].numpy() > 0, atlas.mask(0, "口"))


@settings(max_examples=25)
@given(
    char=st.sampled_from(CHARS),
    width=st.floats(14, 90),
    stretch=st.floats(0.7, 1.4),
    angle=st.floats(-0.1, 0.1),
    x=st.floats(0, 30),
    y=st.floats(0, 30),
)
def test_a_glyph_lands_where_the_cpu_paints_it(
    book: FontBook, atlas: Atlas, glyphs: GlyphAtlas,
    char: str, width: float, stretch: float, angle: float, x: float, y: float,
) -> None:  # fmt: skip
    height = min(width * stretch, SIZE - 34)
    block = compose([(x + 2, y + 2, x + 2 + width, y + 2 + height)], char)
    block = replace(block, angles=np.array([angle], np.float32))
    ours, reference = both(block, book, atlas, glyphs)
    # An em of 64 bits is off by half a bit at most, which is more pixels the larger the glyph.
    assert np.abs(ink_box(ours) - ink_box(reference)).max() <= 1.25 + 0.75 * max(width, height) / 90
    assert np.abs(ours - reference).mean() < 0.005 + 0.018 * max(width, height) / 90


@settings(max_examples=20)
@given(
    char=st.sampled_from(CHARS),
    em=st.floats(14, 44),
    x=st.floats(0, 1),
    y=st.floats(0, 1),
    tall=st.booleans(),
)
def test_a_glyph_lands_where_the_cpu_paints_it_on_an_oblong_canvas(
    book: FontBook, atlas: Atlas, glyphs: GlyphAtlas, char: str, em: float, x: float, y: float, tall: bool
) -> None:
    height, width = (HIGH, WIDE) if tall else (WIDE, HIGH)
    left, top = 2 + x * (width - em - 4), 2 + y * (height - em - 4)
    block = compose([(left, top, left + em, top + em)], char, height=height, width=width)
    block = replace(
        block, strokes=(Stroke((0, 1), (width, 1), 2.0), Stroke((width - 1, 0), (width - 1, height), 2.0))
    )
    ours, reference = both(block, book, atlas, glyphs)
    assert ours.shape == reference.shape == (height, width)
    assert np.abs(ours - reference).mean() < 0.01
    assert np.abs(ours[-1, -3:] - reference[-1, -3:]).max() < 0.3, "rules reach the corners"
    glyph = np.s_[2:height, : width - 2]
    assert np.abs(ink_box(ours[glyph]) - ink_box(reference[glyph])).max() <= 1.5


def test_a_turned_glyph_leans_the_same_way(book: FontBook, atlas: Atlas, glyphs: GlyphAtlas) -> None:
    for char in "十乚":
        block = compose([(20, 20, 84, 100)], char)
        lean = {
            a: both(replace(block, angles=np.array([a], np.float32)), book, atlas, glyphs)
            for a in (0.1, -0.1)
        }
        for angle, (ours, _) in lean.items():
            right, wrong = (np.abs(ours - lean[a][1]).mean() for a in (angle, -angle))
            assert right < 0.012 and right < wrong / 4


def test_a_whole_block_is_painted_as_on_the_cpu(book: FontBook, atlas: Atlas, glyphs: GlyphAtlas) -> None:
    block = compose(
        [(4, 4, 34, 34), (4, 36, 34, 66), (90, 80, 120, 110)],
        "口十田",
        white=np.array([False, False, True]),
        strokes=(Stroke((50, 5), (50, 120), 2.0), Stroke((60, 20), (100, 30), 3.0, "frame")),
        patches=(Patch(((86, 76), (124, 76), (124, 114), (86, 114))), Patch(((60, 60), (80, 60), (70, 75)))),
        marks=(Mark((40, 90), 6.0), Mark((20, 100), 4.0, "dot")),
    )
    ours, reference = both(block, book, atlas, glyphs)
    assert np.abs(ours - reference).mean() < 0.012
    for x0, y0, x1, y1 in ((46, 0, 54, 128), (56, 54, 84, 78), (30, 80, 50, 100), (12, 92, 28, 108)):
        there, wanted = ours[y0:y1, x0:x1], reference[y0:y1, x0:x1]
        assert abs(there.sum() - wanted.sum()) < 0.06 * wanted.sum() + 1, (x0, y0)
        assert np.abs(ink_box(there) - ink_box(wanted)).max() <= 1.5
    assert ours[95, 105] < 0.05 < 0.9 < ours[78, 105], "the square is cut out of its ground"


def test_red_marks_are_apart(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    ink = paint(pack([compose([], marks=(Mark((30, 30), 5, "dot", red=True),))], atlas.cells), glyphs)
    assert ink.red[0, 30, 30] == 1 and ink.all_black.max() == 0


def test_blocks_do_not_mix_and_unknown_glyphs_stay_blank(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    first, empty, odd = column(), compose([]), compose([(10, 10, 40, 40)], "龍")
    batch = pack([empty, first, odd], atlas.cells)
    ink = paint(batch, glyphs).black
    alone = paint(pack([first], atlas.cells), glyphs).black
    assert torch.equal(ink[1], alone[0]) and ink[0].max() == 0 and ink[2].max() == 0
    assert batch.of_block.tolist() == [1] * 6 + [2], "a glyph without ink keeps its label"


def test_glyphs_off_the_canvas_are_harmless(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    boxes = [(-500.0, 0.0, -460.0, 40.0), (-10.0, -10.0, 20.0, 20.0), (5.0, 5.0, 5.0, 5.0)]
    ink = paint(pack([compose(boxes, "田田田")], atlas.cells), glyphs).black[0]
    assert ink[:15, :15].max() > 0.9 and ink[30:, 30:].max() == 0


def test_what_lies_off_the_canvas_is_left_out(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    """A cut-out block has its whole page's marks; those that only touch the canvas stay."""
    near = compose(
        [],
        height=HIGH,
        width=WIDE,
        strokes=(Stroke((WIDE + 1, 0), (WIDE + 1, HIGH), 4.0), Stroke((0, 150), (90, 150), 2.0, "frame")),
        patches=(Patch(((-9, 140), (4, 140), (4, 150), (-9, 150))),),
        marks=(Mark((-2, 30), 5, "dot"), Mark((50, HIGH + 2), 5, "dot", red=True)),
    )
    far = replace(
        near,
        strokes=(
            *near.strokes,
            Stroke((400, 0), (400, HIGH), 2.0),
            Stroke((0, -80), (90, -80), 2.0, "frame"),
        ),
        patches=(*near.patches, Patch(((100, 0), (120, 0), (120, 20)))),
        marks=(*near.marks, Mark((300, 20), 5), Mark((20, -9), 5), Mark((20, 500), 5, red=True)),
    )
    one, two = (pack([block], atlas.cells) for block in (near, far))
    for kind in ("rules", "frames", "patches", "marks", "red"):
        assert len(getattr(one, kind)) == len(getattr(two, kind)) == 1, kind
    ink = paint(two, glyphs)
    assert ink.rules[0, 80, WIDE - 1] > 0.9 and ink.red[0, HIGH - 1, 50] == 1
    assert ink.black[0, 30, 0] == 1 and ink.black[0, 145, 0] == 1


def test_spans_cover_every_glyph_with_room() -> None:
    rng = np.random.default_rng(0)
    boxes = [(0.0, 0.0, float(s), float(s)) for s in rng.uniform(4, 400, 50)]
    batch = pack([compose(boxes, "田" * 50)], lambda f, c: np.zeros(len(c), np.int64))
    assert sum(span.stop - span.start for span in batch.glyphs.spans) == 50
    for span in batch.glyphs.spans:
        part = batch.glyphs.values[span.start : span.stop]
        assert span.rows in SIDES and (part[:, 3] * 1.125 <= span.rows).all()


def test_a_batch_needs_what_it_paints_from(atlas: Atlas) -> None:
    with pytest.raises(ValueError, match="atlas"):
        paint(pack([column()], atlas.cells), None)


def test_a_batch_has_one_size(atlas: Atlas) -> None:
    batch = pack([compose([], height=HIGH, width=WIDE)], atlas.cells)
    assert (batch.height, batch.width) == (HIGH, WIDE)
    with pytest.raises(ValueError, match="one height and width"):
        pack([compose([], height=HIGH, width=WIDE), compose([], height=WIDE, width=HIGH)], atlas.cells)
