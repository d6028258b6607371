"""Which pages a stage trains on and which choose its checkpoint: data sets in, two lists of pages out.

Training takes official training splits whole, as the paper does (table 1), and an official validation split
chooses the checkpoint. Only where no data set of a run has one is every tenth page held out for that.
Training never looks at test splits.

The lists hold no pages but know where they lie: labels are read when a page is drawn. A data set of up to
LOOKED_THROUGH pages is gone through once at the beginning, and what cannot be read, or has no image, is told
and left out; of a larger one some pages are looked at, and what is wrong with others is counted when they are
drawn.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.sources import IMAGE_SUFFIXES
from tongguocr.training.datasets import IndexedPages, Mapping, open_dataset
from tongguocr.training.datasets.hisdoc1b import BOOK_SUFFIXES
from tongguocr.training.datasets.sources import SPLITS, Source, family, official_split
from tongguocr.training.datasets.sources import parse_source as parse_source

Say: TypeAlias = Callable[[str], None]

LOOKED_THROUGH = 10_000
"""Pages of a data set that are all read once before a run: half a minute's work."""
SAMPLED = 200
"""Pages that are looked at in a larger one."""
BOOKS = 256
"""Books whose images are known at one time."""
HELD_OUT = 10
"""One page in so many is for validation, where no data set of a run says which."""
VALIDATION = "val"
"""What a split to validate on is called."""
_PAGE_IMAGE = re.compile(r"(.+)#page=(\d+)")


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page's lines and its image's file."""

    page: Page
    image: Path


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set whose pages stay on the disk."""

    pages: IndexedPages
    images: _Images

    def draw(self, number: int) -> LabelledPage:
        """The page of this number from 0; an InputError where its labels cannot be read."""
        page = self.pages.read(number)
        # Whoever opens an image that is not there says so.
        return LabelledPage(page, self.images.find(page.image) or self.images.root / page.image)


class PageList(Sequence[LabelledPage]):
    """Pages of some data sets, each read when it is asked for, in the order of their numbers."""

    def __init__(self, sets: Sequence[DataSet], numbers: Sequence[int] | NDArray[np.int64]) -> None:
        """`numbers` count through all pages of all data sets, those of the first one first."""
        self.sets, self.numbers = tuple(sets), numbers
        self.first = [0, *accumulate(len(one.pages) for one in sets)]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, key: int) -> LabelledPage: ...
    @overload
    def __getitem__(self, key: slice) -> PageList: ...
    def __getitem__(self, key: int | slice) -> LabelledPage | PageList:
        if isinstance(key, slice):
            return PageList(self.sets, self.numbers[key])
        number = int(self.numbers[key])
        which = bisect_right(self.first, number) - 1
        return self.sets[which].draw(number - self.first[which])

    def __add__(self, other: PageList) -> PageList:
        behind = np.asarray(other.numbers, np.int64) + self.first[-1]
        return PageList(self.sets + other.sets, np.concatenate([np.asarray(self.numbers, np.int64), behind]))


NO_PAGES = PageList((), ())


@dataclass
class Labelled:
    """The pages of a run."""

    train: Sequence[LabelledPage] = NO_PAGES
    validation: Sequence[LabelledPage] = NO_PAGES


def draw(pages: Sequence[LabelledPage], number: int) -> LabelledPage | str:
    """A page of a run, or why it cannot be had."""
    try:
        return pages[number]
    except InputError:
        return "pages whose labels cannot be read"


def read_pages(
    sources: Sequence[Source],
    kinds: Sequence[str] = (),
    validated_on: Sequence[str] = (),
    mapping: Mapping | None = None,
    say: Say = print,
) -> Labelled:
    """All pages of these data sets that have an image; `say` is told what is not there."""
    given = {family(kind) for kind, _ in sources}
    for kind, folder in sources:
        if kinds and family(kind) not in kinds:
            raise InputError(f"{folder}: this stage trains on {', '.join(kinds)}, not on {kind}.")
    for kind in kinds:
        if kind not in given:
            say(f"This stage also trains on {kind}, which is not given.")
    # What the stage is validated on; where that is not given, what has a validation split; else all.
    judges = (
        given & set(validated_on) or {name for name in given if VALIDATION in SPLITS.get(name, ())} or given
    )
    train = validation = NO_PAGES
    for kind, folder in sources:
        own = _open(kind, folder, official_split(kind, "train"), mapping, say)
        held_out = NO_PAGES
        if family(kind) in judges:
            own, held_out = _held_out(kind, folder, own, mapping, say)
        train, validation = train + own, validation + held_out
    if not train:
        raise InputError(f"{sources[0][1]}: there is no page to train on.")
    if not validation:
        say("There is no page to spare: the checkpoint is chosen by a page that is trained on.")
        validation = train[:1]
    return Labelled(train, validation)


def read_test(source: Source, say: Say = print) -> PageList:
    """The official test pages of a data set, or all pages of one that has no splits: for scoring alone."""
    kind, folder = source
    return _open(kind, folder, official_split(kind, "test"), None, say)


def _held_out(
    kind: str, folder: Path, train: PageList, mapping: Mapping | None, say: Say
) -> tuple[PageList, PageList]:
    """The pages to train on, and those to validate: an official split, or every tenth of the former."""
    if VALIDATION in SPLITS.get(family(kind), ()):
        return train, _open(kind, folder, VALIDATION, mapping, say)
    if len(train) < 2:
        return train, NO_PAGES
    numbers = np.asarray(train.numbers, np.int64)
    kept = np.arange(len(numbers)) % HELD_OUT != 0
    return PageList(train.sets, numbers[kept]), train[::HELD_OUT]


def _open(kind: str, folder: Path, split: str | None, mapping: Mapping | None, say: Say) -> PageList:
    """The pages of a data set that can be read, or of a large one all; `say` is told what is not there."""
    errors: list[InputError] = []
    one = DataSet(open_dataset(kind, folder, split, mapping, say, errors.append), _Images(folder, kind))
    count = len(one.pages)
    looked_at = range(count)
    if count > LOOKED_THROUGH:
        looked_at = range(0, count, count // SAMPLED)
    good: list[int] = []
    lost: list[str] = []
    for number in looked_at:
        try:
            page = one.pages.read(number)
        except InputError as error:
            errors.append(error)
            continue
        if one.images.find(page.image) is None:
            lost.append(page.image or "a page that names none")
        else:
            good.append(number)
    if errors and not good and not lost:
        raise errors[0]
    of = f"{folder}" if len(looked_at) == count else f"{len(looked_at)} looked at in {folder}"
    if errors:
        say(f"{len(errors)} pages of {of} cannot be read. The first one: {errors[0]}")
    if lost:
        say(f"{len(lost)} pages of {of} have no image. The first one: {lost[0]}.")
    if len(looked_at) < count:
        return PageList((one,), range(count) if good else ())
    return PageList((one,), np.array(good, np.int64))


@dataclass(frozen=True, slots=True)
class _Images:
    """Where the images of a data set lie."""

    root: Path
    kind: str
    numbered: Callable[[Path], dict[int, str]] = field(
        default_factory=lambda: lru_cache(maxsize=BOOKS)(_numbered), compare=False
    )
    """The images of a book, known of those that were drawn last."""

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
        folder = self.root / "images" / book
        image = self.numbered(folder).get(int(found[2]))
        return folder / image if image else None


def _numbered(folder: Path) -> dict[int, str]:
    """The images of a book by the number at the end of their names."""
    if not folder.is_dir():
        return {}
    numbers = ((path, re.search(r"(\d+)$", path.stem)) for path in sorted(folder.iterdir()))
    return {int(n[1]): path.name for path, n in numbers if n and path.suffix.lower() in IMAGE_SUFFIXES}
