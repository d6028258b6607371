"""Which pages a stage trains on and which choose its checkpoint: data sets in, two lists of pages out.

Training takes official training splits whole, as the paper does (table 1), and an official validation split
chooses the checkpoint. Only where no data set of a run has one is every tenth page held out for that.
Training never looks at test splits. Images are found here, but not opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.sources import IMAGE_SUFFIXES
from tongguocr.training.datasets import DATASETS, Mapping, read_dataset
from tongguocr.training.datasets.hisdoc1b import BOOK_SUFFIXES

Source: TypeAlias = tuple[str, Path]
"""A kind of data set and its folder."""
Say: TypeAlias = Callable[[str], None]

HELD_OUT = 10
"""One page in so many is for validation, where no data set of a run says which."""
SPLIT = ("mthv2", "m5hisdoc")
"""Data sets with official splits to train on and to test on."""
VALIDATION_SPLITS = {"m5hisdoc": "val"}
"""Those with an official split to validate on."""
_PAGE_IMAGE = re.compile(r"(.+)#page=(\d+)")


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page's lines and its image's file."""

    page: Page
    image: Path


@dataclass
class Labelled:
    """The pages of a run."""

    train: list[LabelledPage] = field(default_factory=list)
    validation: list[LabelledPage] = field(default_factory=list)


def parse_source(written: str) -> Source:
    """KIND=DIR as it is typed."""
    kind, sign, folder = written.partition("=")
    if not sign or not folder or kind not in DATASETS:
        raise InputError(f"{written}: pages are given as KIND=DIR, KIND being one of {', '.join(DATASETS)}.")
    return kind, Path(folder)


def read_pages(
    sources: Sequence[Source],
    kinds: Sequence[str] = (),
    validated_on: Sequence[str] = (),
    mapping: Mapping | None = None,
    say: Say = print,
) -> Labelled:
    """All pages of these data sets that have an image; `say` is told what is not there."""
    given = {_family(kind) for kind, _ in sources}
    for kind, folder in sources:
        if kinds and _family(kind) not in kinds:
            raise InputError(f"{folder}: this stage trains on {', '.join(kinds)}, not on {kind}.")
    for kind in kinds:
        if kind not in given:
            say(f"This stage also trains on {kind}, which is not given.")
    # What the stage is validated on; where that is not given, what has a validation split; else all.
    judges = given & set(validated_on) or given & set(VALIDATION_SPLITS) or given
    pages = Labelled()
    for kind, folder in sources:
        train = _read(kind, folder, training_split(kind), mapping, say)
        validation: list[LabelledPage] = []
        if _family(kind) in judges:
            train, validation = _held_out(kind, folder, train, mapping, say)
        pages.train += train
        pages.validation += validation
    if not pages.train:
        raise InputError(f"{sources[0][1]}: there is no page to train on.")
    if not pages.validation:
        say("There is no page to spare: the checkpoint is chosen by a page that is trained on.")
        pages.validation = pages.train[:1]
    return pages


def read_test(source: Source, say: Say = print) -> list[LabelledPage]:
    """The official test pages of a data set, or all pages of one that has no splits: for scoring alone."""
    kind, folder = source
    return _read(kind, folder, "test" if _family(kind) in SPLIT else None, None, say)


def _family(kind: str) -> str:
    return kind.partition("-")[0]


def training_split(kind: str) -> str | None:
    """The name of the split to train on; None for a data set that is for training as a whole."""
    return "train" if _family(kind) in SPLIT else None


def _held_out(
    kind: str, folder: Path, train: list[LabelledPage], mapping: Mapping | None, say: Say
) -> tuple[list[LabelledPage], list[LabelledPage]]:
    """The pages to train on, and those to validate: an official split, or every tenth of the former."""
    split = VALIDATION_SPLITS.get(_family(kind))
    if split is not None:
        return train, _read(kind, folder, split, mapping, say)
    if len(train) < 2:
        return train, []
    held_out = range(0, len(train), HELD_OUT)
    return [page for k, page in enumerate(train) if k not in held_out], [train[k] for k in held_out]


def _read(
    kind: str, folder: Path, split: str | None, mapping: Mapping | None, say: Say
) -> list[LabelledPage]:
    errors: list[InputError] = []
    images = _Images(folder, kind)
    found: list[LabelledPage] = []
    lost: list[str] = []
    for page in read_dataset(kind, folder, split, mapping, errors.append):
        image = images.find(page.image)
        if image is None:
            lost.append(page.image or "a page that names none")
        else:
            found.append(LabelledPage(page, image))
    if not found and errors:
        raise errors[0]
    if errors:
        say(f"{len(errors)} pages of {folder} cannot be read. The first one: {errors[0]}")
    if lost:
        say(f"{len(lost)} pages of {folder} have no image. The first one: {lost[0]}.")
    return found


class _Images:
    """Where the images of a data set lie."""

    def __init__(self, root: Path, kind: str) -> None:
        self.root, self.kind = root, kind
        self.books: dict[str, dict[int, Path]] = {}

    def find(self, name: str) -> Path | None:
        path = self._page_of_a_book(name) if self.kind == "hisdoc1b" else self.root / name
        return path if name and path is not None and path.is_file() else None

    def _page_of_a_book(self, name: str) -> Path | None:
        """Books are PDFs; their pages lie in images/BOOK, as files whose names end in the page's number."""
        found = _PAGE_IMAGE.fullmatch(name)
        if not found:
            return None
        book = found[1]
        for suffix in BOOK_SUFFIXES:
            book = book.removesuffix(suffix)
        if book not in self.books:
            folder = self.root / "images" / book
            self.books[book] = _numbered(sorted(folder.iterdir())) if folder.is_dir() else {}
        return self.books[book].get(int(found[2]))


def _numbered(paths: Iterable[Path]) -> dict[int, Path]:
    """Images by the number at the end of their names."""
    numbers = ((path, re.search(r"(\d+)$", path.stem)) for path in paths)
    return {int(n[1]): path for path, n in numbers if n and path.suffix.lower() in IMAGE_SUFFIXES}
