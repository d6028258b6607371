"""What was read of a picture -> a reply in tokens, as servers of language models give it (paper 3.2).

A full-size model writes freely about the whole picture, transitions and all, as the engine hf lets it write
about a crop. Other engines give pages: each of their characters counts as a token, and lines end in newlines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tongguocr.engines.base import BlockInput
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.engines.guard import find_loop
from tongguocr.engines.prepare import is_blank
from tongguocr.geometry import Box
from tongguocr.page import Block, Crop, Line, Page, Pixels
from tongguocr.serve.turns import StatusError
from tongguocr.tokens.codec import DecodedLine

NEWLINE = "\n"


@dataclass(frozen=True, slots=True)
class Token:
    """One token as written."""

    text: str
    data: bytes
    """What it spells: perhaps a part of a character; nothing for special tokens."""
    sure: float
    others: tuple[tuple[str, bytes, float], ...] = ()
    """Other tokens that it might have been, likeliest first."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was read of one picture."""

    text: str = ""
    tokens: tuple[Token, ...] = ()
    cut: bool = False
    """Whether it was stopped: at the number of tokens wanted, or because it ran in circles."""
    asked: int = 0
    """Tokens of the prompt, the picture's included."""
    sure: bool = True
    """Whether the engine says how sure it is."""


def reply_of_page(page: Page, most: int) -> Reply:
    """The text of a page that was read, up to so many characters; lines without text are left out."""
    tokens = tuple(islice(_page_tokens(page), most + 1))
    kept = tokens[:most]
    text = "".join(token.text for token in kept)
    sure = all(char.confidence is not None for line in page.lines for char in line.chars)
    return Reply(text, kept, len(tokens) > most, 0, sure)


def _page_tokens(page: Page) -> Iterator[Token]:
    first = True
    for line in page.lines:
        if not line.chars:
            continue
        if not first:
            yield Token(NEWLINE, NEWLINE.encode(), 1.0)
        first = False
        for char in line.chars:
            others = tuple((text, text.encode(), sure) for text, sure in char.candidates)
            own = 1.0 if char.confidence is None else char.confidence
            yield Token(char.text, char.text.encode(), own, others)


def whole_block(pixels: Pixels, lines: Sequence[Line] = ()) -> BlockInput:
    """The whole picture as one block: it is its own canvas, and an even border is its padding."""
    high, wide = pixels.shape[:2]
    background = tuple(int(value) for value in np.atleast_1d(pixels[0, 0]))
    box = (0, 0, wide, high)
    crop = Crop(Block(0, len(lines), box), pixels, without_border(pixels), (0, 0), background)
    return BlockInput(crop, tuple(lines))


def without_border(pixels: Pixels) -> Box:
    """The picture without what has, from edge to edge, exactly the colour of its corner."""
    high, wide = pixels.shape[:2]
    differs = (pixels != pixels[0, 0]).reshape(high, wide, -1).any(2)
    rows, columns = np.flatnonzero(differs.any(1)), np.flatnonzero(differs.any(0))
    if not len(rows):
        return (0, 0, wide, high)
    return (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def reply_of_model(engine: HfEngine, block: BlockInput, most: int, rivals: int) -> Reply:
    """What a full-size model writes about a block, up to so many tokens or until it runs in circles."""
    import torch

    from tongguocr.engines.glm.processor import image_tokens

    picture = engine.image_settings.picture_of(block, engine.processor)
    asked = len(engine.prompt.ids(image_tokens(picture, engine.processor)))
    if is_blank(picture):
        return Reply(asked=asked)
    seen: list[int] = []

    def circles(_: int, token: int) -> bool:
        seen.append(token)
        return find_loop(seen, None, engine.settings.limits, engine.loop_free) is not None

    try:
        (written,) = engine.generate([picture], most, circles, rivals)
    except torch.OutOfMemoryError:
        raise StatusError(
            503, f"The device {engine.device} has too little memory for this picture."
        ) from None
    tokens = tuple(_model_token(engine, ids, likely) for ids, likely in written.candidates)
    return Reply(spell(engine.prompt.decode(written.tokens)), tokens, not written.ended, asked)


def spell(lines: Sequence[DecodedLine]) -> str:
    """Lines as text, with what parts them as it was written."""
    parts = [line.text + (line.transition or NEWLINE) for line in lines[:-1]]
    return "".join([*parts, *(line.text for line in lines[-1:])])


def _model_token(engine: HfEngine, ids: Sequence[int], likely: Sequence[float]) -> Token:
    (text, data), *others = (_spelling(engine, token) for token in ids)
    rivals = zip(others, likely[1:], strict=True)
    return Token(text, data, likely[0], tuple((*other, sure) for other, sure in rivals))


def _spelling(engine: HfEngine, token: int) -> tuple[str, bytes]:
    data = engine.prompt.spelling(token)
    if data is None:
        return engine.prompt.tokenizer.id_to_token(token) or "", b""
    return data.decode(errors="replace"), data
