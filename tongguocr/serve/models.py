"""What reads for the service: engine and detector, loaded once; pictures in, pages or replies in tokens out.

A reply is what servers of language models give (paper 3.2). A full-size model writes freely about the whole
picture, transitions and all, as the engine hf lets it write about a crop. Other engines give pages: each of
their characters counts as a token, and lines end in newlines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tongguocr.devices import AUTO
from tongguocr.engines import ENGINES
from tongguocr.engines.base import BlockInput
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.engines.guard import find_loop
from tongguocr.engines.language_model import SHIPPED_LANGUAGE
from tongguocr.engines.prepare import is_blank
from tongguocr.errors import InputError
from tongguocr.geometry import Box
from tongguocr.layout import WritingMode
from tongguocr.page import Block, Crop, Line, Page, Pixels, bare_page, guess_direction
from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, Reader, Setup, open_reader, take_lines
from tongguocr.serve.queue import StatusError
from tongguocr.tokens.codec import DecodedLine

P = ParamSpec("P")
T = TypeVar("T")

SERVED = tuple(name for name, entry in ENGINES.items() if not entry.remote)
NO_DETECTOR = "none"
NEWLINE = "\n"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, as written."""

    text: str
    data: bytes
    """The bytes that it spells: perhaps a part of a character; nothing for special tokens."""
    probability: float
    alternatives: tuple[tuple[str, bytes, float], ...] = ()
    """Other tokens that it might have been, likeliest first."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was read of one picture."""

    text: str = ""
    tokens: tuple[Token, ...] = ()
    truncated: bool = False
    """Whether it was stopped: at the number of tokens wanted, or because it ran in circles."""
    prompt_tokens: int = 0
    """Tokens of the prompt, the picture's included."""
    has_probabilities: bool = True
    """Whether the engine says how sure it is."""


@dataclass(frozen=True)
class Models:
    """What reads."""

    name: str
    """What clients call it."""
    reader: Reader
    full_model: HfEngine | None = None
    """The full-size model, which can write about a picture without lines."""

    def call(self, work: Callable[Concatenate[Models, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` makes of these models: `Processes.call`, for reading in this process."""
        return work(self, *args, **kwargs)

    @property
    def finds_lines(self) -> bool:
        """Whether pages can be read whose lines nobody knows."""
        return self.reader.detector is not None

    def read(
        self,
        page: Page,
        known: Page | None = None,
        direction: WritingMode | None = None,
        turn: bool | None = None,
    ) -> Page:
        """The page with its text, by the lines that are known or else found."""
        if known is not None:
            return self.reader.read_lines(take_lines(page, known, page.image))
        if not self.finds_lines:
            raise InputError(f"{page.image}: this server has no detector; send the page's lines with it.")
        return self.reader.read_lines(self.reader.find_lines(page, direction=direction, turn=turn))

    def reply(self, pixels: Pixels, max_tokens: int, alternatives: int) -> Reply:
        """What is written in a picture, in at most `max_tokens` tokens."""
        page = bare_page("picture", pixels)
        if self.full_model is not None:
            # Lines matter only to models that want characters of one size; the picture stays as it is.
            wanted = self.full_model.image_settings.character
            lines = self.reader.find_lines(page, turn=False).lines if wanted else ()
            return reply_of_model(self.full_model, whole_block(pixels, lines), max_tokens, alternatives)
        if not self.finds_lines:
            box = without_border(pixels)
            page = replace(page, lines=(Line("l1", box, direction=guess_direction(box)),))
        return reply_of_page(self.reader.read(page), max_tokens)


def open_models(
    engine: str = DEFAULT_ENGINE,
    model: str | None = None,
    detector: str = DEFAULT_DETECTOR,
    threads: int = 0,
    check: Callable[[], None] = lambda: None,
    turn: bool = True,
    language: Path | None = SHIPPED_LANGUAGE,
    device: str = AUTO,
    reread: bool = False,
) -> Models:
    """Load what is named; `model` is the folder of the engine's weights, or for hf a name on the hub."""
    check_choice(engine, model)
    full_size = ENGINES[engine].full_size
    setup = Setup(
        engine,
        weights=Path(model) if model and not full_size else None,
        model=model,
        detector=None if detector == NO_DETECTOR else detector,
        language=language,
        turn=turn,
        reread=reread,
        threads=threads,
        device=device,
    )
    reader = open_reader(setup, check)
    assert reader.engine is not None
    full_model = reader.engine.full_model
    if full_model is not None:
        _prepare_full_model(full_model, threads, check)
    return Models(_name(engine, model), reader, full_model)


def check_choice(engine: str, model: str | None) -> None:
    """Refuse an engine that cannot be served, or not with this model, before anything is loaded."""
    if engine not in SERVED:
        raise InputError(f"There is no engine {engine!r} to serve with; take one of {', '.join(SERVED)}.")
    if model and not {"weights", "model"} & set(ENGINES[engine].takes):
        raise InputError(f"--model {model}: the engine {engine} has its own.")


def _prepare_full_model(full_model: HfEngine, threads: int, check: Callable[[], None]) -> None:
    """Before each token it is asked whether to go on: a full-size model may need minutes for a page."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    full_model.check = check


def _name(engine: str, model: str | None) -> str:
    if not ENGINES[engine].full_size or model is None:
        return engine
    return Path(model).resolve().name if Path(model).exists() else model


def reply_of_page(page: Page, max_tokens: int) -> Reply:
    """The text of a page that was read, up to so many characters; lines without text are left out."""
    tokens = tuple(islice(_page_tokens(page), max_tokens + 1))
    kept = tokens[:max_tokens]
    text = "".join(token.text for token in kept)
    has_probabilities = all(char.confidence is not None for line in page.lines for char in line.chars)
    return Reply(text, kept, len(tokens) > max_tokens, 0, has_probabilities)


def _page_tokens(page: Page) -> Iterator[Token]:
    first = True
    for line in page.lines:
        if not line.chars:
            continue
        if not first:
            yield Token(NEWLINE, NEWLINE.encode(), 1.0)
        first = False
        for char in line.chars:
            alternatives = tuple((text, text.encode(), share) for text, share in char.candidates)
            own = 1.0 if char.confidence is None else char.confidence
            yield Token(char.text, char.text.encode(), own, alternatives)


def whole_block(pixels: Pixels, lines: Sequence[Line] = ()) -> BlockInput:
    """A block of the whole picture, which is its own canvas, and an even border is its padding."""
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


def reply_of_model(engine: HfEngine, block: BlockInput, max_tokens: int, alternatives: int) -> Reply:
    """What a full-size model writes about a block, up to so many tokens or until it runs in circles."""
    import torch

    from tongguocr.engines.glm.processor import image_tokens

    picture = engine.image_settings.picture_of(block, engine.processor)
    prompt_tokens = len(engine.prompt.ids(image_tokens(picture, engine.processor)))
    if is_blank(picture):
        return Reply(prompt_tokens=prompt_tokens)
    seen: list[int] = []

    def runs_in_circles(_: int, token: int) -> bool:
        seen.append(token)
        return find_loop(seen, None, engine.settings.limits, engine.loop_free) is not None

    try:
        (written,) = engine.generate([picture], max_tokens, runs_in_circles, alternatives)
    except torch.OutOfMemoryError:
        raise StatusError(
            503, f"The device {engine.device} has too little memory for this picture."
        ) from None
    tokens = tuple(_model_token(engine, ids, likely) for ids, likely in written.candidates)
    return Reply(spell(engine.prompt.decode(written.tokens)), tokens, not written.ended, prompt_tokens)


def spell(lines: Sequence[DecodedLine]) -> str:
    """The text of decoded lines, with the transitions between them as they were written."""
    parts = [line.text + (line.transition or NEWLINE) for line in lines[:-1]]
    return "".join([*parts, *(line.text for line in lines[-1:])])


def _model_token(engine: HfEngine, ids: Sequence[int], likely: Sequence[float]) -> Token:
    (text, data), *others = (_spelling(engine, token) for token in ids)
    alternatives = tuple((*other, share) for other, share in zip(others, likely[1:], strict=True))
    return Token(text, data, likely[0], alternatives)


def _spelling(engine: HfEngine, token: int) -> tuple[str, bytes]:
    data = engine.prompt.spelling(token)
    if data is None:
        return engine.prompt.tokenizer.id_to_token(token) or "", b""
    return data.decode(errors="replace"), data
