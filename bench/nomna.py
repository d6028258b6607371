"""Real woodblock pages read end to end: `python -m bench.nomna FOLDER [--weights DIR] [--worst N]`.

FOLDER has pages of 大越史記全書 with labelled lines (training/detector/line_pages.py). Read is the tenth
whose lines `tongguocr train-data` holds out of the recogniser's training: the page's name in the table of
lines tells. The detector was trained on other parts of the book and may have seen the layout of some of
these pages; the rows "new to both" are those that nothing has seen. Each engine finds lines with its own
detector; ours hears the language model as it does for its users. The order of lines is ours for both.

Figures are for lines of at least `LARGE` pixels a character and for smaller ones, mostly notes, apart. A
character that is read belongs to the label whose box is nearest to its middle, so that one column or two make
no difference; what lies outside of the labelled block, in a box that nobody has read, or is called the fold,
does not count. Characters that the label does not know (a question mark, private use) count neither way.
Lines whose labels are another line's (bench/mislabelled.py, by the peer's reading) are left out of all rows
but "every label".

With `--write DIR` the pages are written instead, images beside JSON, as `tongguocr reproduce 4 --test
folder=DIR` scores them (docs/reproduce.md): cut to their labelled block, since nobody labelled the title
beside it, and with paper over boxes that nobody has read.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast
from unicodedata import category

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.frozen import rates
from bench.machine import machine
from bench.mislabelled import find_swapped
from tongguocr.alignment import INSERTION, align
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS
from tongguocr.files import make_folder
from tongguocr.formats import write_page
from tongguocr.geometry import Box, centre, clip, expand, union
from tongguocr.page import Line, Page, Pixels, bare_page
from tongguocr.reader import Reader, Setup, open_reader
from tongguocr.training.detector.line_pages import line_boxes, read_entries
from tongguocr.training.detector.real_pages import is_held_out
from tongguocr.training.synth.real_ink import characters, split
from tongguocr.variants import fold

LARGE = 18.0
UNKNOWN = "\ufffd"
PEER = "rapidocr"
BOOKS = {
    "DVSKTT_thu_": "DVSKTT-1_Quyen_thu",
    "DVSKTT_ngoai_": "DVSKTT-2_Ngoai_ky_toan_thu",
    "DVSKTT_ban_toan_": "DVSKTT-3_Ban_ky_toan_thu",
    "DVSKTT_ban_thuc_": "DVSKTT-4_Ban_ky_thuc_luc",
    "DVSKTT_ban_tuc_": "DVSKTT-5_Ban_ky_tuc_bien",
}
"""How pages are called here, and the book under which their lines stand in the table of lines."""


@dataclass(frozen=True)
class Label:
    """One labelled line."""

    name: str
    """As in the table of lines."""
    box: Box
    text: str

    @property
    def size(self) -> float:
        """Pixels a character, across or along the line, whichever is less."""
        x0, y0, x1, y1 = self.box
        return min(x1 - x0, y1 - y0, max(x1 - x0, y1 - y0) / max(len(characters(self.text)), 1))


@dataclass(frozen=True)
class LabelledPage:
    image: str
    pixels: Pixels
    labels: tuple[Label, ...]
    unread: tuple[Box, ...]
    """Boxes that nobody has read, or that were painted over."""


def line_name(image: str, number: int = 0) -> str:
    """The file name that a line of this page has in the table of lines."""
    stem = Path(image).stem
    book = next((book for start, book in BOOKS.items() if stem.startswith(start)), None)
    if book is None:
        raise InputError(f"{image}: this is no page of the book that is known here.")
    return f"{book}__{stem}_{number}.webp"


def load_pages(folder: Path) -> Iterator[LabelledPage]:
    """The tenth that the recogniser has not seen."""
    for entry, pixels in read_entries(folder):
        image = str(entry["image"])
        if split(line_name(image)) != "test" or not entry["lines"]:
            continue
        texts = (str(line["text"]) for line in entry["lines"])
        labels = tuple(
            Label(line_name(image, k), cast(Box, tuple(box)), text)
            for k, (box, text) in enumerate(zip(line_boxes(entry).tolist(), texts, strict=True))
        )
        unread = [
            cast(Box, tuple(b)) for key in ("unlabelled", "erased") for b in line_boxes(entry, key).tolist()
        ]
        yield LabelledPage(image, pixels, labels, tuple(unread))


MARGIN = 0.1
"""Around a labelled block that is cut out, in thicknesses of its lines."""


def cut_out(page: LabelledPage) -> Page:
    """The labelled block as a page of its own, what is not labelled painted over."""
    boxes = [label.box for label in page.labels]
    margin = MARGIN * median(min(x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes)
    high, wide = page.pixels.shape[:2]
    left, top, right, bottom = (round(v) for v in clip(expand(union(boxes), margin), wide, high))
    pixels, paper = page.pixels.copy(), round(float(np.percentile(page.pixels, 80)))
    for x0, y0, x1, y1 in page.unread:
        pixels[round(y0) : round(y1), round(x0) : round(x1)] = paper
    lines = tuple(
        Line(f"l{k}", (x0 - left, y0 - top, x1 - left, y1 - top), label.text)
        for k, (label, (x0, y0, x1, y1)) in enumerate(zip(page.labels, boxes, strict=True), start=1)
    )
    name = f"{Path(page.image).stem}.png"
    return Page(name, right - left, bottom - top, lines, np.ascontiguousarray(pixels[top:bottom, left:right]))


def write_pages(pages: Sequence[LabelledPage], folder: Path) -> None:
    """Images beside JSON files."""
    make_folder(folder)
    for page in map(cut_out, pages):
        assert page.pixels is not None
        Image.fromarray(page.pixels).save(folder / page.image)
        write_page(page, folder / f"{Path(page.image).stem}.json")


def away(point: tuple[float, float], box: Box) -> float:
    """How far a point is from a box, squared; 0 inside."""
    x, y = point
    return max(box[0] - x, 0, x - box[2]) ** 2 + max(box[1] - y, 0, y - box[3]) ** 2


def share_out(page: LabelledPage, found: Page) -> list[str]:
    """What was read of each label, in reading order."""
    texts = [""] * len(page.labels)
    block = union(label.box for label in page.labels)
    for char in (char for line in found.lines if line.kind != "fold" for char in line.chars):
        point = centre(char.box)
        distances = [away(point, label.box) for label in page.labels]
        least = min(distances)
        if away(point, block) or (least and any(not away(point, box) for box in page.unread)):
            continue
        texts[distances.index(least)] += char.text
    return texts


def count(wanted: str, found: str, folded: bool = False) -> Counter[str]:
    """Steps from the label to what was read, without those at characters that the label does not know."""
    clean = PROTOCOLS["strict"].clean
    kept = (UNKNOWN if is_unknown(char) else clean(fold(char) if folded else char) for char in wanted)
    label, read = "".join(kept), clean(fold(found) if folded else found)
    steps, at = Counter[str](), 0
    for step in align(label, read):
        if step == INSERTION or label[at] != UNKNOWN:
            steps[step] += 1
        at += step != INSERTION
    return steps


def is_unknown(char: str) -> bool:
    return char == "?" or category(char) == "Co"


def read_pages(pages: Sequence[LabelledPage], reader: Reader) -> tuple[list[list[str]], float]:
    """What one engine reads of each page's labels, and the seconds that a page takes."""
    start = time.perf_counter()
    read = [share_out(page, reader.read(bare_page(page.image, page.pixels))) for page in pages]
    return read, (time.perf_counter() - start) / max(len(pages), 1)


def swapped_labels(pages: Sequence[LabelledPage], peer: Sequence[Sequence[str]]) -> set[str]:
    """The names of lines whose labels are others'."""
    lines = [(label.name, label.text, page.pixels) for page in pages for label in page.labels]
    found = find_swapped(lines, [text for texts in peer for text in texts], {n: t for n, t, _ in lines})
    return {lines[k][0] for k in found}


def report(
    pages: Sequence[LabelledPage], readings: dict[str, tuple[list[list[str]], float]], swapped: set[str]
) -> Table:
    table = Table(title=f"{len(pages)} pages end to end, percent; {machine()}")
    for name in ("lines", "px", "engine", "number", "characters", "AR", "AR folded", "CR", "s/page"):
        table.add_column(name, justify="left" if name in ("lines", "px", "engine") else "right")
    for group in ("every label", "right labels", "new to both"):
        for large in (True, False):
            for name, (read, seconds) in readings.items():
                pairs = [
                    (label.text, text)
                    for page, texts in zip(pages, read, strict=True)
                    for label, text in zip(page.labels, texts, strict=True)
                    if (label.size >= LARGE) == large
                    and (group == "every label" or label.name not in swapped)
                    and (group != "new to both" or is_held_out(page.image))
                ]
                size = f">= {LARGE:.0f}" if large else f"< {LARGE:.0f}"
                table.add_row(group, size, name, f"{len(pairs)}", *cells(pairs), f"{seconds:.2f}")
        table.add_section()
    return table


def cells(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Characters, AR, AR folded, CR of labels and what was read of them."""
    plain, folded = (sum((count(*pair, f) for pair in pairs), Counter[str]()) for f in (False, True))
    figures = (rates(plain)[0], rates(folded)[0], rates(plain)[1])
    return [f"{plain.total() - plain[INSERTION]}", *(f"{100 * value:.2f}" for value in figures)]


def worst(pages: Sequence[LabelledPage], read: Sequence[Sequence[str]], number: int) -> Iterator[str]:
    """The pages read worst, with their lines that are wrong by a quarter or more."""
    scored = []
    for page, texts in zip(pages, read, strict=True):
        steps = [count(label.text, text) for label, text in zip(page.labels, texts, strict=True)]
        scored.append((rates(sum(steps, Counter[str]()))[0], page, texts, steps))
    for ar, page, texts, steps in sorted(scored, key=lambda entry: entry[0])[:number]:
        yield f"{page.image}: AR {100 * ar:.2f}"
        for label, text, step in zip(page.labels, texts, steps, strict=True):
            if rates(step)[0] <= 0.75:
                yield f"    {label.size:.0f} px {label.text} read {text}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read held-out woodblock pages end to end.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, metavar="N", help="only N pages, evenly out of all")
    parser.add_argument("--write", type=Path, metavar="DIR", help="only write the pages, for other commands")
    parser.add_argument("--weights", type=Path, metavar="DIR")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show the pages that we read worst")
    chosen = parser.parse_args(arguments)
    console, pages = Console(width=120), list(load_pages(chosen.folder))
    if not pages:
        raise InputError(f"{chosen.folder}: no page of it is held out.")
    pages = pages[:: max(len(pages) // chosen.count, 1)][: chosen.count] if chosen.count else pages
    if chosen.write:
        write_pages(pages, chosen.write)
        console.print(f"{len(pages)} pages in {chosen.write}")
        return
    readings: dict[str, tuple[list[list[str]], float]] = {}
    for name, weights in (("tongguocr", chosen.weights), (PEER, None)):
        setup = Setup(name, weights, detector=name, threads=chosen.threads)
        readings[name] = read_pages(pages, open_reader(setup))
    swapped = swapped_labels(pages, readings[PEER][0])
    console.print(f"{len(swapped)} lines have another line's label")
    for row in worst(pages, readings["tongguocr"][0], chosen.worst):
        console.print(row, highlight=False)
    console.print(report(pages, readings, swapped))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.nomna: {error}")
