"""Our small recogniser as the tables train and read it: the same rows, where its tokens allow them.

It has tokens of its own for thousands of characters. A row without vocabulary loses those of the added
characters, which it then spells in bytes; a row without transitions writes one and the same break between all
lines. It is read with torch, from the weights that training left, without an export.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from tongguocr.engines.align_by_length import align_by_length
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.engines.guard import Guarded
from tongguocr.engines.prepare import Prepared, prepare, to_grey
from tongguocr.engines.weights import CODEC
from tongguocr.files import make_folder
from tongguocr.page import Char, Line
from tongguocr.tokens.codec import FIXED, SPECIALS, Codec, make_codec
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.pages import ROUNDED, PageRecipe, reading_scale
from tongguocr.training.recogniser.restore import MODEL, open_model, save_model
from tongguocr.training.recogniser.stage import PageStage
from tongguocr.training.recogniser.task import train_pages
from tongguocr.training.recogniser.validation import read_greedily
from tongguocr.training.reproduce.families import Showing

NOWHERE = (0.0, 0.0, 0.0, 0.0)
BREAK = len(SPECIALS)
"""The one token between lines where transitions are switched off: the first of them, whatever the way."""
NEW_ROW = 0.02
"""Deviation of the rows of new tokens: what a fresh network has."""


class PlainBreaks(Codec):
    """A codec that says where a line ends, and not which way the next one lies."""

    def encode_lines(self, lines: Sequence[Line], width: float, height: float) -> list[int]:
        """As ever, with one and the same token between all lines."""
        ids = super().encode_lines(lines, width, height)
        return [BREAK if BREAK <= token < BREAK + len(TRANSITIONS) else token for token in ids]


def with_characters(model: Recogniser, codec: Codec, characters: Sequence[str]) -> tuple[Recogniser, Codec]:
    """The network with tokens for these characters and no others; new ones begin at random."""
    wanted = make_codec(characters)
    rows = {char: len(FIXED) + number for number, char in enumerate(codec.characters)}
    old = model.embedding.weight.detach()
    dice = torch.Generator().manual_seed(1)
    table = torch.randn(len(wanted), old.shape[1], generator=dice) * NEW_ROW
    table[: len(FIXED)] = old[: len(FIXED)]
    for number, char in enumerate(wanted.characters, start=len(FIXED)):
        if char in rows:
            table[number] = old[rows[char]]
    grown = Recogniser(replace(model.size, tokens=len(wanted)))
    grown.load_state_dict({**model.state_dict(), "embedding.weight": table})
    return grown, wanted


class SmallFamily:
    """Our recogniser."""

    name = "small"
    stages = ("1", "2", "3")

    def expand(self, start: str, added: Sequence[str], vocabulary: bool, transitions: bool, out: Path) -> str:
        """The start weights with the row's characters, as a run's files."""
        model, codec = open_model(Path(start))
        left = set() if vocabulary else set(added)
        known = [char for char in codec.characters if char not in left]
        model, codec = with_characters(model, codec, [*known, *(added if vocabulary else ())])
        make_folder(out)
        codec.save(out / CODEC)
        save_model(model, out / MODEL)
        return str(out / MODEL)

    def with_tokens(self, stage: PageStage, transitions: bool) -> PageStage:
        """The stage itself: what stands between lines is the codec's matter."""
        return stage

    def train(
        self,
        stage: PageStage,
        pages: Labelled,
        start: str,
        transitions: bool,
        out: Path,
        device: torch.device,
        say: Say,
    ) -> None:
        """One stage, in this process."""
        model, codec = open_model(Path(start))
        train_pages(
            pages, stage, model, codec if transitions else PlainBreaks(codec.characters), out, device, say
        )

    def weights(self, out: Path) -> str:
        """The run's best weights."""
        return str(out / MODEL)

    def open(self, weights: str, showing: Showing, device: torch.device) -> Engine:
        """The network as it stands, with pictures as in training."""
        model, codec = open_model(Path(weights))
        engine = TorchEngine(model.to(device).eval(), codec, showing, device)
        return Guarded(engine) if showing.guard else engine


class TorchEngine(Engine):
    """Reads with a network in training's own form, greedily, until it ends by itself."""

    def __init__(self, model: Recogniser, codec: Codec, showing: Showing, device: torch.device) -> None:
        """`showing` says how large blocks and pages are shown."""
        self.model, self.codec, self.device, self.longest = model, codec, device, showing.longest
        side = (showing.side or PageRecipe().longest_side) // ROUNDED * ROUNDED
        self.scaling = reading_scale(showing.read, max(side, ROUNDED))

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """One block after the other; what is blank is not read."""
        return [self._read(block) for block in blocks]

    def _read(self, block: BlockInput) -> BlockReading:
        empty = BlockReading(tuple(LineReading() for _ in block.lines), written=())
        prepared = prepare(block, self.scaling)
        if prepared.blank or not block.lines:
            return empty
        images = torch.from_numpy(_filled(prepared, block))[None, None].to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            (ids,) = read_greedily(self.model, images, self.codec, self.longest)
        lines = [[Char(char.text, NOWHERE) for char in line.chars] for line in self.codec.decode(ids)]
        written = tuple("".join(char.text for char in line) for line in lines if line)
        return BlockReading(align_by_length(lines, block), (), "end", written)


def _filled(prepared: Prepared, block: BlockInput) -> np.ndarray:
    """The picture on its paper, its sides rounded as in training."""
    high, wide = prepared.picture.shape
    paper = to_grey(np.array(block.crop.background, np.uint8).reshape(1, 1, -1))[0, 0] / 255
    picture = np.full([-(-side // ROUNDED) * ROUNDED for side in (high, wide)], paper, np.float32)
    picture[:high, :wide] = np.rint(prepared.picture * 255) / 255
    return picture
