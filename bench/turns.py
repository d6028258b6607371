"""Whether pages that lie on their side or upside down are noticed: `python -m bench.turns FOLDER`.

FOLDER holds pages as our JSON with their images beside them, such as the frozen benchmark. Each page is
looked at upright and turned clockwise by 90, 180 and 270 degrees; the detector must say how far to turn it
back. The extra time of an upright page is what telling its turn adds to finding its characters.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.pages import load_folder
from tongguocr.errors import InputError
from tongguocr.layout.detect import CharacterDetector, angle_of, load_network
from tongguocr.page import ANGLES, Page, turn_pixels
from tongguocr.weights import SHIPPED


def measure(pages: Iterable[Page], detector: CharacterDetector) -> tuple[dict[int, list[str]], float, int]:
    """The pages that were turned wrongly by how they lay, milliseconds of telling, and how many pages."""
    wrong: dict[int, list[str]] = {angle: [] for angle in ANGLES}
    spent, count = 0.0, 0
    for page in pages:
        if page.pixels is None:
            continue
        count += 1
        for angle in ANGLES:
            chars = detector.find_characters(turn_pixels(page.pixels, angle))
            start = time.perf_counter()
            told = angle_of(chars)
            spent += time.perf_counter() - start
            if (angle + told) % 360:
                wrong[angle].append(page.image)
    return wrong, 1000 * spent / max(4 * count, 1), count


def tabulate(wrong: dict[int, list[str]], count: int) -> Table:
    table = Table(title=f"{count} pages, each lying in four ways")
    for name in ("lies at", "told right", "share", "wrong"):
        table.add_column(name, justify="left" if name == "wrong" else "right")
    for angle, pages in wrong.items():
        right = count - len(pages)
        table.add_row(f"{angle}°", f"{right}", f"{right / max(count, 1):.4f}", ", ".join(pages[:6]))
    every = 4 * count - sum(map(len, wrong.values()))
    table.add_row("all", f"{every}", f"{every / max(4 * count, 1):.4f}", "")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Tell how pages lie.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--weights", type=Path, default=SHIPPED / "detector", metavar="DIR")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only one page in so many")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    detector = CharacterDetector(load_network(chosen.weights, chosen.threads))
    pages = (page for k, page in enumerate(load_folder(chosen.folder)) if k % chosen.every == 0)
    wrong, spent, count = measure(pages, detector)
    if not count:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    console = Console(width=110)
    console.print(tabulate(wrong, count))
    console.print(f"telling takes {np.round(spent, 2)} ms a page, beside finding its characters")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.turns: {error}")
