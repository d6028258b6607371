"""Encoded blocks and tokens in, the decoder's word on what follows out; keys and values are kept meanwhile.

Graphs of older weights take one token a block a step, newer ones a run of tokens
(training/recogniser/export).
A block's result does not depend on the others: places that only they have are masked, and no product is made
of a single row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.weights import Weights

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Floats = NDArray[np.float32]

HIDDEN = np.float32(-1e9)
"""Added to the score of a place that is not the block's own: its weight becomes 0, exactly."""


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


class Batch:
    """The blocks that are being decoded: what they see, and keys and values of the tokens so far."""

    def __init__(self, weights: Weights, encoded: Sequence[EncodedBlock], takes_runs: bool) -> None:
        self.takes_runs = takes_runs
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
        if takes_runs:
            self.feed["seen"] = np.zeros((0, int(weights.size["width"])), np.float32)

    @classmethod
    def name(
        cls, weights: Weights, decoder: InferenceSession, features: Floats, channels: int
    ) -> NDArray[np.int64]:
        """The token that each of the dense head's features is most like; a block of one place goes along."""
        width, heads, head = int(weights.size["width"]), weights.heads, weights.head
        keys, values = (np.zeros(shape, np.float32) for shape in ((1, heads, head, 1), (1, heads, 1, head)))
        pointer = np.zeros((1, channels, 1), np.float32)
        nothing = EncodedBlock(
            np.zeros((1, 1, width), np.float32), pointer, [keys] * weights.layers, [values] * weights.layers
        )
        tokens, places = np.zeros((1, 1), np.int64), np.zeros((1, 1, 2), np.float32)
        fed = cls(weights, [nothing], True).feed | {"tokens": tokens, "place": places, "seen": features}
        (ids,) = decoder.run(["candidates"], fed)
        named: NDArray[np.int64] = ids[1:, 0]
        return named

    def step(
        self, decoder: InferenceSession, tokens: NDArray[np.int64], places: Floats
    ) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Feed tokens and places; after each: candidates, their probabilities, where the pointer points."""
        # For single rows ONNX Runtime has another int8 product, which rounds otherwise: none is fed alone.
        alone = self.takes_runs and tokens.shape[1] == 1
        if alone:
            tokens, places = tokens.repeat(2, 1), places.repeat(2, 1)
        runs, (rows, length) = self.takes_runs, tokens.shape
        names = ["candidates", "probabilities", "pointed"]
        names += [f"new_{part}_{n}" for part in ("keys", "values") for n in self.layers]
        fed = {"tokens": tokens if runs else tokens[:, 0], "place": places if runs else places[:, 0]}
        ids, probabilities, pointed, *new = decoder.run(names, fed | self.feed)
        for n in self.layers:
            self.feed[f"past_keys_{n}"] = new[n]
            self.feed[f"past_values_{n}"] = new[len(self.layers) + n]
        self.forget(int(alone))
        kept = length - alone
        ids, probabilities, pointed = (
            v.reshape(rows, length, -1)[:, :kept] for v in (ids, probabilities, pointed)
        )
        return ids, probabilities, pointed

    def forget(self, count: int) -> None:
        """Be as if the last `count` tokens had not been fed."""
        for n in self.layers if count else ():
            self.feed[f"past_keys_{n}"] = np.ascontiguousarray(self.feed[f"past_keys_{n}"][..., :-count])
            self.feed[f"past_values_{n}"] = np.ascontiguousarray(self.feed[f"past_values_{n}"][:, :, :-count])

    def shrink(self, keep: Sequence[int]) -> None:
        """Go on with some of the rows only."""
        self.rows = [self.rows[row] for row in keep]
        for name in self.feed.keys() - {"seen"}:
            self.feed[name] = np.ascontiguousarray(self.feed[name][list(keep)])


def _padded(values: Floats, length: int, axis: int, fill: np.float32 = np.float32(0)) -> Floats:
    if values.shape[axis] == length:
        return values
    shape = list(values.shape)
    shape[axis] = length - shape[axis]
    return np.concatenate([values, np.full(shape, fill, np.float32)], axis)
