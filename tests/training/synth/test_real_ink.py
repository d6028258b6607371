"""Real line images as blocks: ink against its paper, cuts between characters, labels, held-out pages."""

from __future__ import annotations

import tarfile
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from line_images import TEXT, draw_line, many
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.tokens.transitions import transitions_of
from tongguocr.training.synth.composition import to_page
from tongguocr.training.synth.degradation import NO_DEGRADATION, Degradation
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.render import paint, render_batch
from tongguocr.training.synth.line_cuts import cut_cells, extract_ink
from tongguocr.training.synth.real_blocks import (
    LineBlockComposer,
    LineBlockSettings,
    for_real_ink,
    pack_lines,
)
from tongguocr.training.synth.real_ink import (
    LineImage,
    book_of,
    characters,
    gather,
    is_history,
    load_lines,
    make_line,
    page_of,
    read_lines,
    save_lines,
    split,
)

HISTORY = "DVSKTT-3_Ban_ky_toan_thu__DVSKTT_ban_toan_I_12a_15.webp"
VERSE_TEST = "Tale_of_Kieu_1866__page005a_3.webp"
VERSE = "Tale_of_Kieu_1866__page036b_9.webp"


def test_names_tell_page_and_book() -> None:
    assert page_of(HISTORY) == "DVSKTT-3_Ban_ky_toan_thu__DVSKTT_ban_toan_I_12a"
    assert book_of(VERSE) == "Tale_of_Kieu_1866" and is_history(HISTORY) and not is_history(VERSE)
    assert page_of("Luc_Van_Tien__nlvnpf-0059-080_4.webp") == "Luc_Van_Tien__nlvnpf-0059-080"


@given(st.integers(0, 3000), st.integers(0, 30), st.integers(0, 30))
def test_a_page_is_held_out_whole(page: int, first: int, second: int) -> None:
    assert split(f"Book__page{page}_{first}.webp") == split(f"Book__page{page}_{second}.webp")


def test_a_tenth_of_the_pages_is_held_out() -> None:
    parts = [split(f"Book__page{k}_0.webp") for k in range(4000)]
    assert 0.08 < parts.count("test") / 4000 < 0.12
    # These must never change sides: a model trained before would have seen the tests.
    assert (split(HISTORY), split(VERSE), split(VERSE_TEST)) == ("train", "train", "test")


def test_ink_is_told_from_uneven_paper() -> None:
    grey = draw_line(6)
    ink = extract_ink(grey)
    assert ink[grey < 60].mean() > 230 and ink[grey > 150].mean() < 12
    blank = np.random.default_rng(1).normal(200, 4, (60, 20)).astype(np.uint8)
    assert extract_ink(blank).mean() < 30


@settings(max_examples=30)
@given(st.lists(st.integers(16, 30), min_size=1, max_size=12))
def test_cuts_fall_into_the_gaps(cells: list[int]) -> None:
    ink = np.zeros((sum(cells), 20), np.uint8)
    edges = np.cumsum([0, *cells])
    for a, b in pairwise(edges):
        ink[a + 2 : b - 2, 2:-2] = 255
    cuts = cut_cells(ink, len(cells))
    assert len(cuts) == len(cells) + 1 and (np.diff(cuts) > 0).all()
    if max(cells) - min(cells) <= 4:
        assert np.abs(cuts - edges)[1:-1].max(initial=0) <= 2.5


@given(st.integers(1, 40), st.integers(1, 60))
@settings(max_examples=40)
def test_cuts_of_any_line_are_in_order(count: int, height: int) -> None:
    ink = np.random.default_rng(height).integers(0, 255, (height, 8)).astype(np.uint8)
    for picture in (ink, np.zeros_like(ink)):
        cuts = cut_cells(picture, count)
        assert len(cuts) == count + 1 and cuts[0] >= 0 and cuts[-1] <= height
        assert (np.diff(cuts) >= -1e-3).all() or height < 4 * count


def test_selectors_join_their_character() -> None:
    assert characters("葛\U000e0100城") == ("葛\U000e0100", "城")
    assert len(make_line("a_1.png", "葛\U000e0100城", draw_line(2)).cuts) == 3


def write_tar(path: Path, images: dict[str, bytes]) -> None:
    with tarfile.open(path, "w") as tar:
        for name, data in images.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, BytesIO(data))


def png(grey: np.ndarray) -> bytes:
    data = BytesIO()
    Image.fromarray(grey).save(data, "PNG")
    return data.getvalue()


def write_set(folder: Path) -> Path:
    write_tar(folder / "a.tar", {"B__p1_0.png": png(draw_line(3)), "B__p2_0.png": png(draw_line(4))})
    table = folder / "lines.tsv"
    table.write_text("a.tar\tB__p1_0.png\t天地玄\na.tar\tB__p2_0.png\t宇宙洪荒\n", encoding="utf-8")
    return table


def test_a_table_with_its_tar(tmp_path: Path) -> None:
    table = write_set(tmp_path)
    lines = list(read_lines(table))
    assert [line.text for line in lines] == ["天地玄", "宇宙洪荒"] and lines[1].ink.shape == (96, 24)
    assert [line.name for line in read_lines(table, lambda name: "p2" in name)] == ["B__p2_0.png"]


def test_bad_tables_and_tars(tmp_path: Path) -> None:
    table = write_set(tmp_path)

    def complain(match: str) -> None:
        with pytest.raises(InputError, match=match):
            list(read_lines(table))

    good = table.read_bytes()
    for data, match in (
        (b"", "no lines"),
        (b"a.tar\tonly two\n", r"lines\.tsv, line 1"),
        (b"\xff\xfe\x00junk", "UTF-8"),
        (good + b"a.tar\tmissing.png\t\xe5\xa4\xa9\n", r"a\.tar: missing\.png"),
        (good + b"b.tar\tx.png\t\xe5\xa4\xa9\n", r"b\.tar: there is no such file"),
    ):
        table.write_bytes(data)
        complain(match)
    table.write_bytes(good)
    write_tar(tmp_path / "a.tar", {"B__p1_0.png": b"junk", "B__p2_0.png": b""})
    complain(r"B__p1_0\.png is not an image")
    (tmp_path / "a.tar").write_bytes(b"not a tar at all" * 100)
    complain("not a tar")
    with pytest.raises(InputError, match="folder"):
        list(read_lines(tmp_path))


def test_packed_lines_come_back(tmp_path: Path) -> None:
    lines = many(9)
    save_lines(lines, tmp_path / "lines.npz")
    again = load_lines(tmp_path / "lines.npz")
    assert (again.names, again.texts) == (lines.names, lines.texts)
    assert np.array_equal(again.ink, lines.ink) and np.array_equal(again.starts, lines.starts)
    assert all(np.array_equal(a, b) for a, b in zip(again.cuts, lines.cuts, strict=True))


def test_broken_packed_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_lines(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(InputError, match="damaged"):
        load_lines(tmp_path / "bad.npz")
    with pytest.raises(InputError, match="cannot be written"):
        save_lines(many(2), tmp_path / "nowhere" / "lines.npz")


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_columns_run_right_to_left_within_the_canvas(seed: int) -> None:
    composer = LineBlockComposer(many(narrow=6), LineBlockSettings(height=256, width=256, scale=(0.8, 1.4)))
    block = composer.compose(np.random.default_rng(seed))
    page = to_page(block.composition)
    assert page.lines and len(page.lines) == len(block.placed)
    for line, placed in zip(page.lines, block.placed, strict=True):
        assert line.text == composer.lines.texts[int(placed[0])]
        assert placed[1] >= -4 and placed[3] <= 260 and placed[2] >= 0 and placed[4] <= 257
        assert placed[2] - 0.1 <= line.box[1] and line.box[3] <= placed[4] + 0.1
    middles = [(line.box[0] + line.box[2]) / 2 for line in page.lines if line.kind == "main"]
    # Lines of one column stray by a few pixels; columns are about forty apart.
    assert all(b < a + 10 for a, b in pairwise(middles))
    notes = [line for line in page.lines if line.kind == "note"]
    for right, left in zip(notes[::2], notes[1::2], strict=True):
        assert right.box[0] > left.box[0] and abs(right.box[1] - left.box[1]) < 5
    assert len(transitions_of(page.lines, 256, 256)) == len(page.lines) - 1


@pytest.mark.parametrize(("height", "width"), [(448, 160), (160, 448), (256, 40)])
def test_real_lines_on_oblong_canvases(height: int, width: int) -> None:
    composer = LineBlockComposer(
        many(narrow=6),
        LineBlockSettings(height=height, width=width, scale=(0.8, 1.4), ends=0.0, indented=0.0),
    )
    blocks = [composer.compose(np.random.default_rng(k)) for k in range(5)]
    placed = np.concatenate([block.placed for block in blocks])
    assert placed[:, 1].min() >= -4 and placed[:, 3].max() <= width + 4, "columns stay on the canvas"
    assert placed[:, 2].min() >= 0 and placed[:, 4].max() <= height + 1
    assert placed[:, 4].max() > 0.7 * height and placed[:, 3].max() > 0.7 * width, "and use it"
    for block in blocks:
        page = to_page(block.composition)
        assert (page.height, page.width) == (height, width) and page.lines
        assert len(transitions_of(page.lines, width, height)) == len(page.lines) - 1
    batch = pack_lines(blocks)
    store = LineStore.load(composer.lines, "cpu")
    ink = paint(batch, None, store).black.numpy()
    assert ink.shape == (5, height, width)
    for (x0, y0, x1, y1), block in zip(batch.boxes.tolist(), batch.of_block.tolist(), strict=True):
        assert ink[block, round(y0) : round(y1), max(round(x0), 0) : round(x1)].mean() > 0.2
    done = render_batch(batch, None, [for_real_ink(Degradation(seals=1, skew=1.0))] * 5, 1, store)
    assert done.images.shape == (5, 1, height, width)


def test_lines_are_painted_where_their_labels_are() -> None:
    composer = LineBlockComposer(
        many(), LineBlockSettings(height=256, width=256, scale=(1.0, 1.4), ruled=0.0)
    )
    blocks = [composer.compose(np.random.default_rng(k)) for k in range(3)]
    batch = pack_lines(blocks)
    ink = paint(batch, None, LineStore.load(composer.lines, "cpu")).all_black.numpy()
    covered = np.zeros_like(ink, dtype=bool)
    for (x0, y0, x1, y1), block in zip(batch.boxes.tolist(), batch.of_block.tolist(), strict=True):
        part = ink[block, round(y0) : round(y1), round(x0) : round(x1)]
        assert part.mean() > 0.35, "each box holds its square"
        covered[block, int(y0) - 2 : int(y1) + 3, int(x0) - 2 : int(x1) + 3] = True
    assert ink[~covered].max(initial=0) < 0.35, "and nothing lies elsewhere"


def test_a_pasted_line_is_the_line_itself() -> None:
    line = make_line("B__p_1.png", TEXT[:5], draw_line(5))
    composer = LineBlockComposer(
        gather([line]), LineBlockSettings(height=128, width=128, scale=(1.0, 1.0), ruled=0.0, indented=0.0)
    )
    block = composer.compose(np.random.default_rng(1))
    block.placed[:] = [[0, 30, 4, 54, 124]]
    ink = paint(pack_lines([block]), None, LineStore.load(composer.lines, "cpu")).black[0].numpy()
    assert np.abs(ink[4:124, 30:54] - line.ink / 255).max() < 0.01 and ink[:, 56:].max() == 0


def test_real_blocks_are_worn_like_others() -> None:
    composer = LineBlockComposer(many(narrow=4), LineBlockSettings(height=128, width=128, scale=(0.7, 1.0)))
    batch = pack_lines([composer.compose(np.random.default_rng(k)) for k in range(2)])
    store = LineStore.load(composer.lines, "cpu")
    done = render_batch(
        batch, None, [NO_DEGRADATION, for_real_ink(Degradation(stains=1, paper=(200, 190, 170)))], 1, store
    )
    assert done.images.shape == (2, 1, 128, 128) and len(done.points) == len(batch.boxes)
    ink = paint(batch, None, store).all_black
    assert (done.images[0, 0] / 255 - (1 - ink[0])).abs().max() < 0.03
    with pytest.raises(ValueError, match="store"):
        paint(batch, None)


def test_no_lines_at_all() -> None:
    with pytest.raises(ValueError, match="no lines"):
        LineBlockComposer(gather([])).compose(np.random.default_rng(1))


def test_a_line_too_long_for_the_canvas_is_scaled_down() -> None:
    line = make_line("B__p_1.png", "春" * 40, draw_line(40))
    block = LineBlockComposer(gather([line]), LineBlockSettings(height=256, width=256)).compose(
        np.random.default_rng(1)
    )
    assert isinstance(line, LineImage) and len(block.placed) and block.placed[:, 4].max() <= 257
    assert torch.isfinite(pack_lines([block]).boxes).all()
