"""Pages of a text whose characters count upwards, so that their order can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from font_books import Book

from tongguocr.page import Page
from tongguocr.training.synth.composition import Composition, to_page
from tongguocr.training.synth.kinds import compose_page
from tongguocr.training.synth.text import Column, Run


@dataclass
class Counting:
    """Text whose characters rise one by one through Unicode, whoever asks: order becomes a number."""

    next: int = 0x4E00
    characters: str = ""
    documents: tuple[()] = field(default=())

    def char(self) -> str:
        self.next = self.next + 1 if self.next < 0x9000 else 0x4E00
        return chr(self.next)

    def stream(self, rng: np.random.Generator) -> Iterator[str]:
        while True:
            yield self.char()

    def passage(self, rng: np.random.Generator) -> tuple[int, Iterator[Column]]:
        return 20, self._columns(rng)

    def _columns(self, rng: np.random.Generator) -> Iterator[Column]:
        while True:
            runs, room, note = [], 20, bool(rng.random() < 0.3)
            while room > 0:
                note = not note and bool(rng.random() < 0.4)
                cells = min(int(rng.integers(1, 12)), room)
                runs.append(Run("".join(self.char() for _ in range(cells * (2 if note else 1))), note))
                room -= cells
            yield Column(int(rng.random() < 0.1), tuple(runs))


def page_of(kind: str, seed: int) -> tuple[Composition, Page]:
    composition = compose_page(kind, Counting(), Book(), seed)  # type: ignore[arg-type]
    return composition, to_page(composition)
