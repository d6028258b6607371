"""What context gains and what it breaks: `python -m bench.language SOURCE [--cache FILE] [--weights DIR]`.

SOURCE is a table of line images (LINES.tsv, of which only held-out pages are read, each line alone), one JSON
list of pages with its images beside it, or a folder of our JSON. Everything is read once, without the
language model, and kept in FILE until the weights change; then the model is put over the readings, which
takes seconds. --given keeps the lines that pages have; otherwise they are found. Printed: AR before and after
(strict protocol, all pages together), characters wrong before and after, right ones made wrong and wrong ones
right, the same of rare characters (--counts, rank beyond 6,000) and of those with variants, how many forms
were exchanged for others of the same word, what the table of doubts gains, and time.

Lines are parted by their page: settings are chosen on one half (--half tune, with --grid), and figures are
those of the other (--half report).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.lines import to_page
from bench.machine import machine
from bench.pages import load_dev, load_folder
from tongguocr.alignment import DELETION, INSERTION, align
from tongguocr.characters import is_ideograph
from tongguocr.engines import open_engine
from tongguocr.engines.language_model import SHIPPED_LANGUAGE, LanguageModel, load_language
from tongguocr.engines.rescore import Context, main_form, rescore
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.formats.doubts import REASONS, reason_for
from tongguocr.formats.page_json import parse_json, render_json
from tongguocr.layout.columns import number_columns
from tongguocr.layout.detect import SHIPPED_DETECTOR, open_detector
from tongguocr.page import Char, Page
from tongguocr.reader import Reader
from tongguocr.training.synth.real_ink import is_history, page_of, read_images, split
from tongguocr.variants import fold, groups
from tongguocr.weights import MANIFEST, SHIPPED, read_manifest

RARE_FROM = 6000
"""The rank from which on a character counts as rare."""


@dataclass(frozen=True)
class Reading:
    """A page as read without the language model, and what stands on it."""

    page: Page
    wanted: str


def readings(
    source: Path, cache: Path, weights: Path | None, threads: int, given: bool = False
) -> list[Reading]:
    """What was read of the source, from the cache if it was read with these weights."""
    files = [read_manifest(folder / MANIFEST)["files"] for folder in (weights or SHIPPED, SHIPPED_DETECTOR)]
    # Readings depend on the files alone, not on what else a manifest says, as calibration.
    key = f"{source.resolve()} {given} {json.dumps(files)}"
    if cache.is_file():
        first, *rows = cache.read_text(encoding="utf-8").splitlines()
        if json.loads(first) == key:
            return [_from_row(row) for row in rows]
    start = time.perf_counter()
    found = list(_read(source, weights, threads, given))
    print(f"{len(found)} pages read in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    rows = [json.dumps(key), *map(_to_row, found)]
    cache.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return [_from_row(row) for row in rows[1:]]


def _to_row(reading: Reading) -> str:
    page = json.loads(render_json(reading.page))
    return json.dumps({"wanted": reading.wanted, "page": page}, ensure_ascii=False)


def _from_row(row: str) -> Reading:
    held = json.loads(row)
    page = parse_json(json.dumps(held["page"]).encode(), Path("cache"))
    return Reading(number_columns(page), held["wanted"])


def _read(source: Path, weights: Path | None, threads: int, given: bool) -> Iterator[Reading]:
    engine = open_engine("tongguocr", weights, threads)
    if source.suffix == ".tsv":
        reader = Reader(engine)
        for name, text, pixels in read_images(source, _is_held_out):
            yield Reading(reader.read(to_page(name, pixels)), text)
        return
    reader = Reader(engine, open_detector("tongguocr", None, threads))
    pages = load_folder(source) if source.is_dir() else load_dev(source, source.parent)
    for page in pages:
        wanted = page.full_text.replace("\n", "")
        yield Reading(reader.read(page if given else replace(page, lines=())), wanted)


def _is_held_out(name: str) -> bool:
    return is_history(name) and split(name) == "test"


def half_of(reading: Reading) -> str:
    """Which half of the held-out pages this one's book page belongs to."""
    digest = hashlib.sha256(page_of(reading.page.image).encode()).digest()
    return "tune" if digest[4] % 2 else "report"


@dataclass(frozen=True)
class Spot:
    """One character before and after the language model, and what stands on the page there."""

    before: Char
    after: Char
    wanted: str | None
    """None where the page has nothing."""

    def is_right(self, char: Char, folded: bool = False) -> bool:
        if self.wanted is None:
            return False
        return char.text == self.wanted or (folded and fold(char.text) == fold(self.wanted))


def spots(reading: Reading, model: LanguageModel, context: Context) -> Iterator[Spot]:
    """All characters of a page; the reading without the model is aligned with the page's text."""
    rescored = rescore(reading.page, model, context)
    before, after = ([c for line in page.lines for c in line.chars] for page in (reading.page, rescored))
    wanted = iter(reading.wanted)
    chars = zip(before, after, strict=True)
    for step in align(list(fold(reading.wanted)), [fold(char.text) for char in before]):
        there = None if step == INSERTION else next(wanted)
        # Rings and other marks, which most texts leave out, are not counted.
        if step != DELETION and is_ideograph((spot := Spot(*next(chars), there)).before.text[:1]):
            yield spot


def tally(found: Sequence[Spot]) -> list[int]:
    """How many there are, wrong before and after, made right, made wrong, and exchanged for other forms."""
    changed = [spot for spot in found if spot.before.text != spot.after.text]
    return [
        len(found),
        sum(not spot.is_right(spot.before) for spot in found),
        sum(not spot.is_right(spot.after) for spot in found),
        sum(spot.is_right(spot.after) for spot in changed),
        sum(spot.is_right(spot.before) for spot in changed),
        sum(_word(spot.before.text) == _word(spot.after.text) for spot in changed),
    ]


def _word(text: str) -> str:
    return fold(main_form(text))


def accuracy(read: Sequence[Reading], model: LanguageModel | None, context: Context) -> str:
    """AR over all pages together, plain and with variants folded."""
    pages = [r.page if model is None else rescore(r.page, model, context) for r in read]
    found, wanted = [p.full_text.replace("\n", "") for p in pages], [r.wanted for r in read]
    scores = (score_lines(found, wanted, PROTOCOLS["strict"], folded=f) for f in (False, True))
    return " (folded ".join(f"{100 * score.figures['AR']:.2f}" for score in scores) + ")"


def rare_characters(counts: Path) -> frozenset[str]:
    """All that are not among the most frequent of a table, whose first column is the character."""
    rows = counts.read_text(encoding="utf-8").splitlines()[1:]
    common = {row.split("\t")[0] for row in rows[:RARE_FROM]}
    return frozenset(row.split("\t")[0] for row in rows) - common


def groups_of(found: Sequence[Spot], rare: frozenset[str]) -> dict[str, list[Spot]]:
    """The rows of the table: groups by what stands on the page."""
    forms = {form for main, variants in groups() for form in main + variants}
    shown = {"all": list(found)}
    shown["rare on the page"] = [spot for spot in found if spot.wanted in rare]
    shown["with variants"] = [spot for spot in found if spot.wanted in forms]
    return shown


def doubts(found: Sequence[Spot]) -> list[str]:
    """One sentence for each reason in the table of doubts: how many rows, and how many of them are wrong."""
    said = []
    for name, pick in (("before", attrgetter("before")), ("after", attrgetter("after"))):
        for reason in REASONS:
            rows = [spot for spot in found if reason_for(pick(spot)) == reason]
            wrong = sum(not spot.is_right(pick(spot), folded=True) for spot in rows)
            if rows:
                said.append(
                    f"doubts {name}, {reason}: {len(rows)} rows, {wrong} wrong ({wrong / len(rows):.0%})"
                )
    return said


def milliseconds(read: Sequence[Reading], model: LanguageModel, context: Context) -> float:
    """Of a page, by itself, after a first one."""
    rescore(read[0].page, model, context)
    start = time.perf_counter()
    for reading in read:
        rescore(reading.page, model, context)
    return 1000 * (time.perf_counter() - start) / len(read)


def print_table(
    read: Sequence[Reading], model: LanguageModel, context: Context, rare: frozenset[str]
) -> None:
    found = [spot for reading in read for spot in spots(reading, model, context)]
    table = Table(title=f"{len(read)} pages, {context}; {machine()}")
    for name in ("characters", "number", "wrong before", "wrong after", "made right", "made wrong", "forms"):
        table.add_column(name, justify="left" if name == "characters" else "right")
    for name, group in groups_of(found, rare).items():
        table.add_row(name, *map(str, tally(group)))
    Console(width=120).print(table)
    print(f"AR {accuracy(read, None, context)} before, {accuracy(read, model, context)} after")
    unseen = [spot for spot in found if not spot.is_right(spot.before)]
    reach = sum(spot.wanted in dict(spot.before.candidates) for spot in unseen)
    forms = sum(spot.is_right(spot.before, folded=True) for spot in unseen)
    print(f"of {len(unseen)} wrong {reach} have the right one as a candidate, {forms} are other forms of it")
    print("\n".join(doubts(found)))
    print(f"{milliseconds(read, model, context):.1f} ms a page of {len(found) / len(read):.0f} characters")


def print_grid(read: Sequence[Reading], model: LanguageModel, context: Context, rare: frozenset[str]) -> None:
    """Made right and made wrong, the same of rare characters, and forms exchanged, for other settings."""
    table = Table(title=f"{len(read)} pages")
    for name in ("weight", "commonness", "AR", "right", "wrong", "gain", "rare right", "rare wrong", "forms"):
        table.add_column(name, justify="right")
    for commonness, weight in product((0.0, 1.0, 1.5, 2.0), (0.1, 0.2, 0.3, 0.4, 0.5, 0.7)):
        tried = replace(context, weight=weight, commonness=commonness)
        found = [spot for reading in read for spot in spots(reading, model, tried)]
        right, wrong, forms = tally(found)[3:]
        of_rare = tally([spot for spot in found if spot.wanted in rare])[3:5]
        counts = map(str, (right, wrong, right - wrong, *of_rare, forms))
        table.add_row(str(weight), str(commonness), accuracy(read, model, tried), *counts)
    Console(width=120).print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What the language model gains and breaks.")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="LINES.tsv, pages.json, a folder of JSON")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="where readings are kept")
    parser.add_argument(
        "--counts", type=Path, metavar="TSV", help="how often characters occur, for rare ones"
    )
    parser.add_argument("--weights", type=Path, metavar="DIR", help="of the recogniser")
    parser.add_argument("--language", type=Path, metavar="DIR", default=SHIPPED_LANGUAGE)
    parser.add_argument(
        "--half", choices=("tune", "report"), help="one half of the pages, parted by their names"
    )
    parser.add_argument("--grid", action="store_true", help="other settings, too")
    parser.add_argument("--given", action="store_true", help="lines as the pages have them")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    cache = chosen.cache or Path(tempfile.gettempdir()) / f"readings-{chosen.source.stem}.jsonl"
    read = readings(chosen.source, cache, chosen.weights, chosen.threads, chosen.given)
    read = [reading for reading in read if chosen.half in (None, half_of(reading))]
    if not read:
        raise InputError(f"{chosen.source}: there is no page in it.")
    start = time.perf_counter()
    model = load_language(chosen.language)
    print(f"{1000 * (time.perf_counter() - start):.0f} ms to load; classes, pairs, triples: {model.size}")
    rare = rare_characters(chosen.counts) if chosen.counts else frozenset[str]()
    print_table(read, model, Context(), rare)
    if chosen.grid:
        print_grid(read, model, Context(), rare)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.language: {error}")
