"""A progress bar for anything made of pages: on a terminal's standard error, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class PageBar:
    """Pages done of those to do, what they held, pages a minute, time left."""

    def __init__(self, total: int, shown: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        said = TextColumn("{task.fields[said]}")
        columns = (TextColumn("pages"), BarColumn(), MofNCompleteColumn(), said, TimeRemainingColumn())
        self.console = Console(stderr=True)
        self.bar = Progress(
            *columns,
            console=self.console,
            transient=True,
            refresh_per_second=4,
            # Pages may take minutes: the rate must not be forgotten between two of them.
            speed_estimate_period=600,
            disable=not shown or not self.console.is_terminal,
        )
        self.task = self.bar.add_task("pages", total=total, said="")
        self.total, self.start = total, monotonic()
        self.pages = self.characters = 0

    def step(self, characters: int = 0) -> None:
        """One page more."""
        self.pages, self.characters = self.pages + 1, self.characters + characters
        rate = 60 * self.pages / max(monotonic() - self.start, 1e-3)
        said = f"{self.characters:,} characters, " if self.characters else ""
        self.bar.update(self.task, advance=1, said=f"{said}{rate:.1f} a minute, left")

    def drop(self) -> None:
        """One page less to do: it was done before, and says nothing about the speed."""
        self.total -= 1
        self.bar.update(self.task, total=self.total)

    def say(self, sentence: str) -> None:
        """A line of text above the bar."""
        self.console.print(sentence, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def page_bar(total: int, shown: bool = True) -> Iterator[PageBar]:
    bar = PageBar(total, shown)
    with bar.bar:
        yield bar
