"""What stage 0 trains on, from one folder, and the batches that its workers make of it (workers.py)."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.tokens.codec import Codec, load_codec
from tongguocr.training.recogniser.blocks import BlockMaker, Work
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.synth.atlas import Atlas, load_atlas
from tongguocr.training.synth.real_ink import Lines, load_lines
from tongguocr.training.synth.text import TextSource, load_text
from tongguocr.training.workers import Workers

Painted: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Images from 0 to 1, and for each character its place and its block."""
Paint: TypeAlias = Callable[[Work], Painted]


@dataclass(frozen=True, slots=True)
class Data:
    """What a stage trains on and is judged by, from one folder."""

    atlas: Atlas
    codec: Codec
    text: TextSource
    held_out_text: TextSource
    lines: Lines | None
    held_out_lines: Lines | None
    frequencies: NDArray[np.float64]

    def maker(self, seed: int, recipe: Recipe, held_out: bool = False) -> BlockMaker:
        return BlockMaker(
            text=self.held_out_text if held_out else self.text,
            fonts=self.atlas.book(),
            atlas=self.atlas,
            codec=self.codec,
            seed=seed,
            recipe=recipe,
            held_out=held_out,
            lines=self.held_out_lines if held_out else self.lines,
            frequencies=self.frequencies,
        )


def load_data(folder: Path) -> Data:
    """atlas.npz, codec.json, text.txt or text.txt.xz, counts.tsv; and lines.npz, held_out.npz if there."""
    text = next((p for p in (folder / "text.txt", folder / "text.txt.xz") if p.exists()), None)
    if text is None:
        raise InputError(f"{folder}: there is no text.txt or text.txt.xz to train on.")
    codec = load_codec(folder / "codec.json")
    lines, held = (
        load_lines(p) if p.exists() else None for p in (folder / "lines.npz", folder / "held_out.npz")
    )
    return Data(
        atlas=load_atlas(folder / "atlas.npz"),
        codec=codec,
        text=load_text(text),
        held_out_text=load_text(text, held_out=True),
        lines=lines,
        held_out_lines=held,
        frequencies=_frequencies(folder / "counts.tsv", codec),
    )


def _frequencies(path: Path, codec: Codec) -> NDArray[np.float64]:
    """How often each character of the codec occurs; one that the table lacks counts once."""
    rows = (row.split("\t") for row in decode_utf8(read_bytes(path), path).splitlines())
    counts = {row[0]: float(row[1]) for row in rows if len(row) == 2}
    return np.array([counts.get(char, 1.0) for char in codec.characters])


class Feed:
    """Painted batches of blocks, whose difficulty the loop may change while workers run."""

    def __init__(self, data: Data, recipe: Recipe, workers: int, seed: int) -> None:
        self.level = multiprocessing.get_context("fork").Value("d", 1.0, lock=False)
        """How hard new blocks are."""
        level = self.level

        def make(number: int) -> Iterator[Work]:
            maker = data.maker(seed + number, recipe)
            maker.level = lambda: float(level.value)
            return maker.batches()

        self.workers: Workers[Work] = Workers(make, workers)

    def batches(self, device: torch.device, paint: Paint) -> Iterator[tuple[Work, Painted]]:
        def prepare(work: Work) -> tuple[Work, Painted]:
            there = to_device(work, device)
            return there, paint(there)

        return self.workers.batches(
            device, prepare, lambda shown: (*shown[1], shown[0].tokens, shown[0].characters, shown[0].places)
        )

    def stop(self) -> None:
        self.workers.stop()


def to_device(work: Work, device: torch.device) -> Work:
    """The batch and its targets on the device, by way of page-locked memory on a GPU."""
    batch = work.batch.pinned() if device.type == "cuda" else work.batch
    return Work(
        work.tokens.to(device).long(),
        work.characters.to(device).long(),
        work.places.to(device).long(),
        work.canvas,
        batch.to(device),
        work.degradation.to(device),
        work.seed,
    )
