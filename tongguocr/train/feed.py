"""Worker processes that keep a training loop fed: the data of a stage in, packed batches out.

Workers are forked before the GPU is touched, so they share the atlas and the text with the loop for nothing.
Batches travel as bytes: thousands of shared tensors would run out of file handles.
"""

from __future__ import annotations

import multiprocessing
import pickle
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.synth.atlas import Atlas, load_atlas
from tongguocr.synth.real_ink import Lines, load_lines
from tongguocr.synth.text import TextSource, load_text
from tongguocr.tokens.codec import Codec, load_codec
from tongguocr.train.blocks import BlockMaker, Recipe, Work

AHEAD = 2
"""Batches that wait on the device."""

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
    """Batches from worker processes, moved to the device and painted there ahead of time.

    Painting starts many small kernels, which keeps the host busy; in a thread and a stream of its own it
    happens while the loop's host thread waits for the backward pass.
    """

    def __init__(self, data: Data, recipe: Recipe, workers: int, seed: int) -> None:
        context = multiprocessing.get_context("fork")
        self.made: Any = context.Queue(max(2 * workers, 4))
        self.level = context.Value("d", 1.0, lock=False)
        """How hard new blocks are; the loop may set it while workers run."""
        self.ready: queue.Queue[tuple[Work, Painted, torch.cuda.Event | None]] = queue.Queue(AHEAD)
        self.processes = [
            context.Process(
                target=_produce, args=(data, recipe, seed + k, self.made, self.level), daemon=True
            )
            for k in range(workers)
        ]
        for process in self.processes:
            process.start()

    def batches(self, device: torch.device, paint: Paint) -> Iterator[tuple[Work, Painted]]:
        threading.Thread(target=self._prepare, args=(device, paint), daemon=True).start()
        while True:
            work, painted, done = self.ready.get()
            if done is not None:
                stream = torch.cuda.current_stream(device)
                stream.wait_event(done)
                for tensor in (*painted, work.tokens, work.characters, work.places):
                    tensor.record_stream(stream)
            yield work, painted

    def _prepare(self, device: torch.device, paint: Paint) -> None:
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            while True:
                work = to_device(pickle.loads(self.made.get()), device)
                painted = paint(work)
                self.ready.put((work, painted, stream.record_event() if stream else None))

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()


def to_device(work: Work, device: torch.device) -> Work:
    """The batch and its targets on the device, by way of page-locked memory on a GPU."""
    batch = work.batch.pinned() if device.type == "cuda" else work.batch
    return Work(
        work.tokens.to(device).long(),
        work.characters.to(device).long(),
        work.places.to(device).long(),
        work.canvas,
        batch.to(device),
        work.conditions.to(device),
        work.seed,
    )


def _produce(data: Data, recipe: Recipe, seed: int, out: Any, level: Any) -> None:
    torch.set_num_threads(1)
    maker = data.maker(seed, recipe)
    maker.level = lambda: float(level.value)
    for work in maker.batches():
        out.put(pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL))
