"""The engine `hf`: a full-size model through transformers, on a GPU or the CPU (paper 3.2, 3.3, 4.3).

In: blocks. Out: the same readings as every engine's. Pictures of similar size are read together, greedily,
so that the same block gives the same text every time. While a block is written its characters are counted and
its tail is watched for repetition; what went wrong is left to the guard. The model says no places: its lines
go to the block's lines by their number or length, its characters evenly along them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tongguocr.engines.align_by_length import spread_lines
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, Stop, batch_up
from tongguocr.engines.guard import Limits, character_cap, find_loop
from tongguocr.engines.prepare import Scaling, contrast
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Char, Pixels
from tongguocr.tokens.codec import DecodedChar

if TYPE_CHECKING:
    from tongguocr.engines.glm.generate import Written
    from tongguocr.engines.glm.prompt import Wording

NOWHERE = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class HfReading:
    """How blocks are read."""

    limits: Limits = field(default_factory=Limits)
    rows: int = 16
    """Blocks written together."""
    image_tokens: int = 12_000
    """Tokens of their pictures together, filling included."""
    rivals: int = 4
    """Other readings that are looked at ..."""
    unlikely: float = 0.01
    """... and how likely they must be to be mentioned."""
    blank: float = 255 * Scaling().blank
    """A picture whose ink and paper differ by less holds no text."""


@dataclass
class Tail:
    """Follows one block while it is written; without places a loop is told by its repeats alone."""

    cap: int
    lines: int
    wording: Wording
    limits: Limits
    free: frozenset[Hashable]
    tokens: list[int] = field(default_factory=list)
    characters: int = 0
    breaks: int = 0
    stop: Stop = "end"

    def add(self, token: int) -> bool:
        """Take the next token; whether to stop now."""
        self.tokens.append(token)
        starts = self.wording.starts
        if self.wording.ends_line(token):
            self.breaks += 1
        else:
            self.characters += starts[token] if token < len(starts) else 1
        if find_loop(self.tokens, None, self.limits, self.free) is not None:
            self.stop = "loop"
        elif self.characters > self.cap or len(self.tokens) > most_tokens(self.cap, self.lines):
            self.stop = "cap"
        return self.stop != "end"

    def kept(self) -> int:
        """How many tokens are worth keeping."""
        if self.stop == "loop":
            found = find_loop(self.tokens, None, self.limits, self.free)
            return len(self.tokens) if found is None else found
        return len(self.tokens) - (self.stop == "cap")


def most_tokens(cap: int, lines: int) -> int:
    """A character takes up to four tokens where it has none of its own; lines may be found in parts."""
    return 4 * (cap + lines + 2)


class HfEngine(Engine):
    """Reads with the model of one folder."""

    def __init__(self, name: str, reading: HfReading = HfReading(), device: str = "auto") -> None:
        """Load the model of a folder or a hub name; half precision on a GPU."""
        try:
            import torch
        except ImportError:
            raise MissingExtraError("The engine hf", "glm") from None
        from tongguocr.engines.devices import pick_device
        from tongguocr.engines.glm.image_settings import read_manner
        from tongguocr.engines.glm.network import GlmNetwork
        from tongguocr.engines.glm.pretrained import load_foundation

        self.reading, self.device = reading, pick_device(device)
        half = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        foundation = load_foundation(name, half)
        assert foundation.folder is not None
        self.manner = read_manner(foundation.folder)
        self.wording, self.vision = foundation.wording, foundation.vision
        self.network = GlmNetwork(foundation.model).to(self.device).eval()
        self.free = self._free_tokens()
        self.check: Callable[[], None] = lambda: None
        """Asked before a batch and at each token; raises where reading should stop."""

    @property
    def full_model(self) -> HfEngine:
        """Itself."""
        return self

    def _free_tokens(self) -> frozenset[Hashable]:
        """Tokens of marks that stand in long rows by right."""
        encoded = (self.wording.encode(mark) for mark in self.reading.limits.free)
        return frozenset(ids[0] for ids in encoded if len(ids) == 1)

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """The answers are in the order of the blocks; blank ones are not read at all."""
        pictures = [self.manner.show(block, self.vision)[0] for block in blocks]
        readings = [BlockReading(tuple(LineReading() for _ in block.lines)) for block in blocks]
        for numbers in self._batches(blocks, pictures):
            for k, reading in self._read_batch(numbers, blocks, pictures):
                readings[k] = reading
        return readings

    def _batches(self, blocks: Sequence[BlockInput], pictures: Sequence[Pixels]) -> Iterator[list[int]]:
        """Numbers of the blocks that go together: similar ones, as many as fit."""
        side = self.vision.patch * 2
        size = [picture.shape[0] * picture.shape[1] // side**2 for picture in pictures]
        blank = self.reading.blank
        seen = [k for k, b in enumerate(blocks) if b.lines and contrast(pictures[k]) >= blank]
        order = sorted(seen, key=lambda k: (size[k], pictures[k].shape))
        return batch_up(order, size, self.reading.rows, self.reading.image_tokens)

    def _read_batch(
        self, numbers: list[int], blocks: Sequence[BlockInput], pictures: Sequence[Pixels]
    ) -> Iterator[tuple[int, BlockReading]]:
        """Read these together; in two parts, if the device has no room for all."""
        import torch

        tails = [self._tail(blocks[k]) for k in numbers]
        try:
            written = self.write(
                [pictures[k] for k in numbers],
                max(most_tokens(tail.cap, tail.lines) for tail in tails) + 1,
                lambda row, token: tails[row].add(token),
                self.reading.rivals,
            )
        except torch.OutOfMemoryError:
            if len(numbers) == 1:
                raise InputError(
                    f"The device {self.device} has too little memory to read a block of this model's size."
                ) from None
            torch.cuda.empty_cache()
            half = len(numbers) // 2
            yield from self._read_batch(numbers[:half], blocks, pictures)
            yield from self._read_batch(numbers[half:], blocks, pictures)
            return
        for k, text, tail in zip(numbers, written, tails, strict=True):
            yield k, self._to_reading(blocks[k], text, tail)

    def _tail(self, block: BlockInput) -> Tail:
        limits = self.reading.limits
        cap = character_cap(block.lines, limits)
        return Tail(cap, len(block.lines), self.wording, limits, self.free)

    def write(
        self, pictures: Sequence[Pixels], longest: int, stop: Callable[[int, int], bool], rivals: int
    ) -> list[Written]:
        """What the model writes about pictures; `stop` is told each picture's tokens (glm/generate.py)."""
        import torch

        from tongguocr.engines.glm.generate import generate
        from tongguocr.engines.glm.processor import grids_of, patch_pictures

        def checked(row: int, token: int) -> bool:
            self.check()
            return stop(row, token)

        self.check()
        sent = [torch.from_numpy(picture.copy()).to(self.device) for picture in pictures]
        patches, grids = patch_pictures(sent, self.vision), grids_of(pictures, self.vision)
        return generate(self.network, patches, grids, self.wording, longest, checked, rivals)

    def _to_reading(self, block: BlockInput, text: Written, tail: Tail) -> BlockReading:
        lines = [
            [
                self._char(char, text)
                for char in line.chars
                if char.text == "\u3000" or not char.text.isspace()
            ]
            for line in self.wording.decode(text.tokens[: tail.kept()])
        ]
        return BlockReading(spread_lines(lines, block), (), tail.stop)

    def _char(self, char: DecodedChar, text: Written) -> Char:
        sure = float(np.prod([text.candidates[k][1][0] for k in char.positions]))
        return Char(char.text, NOWHERE, round(sure, 4), self._others(char, text))

    def _others(self, char: DecodedChar, text: Written) -> tuple[tuple[str, float], ...]:
        """Other characters that the step might have been; none where several tokens spell the character."""
        if len(char.positions) != 1:
            return ()
        ids, likely = text.candidates[char.positions[0]]
        if (self.wording.spelling(ids[0]) or b"") != char.text.encode():
            return ()
        rivals = []
        for token, probability in zip(ids[1:], likely[1:], strict=True):
            spelled = (self.wording.spelling(token) or b"").decode(errors="ignore")
            single = len(spelled) == 1 and spelled.isprintable() and not spelled.isspace()
            if single and token not in self.wording.transitions and probability >= self.reading.unlikely:
                rivals.append((spelled, round(probability, 4)))
        return tuple(rivals)
