"""The engine `server`: blocks go to a vision model behind an address, text comes back (paper 3.2, 3.3).

In: blocks; each crop is sent as it is, with the prompt. Out: the same readings as every engine's. The model
says no places, so its lines go to the block's lines by their number or length, its characters evenly along
them. What repeats itself or is longer than the lines can hold is cut and marked for the guard; an answer that
is no completion leaves its lines marked as failed. A few blocks are asked for at a time, in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import accumulate

from tongguocr.engines.align_by_length import Spreading, spread_lines
from tongguocr.engines.answer import Answer, NonsenseError
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, Stop
from tongguocr.engines.chat import Chat, ChatClient
from tongguocr.engines.guard import LINE_END, Limits, character_cap, find_loop
from tongguocr.engines.prepare import Scaling, contrast, to_grey
from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Pixels


@dataclass(frozen=True, slots=True)
class Serving:
    """How much is asked of a server."""

    in_flight: int = 4
    """Blocks asked for at a time."""
    tokens: float = 2.0
    """Tokens for each character that the lines can hold: that number is generous already."""
    more_tokens: int = 16
    """For what a model may write around a short text."""
    page_tokens: int = 4096
    """For a whole page."""
    limits: Limits = field(default_factory=Limits)
    spreading: Spreading = field(default_factory=Spreading)
    blank: float = 255 * Scaling().blank
    """A crop whose ink and paper differ by less holds no text, and a model would invent some."""


def open_server(url: str | None, model: str | None) -> ServerEngine:
    """The engine for this model, without a guard."""
    if not url or not model:
        raise InputError("The engine server needs the address of a server and the name of its model.")
    return ServerEngine(Chat(url, model))


class ServerEngine(Engine):
    """Reads with the model of one server; nothing is contacted before the first block."""

    def __init__(self, chat: Chat, serving: Serving = Serving()) -> None:
        self.client, self.serving = ChatClient(chat), serving

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        with ThreadPoolExecutor(self.serving.in_flight) as pool:
            return list(pool.map(self._read_block, blocks))

    def read_whole(self, pixels: Pixels) -> list[str]:
        """The lines of a whole page, as the model finds and orders them; nothing where it talks nonsense."""
        try:
            answer = self.client.ask(pixels, self.serving.page_tokens)
        except NonsenseError:
            return []
        lines, _ = cut_text(answer, self.serving.page_tokens, self.serving.limits)
        return ["".join(char.text for char in line) for line in lines if line]

    def _read_block(self, block: BlockInput) -> BlockReading:
        if not block.lines or self._is_blank(block):
            return BlockReading(tuple(LineReading() for _ in block.lines))
        try:
            answer = self.client.ask(block.crop.pixels, self.most_tokens(block.lines))
        except NonsenseError:
            return BlockReading(tuple(LineReading((), "failed") for _ in block.lines))
        lines, stop = cut_text(answer, character_cap(block.lines, self.serving.limits), self.serving.limits)
        return BlockReading(spread_lines(lines, block, self.serving.spreading), (), stop)

    def most_tokens(self, lines: Sequence[Line]) -> int:
        """What the model may write: by what these lines can hold."""
        characters = character_cap(lines, self.serving.limits) + len(lines)
        return round(self.serving.tokens * characters) + self.serving.more_tokens

    def _is_blank(self, block: BlockInput) -> bool:
        return contrast(to_grey(block.crop.pixels)) < self.serving.blank


def cut_text(answer: Answer, cap: int, limits: Limits = Limits()) -> tuple[list[list[Char]], Stop]:
    """The answer's lines up to the first loop and the cap, and why there is no more.

    The model says no places, so a loop is told from a refrain by the number of its repeats alone.
    """
    # A transition token is up to twenty characters long; beyond that, no text is worth taking apart.
    longest = 30 * cap + 1000
    if len(answer.text) > longest:
        answer = replace(answer, text=answer.text[:longest], cut=True)
    lines = answer.lines()
    items = [item for line in lines for item in (*(char.text for char in line), LINE_END)][:-1]
    too_long = sum(map(len, lines)) > cap
    items = items[: cap + len(lines)]
    for end in range(2, len(items) + 1):
        kept = find_loop(items[:end], None, limits)
        if kept is not None:
            return _keep(lines, sum(item != LINE_END for item in items[:kept])), "loop"
    return _keep(lines, cap), "cap" if too_long or answer.cut else "end"


def _keep(lines: Sequence[list[Char]], count: int) -> list[list[Char]]:
    """The first characters of all lines together."""
    starts = accumulate((len(line) for line in lines), initial=0)
    return [line[: max(count - start, 0)] for line, start in zip(lines, starts, strict=False)]
