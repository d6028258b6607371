"""Our own engine: blocks in, readings out, with ONNX Runtime and numpy alone.

Each block's picture is encoded by itself; then the blocks are decoded together, one token of each a step, by
greedy choice with the keys and values of the tokens before (paper 3.2: one sequence of character and
transition tokens a block). With each token the model says where it was read, and is told so in the next step.
A block's result does not depend on its batch: pictures are never padded, and places that only other blocks
have are masked. Where the graph takes runs of tokens, each block is decoded by itself, along a draft
(drafting.py), many tokens a pass.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tongguocr.characters import is_ideograph
from tongguocr.devices import AUTO
from tongguocr.engines.align_by_position import align_by_position, thickness
from tongguocr.engines.base import (
    BlockInput,
    BlockReading,
    Engine,
    LineReading,
    Stop,
    batch_up,
    lines_on_page,
)
from tongguocr.engines.decoder_batch import Batch, EncodedBlock
from tongguocr.engines.drafting import Follower, Read, features_at, join_lines, line_places, on_grid
from tongguocr.engines.guard import UNREADABLE_MARKS, Limits, Watch, character_cap
from tongguocr.engines.prepare import Prepared, Scaling, find_peak, prepare
from tongguocr.engines.weights import DECODER, ENCODER, Weights, load_weights
from tongguocr.geometry import Box, Point, centre, height, width
from tongguocr.page import Char, Line
from tongguocr.tokens.codec import FIXED, SPECIALS, UNREADABLE, Codec, DecodedChar
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.weights import open_session

Floats = NDArray[np.float32]

LEAST_PROBABILITY = 0.01
"""Alternatives that are less probable are not mentioned."""
NOWHERE = -1.0
"""Both coordinates of the place that is told before anything was read."""
FIRST_BREAK = len(SPECIALS)
FIRST_BYTE = FIRST_BREAK + len(TRANSITIONS)
FIRST_CHARACTER = len(FIXED)
CONTINUATION = range(FIRST_BYTE + 0x80, FIRST_BYTE + 0xC0)


@dataclass(frozen=True, slots=True)
class OnnxSettings:
    """How blocks are read."""

    limits: Limits = field(default_factory=Limits)
    rows: int = 8
    """Blocks decoded together; more gain little on a few cores."""
    places: int = 12_000
    """Places decoded together, padding included: 110 MB of keys and values."""
    draft: bool = True
    """Whether a draft by the dense head is checked many tokens at a time, where the weights' graph can."""
    parts: int = 4
    """Of a feature, to which places are rounded before they are fed, where the graph takes runs."""
    scaling: Scaling = field(default_factory=Scaling)
    """How large blocks are seen."""


@dataclass
class DecodedBlock:
    """One block's tokens and what was known of each when it was chosen."""

    watch: Watch
    stop: Stop | None
    candidates: list[tuple[NDArray[np.int64], Floats]]
    """The likeliest tokens and their probabilities, the chosen one first."""
    places: list[Point]
    """Where each was read, in features."""
    passes: int = 0
    """How often the decoder ran."""


class OnnxEngine(Engine):
    """Reads with the weights of one folder."""

    calibrated = True
    least_confidence = 0.7
    """`python -m bench.robust`: pages that can be read have 0.84 and more, others 0.2 to 0.62."""

    def __init__(
        self,
        folder: Path,
        settings: OnnxSettings = OnnxSettings(),
        threads: int = 0,
        device: str = AUTO,
    ) -> None:
        """Check and load the weights; `threads` 0 means as many as there are cores."""
        self.weights: Weights = load_weights(folder)
        self.codec: Codec = self.weights.codec
        self.settings = settings
        self.encoder = open_session(self.weights.encoder, folder / ENCODER, threads, device)
        self.decoder = open_session(self.weights.decoder, folder / DECODER, threads, device)
        self.takes_runs = "seen" in {given.name for given in self.decoder.get_inputs()}
        self.free = frozenset(
            FIRST_CHARACTER + k for k, c in enumerate(self.codec.characters) if c in UNREADABLE_MARKS
        )

    def with_settings(self, settings: OnnxSettings) -> OnnxEngine:
        """The same weights, opened once, that read in another way."""
        other = copy(self)
        other.settings = settings
        return other

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Pictures of similar size are decoded together; the answers are in the order of the blocks."""
        prepared = [prepare(block, self.settings.scaling) for block in blocks]
        readings = [BlockReading(tuple(LineReading() for _ in block.lines)) for block in blocks]
        for numbers in self._batches(prepared):
            encoded = [self.encode(prepared[k]) for k in numbers]
            decoded = self.decode(encoded, [blocks[k] for k in numbers], [prepared[k] for k in numbers])
            for k, text in zip(numbers, decoded, strict=True):
                readings[k] = self._to_reading(blocks[k], prepared[k], text)
        return readings

    def _batches(self, prepared: Sequence[Prepared]) -> Iterator[list[int]]:
        """Numbers of the blocks that go together; blank ones are not read at all."""
        places = [picture.picture.size // self.weights.stride**2 for picture in prepared]
        order = sorted((k for k, p in enumerate(prepared) if not p.blank), key=places.__getitem__)
        return batch_up(order, places, self.settings.rows, self.settings.places)

    def encode(self, prepared: Prepared) -> EncodedBlock:
        """Encode one picture."""
        dense, pointer, *rest = self.encoder.run(None, {"image": prepared.picture[None, None]})
        layers = self.weights.layers
        return EncodedBlock(dense, pointer, rest[:layers], rest[layers:])

    def decode(
        self, encoded: Sequence[EncodedBlock], blocks: Sequence[BlockInput], prepared: Sequence[Prepared]
    ) -> list[DecodedBlock]:
        """Greedy decoding, until each block has ended or has been stopped."""
        limits = self.settings.limits
        texts = [
            DecodedBlock(Watch(character_cap(b.lines, limits), len(b.lines), limits, self.free), None, [], [])
            for b in blocks
        ]
        if not (self.takes_runs and self.settings.draft):
            self._decode_together(texts, encoded, prepared)
            return texts
        for text, seen, block, picture in zip(texts, encoded, blocks, prepared, strict=True):
            self._decode_along(text, seen, picture, self.draft(seen, block, picture))
        return texts

    def _decode_together(
        self, texts: Sequence[DecodedBlock], encoded: Sequence[EncodedBlock], prepared: Sequence[Prepared]
    ) -> None:
        """A batch of blocks, one token of each a step."""
        batch = Batch(self.weights, encoded, self.takes_runs)
        tokens = np.full(len(encoded), self.codec.bos, np.int64)
        places = np.full((len(encoded), 2), NOWHERE, np.float32)
        while batch.rows:
            ids, likely, pointed = batch.step(self.decoder, tokens[:, None], places[:, None])
            for row, k in enumerate(batch.rows):
                if texts[k].stop is None:
                    place = find_peak(pointed[row, 0, : encoded[k].places], self._grid(prepared[k]))
                    self._take(texts[k], prepared[k], ids[row, 0], likely[row, 0], place)
                    texts[k].passes += 1
                    places[row] = on_grid(place, self.settings.parts) if self.takes_runs else place
            tokens = ids[:, 0, 0].copy()
            keep = [row for row, k in enumerate(batch.rows) if texts[k].stop is None]
            # Blocks that have ended are carried along until copying the others pays.
            if not keep:
                break
            if len(keep) <= len(batch.rows) // 2:
                tokens, places = tokens[keep], places[keep]
                batch.shrink(keep)

    def draft(self, encoded: EncodedBlock, block: BlockInput, picture: Prepared) -> list[Read]:
        """What the block's text is likely to be, before it is read."""
        lines = line_places(block, picture, self.weights.stride)
        places = [place for line in lines for place in line]
        if not places:
            return []
        grid = self._grid(picture)
        features, channels = features_at(encoded.dense[0], places, grid), encoded.pointer.shape[1]
        names = Batch.name(self.weights, self.decoder, features, channels)
        return join_lines(lines, names.tolist(), grid, self.settings.parts)

    def _decode_along(
        self, text: DecodedBlock, encoded: EncodedBlock, picture: Prepared, draft: Sequence[Read]
    ) -> None:
        """One block, a stretch of the draft a pass: kept is what the decoder would have said step by step."""
        batch, grid = Batch(self.weights, [encoded], True), self._grid(picture)
        follower = Follower(list(draft), picture.character / self.weights.stride)
        last = Read(self.codec.bos, (NOWHERE, NOWHERE))
        while text.stop is None:
            fed = [last, *follower.run()]
            tokens = np.array([[read.token for read in fed]], np.int64)
            places = np.array([[read.place for read in fed]], np.float32)
            (ids,), (likely,), (pointed,) = batch.step(self.decoder, tokens, places)
            found = [find_peak(row, grid) for row in pointed]
            rounded = [on_grid(place, self.settings.parts) for place in found]
            said = [Read(int(k[0]), place) for k, place in zip(ids, rounded, strict=True)]
            kept = follower.settle(said)
            batch.forget(len(fed) - kept)
            text.passes += 1
            for k in range(kept):
                if text.stop is None:
                    self._take(text, picture, ids[k], likely[k], found[k])
            last = said[kept - 1]

    def _grid(self, picture: Prepared) -> tuple[int, int]:
        """Rows and columns of a picture's features."""
        high, wide = picture.picture.shape
        return high // self.weights.stride, wide // self.weights.stride

    def _take(
        self, text: DecodedBlock, picture: Prepared, ids: NDArray[np.int64], likely: Floats, place: Point
    ) -> None:
        """One more token of one block, and where it was read."""
        text.places.append(place)
        token = int(ids[0])
        if token == self.codec.eos:
            text.stop = "end"
            return
        text.candidates.append((ids, likely))
        size = self.weights.stride / picture.character
        text.stop = text.watch.add(
            token,
            (place[0] * size, place[1] * size),
            starts_character=token >= FIRST_BYTE and token not in CONTINUATION,
            ends_line=FIRST_BREAK <= token < FIRST_BYTE,
        )

    def _to_reading(self, block: BlockInput, picture: Prepared, text: DecodedBlock) -> BlockReading:
        """Tokens to characters with boxes, and those to the block's lines."""
        stop = text.stop or "end"
        kept = text.watch.kept(stop)
        found = [
            [self._char(char, text, picture) for char in line.chars]
            for line in self.codec.decode(text.watch.tokens[:kept])
        ]
        given = lines_on_page(block)
        lines, surplus = align_by_position(found, given)
        region = block.crop.region
        fitted = tuple(fit_boxes(line, reading, region) for line, reading in zip(given, lines, strict=True))
        return BlockReading(fitted, surplus, stop)

    def _char(self, char: DecodedChar, text: DecodedBlock, picture: Prepared) -> Char:
        """The character with a square of the block's character size around its centre."""
        x, y = (value * self.weights.stride for value in text.places[char.positions[0]])
        half = picture.character / 2
        box: Box = (*picture.to_page((x - half, y - half)), *picture.to_page((x + half, y + half)))
        confidence = round(float(np.prod([text.candidates[k][1][0] for k in char.positions])), 4)
        alternatives = self._alternatives(text, char)
        in_bytes = text.watch.tokens[char.positions[0]] < FIRST_CHARACTER
        if in_bytes and alternatives and not is_written(char.text):
            # Bytes that spell nothing anybody writes: the likeliest whole character stands for them.
            return Char(alternatives[0][0], box, min(confidence, alternatives[0][1]), alternatives[1:])
        return Char(char.text, box, confidence, alternatives)

    def _alternatives(self, text: DecodedBlock, char: DecodedChar) -> tuple[tuple[str, float], ...]:
        """Other characters that the step might have been; where bytes spell this one, their first step."""
        ids, likely = text.candidates[char.positions[0]]
        pairs = zip(ids[1:].tolist(), likely[1:].tolist(), strict=True)
        return tuple(
            (self.codec.characters[token - FIRST_CHARACTER], round(probability, 4))
            for token, probability in pairs
            if token >= FIRST_CHARACTER and probability >= LEAST_PROBABILITY
        )


def is_written(text: str) -> bool:
    """Whether books can hold it: neither U+FFFD nor a control, private or unassigned code point."""
    return all(is_ideograph(c) or (c != UNREADABLE and unicodedata.category(c)[0] != "C") for c in text)


def fit_boxes(line: Line, reading: LineReading, region: Box) -> LineReading:
    """The reading with boxes as thick as its line and as long as its pitch, each around its old centre."""
    if not reading.chars:
        return reading
    across = thickness(line)
    along = height(line.box) if line.is_vertical else width(line.box)
    pitch = min(max(along / len(reading.chars), 0.5 * across), across)
    size = (across, pitch) if line.is_vertical else (pitch, across)
    chars = tuple(replace(char, box=_around(centre(char.box), size, region)) for char in reading.chars)
    return replace(reading, chars=chars)


def _around(at: Point, size: Point, region: Box) -> Box:
    """A box of about this size with exactly this centre; near the region's edge it is smaller."""
    (x, y), (wide, high) = at, size
    x, y = min(max(x, region[0]), region[2]), min(max(y, region[1]), region[3])
    half_x = max(min(wide / 2, x - region[0], region[2] - x), 0.5)
    half_y = max(min(high / 2, y - region[1], region[3] - y), 0.5)
    return (round(x - half_x, 2), round(y - half_y, 2), round(x + half_x, 2), round(y + half_y, 2))
