"""A progress bar for anything made of pages: on a terminal's standard error, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

FORMAT = "pages |{bar:30}| {n_fmt}/{total_fmt}{postfix}, {remaining} left"


class PageBar:
    """Pages done of those to do, what they held, pages a minute, time left."""

    def __init__(self, total: int, shown: bool = True) -> None:
        from tqdm import tqdm

        size = get_terminal_size()
        # Pages may take minutes: the rate must not be forgotten between two of them, hence no smoothing.
        self.bar = tqdm(
            total=total,
            file=sys.stderr,
            disable=not shown or not sys.stderr.isatty(),
            leave=False,
            # A terminal may say that it has no columns and rows at all; this asks further.
            ncols=size.columns,
            nrows=size.lines,
            smoothing=0,
            mininterval=0,
            bar_format=FORMAT,
        )
        self.total, self.start = total, monotonic()
        self.pages = self.characters = 0

    @property
    def said(self) -> str:
        """What stands beside the bar."""
        rate = 60 * self.pages / max(monotonic() - self.start, 1e-3)
        held = f"{self.characters:,} characters, " if self.characters else ""
        return f"{held}{rate:.1f} a minute"

    def step(self, characters: int = 0) -> None:
        """One page more."""
        self.pages, self.characters = self.pages + 1, self.characters + characters
        self.bar.set_postfix_str(self.said, refresh=False)
        self.bar.update()

    def drop(self) -> None:
        """One page less to do: it was done before, and says nothing about the speed."""
        self.total -= 1
        self.bar.total = self.total
        self.bar.refresh()

    def say(self, sentence: str) -> None:
        """A line of text above the bar."""
        self.bar.write(sentence, file=sys.stderr)


@contextmanager
def page_bar(total: int, shown: bool = True) -> Iterator[PageBar]:
    """A progress bar for so many pages, gone at the end."""
    bar = PageBar(total, shown)
    with bar.bar:
        yield bar


def follow(pages: Iterable[T], name: str) -> Iterable[T]:
    """The pages, with a bar while they are worked through."""
    from tqdm import tqdm

    followed: Iterable[T] = tqdm(pages, name, file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)
    return followed
