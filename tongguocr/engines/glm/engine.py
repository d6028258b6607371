"""The engine `hf`: a full-size model through transformers, on a GPU or the CPU (paper 3.2, 3.3, 4.3).

In: blocks. Out: the same readings as every engine's. Pictures of similar size are read together, greedily,
so that the same block gives the same text every time. While a block is written its characters are counted and
its end is watched for repetition; what went wrong is left to the guard. The model says no places: its lines
go to the block's lines by their number or length, its characters evenly along them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tongguocr.engines.align_by_length import align_by_length
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, Stop, batch_up
from tongguocr.engines.guard import UNREADABLE_MARKS, Limits, character_cap, find_loop
from tongguocr.engines.prepare import is_blank
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Char, Pixels
from tongguocr.tokens.codec import DecodedChar

if TYPE_CHECKING:
    from tongguocr.engines.glm.decoding import Decoded
    from tongguocr.engines.glm.prompt import Prompt

NOWHERE = (0.0, 0.0, 0.0, 0.0)
ALTERNATIVES = 4
"""Other tokens that are looked at for each one read."""
LEAST_PROBABILITY = 0.01
"""Alternatives that are less probable are not mentioned."""


@dataclass(frozen=True, slots=True)
class HfSettings:
    """How blocks are read."""

    limits: Limits = field(default_factory=Limits)
    rows: int = 16
    """Blocks read together."""
    image_tokens: int = 12_000
    """Tokens of their pictures together, filling included."""
    longest: int = 0
    """Tokens of an answer at most, when nothing else ends it than the model: no circle is cut, no surplus. So
    the paper reads; 0 stops a block where its lines can hold no more, or its tail repeats."""


@dataclass
class AnswerWatch:
    """Follows one block while it is written; without places a loop is told by its repeats alone."""

    cap: int
    lines: int
    prompt: Prompt
    limits: Limits
    loop_free: frozenset[Hashable]
    """Tokens that may be repeated."""
    longest: int = 0
    """Tokens after which a block that is not watched is stopped."""
    tokens: list[int] = field(default_factory=list)
    characters: int = 0
    stop: Stop = "end"

    def add(self, token: int) -> bool:
        """Take the next token; whether to stop now."""
        self.tokens.append(token)
        if self.longest:
            self.stop = "cap" if len(self.tokens) >= self.longest else "end"
            return self.stop != "end"
        starts = self.prompt.starts
        if not self.prompt.ends_line(token):
            self.characters += starts[token] if token < len(starts) else 1
        if find_loop(self.tokens, None, self.limits, self.loop_free) is not None:
            self.stop = "loop"
        elif self.characters > self.cap or len(self.tokens) > most_tokens(self.cap, self.lines):
            self.stop = "cap"
        return self.stop != "end"

    def kept(self) -> int:
        """How many tokens are worth keeping."""
        if self.stop == "loop":
            found = find_loop(self.tokens, None, self.limits, self.loop_free)
            return len(self.tokens) if found is None else found
        return len(self.tokens) - (self.stop == "cap" and not self.longest)


def most_tokens(cap: int, lines: int) -> int:
    """The longest answer about so many lines of at most `cap` characters: a character takes up to four tokens
    where it has none of its own, and lines may be found in parts."""
    return 4 * (cap + lines + 2)


class HfEngine(Engine):
    """Reads with the model of one folder."""

    def __init__(self, name: str, settings: HfSettings = HfSettings(), device: str = "auto") -> None:
        """Load the model of a folder or a hub name; half precision on a GPU."""
        try:
            import torch
        except ImportError:
            raise MissingExtraError("The engine hf", "glm") from None
        from tongguocr.engines.glm.image_settings import load_image_settings
        from tongguocr.engines.glm.network import GlmNetwork
        from tongguocr.engines.glm.pretrained import load_pretrained
        from tongguocr.engines.torch_devices import is_half, pick_device

        self.settings, self.device = settings, pick_device(device)
        half = torch.bfloat16 if is_half(self.device) else torch.float32
        pretrained = load_pretrained(name, half)
        assert pretrained.folder is not None
        self.image_settings = load_image_settings(pretrained.folder)
        self.prompt, self.processor = pretrained.prompt, pretrained.processor
        self.network = GlmNetwork(pretrained.model).to(self.device).eval()
        self.loop_free = self._loop_free_tokens()
        self.check: Callable[[], None] = lambda: None
        """Asked before a batch and at each token; raises where reading should stop."""

    @property
    def full_model(self) -> HfEngine:
        """Itself."""
        return self

    def _loop_free_tokens(self) -> frozenset[Hashable]:
        """Tokens of marks that stand in long rows by right."""
        encoded = (self.prompt.encode(mark) for mark in UNREADABLE_MARKS)
        return frozenset(ids[0] for ids in encoded if len(ids) == 1)

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """What was read of each block, in their order; blank ones are not shown to the model."""
        pictures = [self.image_settings.picture_of(block, self.processor) for block in blocks]
        readings = [BlockReading(tuple(LineReading() for _ in block.lines)) for block in blocks]
        for numbers in self._batches(blocks, pictures):
            for k, reading in self._read_batch(numbers, blocks, pictures):
                readings[k] = reading
        return readings

    def _batches(self, blocks: Sequence[BlockInput], pictures: Sequence[Pixels]) -> Iterator[list[int]]:
        """Numbers of the blocks that go together: similar ones, as many as fit."""
        from tongguocr.engines.glm.processor import image_tokens

        size = [image_tokens(picture, self.processor) for picture in pictures]
        seen = [k for k, b in enumerate(blocks) if b.lines and not is_blank(pictures[k])]
        order = sorted(seen, key=lambda k: (size[k], pictures[k].shape))
        return batch_up(order, size, self.settings.rows, self.settings.image_tokens)

    def _read_batch(
        self, numbers: list[int], blocks: Sequence[BlockInput], pictures: Sequence[Pixels]
    ) -> Iterator[tuple[int, BlockReading]]:
        """Read the blocks of these numbers together; in two parts, if the device has no room for all."""
        import torch

        from tongguocr.engines.torch_devices import is_half

        watches = [self._watch(blocks[k]) for k in numbers]
        try:
            answers = self.generate(
                [pictures[k] for k in numbers],
                self.settings.longest or max(most_tokens(watch.cap, watch.lines) for watch in watches) + 1,
                lambda row, token: watches[row].add(token),
                ALTERNATIVES,
            )
        except torch.OutOfMemoryError:
            if len(numbers) == 1:
                raise InputError(
                    f"The device {self.device} has too little memory to read a block of this model's size."
                ) from None
            if is_half(self.device):
                torch.get_device_module(self.device).empty_cache()
            half = len(numbers) // 2
            yield from self._read_batch(numbers[:half], blocks, pictures)
            yield from self._read_batch(numbers[half:], blocks, pictures)
            return
        for k, answer, watch in zip(numbers, answers, watches, strict=True):
            yield k, self._to_reading(blocks[k], answer, watch)

    def _watch(self, block: BlockInput) -> AnswerWatch:
        limits = self.settings.limits
        cap = character_cap(block.lines, limits)
        return AnswerWatch(cap, len(block.lines), self.prompt, limits, self.loop_free, self.settings.longest)

    def generate(
        self, pictures: Sequence[Pixels], longest: int, stop: Callable[[int, int], bool], alternatives: int
    ) -> list[Decoded]:
        """What the model writes about pictures; `stop` is told each picture's tokens (`decoding.Stop`)."""
        import torch

        from tongguocr.engines.glm.decoding import generate
        from tongguocr.engines.glm.processor import patch_pictures

        def checked(row: int, token: int) -> bool:
            self.check()
            return stop(row, token)

        self.check()
        sent = [torch.from_numpy(picture.copy()).to(self.device) for picture in pictures]
        patches, grids = patch_pictures(sent, self.processor)
        return generate(self.network, patches, grids, self.prompt, longest, checked, alternatives)

    def _to_reading(self, block: BlockInput, answer: Decoded, watch: AnswerWatch) -> BlockReading:
        lines = [
            [
                self._char(char, answer)
                for char in line.chars
                if char.text == "\u3000" or not char.text.isspace()
            ]
            for line in self.prompt.decode(answer.tokens[: watch.kept()])
        ]
        written = tuple("".join(char.text for char in line) for line in lines if line)
        return BlockReading(align_by_length(lines, block), (), watch.stop, written)

    def _char(self, char: DecodedChar, answer: Decoded) -> Char:
        probability = float(np.prod([answer.candidates[k][1][0] for k in char.positions]))
        return Char(char.text, NOWHERE, round(probability, 4), self._alternatives(char, answer))

    def _alternatives(self, char: DecodedChar, answer: Decoded) -> tuple[tuple[str, float], ...]:
        """Other characters that the step might have been; none where several tokens spell the character."""
        if len(char.positions) != 1:
            return ()
        ids, probabilities = answer.candidates[char.positions[0]]
        if (self.prompt.spelling(ids[0]) or b"") != char.text.encode():
            return ()
        alternatives = []
        for token, probability in zip(ids[1:], probabilities[1:], strict=True):
            spelled = (self.prompt.spelling(token) or b"").decode(errors="ignore")
            single = len(spelled) == 1 and spelled.isprintable() and not spelled.isspace()
            if single and token not in self.prompt.transitions and probability >= LEAST_PROBABILITY:
                alternatives.append((spelled, round(probability, 4)))
        return tuple(alternatives)
