"""The GPU painters on a CPU: the CPU renderer's ink, wear that spares the text, labels that follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_fonts import make_font

from tongguocr.synth.atlas import Atlas, build_atlas
from tongguocr.synth.composition import ComposedLine, Composition, Mark, Patch, Stroke
from tongguocr.synth.fonts import FontBook, load_fonts
from tongguocr.synth.gpu import GlyphAtlas, paint, render_batch, unpack_bits
from tongguocr.synth.gpu_conditions import stack
from tongguocr.synth.gpu_fields import blurring, both_ways, coarseness_of, coarsening, enlarge, jpeg
from tongguocr.synth.gpu_pack import SIDES, pack
from tongguocr.synth.gpu_warp import look, target
from tongguocr.synth.paint import paint_ink
from tongguocr.synth.warp import Warp
from tongguocr.synth.wear import NO_WEAR, Wear, sample_wear

SIZE = 128
CHARS = "一丨田口十乚"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "tiny.ttf")
    return load_fonts(folder)


@pytest.fixture(scope="module")
def atlas(book: FontBook) -> Atlas:
    return build_atlas(book, CHARS)


@pytest.fixture(scope="module")
def glyphs(atlas: Atlas) -> GlyphAtlas:
    return GlyphAtlas.load(atlas, "cpu")


def compose(boxes: list[tuple[float, float, float, float]], text: str = "", **more: object) -> Composition:
    count = len(boxes)
    text = text or "".join(CHARS[k % len(CHARS)] for k in range(count))
    block = Composition(
        kind="test",
        width=SIZE,
        height=SIZE,
        seed=1,
        text=tuple(text),
        faces=np.zeros(count, np.int16),
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        angles=np.zeros(count, np.float32),
        white=np.zeros(count, np.bool_),
        lines=(ComposedLine(0, count),) if count else (),
    )
    return replace(block, **more)  # type: ignore[arg-type]


def column(em: float = 20.0, count: int = 6) -> Composition:
    return compose([(50.3, 2 + k * em, 50.3 + em, 2 + (k + 1) * em) for k in range(count)])


def ink_box(ink: np.ndarray) -> np.ndarray:
    rows, columns = (np.flatnonzero((ink > 0.3).any(axis=axis)) for axis in (1, 0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])


def both(
    block: Composition, book: FontBook, atlas: Atlas, glyphs: GlyphAtlas
) -> tuple[np.ndarray, np.ndarray]:
    ours = paint(pack([block], atlas.cells, SIZE), glyphs).all_black[0].numpy()
    return ours, paint_ink(block, book)


def test_bits_are_the_atlas_masks(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    cell = int(atlas.cells(np.zeros(1, np.int16), ["口"])[0])
    assert np.array_equal(unpack_bits(glyphs.bits)[cell].numpy() > 0, atlas.mask(0, "口"))


@settings(deadline=None, max_examples=25)
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
    ink = paint(pack([compose([], marks=(Mark((30, 30), 5, "dot", red=True),))], atlas.cells, SIZE), glyphs)
    assert ink.red[0, 30, 30] == 1 and ink.all_black.max() == 0


def test_blocks_do_not_mix_and_unknown_glyphs_stay_blank(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    first, empty, odd = column(), compose([]), compose([(10, 10, 40, 40)], "龍")
    batch = pack([empty, first, odd], atlas.cells, SIZE)
    ink = paint(batch, glyphs).black
    alone = paint(pack([first], atlas.cells, SIZE), glyphs).black
    assert torch.equal(ink[1], alone[0]) and ink[0].max() == 0 and ink[2].max() == 0
    assert batch.of_block.tolist() == [1] * 6 + [2], "a glyph without ink keeps its label"


def test_glyphs_off_the_canvas_are_harmless(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    boxes = [(-500.0, 0.0, -460.0, 40.0), (-10.0, -10.0, 20.0, 20.0), (5.0, 5.0, 5.0, 5.0)]
    ink = paint(pack([compose(boxes, "田田田")], atlas.cells, SIZE), glyphs).black[0]
    assert ink[:15, :15].max() > 0.9 and ink[30:, 30:].max() == 0


def test_spans_cover_every_glyph_with_room() -> None:
    rng = np.random.default_rng(0)
    boxes = [(0.0, 0.0, float(s), float(s)) for s in rng.uniform(4, 400, 50)]
    batch = pack([compose(boxes, "田" * 50)], lambda f, c: np.zeros(len(c), np.int64), 512)
    assert sum(span.stop - span.start for span in batch.glyphs.spans) == 50
    for span in batch.glyphs.spans:
        part = batch.glyphs.values[span.start : span.stop]
        assert span.rows in SIDES and (part[:, 3] * 1.125 <= span.rows).all()


def test_a_batch_needs_what_it_paints_from(atlas: Atlas) -> None:
    with pytest.raises(ValueError, match="atlas"):
        paint(pack([column()], atlas.cells, SIZE), None)


def test_without_wear_the_image_is_the_ink(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column()], atlas.cells, SIZE)
    ink = paint(batch, glyphs).all_black[0]
    for colour in (False, True):
        done = render_batch(batch, glyphs, [NO_WEAR], 1, colour=colour)
        assert done.images.shape == (1, 3 if colour else 1, SIZE, SIZE) and done.images.dtype == torch.uint8
        assert (done.images[0, 0].float() / 255 - (1 - ink)).abs().max() < 0.03


def test_the_same_seed_gives_the_same_images(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column(), column(16)], atlas.cells, SIZE)
    wears = [sample_wear(np.random.default_rng(k), photographed=False) for k in range(2)]
    first, again, other = (render_batch(batch, glyphs, wears, seed) for seed in (4, 4, 5))
    assert torch.equal(first.images, again.images) and torch.equal(first.points, again.points)
    assert not torch.equal(first.images, other.images)


def test_worn_text_stays_darker_than_its_paper(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    """Over many draws of wear, what was ink is still told from what was paper."""
    rng = np.random.default_rng(8)
    wears = [replace(sample_wear(rng, photographed=False), waver=0, curl=0, skew=0) for _ in range(48)]
    batch = pack([column(40, 3)] * len(wears), atlas.cells, SIZE)
    ink = paint(batch, glyphs).black[0]
    images = render_batch(batch, glyphs, wears, 2).images[:, 0].float()
    dark, light = images[:, ink > 0.9].mean(1), images[:, ink < 0.01].median(1).values
    assert ((light - dark) > 40).float().mean() > 0.9 and (light > dark).all()


def test_paper_gets_no_ink_from_the_impression(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    wear = Wear(spread=0.024, rounding=0.02, roughness=0.75, touching=0.03)
    batch = pack([column()] * 8, atlas.cells, SIZE)
    images = render_batch(batch, glyphs, [wear] * 8, 3).images[:, 0]
    assert images[:, :, :30].min() == 255


@settings(deadline=None, max_examples=20)
@given(
    skew=st.floats(-2.5, 2.5),
    tilt=st.floats(-0.03, 0.03),
    curl=st.floats(-0.018, 0.018),
    waver=st.floats(0, 3),
)
def test_points_move_as_the_cpu_warp_says(skew: float, tilt: float, curl: float, waver: float) -> None:
    wear = Wear(skew=skew, perspective=(tilt, -tilt), curl=curl, waver=waver / 20)
    conditions = stack([wear], [20.0], SIZE, 1)
    phases = tuple(float(conditions.flat(f"phase{k}")[0]) / (2 * np.pi) for k in range(4))
    warp = Warp(SIZE, SIZE, float(np.deg2rad(skew)), (tilt, -tilt), curl, waver, phases)
    points = np.random.default_rng(2).uniform(0, SIZE, (30, 2))
    ours = target(torch.from_numpy(points).float(), torch.zeros(30, dtype=torch.long), conditions, SIZE)
    assert np.abs(ours.numpy() - warp.target(points)).max() < 0.05


def test_ink_moves_with_its_labels(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    places = [(20.0, 20.0), (100.0, 30.0), (64.0, 64.0), (25.0, 105.0), (104.0, 100.0)]
    block = compose([(x - 6, y - 6, x + 6, y + 6) for x, y in places], "田" * 5)
    wear = Wear(skew=2.5, curl=0.018, waver=0.2, perspective=(0.03, -0.02))
    done = render_batch(pack([block], atlas.cells, SIZE), glyphs, [wear], 1)
    ink = 255.0 - done.images[0, 0].numpy()
    for x, y in done.points.tolist():
        rows, columns = np.mgrid[int(y) - 12 : int(y) + 12, int(x) - 12 : int(x) + 12]
        part = ink[rows.clip(0, SIZE - 1), columns.clip(0, SIZE - 1)]
        found = np.array([(part * (columns + 0.5)).sum(), (part * (rows + 0.5)).sum()]) / part.sum()
        assert np.abs(found - (x, y)).max() < 0.5


def test_every_condition_has_its_effect(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    """No field of the wear is forgotten: each changes the picture of a column with a rule."""
    block = replace(column(), strokes=(Stroke((30, 0), (30, 128), 2.0),))
    batch = pack([block, column(16)], atlas.cells, SIZE)
    plain = render_batch(batch, glyphs, [NO_WEAR] * 2, 6, colour=True).images[0].float()
    changes: list[dict[str, object]] = [
        {"spread": 0.02}, {"rounding": 0.05}, {"roughness": 0.8, "rounding": 0.02}, {"mottling": 0.7},
        {"starvation": 0.7}, {"broken": 0.7}, {"grain": 0.6}, {"cracks": 2}, {"rule_waver": 0.06},
        {"rule_gaps": 0.4}, {"ink": (90, 80, 70)}, {"paper": (200, 180, 140)}, {"texture": 0.7},
        {"browning": 0.8}, {"foxing": 20}, {"stains": 2}, {"wormholes": 14}, {"bleed": 0.5}, {"seals": 1},
        {"skew": 2.0}, {"perspective": (0.03, 0.0)}, {"curl": 0.02}, {"waver": 0.1}, {"binding": 0.7},
        {"light": 0.5}, {"film": "binary", "paper": (200, 180, 140)}, {"film": "grey", "ink": (60, 60, 60)},
        {"blur": 0.6}, {"noise": 0.03}, {"jpeg": 30},
    ]  # fmt: skip
    for change in changes:
        wear = replace(NO_WEAR, **change)  # type: ignore[arg-type]
        image = render_batch(batch, glyphs, [wear] * 2, 6, colour=True).images[0].float()
        assert (image - plain).abs().mean() > 0.02, change
    coarse = [replace(NO_WEAR, resolution=0.6)] * 2
    large = pack([column(60, 2)] * 2, atlas.cells, SIZE)
    one, two = (render_batch(large, glyphs, w, 6).images.float() for w in (coarse, [NO_WEAR] * 2))
    assert (one - two).abs().mean() > 0.5


def test_grey_pages_have_no_colour(atlas: Atlas, glyphs: GlyphAtlas) -> None:
    batch = pack([column()], atlas.cells, SIZE)
    wear = replace(NO_WEAR, paper=(220, 190, 140), grey=True)
    image = render_batch(batch, glyphs, [wear], 1, colour=True).images[0].float()
    assert (image[0] - image[2]).abs().max() <= 2


def test_jpeg_is_lossless_at_nothing_and_coarse_at_low_quality() -> None:
    image = torch.rand(2, 1, 32, 32, generator=torch.Generator().manual_seed(1))
    kept = jpeg(image, torch.tensor([coarseness_of(0), coarseness_of(10)]))
    assert (kept[0] - image[0]).abs().max() < 0.01 < (kept[1] - image[1]).abs().mean()
    flat = jpeg(torch.full((1, 1, 16, 16), 0.25), torch.tensor([1.0]))
    assert (flat - 0.25).abs().max() < 0.01
    with pytest.raises(ValueError, match="multiple of 8"):
        jpeg(torch.zeros(1, 1, 30, 30), torch.tensor([1.0]))


def test_blur_and_coarsening_keep_even_paper_and_spread_a_dot() -> None:
    paper = torch.full((1, 24, 24), 0.7)
    dot = torch.zeros(1, 24, 24)
    dot[0, 12, 12] = 1
    for matrices in (
        blurring(torch.tensor([1.5]), 24, torch.float32),
        coarsening(torch.tensor([0.6]), 24, torch.float32),
    ):
        assert (both_ways(matrices, paper) - 0.7).abs().max() < 1e-4
        spread = both_ways(matrices, dot)
        assert spread.max() < 0.5 and abs(float(spread.sum()) - 1) < 0.15


def test_enlarging_keeps_a_plane() -> None:
    small = torch.arange(16.0)[None, :, None].expand(1, 16, 16)
    grown = enlarge(small, 64)[0, :, 20]
    wanted = (torch.arange(64) + 0.5) / 4 - 0.5
    assert (grown - wanted)[8:-8].abs().max() < 1e-4


def test_looking_without_a_warp_changes_nothing() -> None:
    layers = torch.rand(1, 2, SIZE, SIZE)
    assert (look(layers, stack([NO_WEAR], [20.0], SIZE, 1)) - layers).abs().max() < 1e-3


def test_conditions_can_be_stacked_by_workers(atlas: Atlas, glyphs: GlyphAtlas, tmp_path: Path) -> None:
    batch = pack([column()], atlas.cells, SIZE)
    torch.save((batch, stack([Wear(stains=1, seals=1, cracks=1)], batch.em, SIZE, 9)), tmp_path / "batch.pt")
    again, conditions = torch.load(tmp_path / "batch.pt", weights_only=False)
    direct = render_batch(batch, glyphs, [Wear(stains=1, seals=1, cracks=1)], 9)
    assert torch.equal(render_batch(again, glyphs, conditions, 9).images, direct.images)
