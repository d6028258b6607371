"""Characters outside of their lines: `python -m bench.strays [--pages DIR] [--dev PAGES.json] [--nomna DIR]`.

Pages are read once, every character staying in the line that it was put into; then each of RULES settles what
stands outside (engines/strays.py). Printed for each set of pages: AR in reading order (without the fold where
it has no labels), the characters whose centre lies outside of their line's box, the lines and pages that have
such, and the lines of their own that were made. `--given` reads the labelled lines in place of found ones.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.frozen import plain, rates
from bench.machine import machine
from bench.nomna import load_pages
from bench.pages import load_dev, load_folder
from tongguocr.alignment import align
from tongguocr.engines.strays import StrayRule, outside, settle_strays
from tongguocr.errors import InputError
from tongguocr.page import Line, Page, bare_page, guess_direction
from tongguocr.reader import Reader, Setup, open_reader

RULES: dict[str, StrayRule | None] = {
    "they stay": None,
    "lines of their own": StrayRule(least=0.0, same=0.0),
    "read twice dropped": StrayRule(least=0.0),
    "and below 0.5": StrayRule(least=0.5),
    "and below 0.7": StrayRule(),
    "and below 0.9": StrayRule(least=0.9),
    "all dropped": StrayRule(least=1.01),
    "0.7, from 0.2 on": StrayRule(far=0.2),
    "0.7, from 0.5 on": StrayRule(far=0.5),
}


@dataclass(frozen=True)
class ReadPage:
    """A page as read, strays in their lines, and its label."""

    page: Page
    wanted: str
    fold: bool
    """Whether the label has the fold."""

    @property
    def known(self) -> set[str]:
        """The ids of the lines that were found: those of others have a number behind a plus."""
        return {line.id for line in self.page.lines if "+" not in line.id}


def count(pages: Iterable[ReadPage], rule: StrayRule | None) -> tuple[Counter[str], Counter[str]]:
    """The steps from what is wanted to what was read; strays by characters, lines, pages, and own lines."""
    steps, strays = Counter[str](), Counter[str]()
    for one in pages:
        page = one.page if rule is None else settle_strays(one.page, one.known, rule)
        text = plain("".join(line.text for line in page.lines if one.fold or line.kind != "fold"))
        steps += Counter(align(one.wanted, text))
        found = [strays_in(line) for line in page.lines]
        strays += Counter(characters=sum(found), lines=sum(map(bool, found)), pages=int(any(found)))
        strays["own"] += sum(line.id not in one.known for line in page.lines)
    return steps, strays


def strays_in(line: Line) -> int:
    return sum(outside(char, line) > 0 for char in line.chars)


def read_all(reader: Reader, pages: Iterable[Page], fold: bool, given: bool) -> Iterator[ReadPage]:
    for page in pages:
        if page.pixels is None:
            raise InputError(f"{page.image}: this page has no image.")
        wanted = plain("".join(line.text for line in page.lines))
        yield ReadPage(reader.read(page if given else bare_page(page.image, page.pixels)), wanted, fold)


def nomna_pages(folder: Path) -> Iterator[Page]:
    for page in load_pages(folder):
        lines = tuple(
            Line(label.name, label.box, label.text, direction=guess_direction(label.box, label.text))
            for label in page.labels
        )
        yield replace(bare_page(page.image, page.pixels), lines=lines)


def tabulate(name: str, pages: Sequence[ReadPage]) -> Table:
    table = Table(title=f"{name}, {len(pages)} pages; {machine()}")
    for column in (
        "what becomes of strays",
        "AR",
        "characters outside",
        "lines",
        "pages",
        "lines of their own",
    ):
        table.add_column(column, justify="left" if column.startswith("what") else "right")
    for rule_name, rule in RULES.items():
        steps, strays = count(pages, rule)
        figures = (f"{strays[key]}" for key in ("characters", "lines", "pages", "own"))
        table.add_row(rule_name, f"{100 * rates(steps)[0]:.2f}", *figures)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Characters outside of their lines.")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="our JSON with images")
    parser.add_argument("--dev", type=Path, metavar="PAGES.json")
    parser.add_argument("--nomna", type=Path, metavar="FOLDER")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only one page in so many")
    parser.add_argument("--given", action="store_true", help="labelled lines in place of found ones")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args(arguments)
    reader = replace(open_reader(Setup(threads=chosen.threads)), strays=None)
    sets: dict[str, tuple[Iterable[Page], bool]] = {}
    if chosen.pages:
        sets["pages"] = (load_folder(chosen.pages), True)
    if chosen.dev:
        sets["dev"] = (load_dev(chosen.dev, chosen.dev.parent), False)
    if chosen.nomna:
        sets["nomna"] = (nomna_pages(chosen.nomna), False)
    for name, (pages, fold) in sets.items():
        some = (page for k, page in enumerate(pages) if k % chosen.every == 0)
        Console(width=120).print(tabulate(name, list(read_all(reader, some, fold, chosen.given))))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.strays: {error}")
