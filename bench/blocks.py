"""How block construction behaves and how long it takes: `python -m bench.blocks`.

First table: for each kind of page, how many columns a block keeps and how high its characters stand on a
1,024-px canvas (the median over blocks weighted by their lines, and the worst tenth). Second table: how the
time grows from 10 to 2,000 lines, one thread, beside a plain greedy rule of eight columns a block.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.layouts import KINDS, Sheet, columns, pages
from tongguocr.blocks import cut_blocks
from tongguocr.blocks.features import measure_features
from tongguocr.crops import CropSettings
from tongguocr.geometry import height, union, width
from tongguocr.page import Block, Page

console = Console()


def character_height(page: Page, block: Block) -> float:
    """Pixels of the block's typical character once its square canvas is scaled to 1,024 px."""
    sizes = measure_features(page).size[block.start : block.stop]
    side = CropSettings().padding * max(width(block.box), height(block.box))
    return float(np.median(sizes)) * 1024 / side


def behaviour(count: int = 40) -> None:
    table = Table(title=f"{count} pages of each kind")
    for name in ("kind", "lines", "blocks", "columns a block", "4 to 10", "px a character", "worst tenth"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in KINDS:
        lines, blocks, wide, tall = [], [], [], []
        for page in pages(kind, count):
            cut, features = cut_blocks(page), measure_features(page)
            lines.append(len(page.lines))
            blocks.append(len(cut))
            for block in cut:
                inside = features.column[block.stop - 1] - features.column[block.start] + 1
                wide += [int(inside)] * (block.stop - block.start)
                tall += [character_height(page, block)] * (block.stop - block.start)
        share = np.mean([4 <= w <= 10 for w in wide])
        table.add_row(
            kind,
            f"{np.mean(lines):.0f}",
            f"{np.mean(blocks):.1f}",
            f"{np.median(wide):.0f}",
            f"{share:.0%}",
            f"{np.median(tall):.0f}",
            f"{np.percentile(tall, 10):.0f}",
        )
    console.print(table)


def greedy(page: Page) -> list[Block]:
    """The peer: eight columns a block, wherever that cuts."""
    column = measure_features(page).column // 8
    starts = np.flatnonzero(np.diff(column, prepend=-1)).tolist()
    return [
        Block(a, b, union(line.box for line in page.lines[a:b]))
        for a, b in zip(starts, [*starts[1:], len(page.lines)], strict=True)
    ]


def long_page(lines: int, seed: int = 3) -> Page:
    """A page of about half main columns and half noted ones, registers below each other as needed."""
    sheet = Sheet(np.random.default_rng(seed), 4000, 1000)
    while len(sheet.lines) < lines:
        columns(sheet, 3900, sheet.height - 800, 40, 18, 36, notes=0.3)
        sheet.height += 760
    return Page("", 4000, round(sheet.height), tuple(sheet.lines[:lines]))


def seconds(task: Callable[[Page], object], page: Page, repeats: int = 5) -> float:
    """The median of a few runs after one to warm up."""
    task(page)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task(page)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def growth() -> None:
    table = Table(title="Time to cut one page, one thread")
    for name in ("lines", "plain columns", "with notes", "greedy, with notes", "ratio"):
        table.add_column(name, justify="right")
    for n in (10, 30, 100, 200, 500, 1000, 2000):
        sheet = Sheet(np.random.default_rng(5), 4000, 60.0 + 760 * (n // 40 + 1))
        for register in range(n // 40 + 1):
            columns(sheet, 3900, 60 + register * 760, 40, 18, 36)
        plain = Page("", 4000, round(sheet.height), tuple(sheet.lines[:n]))
        noted = long_page(n)
        ours, peer = seconds(cut_blocks, noted), seconds(greedy, noted)
        table.add_row(
            f"{n}",
            f"{seconds(cut_blocks, plain) * 1e3:.1f} ms",
            f"{ours * 1e3:.1f} ms",
            f"{peer * 1e3:.1f} ms",
            f"{ours / peer:.1f}",
        )
    console.print(table)


if __name__ == "__main__":
    console.print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    behaviour(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    growth()
