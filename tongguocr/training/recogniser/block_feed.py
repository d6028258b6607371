"""What stage 0 trains on, from one folder, and the batches that its workers make of it.

In: the folder that `tongguocr train-data` filled. Out: batches of synthetic blocks and real lines, made by
worker processes and painted on the device.
"""

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
from tongguocr.training.loop import Batch
from tongguocr.training.recogniser.blocks import BlockBatch, BlockMaker
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.run import Run
from tongguocr.training.synth.atlas import Atlas, load_atlas
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.render import GlyphAtlas, render_batch
from tongguocr.training.synth.real_ink import Lines, join, load_lines
from tongguocr.training.synth.text import TextSource, load_text
from tongguocr.training.workers import Workers

BARE = "bare.npz"
"""The file with pictures of paper without text."""

Painted: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Images from 0 to 1, and for each character its place and its block."""


@dataclass(frozen=True, slots=True)
class Data:
    """What a stage trains on and is validated on, from one folder."""

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
    """atlas.npz, codec.json, text.txt or text.txt.xz, counts.tsv; and lines.npz, bare.npz and held_out.npz,
    where they are there."""
    text = next((p for p in (folder / "text.txt", folder / "text.txt.xz") if p.exists()), None)
    if text is None:
        raise InputError(f"{folder}: there is no text.txt or text.txt.xz to train on.")
    codec = load_codec(folder / "codec.json")
    files = (folder / name for name in ("lines.npz", BARE, "held_out.npz"))
    lines, bare, held = (load_lines(path) if path.exists() else None for path in files)
    if lines is not None and bare is not None:
        lines = join(lines, bare)
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


@dataclass(frozen=True, slots=True)
class Painter:
    """Everything on the device that turns a batch into images."""

    atlas: GlyphAtlas
    store: LineStore | None
    shaping: float = 0.0
    """How far glyphs stray from their outlines."""

    @staticmethod
    def load(data: Data, recipe: Recipe, device: torch.device) -> Painter:
        store = LineStore.load(data.lines, device) if data.lines is not None else None
        return Painter(GlyphAtlas.load(data.atlas, device), store, recipe.shaping)

    @torch.no_grad()
    def paint(self, work: BlockBatch) -> Painted:
        shown = render_batch(
            work.batch, self.atlas, work.degradation, work.seed, self.store, shaping=self.shaping
        )
        return shown.images.float() / 255, shown.points, shown.of_block


class BlockFeed:
    """Painted batches of blocks, which grow while the run begins.

    Workers are forked, which a process that has touched a GPU must not be: make the feed first.
    """

    def __init__(self, data: Data, recipe: Recipe, run: Run, rank: int = 0) -> None:
        self.gentle = run.gentle
        self.level = multiprocessing.get_context("fork").Value("d", 1.0, lock=False)
        """How hard new blocks are."""
        level, seed = self.level, (run.seed + 100 * rank) * 1000

        def make(number: int) -> Iterator[BlockBatch]:
            maker = data.maker(seed + number, recipe)
            maker.level = lambda: float(level.value)
            return maker.batches()

        self.workers: Workers[BlockBatch] = Workers(make, run.workers)

    def batches(self, device: torch.device, painter: Painter, passed: Callable[[], float]) -> Iterator[Batch]:
        """Batches without end; `passed` says before each of them which share of the run is over."""

        def paint(work: BlockBatch) -> tuple[BlockBatch, Painted]:
            there = to_device(work, device)
            return there, painter.paint(there)

        made = self.workers.batches(
            device, paint, lambda shown: (*shown[1], shown[0].tokens, shown[0].characters, shown[0].places)
        )
        while True:
            self.level.value = min(passed() / self.gentle, 1.0) if self.gentle else 1.0
            work, painted = next(made)
            yield Batch((work, painted), work.canvas.blocks)

    def stop(self) -> None:
        self.workers.stop()


def to_device(work: BlockBatch, device: torch.device) -> BlockBatch:
    """The batch and its targets on the device, by way of page-locked memory on a GPU."""
    batch = work.batch.pinned() if device.type == "cuda" else work.batch
    return BlockBatch(
        work.tokens.to(device).long(),
        work.characters.to(device).long(),
        work.places.to(device).long(),
        work.canvas,
        batch.to(device),
        work.degradation.to(device),
        work.seed,
    )
