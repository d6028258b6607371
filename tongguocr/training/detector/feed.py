"""What the detector trains on, from one folder, and the batches that its workers make of it (workers.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from tongguocr.training.detector.paint import Labels, to_device
from tongguocr.training.detector.placing import typical_size
from tongguocr.training.detector.real_pages import FILE, RealPage, is_held_out, load_pages
from tongguocr.training.detector.windows import WindowMaker, WindowRecipe, Windows
from tongguocr.training.recogniser.feed import Data, load_data
from tongguocr.training.workers import Workers

Paint: TypeAlias = Callable[[Windows], tuple[Tensor, Labels]]


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
    """Painted batches of windows."""

    def __init__(self, source: Source, workers: int, seed: int) -> None:
        self.workers: Workers[Windows] = Workers(lambda k: source.maker(seed + k).batches(), workers)

    def batches(self, device: torch.device, paint: Paint) -> Iterator[tuple[Tensor, Labels]]:
        return self.workers.batches(
            device,
            lambda work: paint(to_device(work, device)),
            lambda shown: (shown[0], *shown[1].tensors()),
        )

    def stop(self) -> None:
        self.workers.stop()
