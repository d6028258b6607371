"""Characters written where there are none: `python -m bench.empty [--pages FOLDER] [--dev FOLDER]`.

A crop without text is a page with one line that fills it, as if a detector had been wrong. There are `EACH`
of every kind, each drawn from its number alone: paper, rules, frames, specks, stains, borders, seals without
a character, pieces of pictures. With `--pages` (labelled pages, see bench.nomna) real ones are cut from
inside the block of lines, where no box touches: gaps between columns, empty rests of columns, those where the
other side shows through, and rests with a slice of the neighbours at their sides. With `--dev` (pages.json
with its images, see bench.recogniser) they are cut from the margins. Printed: the characters that each engine
wrote; crops on which the first engine wrote any go to `--out`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from rich.console import Console
from rich.table import Table

from bench.given_lines import add_reader_arguments, open_readers
from bench.machine import machine
from bench.nomna import LabelledPage, load_pages
from bench.pages import load_dev
from tongguocr.errors import InputError
from tongguocr.geometry import Box, intersection, union
from tongguocr.page import Line, Page, Pixels, bare_page
from tongguocr.reader import Reader
from tongguocr.training.synth.fields import smooth_noise

EACH = 25
SEED = 1644
SLICE = (0.1, 0.25)
"""So much of a neighbour's breadth is seen at the side of a slice."""
FAINT = 0.5
"""What has less than this share of the lines' contrast is no text of this side."""
SHOWN = 0.2
"""What has more than this share of it shows through from the other side."""
Draw: TypeAlias = Callable[[Image.Image, np.random.Generator], None]


@dataclass(frozen=True)
class Crop:
    kind: str
    name: str
    pixels: Pixels


def sheet(rng: np.random.Generator) -> Image.Image:
    """Paper in the shape of a column or a part of one."""
    wide = int(rng.integers(24, 72))
    high = int(wide * np.exp(rng.uniform(0.0, np.log(16))))
    tone = rng.uniform(150, 245) * np.array([1.0, rng.uniform(0.92, 1.0), rng.uniform(0.75, 0.98)])
    cloud = rng.uniform(0, 14) * smooth_noise(rng, (high, wide), float(rng.uniform(8, 40)))
    grain = rng.normal(0, rng.uniform(0.5, 8), (high, wide))
    return Image.fromarray(np.clip(tone + (cloud + grain)[..., None], 0, 255).astype(np.uint8))


def ink(rng: np.random.Generator) -> tuple[int, int, int]:
    return (int(rng.integers(10, 90)),) * 3


def paper(image: Image.Image, rng: np.random.Generator) -> None:
    """Nothing else."""


def rules(image: Image.Image, rng: np.random.Generator) -> None:
    """One to three rules along the crop, mostly at its sides."""
    draw, (w, h) = ImageDraw.Draw(image), image.size
    for side in rng.choice([0.05, 0.95, 0.5, 0.1, 0.9], int(rng.integers(1, 4)), replace=False):
        x = float(side * w + rng.normal(0, 1.5))
        slope = float(rng.normal(0, 0.02 * w))
        draw.line([(x, 0), (x + slope, h)], ink(rng), int(rng.integers(1, 4)))


def frames(image: Image.Image, rng: np.random.Generator) -> None:
    """A corner or a side of a frame, single or double."""
    draw, (w, h), colour = ImageDraw.Draw(image), image.size, ink(rng)
    x, y, thick = (
        float(rng.uniform(0.1, 0.9) * w),
        float(rng.uniform(0.05, 0.95) * h),
        int(rng.integers(2, 8)),
    )
    for step in (0, int(rng.integers(thick + 2, thick + 9)))[: int(rng.integers(1, 3))]:
        draw.line([(0, y + step), (w, y + step)], colour, max(thick - step // 3, 1))
        if rng.random() < 0.6:
            draw.line([(x + step, y), (x + step, h)], colour, max(thick - step // 3, 1))


def specks(image: Image.Image, rng: np.random.Generator) -> None:
    """Dust and foxing."""
    draw, (w, h) = ImageDraw.Draw(image), image.size
    for _ in range(int(np.exp(rng.uniform(np.log(3), np.log(120))))):
        x, y, r = rng.uniform(0, w), rng.uniform(0, h), float(np.exp(rng.uniform(np.log(0.4), np.log(3.5))))
        draw.ellipse((x - r, y - r * rng.uniform(0.5, 1), x + r, y + r), ink(rng))


def stains(image: Image.Image, rng: np.random.Generator) -> None:
    """Dark clouds with soft edges."""
    w, h = image.size
    mask = Image.new("L", image.size)
    for _ in range(int(rng.integers(1, 5))):
        x, y, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.1, 0.8) * w
        ImageDraw.Draw(mask).ellipse((x - r, y - r, x + r, y + r), int(rng.integers(40, 200)))
    mask = mask.filter(ImageFilter.GaussianBlur(float(rng.uniform(1, 8))))
    image.paste(ink(rng), (0, 0), mask)


def borders(image: Image.Image, rng: np.random.Generator) -> None:
    """The page's edge and what lies beyond it, and a shadow."""
    (w, h), level = image.size, int(rng.integers(0, 120))
    x = float(rng.uniform(0.2, 0.8) * w)
    mask = Image.new("L", image.size)
    ImageDraw.Draw(mask).polygon([(x, 0), (w, 0), (w, h), (x + rng.normal(0, 4), h)], 255)
    mask = mask.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 4))))
    image.paste((level, level, level), (0, 0), mask)


def seals(image: Image.Image, rng: np.random.Generator) -> None:
    """Rims of seals and blots of their ink."""
    draw, (w, h) = ImageDraw.Draw(image), image.size
    red = (int(rng.integers(140, 215)), int(rng.integers(30, 90)), int(rng.integers(30, 80)))
    x, y, side = rng.uniform(-0.4, 0.4) * w, rng.uniform(-0.1, 0.7) * h, rng.uniform(0.8, 1.6) * w
    box, thick = (x, y, x + side, y + side * rng.uniform(0.9, 1.4)), int(rng.integers(2, 6))
    shape = draw.ellipse if rng.random() < 0.3 else draw.rectangle
    shape(box, outline=red, width=thick)
    for _ in range(int(rng.integers(0, 6))):
        u, v, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(1, 5)
        draw.ellipse((u - r, v - r, u + r, v + r * rng.uniform(0.5, 2)), red)


def pictures(image: Image.Image, rng: np.random.Generator) -> None:
    """Hatching, outlines and leaves of a woodcut."""
    draw, (w, h) = ImageDraw.Draw(image), image.size
    for _ in range(int(rng.integers(2, 9))):
        x, y, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.3, 1.5) * w
        start, thick, colour = float(rng.uniform(0, 360)), int(rng.integers(1, 4)), ink(rng)
        if rng.random() < 0.4:
            for k in range(int(rng.integers(4, 14))):
                draw.line([(x + 5 * k, y), (x + 5 * k + 0.3 * r, y + 0.4 * r)], colour, thick)
        else:
            draw.arc((x - r, y - r, x + r, y + r), start, start + float(rng.uniform(40, 200)), colour, thick)


DRAWN: dict[str, Draw] = {
    draw.__name__: draw for draw in (paper, rules, frames, specks, stains, borders, seals, pictures)
}


def drawn_crops() -> Iterator[Crop]:
    """Crops of the drawn kinds; each depends on its kind and number alone."""
    for number, (kind, draw) in enumerate(DRAWN.items()):
        for k in range(EACH):
            rng = np.random.default_rng([SEED, number, k])
            image = sheet(rng)
            draw(image, rng)
            soft = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0, 0.9))))
            yield Crop(kind, f"{kind}-{k:02d}", np.asarray(soft))


def is_free(box: Box, taken: Sequence[Box]) -> bool:
    return all(intersection(box, other) is None for other in taken)


def gaps(page: LabelledPage) -> Iterator[Box]:
    """Strips between neighbouring columns."""
    taken = [*(label.box for label in page.labels), *page.unread]
    for a in page.labels:
        for b in page.labels:
            if 3 <= a.box[0] - b.box[2] <= 12:
                strip = (b.box[2], max(a.box[1], b.box[1]), a.box[0], min(a.box[3], b.box[3]))
                if strip[3] - strip[1] > 100 and is_free(strip, taken):
                    yield strip


def rests(page: LabelledPage, faintest: float = 0.0, darkest: float = FAINT) -> Iterator[Box]:
    """What is empty below a short column, down to the end of the others: with this share of the lines' ink.

    What is as dark as the lines may be text that nobody has labelled.
    """
    taken = [*(label.box for label in page.labels), *page.unread]
    bottom = union(label.box for label in page.labels)[3]
    typical = float(np.median([contrast(page, label.box) for label in page.labels]))
    for x0, _, x1, y1 in (label.box for label in page.labels):
        # The last character's end lies below many a box.
        rest, wide = (x0, y1 + 8, x1, bottom), x1 - x0
        if wide <= 18 or bottom - y1 <= 60 or not is_free(rest, taken):
            continue
        middle = (x0 + wide / 5, y1 + 8, x1 - wide / 5, bottom - 12)
        if faintest <= contrast(page, middle) / typical < darkest:
            yield rest


def bare_rests(page: LabelledPage) -> Iterator[Box]:
    return rests(page, darkest=SHOWN)


def shown_rests(page: LabelledPage) -> Iterator[Box]:
    return rests(page, faintest=SHOWN)


def contrast(page: LabelledPage, box: Box) -> float:
    """How much darker a box's ink is than the page's paper."""
    x0, y0, x1, y1 = (round(value) for value in box)
    inside = page.pixels[max(y0, 0) : y1, max(x0, 0) : x1]
    return float(np.percentile(page.pixels, 85) - np.percentile(inside, 5)) if inside.size else 0.0


def slices(page: LabelledPage) -> Iterator[Box]:
    """Empty rests of columns, wide enough to show a slice of the neighbours, none of which ends in them."""
    boxes = [label.box for label in page.labels]
    for x0, y0, x1, y1 in rests(page):
        rng = np.random.default_rng([SEED, int(x0), int(y0)])
        left = [b for b in boxes if x0 - 14 < b[2] <= x0 + 2 and b[1] < y0 and b[3] > y1 - 8]
        right = [b for b in boxes if x1 - 2 <= b[0] < x1 + 14 and b[1] < y0 and b[3] > y1 - 8]
        if left or right:
            into = [float(rng.uniform(*SLICE)) * (b[2] - b[0]) for b in (*left, *right)]
            yield (
                left[0][2] - into[0] if left else x0,
                y0,
                right[0][0] + into[-1] if right else x1,
                y1,
            )


REAL: dict[str, tuple[Callable[[LabelledPage], Iterator[Box]], int]] = {
    "gaps": (gaps, EACH),
    "rests": (bare_rests, EACH // 2),
    "show-through": (shown_rests, EACH - EACH // 2),
    "slices": (slices, EACH),
}
"""Where real crops are cut, and how many."""


def real_crops(pages: Sequence[LabelledPage]) -> Iterator[Crop]:
    """The real kinds, evenly out of all places that there are."""
    for kind, (find, number) in REAL.items():
        places = [(page, box) for page in pages for box in find(page)]
        for k in np.linspace(0, len(places) - 1, min(number, len(places))).round().astype(int).tolist():
            page, (x0, y0, x1, y1) = places[k]
            pixels = page.pixels[round(y0) : round(y1), max(round(x0), 0) : round(x1)]
            yield Crop(kind, f"{kind}-{Path(page.image).stem}-{round(x0)}", np.ascontiguousarray(pixels))


def margins(page: Page, wide: int) -> Iterator[Box]:
    """Strips above and below all lines; at the sides there may be the fold's text."""
    x0, y0, x1, y1 = union(line.box for line in page.lines)
    away, least = 14, 12
    for left in (x0, (x0 + x1) / 2, x1 - wide):
        above = (left, max(y0 - away - 3 * wide, 0), left + wide, y0 - away)
        below = (left, y1 + away, left + wide, min(y1 + away + 3 * wide, page.height))
        yield from (box for box in (above, below) if box[3] - box[1] >= least)


def margin_crops(pages: Sequence[Page]) -> Iterator[Crop]:
    """Of all pages by turns; later rounds are of other breadths."""
    count = 0
    for wide in (40, 24):
        for page in pages:
            for box in margins(page, wide) if page.pixels is not None else ():
                x0, y0, x1, y1 = (round(value) for value in box)
                if count < EACH and page.pixels is not None:
                    yield Crop(
                        "margins", f"margins-{count:02d}", np.ascontiguousarray(page.pixels[y0:y1, x0:x1])
                    )
                    count += 1


def write_on(crop: Crop, reader: Reader) -> str:
    """What is written on a crop."""
    page = bare_page(crop.name, crop.pixels)
    line = Line("l1", (0.0, 0.0, float(page.width), float(page.height)))
    read = reader.read(Page(page.image, page.width, page.height, (line,), crop.pixels))
    return "".join(read.text.split())


def report(crops: Sequence[Crop], written: dict[str, list[str]]) -> Table:
    """For each kind the crops, and for each engine its characters and the crops that have any."""
    table = Table("kind", title=f"Characters where there are none; {machine()}")
    for name in ("crops", *(f"{e}: {what}" for e in written for what in ("characters", "crops"))):
        table.add_column(name, justify="right")
    for kind in (*dict.fromkeys(crop.kind for crop in crops), "all"):
        numbers = [k for k, crop in enumerate(crops) if kind in ("all", crop.kind)]
        counts = [
            cell
            for texts in written.values()
            for cell in (sum(len(texts[k]) for k in numbers), sum(bool(texts[k]) for k in numbers))
        ]
        table.add_row(kind, str(len(numbers)), *map(str, counts))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read crops without text.")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="labelled pages to cut from")
    parser.add_argument(
        "--dev", type=Path, metavar="FOLDER", help="pages.json and images to cut margins from"
    )
    add_reader_arguments(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep what the first engine fails on here")
    parser.add_argument("--keep", action="store_true", help="with --out: keep all crops")
    chosen = parser.parse_args(arguments)
    console, crops = Console(width=120), list(drawn_crops())
    crops += real_crops(list(load_pages(chosen.pages))) if chosen.pages else ()
    crops += margin_crops(list(load_dev(chosen.dev / "pages.json", chosen.dev))) if chosen.dev else ()
    written: dict[str, list[str]] = {}
    for name, reader in open_readers(chosen):
        written[name] = [write_on(crop, reader) for crop in crops]
    for crop, text in zip(crops, next(iter(written.values())), strict=True):
        if text:
            console.print(f"{crop.name}: {text}", highlight=False)
        if chosen.out and (text or chosen.keep):
            chosen.out.mkdir(parents=True, exist_ok=True)
            Image.fromarray(crop.pixels).save(chosen.out / f"{crop.name}.png")
    console.print(report(crops, written))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.empty: {error}")
