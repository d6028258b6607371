"""What is no text must give no lines, and text under seals must: `python -m bench.no_text --fonts DIR`.

    python -m bench.no_text --fonts DIR [--out DIR] [--weights DIR]
    python -m bench.no_text --fonts DIR --sealed FOLDER --text FILE [--weights DIR]

Two hundred pages without a character to read are drawn by turns of `SORTS`, each from its number alone:
seals, speckle, rules, show-through, rulers, woodcuts, bar codes, stitching, blank paper. Printed is how many
lines are found on each sort; with `--out` the pictures are kept.

With `--sealed`, FOLDER is the frozen benchmark's second part. Its pages are composed again, from the same
fonts and text, to know where their large seals lie; printed is how many of the lines under them are found
(IoU 0.5).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.layout import match_lines
from bench.pages import load_folder
from tongguocr.errors import InputError
from tongguocr.geometry import Box, area, intersection
from tongguocr.layout.detect import open_detector
from tongguocr.layout.detection import LineDetector
from tongguocr.page import Page, Pixels
from tongguocr.training.detector.pictures import draw_picture
from tongguocr.training.detector.placing import keep_glyphs
from tongguocr.training.synth.camera import develop
from tongguocr.training.synth.clutter import GREYS
from tongguocr.training.synth.composition import Composition, Mark
from tongguocr.training.synth.degradation import Degradation, Ground, sample_degradation
from tongguocr.training.synth.fonts import FontBook, load_fonts
from tongguocr.training.synth.generate import BENCHMARK, Resources, SynthOptions, compose, load_resources
from tongguocr.training.synth.impression import em_of
from tongguocr.training.synth.ink import paint_ink
from tongguocr.training.synth.kinds import compose_page, pick_kind
from tongguocr.training.synth.paint import render, seal_boxes
from tongguocr.training.synth.paper import show_through
from tongguocr.training.synth.seals import REDS
from tongguocr.training.synth.text import TextSource, load_text

PAGES = 200
SEED = 1949
COVERED = 0.25
"""A line lies under a seal if the seal's box has this share of it."""
GROUNDS: tuple[Ground, ...] = ("black", "felt", "wood", "cloth")


@dataclass(frozen=True)
class Draft:
    """What one page is drawn from."""

    rng: np.random.Generator
    text: TextSource
    fonts: FontBook
    seed: int
    degradation: Degradation
    """Any paper and any camera, without seals; each sort adds its own."""

    def printed(self) -> Composition:
        """A page of any kind, with its text."""
        return compose_page(pick_kind(self.rng), self.text, self.fonts, self.seed)

    def bare(self) -> Composition:
        """A page of that size with nothing on it."""
        return replace(self.ruled(), strokes=(), patches=(), marks=())

    def ruled(self) -> Composition:
        """Its frame and rules, fish-tails and ornaments, without any character."""
        page = self.printed()
        return keep_glyphs(page, np.zeros(len(page), np.bool_))

    def paint(self, composition: Composition, degradation: Degradation) -> Pixels:
        return render(composition, self.fonts, degradation, self.seed)[0]


Sort: TypeAlias = Callable[[Draft], Pixels]


def seals(draft: Draft) -> Pixels:
    """One to three large seals and some small ones, in any ink."""
    inks = (*REDS, *GREYS)
    large, small = int(draft.rng.integers(1, 4)), int(draft.rng.integers(0, 4))
    ink = inks[int(draft.rng.integers(len(inks)))]
    degradation = replace(draft.degradation, large_seals=large, seals=small, seal_ink=ink)
    return draft.paint(draft.bare(), degradation)


def speckle(draft: Draft) -> Pixels:
    """A bitonal scan of a stained and foxed page with seals, of which specks are left, and more specks."""
    degradation = replace(
        draft.degradation,
        film="binary",
        ground="none" if draft.degradation.ground == "none" else "black",
        foxing=int(draft.rng.integers(20, 400)),
        stains=int(draft.rng.integers(0, 4)),
        browning=float(draft.rng.random()),
        large_seals=int(draft.rng.integers(1, 4)),
        seal_ink=GREYS[int(draft.rng.integers(len(GREYS)))],
    )
    return draft.paint(_specked(draft.bare(), draft.rng), degradation)


def _specked(page: Composition, rng: np.random.Generator) -> Composition:
    """The page with up to four clouds of specks, some as narrow as a column."""
    marks = list(page.marks)
    for _ in range(int(rng.integers(0, 5))):
        size = np.array([page.width, page.height]) * np.exp(rng.uniform(np.log(0.02), np.log(0.2), 2))
        middle = rng.uniform(0.1, 0.9, 2) * (page.width, page.height)
        for x, y in (middle + size * rng.normal(0, 1, (int(rng.integers(30, 500)), 2))).tolist():
            marks.append(Mark((x, y), float(np.exp(rng.uniform(np.log(0.5), np.log(4.0)))), "dot"))
    return replace(page, marks=tuple(marks))


def rules(draft: Draft) -> Pixels:
    """Frames and rules of a page that was never filled."""
    return draft.paint(draft.ruled(), draft.degradation)


def other_side(draft: Draft) -> Pixels:
    """A blank side through which the printed one shows, strongly; now and then with this side's rules."""
    page = draft.printed()
    bare = keep_glyphs(page, np.zeros(len(page), np.bool_))
    if draft.rng.random() < 0.7:
        bare = replace(bare, strokes=(), patches=(), marks=())
    d, em = draft.degradation, em_of(page)
    flat = replace(d, skew=0.0, perspective=(0.0, 0.0), curl=0.0, waver=0.0, ground="none", film="none")
    light = draft.paint(bare, flat).astype(np.float32)
    strong = replace(d, bleed=float(draft.rng.uniform(0.3, 0.9)))
    faint = show_through(paint_ink(page, draft.fonts), strong, em, draft.rng)
    shown = np.clip(light * (1 - faint[..., None]), 0, 255).astype(np.uint8)
    return develop(shown, Degradation(paper=d.paper, ink=d.ink, film=d.film), em, draft.rng)


def rulers(draft: Draft) -> Pixels:
    """A blank page on a table with ruler, colour chart and label."""
    ground = GROUNDS[int(draft.rng.integers(len(GROUNDS)))]
    things = replace(draft.degradation, film="none", ground=ground, ruler=True, chart=True, label=True)
    return draft.paint(draft.bare(), replace(things, facing=bool(draft.rng.random() < 0.5)))


def woodcuts(draft: Draft) -> Pixels:
    """A picture over the page or a part of it, empty or full."""
    page, rng = draft.bare(), draft.rng
    w, h = page.width, page.height
    x0, y0 = w * float(rng.uniform(0.03, 0.4)), h * float(rng.uniform(0.03, 0.4))
    box = (x0, y0, w * float(rng.uniform(0.7, 0.97)), h * float(rng.uniform(0.7, 0.97)))
    for _ in range(int(rng.integers(1, 7))):
        page = draw_picture(page, box, rng)
    return draft.paint(page, draft.degradation)


def bar_codes(draft: Draft) -> Pixels:
    """Slips with bar codes, shelf marks and colour patches on a blank page."""
    return draft.paint(
        draft.bare(), replace(draft.degradation, slips=int(draft.rng.integers(1, 5)), film="none")
    )


def stitching(draft: Draft) -> Pixels:
    """The binding: holes, thread, folds and the facing page's margin."""
    side = int(draft.rng.choice([-1, 1]))
    bound = replace(draft.degradation, stitched=side, binding=0.6 * side, folds=int(draft.rng.integers(0, 3)))
    return draft.paint(draft.bare(), bound)


def paper(draft: Draft) -> Pixels:
    """Blank paper with all that time does to it, and a shadow."""
    degradation = replace(
        draft.degradation,
        stains=int(draft.rng.integers(1, 5)),
        foxing=int(draft.rng.integers(0, 60)),
        wormholes=int(draft.rng.integers(0, 12)),
        browning=float(draft.rng.random()),
        shadow=float(draft.rng.uniform(0, 0.5)),
    )
    return draft.paint(draft.bare(), degradation)


SORTS: dict[str, Sort] = {
    "seals": seals,
    "speckle": speckle,
    "rules": rules,
    "show-through": other_side,
    "rulers": rulers,
    "woodcuts": woodcuts,
    "bar codes": bar_codes,
    "stitching": stitching,
    "paper": paper,
}
"""What there is on pages without text, by turns."""


def draw_pages(count: int, text: TextSource, fonts: FontBook) -> Iterator[tuple[str, Pixels]]:
    """The first `count` pages and their sorts; page k depends on k, fonts and text alone."""
    names = list(SORTS)
    for k in range(count):
        rng = np.random.default_rng([SEED, k])
        degradation = replace(sample_degradation(rng), seals=0)
        name = names[k % len(names)]
        yield name, SORTS[name](Draft(rng, text, fonts, SEED * 1000 + k, degradation))


def count_lines(
    pages: Iterator[tuple[str, Pixels]], detector: LineDetector, out: Path | None = None
) -> dict[str, list[int]]:
    """The number of lines found on each page, by sorts; the pictures go to `out`."""
    found: dict[str, list[int]] = {}
    for k, (name, pixels) in enumerate(pages, start=1):
        lines = detector.detect(pixels).lines
        found.setdefault(name, []).append(len(lines))
        if out:
            out.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(out / f"{k:03d}-{name.replace(' ', '-')}-{len(lines)}.png")
    return found


def is_covered(box: Box, seals: Sequence[Box]) -> bool:
    """Whether a seal lies over enough of the box."""
    parts = (intersection(box, seal) for seal in seals)
    return any(part is not None and area(part) >= COVERED * area(box) for part in parts)


def count_sealed(page: Page, seals: Sequence[Box], detector: LineDetector) -> tuple[int, int]:
    """Lines of the page under seals, and how many of them are found."""
    under = {k for k, line in enumerate(page.lines) if is_covered(line.box, seals)}
    if not under or page.pixels is None:
        return 0, 0
    found = detector.detect(page.pixels).lines
    return len(under), sum(i in under for i, _ in match_lines(page.lines, found))


def sealed_pages(folder: Path, resources: Resources) -> Iterator[tuple[Page, str, list[Box]]]:
    """The pages of the benchmark's second part, their kinds, and the boxes of their large seals."""
    for page in load_folder(folder):
        number, _, kind = Path(page.image).stem.partition("-")
        composition = compose(resources, int(number) - 1) if number.isdigit() else None
        if composition is None or len(composition.lines) != len(page.lines) or composition.kind != kind:
            raise InputError(f"{folder / page.image}: this is no page of the benchmark's second part.")
        yield page, kind, seal_boxes(composition)


def second_part(fonts: Path, text: Path | None) -> Resources:
    """What the benchmark's second part is made from."""
    part = BENCHMARK[2]
    options = SynthOptions(fonts, Path(), part.pages, part.seed, part.kinds, text, bench=2)
    return load_resources(options)[0]


def tabulate(found: dict[str, list[int]]) -> Table:
    table = Table("sort", "pages", "with lines", "lines", title="Lines found where there is no text")
    every = [count for counts in found.values() for count in counts]
    for name, counts in (*found.items(), ("all", every)):
        table.add_row(name, str(len(counts)), str(sum(n > 0 for n in counts)), str(sum(counts)))
    return table


def tabulate_sealed(counts: dict[str, tuple[int, int]]) -> Table:
    table = Table("pages", "wanted", "found", "recall", title="Lines under large seals, IoU 0.5")
    every = (sum(wanted for wanted, _ in counts.values()), sum(found for _, found in counts.values()))
    for name, (wanted, found) in (*counts.items(), ("all", every)):
        table.add_row(name, str(wanted), str(found), f"{found / max(wanted, 1):.4f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Look for lines where there are none, and under seals.")
    parser.add_argument("--fonts", type=Path, required=True, metavar="DIR")
    parser.add_argument("--weights", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the pictures here")
    parser.add_argument("-n", type=int, default=PAGES, metavar="N", help="fewer pages")
    parser.add_argument("--sealed", type=Path, metavar="FOLDER", help="the benchmark's second part")
    parser.add_argument("--text", type=Path, metavar="FILE", help="with --sealed: what it was drawn from")
    chosen = parser.parse_args(arguments)
    detector, console = open_detector(weights=chosen.weights), Console(width=100)
    if chosen.sealed:
        counts: dict[str, tuple[int, int]] = {}
        for page, kind, boxes in sealed_pages(chosen.sealed, second_part(chosen.fonts, chosen.text)):
            wanted, found = count_sealed(page, boxes, detector)
            before = counts.get(kind, (0, 0))
            counts[kind] = (before[0] + wanted, before[1] + found)
        console.print(tabulate_sealed(counts))
        return
    pages = draw_pages(chosen.n, load_text(None), load_fonts(chosen.fonts))
    console.print(tabulate(count_lines(pages, detector, chosen.out)))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.no_text: {error}")
