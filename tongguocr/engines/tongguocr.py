"""Our own engine: blocks in, readings out, with ONNX Runtime and numpy alone.

Each block's picture is encoded by itself; then the blocks are decoded together, one token of each a step, by
greedy choice with the keys and values of the tokens before (paper 3.2: one sequence of character and
transition tokens a block). With each token the model says where it was read, and is told so in the next step.
A block's result does not depend on its batch: pictures are never padded, and places that only other blocks
have are masked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tongguocr.characters import is_ideograph
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
from tongguocr.engines.guard import UNREADABLE_MARKS, Limits, Watch, character_cap
from tongguocr.engines.prepare import Prepared, find_peak, prepare
from tongguocr.engines.weights import DECODER, ENCODER, Weights, load_weights
from tongguocr.geometry import Box, Point, centre, height, width
from tongguocr.page import Char, Line
from tongguocr.tokens.codec import FIXED, SPECIALS, UNREADABLE, Codec, DecodedChar
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.weights import open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Floats = NDArray[np.float32]

LEAST_PROBABILITY = 0.01
"""Alternatives that are less probable are not mentioned."""
NOWHERE = -1.0
"""Both coordinates of the place that is told before anything was read."""
HIDDEN = np.float32(-1e9)
"""Added to the score of a place that is not the block's own: its weight becomes 0, exactly."""
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


@dataclass
class EncodedBlock:
    """What the encoder gives the decoder to see of one block."""

    dense: Floats
    pointer: Floats
    keys: list[Floats]
    values: list[Floats]

    @property
    def places(self) -> int:
        return int(self.dense.shape[1])


@dataclass
class DecodedBlock:
    """One block's tokens and what was known of each when it was chosen."""

    watch: Watch
    stop: Stop | None
    candidates: list[tuple[NDArray[np.int64], Floats]]
    """The likeliest tokens and their probabilities, the chosen one first."""
    places: list[Point]
    """Where each was read, in features."""


class OnnxEngine(Engine):
    """Reads with the weights of one folder."""

    calibrated = True

    def __init__(self, folder: Path, settings: OnnxSettings = OnnxSettings(), threads: int = 0) -> None:
        """Check and load the weights; `threads` 0 means as many as there are cores."""
        self.weights: Weights = load_weights(folder)
        self.codec: Codec = self.weights.codec
        self.settings = settings
        self.encoder = open_session(self.weights.encoder, folder / ENCODER, threads)
        self.decoder = open_session(self.weights.decoder, folder / DECODER, threads)
        self.free = frozenset(
            FIRST_CHARACTER + k for k, c in enumerate(self.codec.characters) if c in UNREADABLE_MARKS
        )

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Pictures of similar size are decoded together; the answers are in the order of the blocks."""
        prepared = [prepare(block) for block in blocks]
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
        """Greedy decoding of a batch, until each block has ended or has been stopped."""
        limits = self.settings.limits
        texts = [
            DecodedBlock(Watch(character_cap(b.lines, limits), len(b.lines), limits, self.free), None, [], [])
            for b in blocks
        ]
        batch = _Batch(self.weights, encoded)
        tokens = np.full(len(encoded), self.codec.bos, np.int64)
        places = np.full((len(encoded), 2), NOWHERE, np.float32)
        while batch.rows:
            ids, probabilities, pointed = batch.step(self.decoder, tokens, places)
            for row, k in enumerate(batch.rows):
                if texts[k].stop is None:
                    self._take(texts[k], prepared[k], ids[row], probabilities[row], pointed[row])
                    places[row] = texts[k].places[-1]
            tokens = ids[:, 0].copy()
            keep = [row for row, k in enumerate(batch.rows) if texts[k].stop is None]
            # Blocks that have ended are carried along until copying the others pays.
            if not keep:
                break
            if len(keep) <= len(batch.rows) // 2:
                tokens, places = tokens[keep], places[keep]
                batch.shrink(keep)
        return texts

    def _take(
        self, text: DecodedBlock, picture: Prepared, ids: NDArray[np.int64], likely: Floats, pointed: Floats
    ) -> None:
        """One more token of one block, and where it was read."""
        stride = self.weights.stride
        rows, columns = (side // stride for side in picture.picture.shape)
        x, y = find_peak(pointed[: rows * columns], (rows, columns))
        text.places.append((x, y))
        token = int(ids[0])
        if token == self.codec.eos:
            text.stop = "end"
            return
        text.candidates.append((ids, likely))
        text.stop = text.watch.add(
            token,
            (x * stride / picture.character, y * stride / picture.character),
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


class _Batch:
    """The blocks that are being decoded: what they see, and keys and values of the tokens so far."""

    def __init__(self, weights: Weights, encoded: Sequence[EncodedBlock]) -> None:
        self.rows = list(range(len(encoded)))
        most = max((block.places for block in encoded), default=0)
        self.layers = range(weights.layers)
        shape = (len(encoded), weights.heads, weights.head, 0)
        self.feed: dict[str, Any] = {
            "mask": np.stack([_padded(np.zeros(s.places, np.float32), most, 0, HIDDEN) for s in encoded]),
            "dense": np.concatenate([_padded(s.dense, most, 1) for s in encoded]),
            "pointer": np.concatenate([_padded(s.pointer, most, 2) for s in encoded]),
        }
        for n in self.layers:
            self.feed[f"keys_{n}"] = np.concatenate([_padded(s.keys[n], most, 3) for s in encoded])
            self.feed[f"values_{n}"] = np.concatenate([_padded(s.values[n], most, 2) for s in encoded])
            self.feed[f"past_keys_{n}"] = np.zeros(shape, np.float32)
            self.feed[f"past_values_{n}"] = np.zeros((*shape[:2], 0, shape[2]), np.float32)

    def step(
        self, decoder: InferenceSession, tokens: NDArray[np.int64], places: Floats
    ) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Feed one token a block and its place; candidates, their probabilities, where the pointer points."""
        names = ["candidates", "probabilities", "pointed"]
        names += [f"new_{part}_{n}" for part in ("keys", "values") for n in self.layers]
        fed = {"tokens": tokens, "place": places, **self.feed}
        ids, probabilities, pointed, *new = decoder.run(names, fed)
        for n in self.layers:
            self.feed[f"past_keys_{n}"] = new[n]
            self.feed[f"past_values_{n}"] = new[len(self.layers) + n]
        return ids, probabilities, pointed

    def shrink(self, keep: Sequence[int]) -> None:
        """Go on with some of the rows only."""
        self.rows = [self.rows[row] for row in keep]
        self.feed = {name: np.ascontiguousarray(value[list(keep)]) for name, value in self.feed.items()}


def _padded(values: Floats, length: int, axis: int, fill: np.float32 = np.float32(0)) -> Floats:
    if values.shape[axis] == length:
        return values
    shape = list(values.shape)
    shape[axis] = length - shape[axis]
    return np.concatenate([values, np.full(shape, fill, np.float32)], axis)


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
