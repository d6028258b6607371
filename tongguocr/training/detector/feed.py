"""What the detector trains on, from one folder, and the batches that its workers make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from tongguocr.training.detector.line_pages import FILE as LINE_PAGES
from tongguocr.training.detector.paint import Painter, to_device
from tongguocr.training.detector.placing import typical_size
from tongguocr.training.detector.real_pages import FILE, RealPage, is_held_out, load_pages
from tongguocr.training.detector.recipe import WindowRecipe
from tongguocr.training.detector.windows import WindowMaker, Windows
from tongguocr.training.loop import Batch
from tongguocr.training.recogniser.block_feed import Data, load_data
from tongguocr.training.run import Run
from tongguocr.training.workers import Workers


@dataclass(frozen=True, slots=True)
class Source:
    """What a run trains on and is validated on."""

    data: Data
    pages: tuple[RealPage, ...]
    """Those with character boxes, then those with lines."""
    shares: tuple[float, ...]
    """How often each of these is taken: both sorts equally often."""
    held_out_pages: tuple[RealPage, ...]
    held_out_line_pages: tuple[RealPage, ...]
    recipe: WindowRecipe

    def maker(self, seed: int, held_out: bool = False) -> WindowMaker:
        data = self.data
        sizes = [
            (p.pixels.shape[1], p.pixels.shape[0], typical_size(p.boxes[~p.ignored])) for p in self.pages
        ]
        return WindowMaker(
            text=data.held_out_text if held_out else data.text,
            atlas=data.atlas,
            seed=seed,
            recipe=self.recipe,
            held_out=held_out,
            lines=data.held_out_lines if held_out else data.lines,
            page_sizes=() if held_out else sizes,
            page_shares=() if held_out else self.shares,
        )


def load_source(folder: Path, recipe: WindowRecipe) -> Source:
    """The folder that `tongguocr train-data` filled; real pages if they are there."""
    sorts = [load_pages(folder / name) if (folder / name).exists() else [] for name in (FILE, LINE_PAGES)]
    trained = [[page for page in pages if not is_held_out(page.name)] for pages in sorts]
    held_out, held_out_lines = (tuple(page for page in pages if is_held_out(page.name)) for pages in sorts)
    return Source(
        load_data(folder),
        tuple(page for pages in trained for page in pages),
        tuple(1 / len(pages) for pages in trained for _ in pages),
        held_out,
        held_out_lines,
        recipe,
    )


class WindowFeed:
    """Painted batches of windows, without end.

    Workers are forked, which a process that has touched a GPU must not be: make the feed first.
    """

    def __init__(self, source: Source, run: Run, rank: int = 0) -> None:
        seed = (run.seed + 100 * rank) * 1000
        self.workers: Workers[Windows] = Workers(lambda k: source.maker(seed + k).batches(), run.workers)

    def batches(self, device: torch.device, painter: Painter) -> Iterator[Batch]:
        """Images and labels on the device."""
        made = self.workers.batches(
            device,
            lambda work: painter.paint(to_device(work, device)),
            lambda shown: (shown[0], *shown[1].tensors()),
        )
        for images, labels in made:
            yield Batch((images, labels), len(images))

    def stop(self) -> None:
        self.workers.stop()
