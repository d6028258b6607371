"""Small pages, blocks and fake engines for the tests of tongguocr.engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tongguocr.crops import crop_blocks
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, make_inputs
from tongguocr.geometry import Box, union
from tongguocr.page import Block, Char, Line, Page


def column(name: str, x: float, y: float, wide: float, high: float, text: str = "") -> Line:
    return Line(name, (x, y, x + wide, y + high), text)


def make_page(columns: int = 3, *, size: int = 40, length: int = 5, grey: bool = True, seed: int = 0) -> Page:
    """Columns from the right, each a box full of random strokes."""
    high, wide = size * (length + 2), size * 2 * (columns + 1)
    shape = (high, wide) if grey else (high, wide, 3)
    pixels = np.full(shape, 230, np.uint8)
    dice = np.random.default_rng(seed)
    lines = []
    for k in range(columns):
        x = wide - size * 2 * (k + 1)
        pixels[size : size * (length + 1), x : x + size] = dice.choice(
            np.array([30, 230], np.uint8), (size * length, size, *shape[2:])
        )
        lines.append(column(f"l{k + 1}", x, size, size, size * length))
    return Page("page.png", wide, high, tuple(lines), pixels)


def whole(page: Page) -> Block:
    return Block(0, len(page.lines), union(line.box for line in page.lines))


def inputs_of(page: Page) -> tuple[BlockInput, ...]:
    return make_inputs(page, crop_blocks(page, [whole(page)]))


def char_at(text: str, x: float, y: float, size: float = 40) -> Char:
    return Char(text, (x - size / 2, y - size / 2, x + size / 2, y + size / 2), 0.9)


def spread(text: str, box: Box) -> tuple[Char, ...]:
    """A text evenly down a column."""
    step = (box[3] - box[1]) / max(len(text), 1)
    x = (box[0] + box[2]) / 2
    return tuple(char_at(char, x, box[1] + step * (k + 0.5)) for k, char in enumerate(text))


class FakeEngine(Engine):
    """Answers with what a function makes of each block, and remembers what it was asked."""

    def __init__(self, answer: Callable[[BlockInput], BlockReading]) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        self.asked += [[line.id for line in block.lines] for block in blocks]
        return [self.answer(block) for block in blocks]


def read_as(block: BlockInput, texts: dict[str, str]) -> BlockReading:
    """Each line with the text of its id, evenly down the line."""
    lines = []
    for line in block.lines:
        chars = spread(texts.get(line.id, ""), block.crop.to_page(line.box))
        lines.append(LineReading(chars, "read" if chars else "empty"))
    return BlockReading(tuple(lines))
