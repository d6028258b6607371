"""Text without places on the lines of a block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recognise_pages import column, inputs_of, make_page

from tongguocr.engines.align_by_length import align_by_length
from tongguocr.engines.base import BlockInput
from tongguocr.page import Char, Page


def block_of(*lengths: int, size: int = 40) -> BlockInput:
    """Columns of these numbers of characters, each a dark square, from the right."""
    pixels = np.full((size * (max(lengths) + 2), 2 * size * (len(lengths) + 1)), 235, np.uint8)
    lines = []
    for k, length in enumerate(lengths):
        x = pixels.shape[1] - 2 * size * (k + 1)
        for n in range(length):
            y = size * (n + 1)
            pixels[y + 4 : y + size - 6, x + 5 : x + size - 5] = 30
        lines.append(column(f"l{k}", x, size, size, size * length))
    (block,) = inputs_of(Page("", pixels.shape[1], pixels.shape[0], tuple(lines), pixels))
    return block


def spread(block: BlockInput, *texts: str) -> list[str]:
    written = [[Char(char, (0, 0, 0, 0), 0.5) for char in text] for text in texts]
    return [line.text for line in align_by_length(written, block)]


TEXT = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((TEXT[:10], TEXT[10:16], TEXT[16:24]), (TEXT[:10], TEXT[10:16], TEXT[16:24])),
        # As many lines as given go line to line, however long they are.
        ((TEXT[:3], TEXT[3:20], TEXT[20:]), (TEXT[:3], TEXT[3:20], TEXT[20:])),
        ((TEXT,), (TEXT[:10], TEXT[10:16], TEXT[16:24])),
        ((TEXT[:16], TEXT[16:]), (TEXT[:10], TEXT[10:16], TEXT[16:])),
        ((TEXT[:10], TEXT[10:]), (TEXT[:10], TEXT[10:16], TEXT[16:])),
        ((TEXT[:4], TEXT[4:10], TEXT[10:16], TEXT[16:]), (TEXT[:10], TEXT[10:16], TEXT[16:])),
        # A line that was not read leaves a gap, and does not push the others about.
        ((TEXT[:10], TEXT[16:]), (TEXT[:10], "", TEXT[16:])),
        ((TEXT[10:16], TEXT[16:]), ("", TEXT[10:16], TEXT[16:])),
        ((*TEXT,), (TEXT[:10], TEXT[10:16], TEXT[16:])),
        ((), ("", "", "")),
        (("", ""), ("", "", "")),
    ],
)
def test_lines_find_their_places(texts: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert spread(block_of(10, 6, 8), *texts) == list(expected)


def test_characters_stand_evenly_along_the_line_in_its_direction() -> None:
    (block,) = inputs_of(make_page(1))
    line = block.lines[0]
    for direction, rising in (("top-to-bottom", True), ("bottom-to-top", False)):
        turned = replace(block, lines=(replace(line, direction=direction),))  # type: ignore[arg-type]
        (reading,) = align_by_length([[Char(c, (0, 0, 0, 0)) for c in "天地玄黃宇"]], turned)
        assert reading.text == "天地玄黃宇"
        tops = [char.box[1] for char in reading.chars]
        assert np.diff(tops) == pytest.approx([40 if rising else -40] * 4)
    assert align_by_length([[Char("天", (0, 0, 0, 0))]], replace(block, lines=())) == ()


@settings(max_examples=60)
@given(
    st.lists(st.text("天地玄黃", max_size=12), max_size=9),
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
def test_every_character_comes_out_once_and_in_order(texts: list[str], lengths: list[int]) -> None:
    block = block_of(*lengths, size=8)
    assert "".join(spread(block, *texts)) == "".join(texts)
