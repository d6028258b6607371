"""The frozen benchmark read with given lines: `python -m bench.frozen FOLDER --counts COUNTS.tsv`.

FOLDER is what `tongguocr synth --bench` wrote. Printed for each engine: AR and CR over all pages together,
the recall of rare characters (rank beyond 6,000 by the counts), how long the longest page is beside its
reference; and for our own engine the share of right transition tokens and of characters whose predicted
centre lies in the true box. Nothing is folded. With `--kinds` there is a row for each kind of page too, or
for each face: a page's file is called NUMBER-KIND, or FACE-NUMBER-KIND. With `--seals FONTS --text FILE`,
what the benchmark's second part was drawn from, one for characters whose middle is under a large seal.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.machine import machine
from bench.no_text import sealed_pages, second_part
from bench.pages import load_folder
from tongguocr.alignment import DELETION, INSERTION, MATCH, SUBSTITUTION, align
from tongguocr.engines import ENGINES, open_engine
from tongguocr.engines.base import BlockInput, Engine
from tongguocr.engines.decoder_batch import EncodedBlock
from tongguocr.engines.guard import Guarded
from tongguocr.engines.prepare import Prepared
from tongguocr.engines.reread import read_twice
from tongguocr.engines.tongguocr import FIRST_BREAK, FIRST_BYTE, DecodedBlock, OnnxEngine
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.geometry import Box, centre
from tongguocr.page import Char, Page
from tongguocr.reader import Reader
from tongguocr.weights import SHIPPED

COMMON = 6000
"""Characters of a higher rank are rare."""
SEALED = "under seals"


@dataclass
class Tally:
    """What one engine did on all pages so far."""

    steps: Counter[str] = field(default_factory=Counter)
    rare: Counter[bool] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    centres: Counter[bool] = field(default_factory=Counter)
    sealed: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0
    pages: dict[str, tuple[Counter[str], float]] = field(default_factory=dict)

    def row(self) -> list[str]:
        shares = [*rates(self.steps), share(self.rare)]
        moves = sum(self.transitions[step] for step in (MATCH, SUBSTITUTION, DELETION))
        faults = sum(self.transitions.values()) - self.transitions[MATCH]
        shares += [1 - faults / moves if moves else float("nan"), share(self.centres), self.longest]
        seconds = sum(seconds for _, seconds in self.pages.values())
        return [*(f"{100 * value:.2f}" for value in shares), f"{seconds / len(self.pages):.2f}"]

    def kinds(self) -> dict[str, Counter[str]]:
        """The steps on all pages of each kind."""
        found: dict[str, Counter[str]] = {}
        for image, (steps, _) in self.pages.items():
            found.setdefault(kind_of(image), Counter()).update(steps)
        found = dict(sorted(found.items()))
        return found | {SEALED: self.sealed} if self.sealed else found


def rates(steps: Counter[str]) -> tuple[float, float]:
    """AR and CR."""
    wanted = max(sum(steps[step] for step in (MATCH, SUBSTITUTION, DELETION)), 1)
    return (steps[MATCH] - steps[INSERTION]) / wanted, steps[MATCH] / wanted


def kind_of(image: str) -> str:
    """The kind of a page that is called NUMBER-KIND, the face of FACE-NUMBER-KIND; other pages have none."""
    number, _, kind = Path(image).stem.partition("-")
    face = re.match(r"(.+?)-\d+-", Path(image).stem)
    return kind if number.isdigit() else face[1] if face else ""


def share(counts: Counter[bool]) -> float:
    return counts[True] / counts.total() if counts else float("nan")


class Watched(OnnxEngine):
    """Our engine, which remembers what it wrote of each block."""

    def __init__(self, folder: Path, threads: int) -> None:
        super().__init__(folder, threads=threads)
        self.decoded: list[tuple[BlockInput, Prepared, DecodedBlock]] = []

    def decode(
        self, encoded: Sequence[EncodedBlock], blocks: Sequence[BlockInput], prepared: Sequence[Prepared]
    ) -> list[DecodedBlock]:
        decoded = super().decode(encoded, blocks, prepared)
        self.decoded += zip(blocks, prepared, decoded, strict=True)
        return decoded


def count_page(
    page: Page, engine: Engine, rare: frozenset[str] | None, tally: Tally, seals: Sequence[Box] = ()
) -> None:
    start = time.perf_counter()
    result = Reader(engine).read(page)
    seconds = time.perf_counter() - start
    found, wanted = (plain("".join(line.text for line in p.lines)) for p in (result, page))
    steps = align(wanted, found)
    counts = Counter(steps)
    tally.steps += counts
    tally.longest = max(tally.longest, len(found) / max(len(wanted), 1))
    tally.pages[page.image] = (counts, seconds)
    if rare is not None:
        for char, step in zip(wanted, (s for s in steps if s != INSERTION), strict=True):
            if char in rare:
                tally.rare[step == MATCH] += 1
    by_id = {line.id: line.chars for line in result.lines}
    for line in page.lines:
        for true, read in matches(line.chars, by_id[line.id]):
            tally.centres[contains(true.box, centre(read.box))] += 1
        tally.sealed += count_sealed(line.chars, by_id[line.id], seals)


def plain(text: str) -> str:
    """Without white space."""
    return "".join(text.split())


def matches(wanted: Sequence[Char], found: Sequence[Char]) -> Iterator[tuple[Char, Char]]:
    """Characters of one line that were read right, with what was read."""
    i = j = 0
    for step in steps_of(wanted, found):
        if step == MATCH:
            yield wanted[i], found[j]
        i, j = i + (step != INSERTION), j + (step != DELETION)


def steps_of(wanted: Sequence[Char], found: Sequence[Char]) -> Sequence[str]:
    # One letter a character, so that a base with a mark on it stays one.
    names = {text: chr(k + 1) for k, text in enumerate({char.text for char in (*wanted, *found)})}
    return align(*("".join(names[char.text] for char in chars) for chars in (wanted, found)))


def count_sealed(wanted: Sequence[Char], found: Sequence[Char], seals: Sequence[Box]) -> Counter[str]:
    """The steps of a line's characters that lie under seals; what is too much counts with the one before."""
    under = [any(contains(seal, centre(char.box)) for seal in seals) for char in wanted]
    steps, at = Counter[str](), 0
    for step in steps_of(wanted, found) if any(under) else ():
        at += step != INSERTION
        steps[step] += under[max(at - 1, 0)]
    return +steps


def contains(box: Box, point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def count_transitions(engine: Watched, page: Page, tally: Tally) -> None:
    """Transition tokens of the blocks as first cut, against those of the lines as they are."""
    done = 0
    for block, picture, text in sorted(engine.decoded, key=lambda entry: entry[0].crop.block.start):
        span = block.crop.block
        if span.start < done:
            continue  # a part that was read again
        done = span.stop
        high, wide = picture.picture.shape
        size = wide / picture.scale[0], high / picture.scale[1]
        wanted = engine.codec.encode_lines(span.lines(page), *size)
        tally.transitions += Counter(align(moves(wanted), moves(text.watch.tokens)))
    engine.decoded.clear()


def moves(tokens: Sequence[int]) -> str:
    """Transitions as a letter each."""
    return "".join(chr(0x41 + token - FIRST_BREAK) for token in tokens if FIRST_BREAK <= token < FIRST_BYTE)


def rare_characters(path: Path, pages: Sequence[Page]) -> frozenset[str]:
    """Characters of these pages that are not among the most frequent of a table: its first and third cell."""
    rows = [line.split("\t") for line in decode_utf8(read_bytes(path), path).splitlines()[1:]]
    try:
        ranked = sorted(rows, key=lambda row: -int(row[2]))
    except (IndexError, ValueError):
        raise InputError(f"{path}: this is not a table of characters, code points and counts.") from None
    common = {row[0] for row in ranked[:COMMON]}
    return frozenset(char for page in pages for char in plain(page.full_text) if char not in common)


def tabulate_kinds(tallies: dict[str, Tally]) -> Table:
    """A row for each kind, with AR and CR of each engine."""
    table = Table("kind", title=f"By kinds, percent; {machine()}")
    for name in ("pages", "characters", *(f"{e} {figure}" for e in tallies for figure in ("AR", "CR"))):
        table.add_column(name, justify="right")
    by_engine = [tally.kinds() for tally in tallies.values()]
    pages = Counter(kind_of(image) for tally in list(tallies.values())[:1] for image in tally.pages)
    for kind, steps in by_engine[0].items():
        wanted = steps.total() - steps[INSERTION]
        figures = [f"{100 * value:.2f}" for kinds in by_engine for value in rates(kinds[kind])]
        table.add_row(kind or "-", f"{pages[kind]}" if kind != SEALED else "", f"{wanted}", *figures)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read the frozen benchmark with given lines.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--counts", type=Path, metavar="COUNTS.tsv", help="to know which characters are rare")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: ours and rapidocr")
    parser.add_argument("--weights", type=Path, metavar="DIR")
    parser.add_argument("--reread", action="store_true", help="doubtful lines twice")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="name the pages read worst")
    parser.add_argument("--kinds", action="store_true", help="a row for each kind of page too")
    parser.add_argument("--seals", type=Path, metavar="FONTS", help="with --kinds: one for text under seals")
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="with --seals: what the pages were drawn from"
    )
    chosen = parser.parse_args(arguments)
    console = Console(width=120)
    pages = list(load_folder(chosen.folder))
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here.")
    seals: dict[str, list[Box]] = {}
    if chosen.seals:
        drawn = sealed_pages(chosen.folder, second_part(chosen.seals, chosen.text))
        seals = {page.image: boxes for page, _, boxes in drawn}
    rare = rare_characters(chosen.counts, pages) if chosen.counts else None
    table = Table(title=f"{len(pages)} pages, percent; {machine()}")
    for name in ("engine", "AR", "CR", "rare", "transitions", "centres", "longest", "s/page"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    tallies: dict[str, Tally] = {}
    for name in chosen.engine or ("tongguocr", "rapidocr"):
        ours = Watched(chosen.weights or SHIPPED, chosen.threads) if name == "tongguocr" else None
        if ours:
            engine: Engine = read_twice(ours) if chosen.reread else Guarded(ours)
        else:
            engine = open_engine(name, chosen.weights, chosen.threads)
        tally = tallies[name] = Tally()
        for page in pages:
            count_page(page, engine, rare, tally, seals.get(page.image, ()))
            if ours:
                count_transitions(ours, page, tally)
        table.add_row(name, *tally.row())
        errors = {k: 1 - steps[MATCH] / max(steps.total(), 1) for k, (steps, _) in tally.pages.items()}
        for image in sorted(errors, key=errors.__getitem__)[-chosen.worst :] if chosen.worst else ():
            console.print(f"{name} {image}: {100 * errors[image]:.1f} % wrong")
    console.print(table)
    if chosen.kinds:
        console.print(tabulate_kinds(tallies))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.frozen: {error}")
