"""Worker processes that keep the detector's loop fed: the data of a run in, painted batches out.

Workers are forked before the GPU is touched, so they share the atlas and the text for nothing. Batches travel
as bytes. Painting goes ahead in a thread and a stream of its own, while the loop waits for its backward pass.
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

import torch
from torch import Tensor

from tongguocr.train.detector.paint import Labels, to_device
from tongguocr.train.detector.placing import typical_size
from tongguocr.train.detector.real_pages import FILE, RealPage, is_held_out, load_pages
from tongguocr.train.detector.windows import WindowMaker, WindowRecipe, Windows
from tongguocr.train.feed import Data, load_data

AHEAD = 2
"""Batches that wait on the device."""
PATIENCE = 0.5
"""Seconds between two looks whether the run is over."""

Paint: TypeAlias = Callable[[Windows], tuple[Tensor, Labels]]
Ready: TypeAlias = tuple[Tensor, Labels, torch.cuda.Event | None]
"""A painted batch, and on a GPU the moment from which it is whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a run trains on and is judged by."""

    data: Data
    pages: tuple[RealPage, ...]
    held_out_pages: tuple[RealPage, ...]
    recipe: WindowRecipe

    def maker(self, seed: int, held_out: bool = False) -> WindowMaker:
        data = self.data
        return WindowMaker(
            text=data.held_out_text if held_out else data.text,
            atlas=data.atlas,
            seed=seed,
            recipe=self.recipe,
            held_out=held_out,
            lines=data.held_out_lines if held_out else data.lines,
            page_sizes=()
            if held_out
            else [(p.pixels.shape[1], p.pixels.shape[0], typical_size(p.boxes)) for p in self.pages],
        )


def load_source(folder: Path, recipe: WindowRecipe) -> Source:
    """The folder that `tongguocr train-data` filled; real pages if they are there."""
    path = folder / FILE
    pages = load_pages(path) if path.exists() else []
    held_out = tuple(page for page in pages if is_held_out(page.name))
    return Source(
        load_data(folder), tuple(page for page in pages if not is_held_out(page.name)), held_out, recipe
    )


class Feed:
    """Batches from worker processes, painted ahead of time."""

    def __init__(self, source: Source, workers: int, seed: int) -> None:
        context = multiprocessing.get_context("fork")
        self.made: Any = context.Queue(max(2 * workers, 4))
        self.ready: queue.Queue[Ready | Exception] = queue.Queue(AHEAD)
        self.over = threading.Event()
        self.thread: threading.Thread | None = None
        self.processes = [
            context.Process(target=_produce, args=(source, seed + k, self.made), daemon=True)
            for k in range(workers)
        ]
        for process in self.processes:
            process.start()

    def batches(self, device: torch.device, paint: Paint) -> Iterator[tuple[Tensor, Labels]]:
        """Painted batches without end; what goes wrong while painting is raised here."""
        self.thread = threading.Thread(target=self._prepare, args=(device, paint), daemon=True)
        self.thread.start()
        while True:
            ready = self.ready.get()
            if isinstance(ready, Exception):
                raise ready
            images, labels, done = ready
            if done is not None:
                stream = torch.cuda.current_stream(device)
                stream.wait_event(done)
                images.record_stream(stream)
                labels.record_stream(stream)
            yield images, labels

    def _prepare(self, device: torch.device, paint: Paint) -> None:
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        try:
            with torch.cuda.stream(stream):
                while (work := self._next()) is not None:
                    images, labels = paint(to_device(work, device))
                    self._hand_over((images, labels, stream.record_event() if stream else None))
        except Exception as error:
            self._hand_over(error)

    def _next(self) -> Windows | None:
        """The next batch of any worker; None once the run is over."""
        while not self.over.is_set():
            try:
                work: Windows = pickle.loads(self.made.get(timeout=PATIENCE))
                return work
            except queue.Empty:
                if not all(process.is_alive() for process in self.processes):
                    raise RuntimeError("a worker that makes windows has died") from None
        return None

    def _hand_over(self, ready: Ready | Exception) -> None:
        while not self.over.is_set():
            try:
                self.ready.put(ready, timeout=PATIENCE)
                return
            except queue.Full:
                continue

    def stop(self) -> None:
        """End the workers and the painter: a thread that paints while the program ends would crash it."""
        self.over.set()
        if self.thread is not None:
            self.thread.join()
        for process in self.processes:
            process.terminate()
            process.join()


def _produce(source: Source, seed: int, out: Any) -> None:
    torch.set_num_threads(1)
    for work in source.maker(seed).batches():
        out.put(pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL))
