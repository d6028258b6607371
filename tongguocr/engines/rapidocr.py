"""The engine `rapidocr`: PP-OCRv6 small through the package of that name, line by line.

It is a recogniser of single horizontal lines, so each column is cut out of the block and turned counter-
clockwise. Its models are inside its wheel; nothing is fetched. Needs the extra `rapidocr`. `open_whole` gives
RapidOCR as its own users have it, for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, char_box
from tongguocr.geometry import clip
from tongguocr.layout.rapidocr import open_rapidocr, to_bgr
from tongguocr.page import Char, Crop, Line, Pixels


class LineReader(Protocol):
    """The one call of `rapidocr.RapidOCR` that is used."""

    def __call__(
        self, img_content: Pixels, *, use_det: bool, use_cls: bool, use_rec: bool, return_word_box: bool
    ) -> Any: ...


class RapidOcrEngine(Engine):
    """Reads every line by itself; no guard is needed, since it writes no more than the line is long."""

    calibrated = True

    def __init__(self, reader: LineReader | None = None, threads: int = 0) -> None:
        self.reader: LineReader = reader or open_rapidocr("the engine rapidocr", threads, text_score=0.0)

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """The lines of all blocks, one after the other."""
        return [BlockReading(tuple(self._line(block.crop, line) for line in block.lines)) for block in blocks]

    def _line(self, crop: Crop, line: Line) -> LineReading:
        pixels = cut_line(crop, line)
        if min(pixels.shape[:2]) < 2:
            return LineReading()
        answer = self.reader(pixels, use_det=False, use_cls=False, use_rec=True, return_word_box=True)
        text = answer.txts[0] if answer.txts else ""
        chars = _chars(text, answer.word_results[0] if text else None, answer.scores[0] if text else 0.0)
        if line.direction in ("right-to-left", "bottom-to-top"):
            # It reads from left to right and, turned, from the top: such lines come out backwards.
            chars.reverse()
        boxes = [char_box(line, at, len(chars)) for _, at, _ in chars]
        read = tuple(
            Char(char, crop.to_page(box), confidence)
            for (char, _, confidence), box in zip(chars, boxes, strict=True)
        )
        return LineReading(read, "read" if read else "empty")


def open_whole(reader: Callable[[Pixels], Any] | None = None) -> Callable[[Pixels], list[str]]:
    """What reads a whole page with its own detector, in its own order: the texts of its boxes."""
    opened = reader or open_rapidocr("the engine rapidocr")

    def read(pixels: Pixels) -> list[str]:
        return [text for text in opened(np.ascontiguousarray(to_bgr(pixels))).txts or () if text]

    return read


def cut_line(crop: Crop, line: Line) -> Pixels:
    """The line's pixels as a horizontal picture in BGR."""
    high, wide = crop.pixels.shape[:2]
    x0, y0, x1, y1 = (round(value) for value in clip(line.box, wide, high))
    pixels = to_bgr(crop.pixels[y0:y1, x0:x1])
    return np.ascontiguousarray(np.rot90(pixels) if line.is_vertical else pixels)


def _chars(text: str, words: Any, score: float) -> list[tuple[str, float, float]]:
    """Each character, its middle as a share of the line's length, and its confidence."""
    places = [at for group in words.word_cols for at in group] if words is not None else []
    letters = [char for group in words.words for char in group] if words is not None else []
    written = [char for char in text if not char.isspace()]
    if words is None or letters != written or not words.line_txt_len:
        return [(char, (k + 0.5) / len(written), float(score)) for k, char in enumerate(written)]
    kept = [confidence for char, confidence in zip(text, words.confs, strict=False) if not char.isspace()]
    ends = [min(max((at + 0.5) / words.line_txt_len, 0.0), 1.0) for at in places]
    return [(char, at, float(value)) for char, at, value in zip(letters, ends, kept, strict=True)]
