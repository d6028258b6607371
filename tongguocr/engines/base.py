"""What every engine takes and gives, and how its readings come back into the page.

In: blocks, each as its crop and its lines in crop coordinates. Out: for each block as many line readings as
it has lines, in the same order; a line of which nothing was read is there too, marked. Text that belongs to
none of the lines is kept beside them as surplus. `fill_page` writes readings into a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tongguocr.geometry import Box, union
from tongguocr.page import Block, Char, Crop, Line, Page

if TYPE_CHECKING:
    from tongguocr.engines.glm.engine import HfEngine

Status: TypeAlias = Literal["read", "empty", "capped", "failed"]
"""read; nothing found; longer than the line can be, so cut; a loop, so cut to what precedes it."""

Stop: TypeAlias = Literal["end", "cap", "loop"]
"""Why an engine stopped writing: it was done, the text grew too long, or it repeated itself."""


@dataclass(frozen=True, slots=True)
class BlockInput:
    """One block to be read."""

    crop: Crop
    lines: tuple[Line, ...]
    """The block's lines in reading order, in pixels of the crop's canvas. Their text is not looked at."""


@dataclass(frozen=True, slots=True)
class LineReading:
    """What was read of one line; boxes are in page pixels."""

    chars: tuple[Char, ...] = ()
    status: Status = "empty"

    @property
    def text(self) -> str:
        return "".join(char.text for char in self.chars)

    @property
    def confidence(self) -> float | None:
        """The mean over its characters; 0 for a line that is empty or marked, so that it is looked at.

        None where the engine does not say how sure it is.
        """
        if self.status != "read" or not self.chars:
            return 0.0
        known = [char.confidence for char in self.chars if char.confidence is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class Surplus:
    """Text that was read where the layout has no line."""

    after: int
    """The number of the block's line that it follows; -1 before the first."""
    chars: tuple[Char, ...]


@dataclass(frozen=True, slots=True)
class BlockReading:
    """One block's lines as read, one entry for every line given."""

    lines: tuple[LineReading, ...]
    surplus: tuple[Surplus, ...] = ()
    stop: Stop = "end"
    written: tuple[str, ...] | None = None
    """The lines as the engine wrote them, where it writes freely: more or fewer than the block has."""

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def transcription(self) -> tuple[str, ...]:
        """The block's text, line by line as it was written: what the paper scores (4.3, inference)."""
        if self.written is not None:
            return self.written
        beside = [(part.after, "".join(char.text for char in part.chars)) for part in self.surplus]
        found = [text for after, text in beside if after < 0]
        for number, line in enumerate(self.lines):
            found += [line.text, *(text for after, text in beside if after == number)]
        return tuple(text for text in found if text)


class Engine(Protocol):
    """Anything that reads blocks, and says what else it can do; subclasses have the answers given here."""

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """A reading for each block; what is said of one must not depend on the others in the batch."""
        ...

    @property
    def calibrated(self) -> bool:
        """Whether its confidence was measured to mean something, so that a second opinion may go by it."""
        return False

    @property
    def least_confidence(self) -> float | None:
        """Pages whose characters are less sure in the mean are not to be trusted; None if not measured."""
        return None

    @property
    def full_model(self) -> HfEngine | None:
        """The full-size model behind it, which can write about a picture without lines; None for others."""
        return None


def batch_up(order: Iterable[int], places: Sequence[int], rows: int, most: int) -> Iterator[list[int]]:
    """Numbers of blocks in batches of at most so many, and of so many places when all are padded to the last.

    `order` goes by rising `places`, so that those of similar size go together.
    """
    batch: list[int] = []
    for k in order:
        if batch and (len(batch) == rows or (len(batch) + 1) * places[k] > most):
            yield batch
            batch = []
        batch.append(k)
    if batch:
        yield batch


def make_inputs(page: Page, crops: Iterable[Crop]) -> tuple[BlockInput, ...]:
    """The crops of a page's blocks with the blocks' lines on them, any text that they had taken off."""
    return tuple(BlockInput(crop, place_lines(crop.block.lines(page), crop)) for crop in crops)


def place_lines(lines: Sequence[Line], crop: Crop) -> tuple[Line, ...]:
    """Lines of the page as lines of the canvas, without text."""
    dx, dy = crop.offset
    placed = []
    for line in lines:
        polygon = tuple((x - dx, y - dy) for x, y in line.polygon) if line.polygon else line.polygon
        bare = line.without_text()
        chars = tuple(replace(char, box=crop.to_canvas(char.box)) for char in bare.chars)
        placed.append(replace(bare, box=crop.to_canvas(line.box), polygon=polygon, chars=chars))
    return tuple(placed)


def lines_on_page(block: BlockInput) -> tuple[Line, ...]:
    """The block's lines in page pixels again, boxes only."""
    return tuple(replace(line, box=block.crop.to_page(line.box), polygon=None) for line in block.lines)


def char_box(line: Line, at: float, count: int) -> Box:
    """A cell of the line around the place `at`, as long as the line's mean pitch, and no longer than wide."""
    x0, y0, x1, y1 = line.box
    across, along = (x1 - x0, y1 - y0) if line.is_vertical else (y1 - y0, x1 - x0)
    half = min(along / max(count, 1), across) / 2
    if line.is_vertical:
        middle = y0 + at * along
        return (x0, max(middle - half, y0), x1, min(middle + half, y1))
    middle = x0 + at * along
    return (max(middle - half, x0), y0, min(middle + half, x1), y1)


def fill_page(page: Page, blocks: Sequence[Block], readings: Sequence[BlockReading]) -> Page:
    """The page with text, confidence and characters in its lines; surplus text as lines of its own.

    Lines outside all blocks stay as they are. A surplus line follows the line it was read after and has that
    line's id with `+1`, `+2` ... behind it.
    """
    filled: list[Line] = []
    done = 0
    for block, reading in sorted(zip(blocks, readings, strict=True), key=lambda pair: pair[0].start):
        if block.start < done or block.stop - block.start != len(reading.lines):
            raise ValueError("the readings are not those of these blocks")
        filled += page.lines[done : block.start]
        filled += _fill_block(block.lines(page), reading)
        done = block.stop
    return replace(page, lines=(*filled, *page.lines[done:]))


def _fill_block(lines: Sequence[Line], reading: BlockReading) -> list[Line]:
    filled = _surplus_lines(reading, -1, lines)
    for number, (line, read) in enumerate(zip(lines, reading.lines, strict=True)):
        filled.append(replace(line, text=read.text, confidence=read.confidence, chars=read.chars))
        filled += _surplus_lines(reading, number, lines)
    return filled


def _surplus_lines(reading: BlockReading, after: int, lines: Sequence[Line]) -> list[Line]:
    """What was read beside the layout behind one line; its direction is taken from that line."""
    parts = [part for part in reading.surplus if part.after == after and part.chars]
    model = lines[max(after, 0)] if lines else Line("surplus", (0, 0, 0, 0))
    name = model.id if after >= 0 else f"{model.id}-before"
    made = []
    for number, part in enumerate(parts, start=1):
        read = LineReading(part.chars, "read")
        box = union(char.box for char in part.chars)
        made.append(
            Line(
                f"{name}+{number}",
                box,
                read.text,
                model.kind,
                model.direction,
                read.confidence,
                None,
                part.chars,
            )
        )
    return made
