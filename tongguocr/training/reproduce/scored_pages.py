"""The pages that a table is scored on: every page that a test split lists, whatever became of it.

In: data sets. Out: pages with their reference lines and images. A page whose image is missing or damaged is
scored as if nothing had been read of it; one whose labels cannot be read has no reference, and counts as lost
altogether. Nothing leaves the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.formats import read_page, write_page
from tongguocr.layout.detect import find_lines, open_detector
from tongguocr.layout.detection import LineDetector
from tongguocr.page import Line, Page, turn_pixels
from tongguocr.reader import look_for_white, without_text
from tongguocr.sources import load_pixels
from tongguocr.training.datasets import read_dataset
from tongguocr.training.datasets.sources import Source
from tongguocr.training.recogniser.labelled import Say

SPLIT = ("mthv2", "m5hisdoc")
"""Data sets with an official test split; of others all pages are read."""


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """One page to be scored."""

    name: str
    """Of its files; no two pages of a test have the same."""
    reference: Page | None
    """Its lines with their text; None where its labels cannot be read."""
    image: Path | None = None
    lost: str = ""
    """Why it cannot be read, in a sentence."""


def list_pages(sources: Sequence[Source], say: Say, most: int | None = None) -> list[ScoredPage]:
    """Every page of these test splits, in the order of their lists; or `most`, evenly out of all."""
    pages = [page for number, source in enumerate(sources) for page in _list(number, source, say)]
    if not pages:
        raise InputError(f"{sources[0][1]}: there is no page to test on.")
    if most is not None and most < len(pages):
        pages = [pages[k * len(pages) // most] for k in range(most)]
    for page in pages:
        if page.lost:
            say(f"{page.name} counts as lost: {page.lost}")
    return pages


def _list(number: int, source: Source, say: Say) -> list[ScoredPage]:
    kind, root = source
    errors: list[InputError] = []
    split = "test" if kind.partition("-")[0] in SPLIT else None
    found = [
        _scored(f"{number}-{k:05}-{PurePosixPath(page.image).stem}", page, root)
        for k, page in enumerate(read_dataset(kind, root, split, on_error=errors.append))
    ]
    unread = [ScoredPage(f"{number}-unread-{k:05}", None, None, str(e)) for k, e in enumerate(errors)]
    if not found and errors:
        raise errors[0]
    return found + unread


def _scored(name: str, page: Page, root: Path) -> ScoredPage:
    image = root / page.image
    if not page.image or not image.is_file():
        return ScoredPage(name, page, None, f"there is no image {image}.")
    return ScoredPage(name, page, image)


def open_page(page: ScoredPage) -> Page:
    """The page with its pixels and reference lines; an InputError where it cannot be read."""
    assert page.reference is not None
    if page.image is None:
        raise InputError(page.lost)
    pixels = turn_pixels(load_pixels(page.image), page.reference.angle)
    high, wide = pixels.shape[:2]
    known = page.reference.width, page.reference.height
    if known not in ((0, 0), (wide, high)):
        raise InputError(
            f"{page.image}: the image has {wide} x {high} pixels, its labels {known[0]} x {known[1]}."
        )
    return replace(page.reference, width=wide, height=high, pixels=pixels)


def name_of(pages: Sequence[ScoredPage]) -> str:
    """A short name of a test, the same for the same pages."""
    names = "\n".join(f"{page.name} {page.image}" for page in pages)
    return sha256(names.encode()).hexdigest()[:8]


@dataclass
class Layout:
    """Where the lines of test pages come from; what was found is kept, for all rows and later runs."""

    found: Path | None
    """A folder for lines that are found; None: those of the reference are given."""
    detector: LineDetector | None = None

    def lines_of(self, name: str, page: Page) -> Page:
        """The page with its lines, in reading order and without text."""
        bare = without_text(page)
        if self.found is None:
            return look_for_white(bare)
        kept = self.found / f"{name}.json"
        if not kept.exists():
            self.detector = self.detector or open_detector()
            make_folder(self.found)
            # Data sets show their pages upright.
            lines = find_lines(replace(bare, lines=()), self.detector, turn=False)
            write_page(replace(lines, pixels=None), kept)
        known = read_page(kept)
        return replace(bare, lines=known.lines, skew=known.skew, inverted=known.inverted)


def whole(page: Page) -> Page:
    """The page with at least one line, which is what a reader of whole pages is told: that there is text."""
    box = (0.0, 0.0, float(page.width), float(page.height))
    return page if page.lines else replace(page, lines=(Line("page", box),))


def write_references(pages: Sequence[ScoredPage], folder: Path) -> None:
    """The references as plain text, so that `tongguocr eval` can score kept predictions against them."""
    make_folder(folder)
    for page in pages:
        if page.reference is not None:
            text = "".join(f"{line.text}\n" for line in page.reference.lines)
            write_bytes(text.encode(), folder / f"{page.name}.txt")
