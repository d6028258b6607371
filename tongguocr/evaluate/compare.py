"""Engines side by side: a folder of images with references in, all figures and the speed of each engine out.

Two ways. With the references' lines given, only the reading is compared. End to end, everyone does what their
own user would get: we find lines, order and read them; RapidOCR and Tesseract take the page with their own
detectors and their own order; a server's model gets the whole page. docs/compare.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tongguocr.devices import AUTO, CPU
from tongguocr.engines import ENGINES, EngineOptions, find_engine
from tongguocr.errors import InputError
from tongguocr.evaluate.protocols import PROTOCOLS, PageScore, check_installed, score_lines
from tongguocr.evaluate.report import Summary, summarise
from tongguocr.formats import files_by_stem, read_page
from tongguocr.geometry import area
from tongguocr.page import Page, bare_page
from tongguocr.reader import DEFAULT_DETECTOR, Setup, open_reader, take_lines, takes_device, where_it_can
from tongguocr.sources import IMAGE_SUFFIXES, load_pixels

if TYPE_CHECKING:
    from tongguocr.engines import WholeReader

ReadText: TypeAlias = Callable[[Page], list[str]]
"""A page with pixels, and with lines where they are given, in; its text in lines, in reading order, out."""
Warn: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Comparing:
    """What is compared, and how."""

    engines: tuple[str, ...] = ()
    """By name; without names, all that are there."""
    given_lines: bool = False
    detector: str = DEFAULT_DETECTOR
    """What finds lines for us, end to end."""
    weights: Path | None = None
    url: str | None = None
    model: str | None = None
    protocol: str = "paper"
    fold_variants: bool = False
    turn: bool = True
    """Whether we turn pages that lie on their side or upside down, end to end."""
    device: str = AUTO
    """Where our models compute; the other engines compute where they always do."""


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """One image and what is written on it."""

    stem: str
    image: Path
    reference: Path


Follow: TypeAlias = Callable[[Sequence[LabelledImage], str], Iterable[LabelledImage]]


def compare(
    folder: Path,
    comparing: Comparing = Comparing(),
    warn: Warn = lambda sentence: None,
    follow: Follow = lambda labelled_images, name: labelled_images,
) -> Summary:
    """The figures of every engine; `follow` hands on the pages that one of them reads, and may show a bar."""
    check_installed(PROTOCOLS[comparing.protocol])
    labelled_images = find_labelled_images(folder, warn)
    for labelled in labelled_images if comparing.given_lines else ():
        _check_lines(labelled)
    readers, absent = open_readers(comparing)
    result: Summary = {
        "way": "given lines" if comparing.given_lines else "end to end",
        "protocol": comparing.protocol,
        "pages": len(labelled_images),
        "engines": {},
        "absent": absent,
    }
    if not comparing.given_lines and any(ENGINES[name].open_whole is None for name in readers):
        result["detector"] = comparing.detector
    for name, read in readers.items():
        result["engines"][name] = _measure(follow(labelled_images, name), read, comparing)
    return result


def find_labelled_images(folder: Path, warn: Warn = lambda sentence: None) -> list[LabelledImage]:
    """The images of a folder that have a reference of the same stem; what lacks the other is told."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder.")
    references = files_by_stem(folder, warn)
    images = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in IMAGE_SUFFIXES}
    for stem in sorted(references.keys() - images.keys()):
        warn(f"{references[stem]}: there is no image of this name; it is not compared.")
    for stem in sorted(images.keys() - references.keys()):
        warn(f"{images[stem]}: there is no reference for this image; it is not compared.")
    both = sorted(references.keys() & images.keys())
    labelled_images = [LabelledImage(stem, images[stem], references[stem]) for stem in both]
    if not labelled_images:
        raise InputError(f"{folder}: there is no image here with a reference (.json, .xml, .alto or .txt).")
    return labelled_images


def _check_lines(labelled: LabelledImage) -> None:
    lines = read_page(labelled.reference).lines
    if lines and all(area(line.box) <= 0 for line in lines):
        raise InputError(f"{labelled.reference}: this reference does not say where its lines are.")


def open_readers(comparing: Comparing) -> tuple[dict[str, ReadText], dict[str, str]]:
    """What reads, by name, and why the others are absent. An engine asked for by name has to be there."""
    readers: dict[str, ReadText] = {}
    absent: dict[str, str] = {}
    on_device = comparing.device in (AUTO, CPU)
    for name in dict.fromkeys(comparing.engines or compared(comparing.url)):
        entry = find_engine(name)
        try:
            if comparing.given_lines or entry.open_whole is None:
                setup = _setup(name, comparing)
                on_device |= takes_device(setup)
                readers[name] = _open_reader(setup)
            else:
                readers[name] = _open_whole(entry.open_whole, comparing)
        except InputError as error:
            if comparing.engines:
                raise
            absent[name] = str(error)
    if not readers:
        raise InputError(f"There is no engine to compare: {' '.join(absent.values())}")
    if not on_device:
        raise InputError(f"None of {', '.join(readers)} can be told to compute on {comparing.device}.")
    return readers, absent


def compared(url: str | None) -> list[str]:
    """Who is compared when nobody is named: no model that fills a machine, a server only at an address."""
    return [name for name, entry in ENGINES.items() if not entry.full_size and (url or not entry.remote)]


def _open_reader(setup: Setup) -> ReadText:
    """An engine that reads our blocks, of given lines or of those that the detector finds."""
    reader = open_reader(where_it_can(setup))
    return lambda page: [line.text for line in reader.read(page).lines]


def _setup(name: str, comparing: Comparing) -> Setup:
    detector = None if comparing.given_lines else comparing.detector
    return Setup(
        name,
        comparing.weights,
        url=comparing.url,
        model=comparing.model,
        detector=detector,
        turn=comparing.turn,
        device=comparing.device,
    )


def _open_whole(open_whole: Callable[[EngineOptions], WholeReader], comparing: Comparing) -> ReadText:
    """An engine that reads whole pages, in the way of its own users."""
    read = open_whole(EngineOptions(comparing.weights, url=comparing.url, model=comparing.model))

    def read_text(page: Page) -> list[str]:
        assert page.pixels is not None
        return read(page.pixels)

    return read_text


def _measure(labelled_images: Iterable[LabelledImage], read: ReadText, comparing: Comparing) -> Summary:
    """One engine's figures over all pages, and how many it reads a minute; loading does not count."""
    protocol = PROTOCOLS[comparing.protocol]
    plain: dict[str, PageScore] = {}
    folded: dict[str, PageScore] = {}
    seconds = 0.0
    for labelled in labelled_images:
        page, wanted = _load(labelled, comparing.given_lines)
        start = time.perf_counter()
        found = read(page)
        seconds += time.perf_counter() - start
        plain[labelled.stem] = score_lines(found, wanted, protocol)
        if comparing.fold_variants:
            folded[labelled.stem] = score_lines(found, wanted, protocol, folded=True)
    result = {**summarise(plain, protocol), "pages_a_minute": round(60 * len(plain) / max(seconds, 1e-9), 2)}
    return result | ({"folded": summarise(folded, protocol)} if folded else {})


def _load(labelled: LabelledImage, given_lines: bool) -> tuple[Page, list[str]]:
    """The page to read, without any text, and the text of its reference."""
    page, known = bare_page(labelled.image.name, load_pixels(labelled.image)), read_page(labelled.reference)
    wanted = [line.text for line in known.lines]
    if not given_lines:
        return page, wanted
    return take_lines(page, known, labelled.reference), wanted
