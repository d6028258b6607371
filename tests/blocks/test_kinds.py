"""Blocks on the kinds of page that users have: neighbours stay together, regions and columns are not torn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.blocks import character_height
from bench.layouts import pages
from tongguocr.blocks import cut_blocks
from tongguocr.blocks.features import measure_features
from tongguocr.page import Block, Char, Line, Page

PLAIN = ["half-leaf", "spread", "Tripitaka, one register", "two registers", "three registers", "head notes"]
NOTED = ["half-leaf with notes", "dense commentary", "spread with notes"]


def columns_of(page: Page, block: Block) -> int:
    column = measure_features(page).column
    return int(column[block.stop - 1] - column[block.start] + 1)


@pytest.mark.parametrize("kind", [*PLAIN, *NOTED, "horizontal lines"])
def test_a_typical_block_keeps_four_to_ten_columns(kind: str) -> None:
    counts = []
    for page in pages(kind, 15, seed=11):
        for block in cut_blocks(page):
            counts += [columns_of(page, block)] * (block.stop - block.start)
    assert 4 <= np.median(counts) <= 10
    assert max(counts) <= 12
    assert np.mean([4 <= c <= 11 for c in counts]) > 0.85


@pytest.mark.parametrize("kind", [*PLAIN, "table", "title page", "horizontal lines", "plaque"])
def test_characters_stay_legible(kind: str) -> None:
    for page in pages(kind, 15, seed=12):
        for block in cut_blocks(page):
            assert character_height(page, block) >= 32


@pytest.mark.parametrize("kind", NOTED)
def test_no_column_is_torn_from_its_notes(kind: str) -> None:
    for page in pages(kind, 15, seed=13):
        column = measure_features(page).column
        for block in cut_blocks(page)[1:]:
            assert column[block.start] != column[block.start - 1]


def regions_apart(page: Page, region: list[int]) -> bool:
    return all(len(set(region[b.start : b.stop])) == 1 for b in cut_blocks(page))


@pytest.mark.parametrize("kind", ["two registers", "three registers"])
def test_registers_do_not_share_a_block(kind: str) -> None:
    for page in pages(kind, 15, seed=14):
        starts = [
            0,
            *(k for k in range(1, len(page.lines)) if page.lines[k].box[0] > page.lines[k - 1].box[2]),
        ]
        register = np.searchsorted(starts, np.arange(len(page.lines)), side="right").tolist()
        assert len(starts) == int(kind == "two registers") + 3 - 2 * int(kind == "two registers")
        assert regions_apart(page, register)


@pytest.mark.parametrize("kind", ["spread", "spread with notes", "head notes"])
def test_fold_margin_and_the_two_leaves_do_not_share_a_block(kind: str) -> None:
    for page in pages(kind, 15, seed=15):
        region = [
            -1
            if line.kind in ("fold", "margin")
            else int(kind != "head notes" and line.box[0] < page.width / 2)
            for line in page.lines
        ]
        assert regions_apart(page, region)


def test_rows_of_a_horizontal_page_are_its_columns() -> None:
    """Turning a page of columns on its side changes nothing but the axes."""
    for page in pages("half-leaf", 10, seed=16):
        turned = Page(
            "",
            page.height,
            page.width,
            tuple(
                Line(
                    line.id,
                    (line.box[1], line.box[0], line.box[3], line.box[2]),
                    line.text,
                    direction="right-to-left",
                )
                for line in page.lines
            ),
        )
        cuts = [[(b.start, b.stop) for b in cut_blocks(p)] for p in (page, turned)]
        assert cuts[0] == cuts[1]


def test_left_to_right_columns_cut_like_right_to_left_ones() -> None:
    for page in pages("spread", 10, seed=17):
        mirrored = Page(
            "",
            page.width,
            page.height,
            tuple(
                Line(
                    line.id,
                    (page.width - line.box[2], line.box[1], page.width - line.box[0], line.box[3]),
                    line.text,
                )
                for line in page.lines
            ),
        )
        cuts = [[(b.start, b.stop) for b in cut_blocks(p)] for p in (page, mirrored)]
        assert cuts[0] == cuts[1]


def note(x: float, y: float, length: float, kind: str = "note") -> Line:
    return Line(f"{x}-{y}", (x, y, x + 20, y + length), "註" * 5, kind="note" if kind == "note" else "main")


def main(x: float, y: float, length: float) -> Line:
    return Line(f"{x}-{y}", (x, y, x + 40, y + length), "文" * 5)


@pytest.mark.parametrize("kind", ["note", "main"])
def test_columns_are_counted_across_notes(kind: str) -> None:
    """Main, note rows, main; a column that starts with a note; two columns of nothing but notes."""
    lines = (
        *(main(300, 0, 200), note(320, 200, 100, kind), note(300, 200, 100, kind), main(300, 300, 100)),
        *(note(260, 0, 150, kind), note(240, 0, 150, kind), main(240, 150, 250)),
        *(note(200, 0, 400, kind), note(180, 0, 400, kind)),
        *(note(140, 0, 400, kind), note(120, 0, 300, kind)),
        *(main(60, 0, 400), main(0, 0, 200)),
    )
    features = measure_features(Page("", 400, 420, lines))
    assert features.column.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5]
    assert features.gap[[1, 2, 3]].tolist() == [0, 0, 0] and features.overlap[[1, 2, 3]].tolist() == [1, 1, 1]
    assert features.gap[4] == pytest.approx(20 / 400)


def test_an_unread_heading_does_not_turn_a_page_of_read_columns() -> None:
    """Lines with text and lines without are weighed alike: by how they stand, never by characters."""
    heading = Line("heading", (0, 0, 500, 40), direction="right-to-left")
    read = tuple(Line(f"l{k}", (460 - 45 * k, 60, 500 - 45 * k, 160), "天地玄黃", "main") for k in range(10))
    unread = tuple(replace(line, text="") for line in read)
    mixed = (heading, *read[:5], *unread[5:])
    features = [measure_features(Page("", 500, 200, lines)) for lines in ((heading, *read), mixed)]
    assert all(f.page_width == 500 for f in features)
    assert all(f.column.tolist() == list(range(11)) for f in features)


def test_characters_that_were_detected_count_as_those_that_were_read() -> None:
    page = next(pages("half-leaf", 1))
    detected = tuple(
        replace(line, text="", chars=tuple(Char("", line.box) for _ in line.text)) for line in page.lines
    )
    sizes = measure_features(replace(page, lines=detected)).size
    assert np.array_equal(sizes, measure_features(page).size)
