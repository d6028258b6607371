"""Worker processes that keep a training loop fed: a maker of batches in, painted batches out.

Workers are forked before the GPU is touched, so they share fonts and text with the loop for nothing. Batches
travel as bytes: thousands of shared tensors would run out of file handles. Painting starts many small
kernels, which keeps the host busy; in a thread and a stream of its own it happens while the loop's thread
waits for the backward pass.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

AHEAD = 2
"""Batches that wait on the device."""
PATIENCE = 0.5
"""Seconds between two looks whether the run is over."""

Made = TypeVar("Made")
Shown = TypeVar("Shown")


class Workers(Generic[Made]):
    """Processes that make batches, each from a number of its own, until they are stopped."""

    def __init__(self, make: Callable[[int], Iterator[Made]], count: int) -> None:
        context = multiprocessing.get_context("fork")
        self.made: Any = context.Queue(max(2 * count, 4))
        self.over = threading.Event()
        self.thread: threading.Thread | None = None
        self.processes = [
            context.Process(target=_produce, args=(make, k, self.made), daemon=True) for k in range(count)
        ]
        for process in self.processes:
            process.start()

    def batches(
        self,
        device: torch.device,
        paint: Callable[[Made], Shown],
        tensors: Callable[[Shown], Iterable[Tensor]],
    ) -> Iterator[Shown]:
        """What `paint` makes of the batches, without end; what goes wrong while painting is raised here.

        `tensors` names what lies on the device, whose memory must not be used again too soon.
        """
        ready: queue.Queue[tuple[Shown, torch.cuda.Event | None] | Exception] = queue.Queue(AHEAD)
        self.thread = threading.Thread(target=self._paint, args=(device, paint, ready), daemon=True)
        self.thread.start()
        while True:
            entry = ready.get()
            if isinstance(entry, Exception):
                raise entry
            shown, done = entry
            if done is not None:
                stream = torch.cuda.current_stream(device)
                stream.wait_event(done)
                for tensor in tensors(shown):
                    tensor.record_stream(stream)
            yield shown

    def _paint(self, device: torch.device, paint: Callable[[Made], Shown], ready: queue.Queue[Any]) -> None:
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        try:
            with torch.cuda.stream(stream):
                while (work := self._next()) is not None:
                    shown = paint(work)
                    self._hand_over(ready, (shown, stream.record_event() if stream else None))
        except Exception as error:
            self._hand_over(ready, error)

    def _next(self) -> Made | None:
        """The next batch of any worker; None once the run is over."""
        while not self.over.is_set():
            try:
                work: Made = pickle.loads(self.made.get(timeout=PATIENCE))
                return work
            except queue.Empty:
                if not all(process.is_alive() for process in self.processes):
                    raise RuntimeError("a worker that makes batches has died") from None
        return None

    def _hand_over(self, ready: queue.Queue[Any], entry: Any) -> None:
        while not self.over.is_set():
            try:
                ready.put(entry, timeout=PATIENCE)
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


def _produce(make: Callable[[int], Iterator[Any]], number: int, out: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    for work in make(number):
        out.put(pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL))


def _end_with_parent() -> None:
    """End this process once the run is gone: killed, it stops nobody, and batches would wait for ever."""
    run = multiprocessing.parent_process()
    assert run is not None
    run.join()
    os._exit(1)
