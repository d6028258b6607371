"""How fast the CPU paints pages: `python -m bench.synth_cpu --fonts DIR [--text FILE]`.

Some pages of every kind, each scaled to as many pixels as 1200 x 1600, on one thread: processor seconds for
composing, for clean ink, and for all degradation, beside Pillow's plain `draw.text` of the same glyphs, black
on white, not stretched, without degradation or labels. Every face is drawn from once before the clock starts,
so that opening fonts is not counted; the cache of glyphs starts empty on every page.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.table import Table

from bench.machine import processor
from tongguocr.training.synth.composition import Composition, scaled
from tongguocr.training.synth.fonts import FontBook, glyph_mask, load_fonts
from tongguocr.training.synth.ink import paint_ink
from tongguocr.training.synth.kinds import KINDS, compose_page
from tongguocr.training.synth.paint import render
from tongguocr.training.synth.text import TextSource, load_text

PIXELS = 1200 * 1600
console = Console()


@dataclass(frozen=True)
class Seconds:
    """What one page cost."""

    composing: float
    painting: float
    wearing: float
    peer: float

    @property
    def total(self) -> float:
        return self.composing + self.painting + self.wearing


def draw_plainly(composition: Composition, fonts: FontBook) -> Image.Image:
    """The peer: the same characters in the same places with Pillow alone."""
    image = Image.new("RGB", (composition.width, composition.height), "white")
    draw = ImageDraw.Draw(image)
    sizes: dict[tuple[int, int], ImageFont.FreeTypeFont] = {}
    for char, face, box in zip(composition.text, composition.faces, composition.boxes.tolist(), strict=True):
        key = (int(face), max(round(box[3] - box[1]), 1))
        if key not in sizes:
            sizes[key] = ImageFont.truetype(fonts.faces[key[0]].path, key[1], fonts.faces[key[0]].index)
        draw.text((box[0], box[1]), char, fill="black", font=sizes[key])
    return image


def clock(kind: str, seed: int, text: TextSource, fonts: FontBook) -> Seconds:
    start = time.process_time()
    composition = compose_page(kind, text, fonts, seed)
    composing = time.process_time() - start
    composition = scaled(composition, sqrt(PIXELS / composition.width / composition.height))
    peer = seconds(lambda: draw_plainly(composition, fonts))
    glyph_mask.cache_clear()
    painting = seconds(lambda: paint_ink(composition, fonts))
    glyph_mask.cache_clear()
    whole = seconds(lambda: render(composition, fonts))
    return Seconds(composing, painting, whole - painting, peer)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(text: TextSource, fonts: FontBook, rounds: int) -> None:
    table = Table(title=f"Processor seconds a page of {PIXELS / 1e6:.2f} million pixels, {processor()}")
    for name in ("kind", "glyphs", "composing", "painting", "wearing", "pages/s", "draw.text", "ratio"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    every: list[Seconds] = []
    for number, kind in enumerate(KINDS):
        seeds = range(number * rounds, (number + 1) * rounds)
        found = [clock(kind, seed, text, fonts) for seed in seeds]
        glyphs = np.mean([len(compose_page(kind, text, fonts, seed)) for seed in seeds])
        table.add_row(kind, f"{glyphs:.0f}", *row(found))
        every += found
    table.add_section()
    table.add_row("all", "", *row(every))
    console.print(table)
    slowest = max(found.total for found in every)
    console.print(f"{len(every)} pages; the slowest took {slowest:.2f} s; the bar is one page a second.")


def row(found: list[Seconds]) -> list[str]:
    composing, painting, wearing, peer = (
        float(np.mean([getattr(s, name) for s in found]))
        for name in ("composing", "painting", "wearing", "peer")
    )
    total = composing + painting + wearing
    return [f"{v:.3f}" for v in (composing, painting, wearing)] + [
        f"{1 / total:.2f}",
        f"{peer:.3f}",
        f"{total / peer:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Clock the CPU renderer of synthetic pages.")
    parser.add_argument("--fonts", type=Path, required=True, metavar="DIR")
    parser.add_argument("--text", type=Path, metavar="FILE")
    parser.add_argument("-n", "--rounds", type=int, default=2, help="pages of each kind")
    args = parser.parse_args()
    fonts, text = load_fonts(args.fonts), load_text(args.text)
    warm_up(fonts)
    measure(text, fonts, args.rounds)


def warm_up(fonts: FontBook) -> None:
    for face in fonts.faces:
        glyph_mask(face, chr(int(face.codepoints[0])), 48)


if __name__ == "__main__":
    main()
