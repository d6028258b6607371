"""Pages as they should not be scanned, and pictures that cannot be read: `python -m bench.robust FOLDER`.

FOLDER holds pages as our JSON with their images beside them, such as the frozen benchmark; `--pages N` of
them are taken, evenly out of all. Each is read as it is, and then as each of CASES spoils it: the first table
has how much of the text is the same (the longest common alignment over both), whether the page was taken for
white on black, by how many degrees the skew was told wrongly, the mean confidence and the pages warned of.
The second has what nobody can read (UNREADABLE; `--photos FOLDER` adds pictures of other things): text of the
page's own confidence, and how many are warned of. `--real PAGES.json` adds real pages, which must not be, and
their mirror images.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from bench.pages import load_dev, load_folder
from tongguocr.alignment import MATCH, align
from tongguocr.engines.trust import mean_confidence
from tongguocr.errors import InputError
from tongguocr.page import Page, Pixels, bare_page
from tongguocr.reader import Reader, Setup, open_reader
from tongguocr.sources import load_pixels

Spoil: TypeAlias = Callable[[Page], Pixels]
SEED = 1279
LATIN = "the quick brown fox jumps over the lazy dog and nobody can tell why it does so every day "


@dataclass(frozen=True)
class Case:
    """One way to spoil a page."""

    spoil: Spoil
    bar: float = 0.0
    """The share of the text that must be the same."""
    skew: float = 0.0
    white: bool = False


def pixels_of(page: Page) -> Pixels:
    if page.pixels is None:
        raise InputError(f"{page.image}: this page has no image.")
    return page.pixels


def inverted(page: Page) -> Pixels:
    return 255 - pixels_of(page)


def lean(degrees: float) -> Spoil:
    """Turned clockwise on a larger sheet of the page's own colour."""

    def spoil(page: Page) -> Pixels:
        pixels = pixels_of(page)
        paper = np.median(pixels.reshape(-1, *pixels.shape[2:]), axis=0)
        fill = int(paper) if pixels.ndim == 2 else tuple(int(value) for value in paper)
        bicubic = Image.Resampling.BICUBIC
        return np.asarray(Image.fromarray(pixels).rotate(-degrees, bicubic, expand=True, fillcolor=fill))

    return spoil


def with_cartouche(page: Page) -> Pixels:
    """A quarter of the lines, by length, white on black: titles are."""
    pixels = pixels_of(page).copy()
    lines = sorted(page.lines, key=lambda line: line.box[2], reverse=True)
    for line in lines[: max(len(lines) // 4, 1)]:
        x0, y0, x1, y1 = (max(round(value), 0) for value in line.box)
        pixels[y0:y1, x0:x1] = 255 - pixels[y0:y1, x0:x1]
    return pixels


CASES = {
    "as it is": Case(pixels_of, 1.0),
    "white on black": Case(inverted, 0.97, white=True),
    "leaning by 2°": Case(lean(2), 0.95, -2),
    "leaning by -4°": Case(lean(-4), 0.95, 4),
    "leaning by 8°": Case(lean(8), 0.95, -8),
    "leaning by -15°": Case(lean(-15), 0.9, 15),
    "leaning by 15°": Case(lean(15), 0.9, -15),
    "a quarter white on black": Case(with_cartouche),
}


def shrunken(page: Page) -> Pixels:
    """With characters of six pixels or so."""
    image = Image.fromarray(pixels_of(page))
    return np.asarray(image.reduce(max(round(max(image.size) / 220), 1)))


def noise(page: Page) -> Pixels:
    rng = np.random.default_rng(SEED)
    coarse = Image.fromarray((rng.random((60, 40)) > 0.6).astype(np.uint8) * 255)
    return np.asarray(coarse.resize((800, 1200), Image.Resampling.BICUBIC))


def latin(page: Page) -> Pixels:
    """Rows of English."""
    image = Image.new("L", (900, 1200), 240)
    draw, face = ImageDraw.Draw(image), ImageFont.load_default(30)
    for row in range(26):
        draw.text((40, 30 + 44 * row), (2 * LATIN)[row : row + 54], fill=20, font=face)
    return np.asarray(image)


UNREADABLE: dict[str, Spoil] = {
    "upside down, --no-turn": lambda page: np.ascontiguousarray(pixels_of(page)[::-1, ::-1]),
    "on its side, --no-turn": lambda page: np.ascontiguousarray(np.rot90(pixels_of(page))),
    "mirrored": lambda page: np.ascontiguousarray(pixels_of(page)[:, ::-1]),
    "far too small": shrunken,
    "noise": noise,
    "English": latin,
}
ONCE = (noise, latin)
"""What does not depend on the page."""


@dataclass
class Tally:
    """What became of the pages of one case."""

    same: int = 0
    characters: int = 0
    white: int = 0
    off: list[float] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    warned: int = 0
    pages: int = 0
    seconds: float = 0.0

    def add(self, result: Page, seconds: float) -> None:
        mean = mean_confidence(result)
        self.confidences += [] if mean is None else [mean]
        self.warned += bool(result.warnings)
        self.white += result.inverted
        self.pages += 1
        self.seconds += seconds

    def compare(self, wanted: str, found: str, off: float) -> None:
        steps = align(wanted, found)
        self.same += sum(step == MATCH for step in steps)
        self.characters += len(steps)
        self.off.append(abs(off))

    def sure(self) -> list[str]:
        if not self.confidences:
            return ["-", "-", "-"]
        return [f"{value:.2f}" for value in np.percentile(self.confidences, [0, 50, 100])]


def read(reader: Reader, pixels: Pixels, tally: Tally) -> Page:
    start = time.perf_counter()
    result = reader.read(bare_page("page", pixels))
    tally.add(result, time.perf_counter() - start)
    return result


def measure(reader: Reader, pages: Iterable[Page], cases: dict[str, Case]) -> dict[str, Tally]:
    """Each page, spoiled in every way, against the page as it is."""
    tallies = {name: Tally() for name in cases}
    for page in pages:
        wanted = reader.read(bare_page(page.image, pixels_of(page))).full_text
        for name, case in cases.items():
            result = read(reader, case.spoil(page), tallies[name])
            tallies[name].compare(wanted, result.full_text, result.skew - case.skew if case.skew else 0.0)
    return tallies


def unreadable(reader: Reader, pages: Sequence[Page], photos: Sequence[Path]) -> dict[str, Tally]:
    """What nobody can read; and the pages read in their wrong colours, by the lines that are found."""
    tallies = {name: Tally() for name in (*UNREADABLE, "white on black, not exchanged", "photographs")}
    lying = replace(reader, turn=False)
    for k, page in enumerate(pages):
        for name, spoil in UNREADABLE.items():
            if k == 0 or spoil not in ONCE:
                read(lying, spoil(page), tallies[name])
        found = reader.find_lines(bare_page(page.image, pixels_of(page)))
        result = reader.read_lines(replace(found, pixels=inverted(page)))
        tallies["white on black, not exchanged"].add(result, 0.0)
    for photo in photos:
        read(reader, load_pixels(photo), tallies["photographs"])
    return tallies


def real(reader: Reader, paths: Sequence[Path]) -> dict[str, Tally]:
    """Real pages, which can be read, and their mirror images, which cannot."""
    tallies: dict[str, Tally] = {}
    lying = replace(reader, turn=False)
    for path in paths:
        tally = tallies[str(path.parent.name)] = Tally()
        mirrored = tallies[f"{path.parent.name}, mirrored"] = Tally()
        for page in load_dev(path, path.parent):
            read(reader, pixels_of(page), tally)
            read(lying, UNREADABLE["mirrored"](page), mirrored)
    return tallies


def tabulate_cases(tallies: dict[str, Tally], cases: dict[str, Case]) -> Table:
    table = Table(title=f"the same text, percent; {machine()}")
    names = ("the same", "at least", "taken for white", "degrees off", "confidence", "warned", "s/page")
    for name in ("pages", *names):
        table.add_column(name, justify="left" if name == "pages" else "right")
    for name, tally in tallies.items():
        same = f"{100 * tally.same / max(tally.characters, 1):.2f}"
        off = f"{max(tally.off, default=0.0):.1f}" if cases[name].skew else ""
        bar = f"{100 * cases[name].bar:.0f}" if cases[name].bar else ""
        counts = (f"{tally.white} of {tally.pages}", off, tally.sure()[1], f"{tally.warned}")
        table.add_row(name, same, bar, *counts, f"{tally.seconds / max(tally.pages, 1):.2f}")
    return table


def tabulate_trust(tallies: dict[str, Tally]) -> Table:
    table = Table(title="mean confidence of a page's characters")
    for name in ("pages", "number", "with text", "least", "middle", "most", "warned"):
        table.add_column(name, justify="left" if name == "pages" else "right")
    for name, tally in tallies.items():
        table.add_row(name, f"{tally.pages}", f"{len(tally.confidences)}", *tally.sure(), f"{tally.warned}")
    return table


def evenly(pages: Sequence[Page], count: int) -> Iterator[Page]:
    return (pages[k] for k in sorted({round(at) for at in np.linspace(0, len(pages) - 1, count)}))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read spoiled pages and what cannot be read.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--pages", type=int, default=50, metavar="N")
    parser.add_argument("--case", action="append", choices=CASES, help="only these; none of the second table")
    parser.add_argument("--trust", type=int, default=10, metavar="N", help="pages for the second table")
    parser.add_argument("--real", type=Path, action="append", default=[], metavar="PAGES.json")
    parser.add_argument("--photos", type=Path, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args(arguments)
    pages = list(load_folder(chosen.folder))
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    reader, console = open_reader(Setup(threads=chosen.threads)), Console(width=120)
    cases = {name: case for name, case in CASES.items() if not chosen.case or name in chosen.case}
    if chosen.pages:
        console.print(tabulate_cases(measure(reader, evenly(pages, chosen.pages), cases), cases))
    if not chosen.case:
        photos = sorted(chosen.photos.iterdir()) if chosen.photos else []
        tallies = unreadable(reader, list(evenly(pages, chosen.trust)), photos)
        console.print(tabulate_trust(tallies | real(reader, chosen.real)))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.robust: {error}")
