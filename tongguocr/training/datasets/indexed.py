"""Pages that stay on the disk: an index that says where labels are in memory, a page read when it is drawn.

The labels of a page take about 120 kB once they are read, and a large data set has millions of pages. So
every reader opens as an index that knows how many pages there are and reads one of them; the generators of
pages are made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from tongguocr.errors import InputError
from tongguocr.page import Page

OnError: TypeAlias = Callable[[InputError], None]
"""Takes the error of one page, which is then left out; None instead means that the first error is raised."""
EntryT = TypeVar("EntryT")
"""What an index has of a page."""


class IndexedPages(Protocol):
    """A data set on disk whose pages are counted and not read yet."""

    def __len__(self) -> int:
        """How many pages it lists."""

    def read(self, number: int) -> Page:
        """The page of this number from 0, its labels read now; an InputError where they cannot be."""


@dataclass(frozen=True, slots=True)
class ListedPages(Generic[EntryT]):
    """Pages that have a file of labels each: names in memory, files read when asked for."""

    entries: Sequence[EntryT]
    read_entry: Callable[[EntryT], Page]

    def __len__(self) -> int:
        return len(self.entries)

    def read(self, number: int) -> Page:
        """The page of this number from 0."""
        return self.read_entry(self.entries[number])


def read_all(pages: IndexedPages, on_error: OnError | None) -> Iterator[Page]:
    """All pages one after another; one that cannot be read goes to `on_error`, and the next one follows."""
    return read_each((partial(pages.read, number) for number in range(len(pages))), on_error)


def read_each(jobs: Iterable[Callable[[], Page]], on_error: OnError | None) -> Iterator[Page]:
    """The jobs' pages; one that fails goes to `on_error`, and the next one follows."""
    for job in jobs:
        try:
            page = job()
        except InputError as error:
            if on_error is None:
                raise
            on_error(error)
            continue
        yield page
