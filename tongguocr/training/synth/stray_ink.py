"""Ink that nobody is to read: blocks without text, and slices of neighbouring columns at a block's edge.

In: the composition of a block. Out: one whose glyphs are gone, or that shows at its left or right edge what a
crop cuts off a neighbouring column or a fold: parts of characters that are in no line. A recogniser that has
never seen them writes text out of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tongguocr.training.synth.composition import Composition

SEEN = (0.08, 0.42)
"""How much of a sliced character's width is seen: half a character can often be read, and should be."""
ROOM = 0.12
"""What lies between the slice and the nearest character at least, as a share of a character's width."""


def without_text(block: Composition) -> Composition:
    """The block with its rules and frames, and not one glyph or mark."""
    none = slice(0, 0)
    return replace(
        block,
        text=(),
        faces=block.faces[none],
        boxes=block.boxes[none],
        angles=block.angles[none],
        white=block.white[none],
        lines=(),
        patches=(),
        marks=(),
    )


def add_slice(block: Composition, source: Composition, rng: np.random.Generator) -> Composition:
    """The block with a column of `source` cut through by its left or right edge, if there is room for it."""
    columns = [line for line in source.lines if line.direction == "top-to-bottom"]
    if not columns:
        return block
    line = columns[int(rng.integers(len(columns)))]
    # Upright glyphs on paper only: what is white on black would need its black ground.
    index = np.flatnonzero(~source.white[line.start : line.stop]) + line.start
    if not len(index):
        return block
    boxes = source.boxes[index].copy()
    wide = float((boxes[:, 2] - boxes[:, 0]).max())
    seen = wide * float(rng.uniform(*SEEN))
    on_left = bool(rng.random() < 0.5)
    if len(block.boxes):
        room = block.boxes[:, 0].min() if on_left else block.width - block.boxes[:, 2].max()
        if room < seen + ROOM * wide:
            return block
    shift = seen - boxes[:, 2].max() if on_left else block.width - seen - boxes[:, 0].min()
    boxes[:, [0, 2]] += np.float32(shift)
    boxes[:, [1, 3]] += np.float32(rng.uniform(-0.5, 0.5) * wide)
    return replace(
        block,
        text=(*block.text, *(source.text[k] for k in index)),
        faces=np.concatenate([block.faces, source.faces[index]]),
        boxes=np.concatenate([block.boxes, boxes]),
        angles=np.concatenate([block.angles, source.angles[index]]),
        white=np.concatenate([block.white, source.white[index]]),
    )
