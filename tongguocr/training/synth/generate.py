"""Synthetic pages into a folder: what `tongguocr synth` does.

In: `SynthOptions`. Out: images with their ground truth, and tables of what is in the folder. Page k depends
on the seed and on k alone, so the same options give the same pages with any number of workers. The frozen
benchmark has all options fixed: 200 pages in turn over its kinds, and 120 more of the kinds that came later,
set in faces and from documents that training never sees, with the same few faces for rare characters
everywhere.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tongguocr.characters import is_ideograph
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes, write_bytes
from tongguocr.training.synth.composition import Composition, scaled
from tongguocr.training.synth.degradation import NO_DEGRADATION
from tongguocr.training.synth.export import export_page, prepare, write_lists
from tongguocr.training.synth.fonts import FontBook, known_faces, load_fonts
from tongguocr.training.synth.kinds import (
    BENCHMARK_KINDS,
    KINDS,
    SECOND_BENCHMARK_KINDS,
    compose_page,
    pick_kind,
)
from tongguocr.training.synth.text import TextSource, from_characters, load_text

SHOWN = 40
"""So many undrawable characters are printed; the file has them all."""
SIDES = (64, 10_000)
"""The least and the most that a page may be high or wide."""
BENCH_FALLBACKS = ("HanaMinA", "HanaMinB", "TW-Kai", "TW-Kai-ExtB")
"""What the benchmark draws with where no held-out face has the character."""


@dataclass(frozen=True, slots=True)
class SynthOptions:
    """Which pages are wanted, and where."""

    fonts: Path
    out: Path
    count: int = 1
    seed: int = 0
    kinds: tuple[str, ...] = ()
    """Only these kinds; without any, all of them by their shares."""
    text: Path | None = None
    chars: Path | None = None
    """A list of characters to draw from instead of a text."""
    formats: tuple[str, ...] = ("json", "page")
    size: tuple[int, int] | None = None
    """Pages are scaled to fit into this width and height."""
    degraded: bool = True
    png: bool = False
    bench: int = 0
    """Which part of the frozen benchmark this is; 0: none."""
    workers: int = 1


@dataclass(frozen=True, slots=True)
class BenchmarkPart:
    """What is fixed of one part of the frozen benchmark."""

    pages: int
    seed: int
    kinds: tuple[str, ...]


BENCHMARK = {
    1: BenchmarkPart(200, 1911, BENCHMARK_KINDS),
    2: BenchmarkPart(120, 1935, SECOND_BENCHMARK_KINDS),
}
"""The frozen benchmark by the number of its parts."""


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """One page that was written."""

    name: str
    kind: str
    face: str
    lines: int
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """Which pages were written, and what is in them."""

    pages: tuple[WrittenPage, ...]
    missing: tuple[str, ...]
    """Characters that were asked for and that no face draws."""
    kinds: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Resources:
    """What every worker needs: the options, and the fonts and text that they name, loaded once."""

    options: SynthOptions
    fonts: FontBook
    text: TextSource


def parse_options(args: Mapping[str, Any]) -> SynthOptions:
    """Options from the command's arguments; the benchmark's are fixed but for its folders and text."""
    formats = tuple(name.strip() for name in args["format"].split(",") if name.strip())
    if not formats:
        raise InputError("--format: at least one format is needed.")
    workers = _number(args, "workers", os.cpu_count() or 1, least=1)
    options = SynthOptions(args["fonts"], args["out"], text=args["text"], formats=formats, workers=workers)
    if args["bench"]:
        for name in ("n", "seed", "kind", "chars", "size", "clean", "png"):
            if args[name] is not None and args[name] is not False:
                raise InputError(f"--bench is the same everywhere; leave out {_option(name)}.")
        number = int(args["bench"])
        if number not in BENCHMARK:
            raise InputError(
                f"--bench: there is no part {number}; take one of {', '.join(map(str, BENCHMARK))}."
            )
        part = BENCHMARK[number]
        return replace(options, count=part.pages, seed=part.seed, kinds=part.kinds, bench=number)
    if args["text"] and args["chars"]:
        raise InputError("--text and --chars are both given; take one of them.")
    return replace(
        options,
        count=_number(args, "n", 1, least=1),
        seed=_number(args, "seed", 0, least=0),
        kinds=tuple(args["kind"] or ()),
        chars=args["chars"],
        size=parse_size(args["size"]) if args["size"] else None,
        degraded=not args["clean"],
        png=args["png"],
    )


def _option(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _number(args: Mapping[str, Any], name: str, default: int, least: int) -> int:
    value: int = default if args[name] is None else args[name]
    if value < least:
        raise InputError(f"{_option(name)}: {value} is less than {least}.")
    return value


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from `1200x1600`."""
    found = re.fullmatch(r"([0-9]+)[xX×]([0-9]+)", text)
    width, height = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (SIDES[0] <= width <= SIDES[1] and SIDES[0] <= height <= SIDES[1]):
        raise InputError(f"--size: {text!r} is no size such as 1200x1600 of {SIDES[0]} to {SIDES[1]} pixels.")
    return width, height


def make_pages(options: SynthOptions, progress: Callable[[int], None] | None = None) -> Report:
    """Write all pages; `progress` takes the number that are done."""
    resources, missing = load_resources(options)
    prepare(options.out, options.formats)
    written: list[WrittenPage] = []
    for page in _make_all(resources):
        written.append(page)
        if progress:
            progress(len(written))
    report = Report(
        tuple(written),
        tuple(missing),
        Counter(page.kind for page in written),
        Counter(char for page in written for char in page.text),
    )
    _write_report(report, options)
    return report


def load_resources(options: SynthOptions) -> tuple[Resources, list[str]]:
    """The fonts and the text, and the characters of that text that no font draws."""
    for kind in options.kinds:
        if kind not in KINDS:
            raise InputError(f"There is no kind of page {kind!r}; take some of {', '.join(KINDS)}.")
    fonts = load_fonts(options.fonts)
    if options.bench:
        fonts = benchmark_fonts(fonts, options.fonts)
    # A wrong folder should be told now and not by every worker.
    fonts.pick(np.random.default_rng(0), bool(options.bench))
    drawn = None if options.bench else False
    if options.chars is None:
        text = load_text(options.text, bool(options.bench))
        return Resources(options, fonts, text), fonts.missing(_characters_of(text), drawn)
    wanted = [c for c in decode_utf8(read_bytes(options.chars), options.chars) if not c.isspace()]
    missing = set(fonts.missing(wanted, drawn))
    kept = "".join(c for c in wanted if c not in missing)
    if not any(is_ideograph(c) or c in "〇○" for c in kept):
        raise InputError(f"{options.chars}: no font draws any of these characters.")
    return Resources(options, fonts, from_characters(kept)), [
        c for c in dict.fromkeys(wanted) if c in missing
    ]


def benchmark_fonts(fonts: FontBook, folder: Path) -> FontBook:
    """The held-out faces and the benchmark's fallbacks among these fonts; all of them must be there."""
    listed = {face["key"]: face for face in known_faces()}
    needed = [key for key in listed if listed[key].get("held_out") or key in BENCH_FALLBACKS]
    found = {face.key: face for face in fonts.faces}
    for key in needed:
        if key not in found:
            package = listed[key]["package"]
            raise InputError(f"{folder}: the benchmark needs the face {key} (package: {package}).")
    return FontBook(tuple(found[key] for key in sorted(needed)))


def page_seed(seed: int, number: int) -> int:
    """The seed of page `number`, unlike that of any other page with this or another seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def page_kind(options: SynthOptions, number: int) -> str:
    """The kind of page `number`: the kinds that were asked for in turn, or any by its share."""
    if options.kinds:
        return options.kinds[number % len(options.kinds)]
    return pick_kind(np.random.default_rng([options.seed, number, 1]))


def compose(resources: Resources, number: int) -> Composition:
    """Page `number`, before ink."""
    options = resources.options
    seed, kind = page_seed(options.seed, number), page_kind(options, number)
    composition = compose_page(kind, resources.text, resources.fonts, seed, bool(options.bench))
    if options.size is None:
        return composition
    width, height = options.size
    return scaled(composition, min(width / composition.width, height / composition.height))


def make_page(resources: Resources, number: int) -> WrittenPage:
    """Compose, paint and write one page."""
    from tongguocr.training.synth.paint import render

    options, composition = resources.options, compose(resources, number)
    pixels, page = render(composition, resources.fonts, None if options.degraded else NO_DEGRADATION)
    name = f"{number + 1:05d}-{composition.kind}"
    export_page(page, pixels, name, options.out, options.formats, "png" if options.png else "jpg")
    labelled = composition.labelled()
    counted = Counter(resources.fonts.faces[face].key for face in composition.faces[labelled].tolist())
    face = counted.most_common(1)[0][0] if counted else ""
    text = "".join(char for char, read in zip(composition.text, labelled.tolist(), strict=True) if read)
    return WrittenPage(name, composition.kind, face, len(page.lines), text)


_resources: Resources | None = None
"""In a worker process: what `_init_worker` was given."""


def _init_worker(resources: Resources) -> None:
    global _resources
    _resources = resources


def _make_in_worker(number: int) -> WrittenPage:
    assert _resources is not None
    return make_page(_resources, number)


def _make_all(resources: Resources) -> Iterator[WrittenPage]:
    options = resources.options
    if options.workers <= 1:
        yield from (make_page(resources, number) for number in range(options.count))
        return
    # Fresh processes, on every system: a forked one may inherit a lock that a thread of ours held.
    with ProcessPoolExecutor(
        min(options.workers, options.count),
        get_context("spawn"),
        initializer=_init_worker,
        initargs=(resources,),
    ) as pool:
        yield from pool.map(_make_in_worker, range(options.count))


def _characters_of(text: TextSource) -> Iterable[str]:
    found: set[str] = set().union(*(line for document in text.documents for line in document.lines))
    return sorted(char for char in found if is_ideograph(char) or char in "〇○")


def _write_report(report: Report, options: SynthOptions) -> None:
    """What is in the folder, as tables: the pages, and the characters that could not be drawn."""
    rows = [("name", "kind", "face", "lines", "characters")]
    rows += [(p.name, p.kind, p.face, str(p.lines), str(len(p.text))) for p in report.pages]
    write_bytes("".join("\t".join(row) + "\n" for row in rows).encode(), options.out / "pages.tsv")
    (options.out / "missing.tsv").unlink(missing_ok=True)
    if report.missing:
        missing = "".join(f"{char}\tU+{ord(char):04X}\n" for char in report.missing)
        write_bytes(missing.encode(), options.out / "missing.tsv")
    split = "test" if options.bench else "train"
    write_lists(options.out, [p.name for p in report.pages], report.characters, options.formats, split)


def generate(options: SynthOptions) -> None:
    """Write the pages with a progress bar on standard error, and say on standard output what was written."""
    from tongguocr.progress import page_bar

    with page_bar(options.count) as bar:
        report = make_pages(options, lambda done: bar.step())
    print("\n".join(summary(report, options)))


def summary(report: Report, options: SynthOptions) -> Iterator[str]:
    """The report as lines of text."""
    total, distinct = report.characters.total(), len(report.characters)
    yield f"{len(report.pages)} pages, {total} characters, {distinct} of them different: {options.out}"
    for kind, count in report.kinds.most_common():
        yield f"  {kind:<16}{count:>6}"
    if report.missing:
        shown = "".join(report.missing[:SHOWN]) + ("…" if len(report.missing) > SHOWN else "")
        where = options.out / "missing.tsv"
        yield f"{len(report.missing)} characters that no font here draws: {shown} ({where})"
