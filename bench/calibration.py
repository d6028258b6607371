"""Whether confidence is true: `python -m bench.calibration SOURCE --weights DIR [--fit] [--picture PNG]`.

SOURCE, --cache, --given and --language are those of bench.language; from a table of lines only held-out pages
are read. They are parted by their page: --fit fits on one half and writes the manifest in DIR; figures are
those of the other half, before (as the recogniser and context say) and after. Any other source is measured
whole, with what DIR's manifest has.

Printed: ECE (15 groups of equal mass), and the share of errors among the 5, 10 and 20 percent of characters
with the least confidence; strict, and with forms of one character as one (then confidence is that of the
word). Characters are ideographs as read, aligned with the label. A missing character is an error of that of
its neighbours which is less sure. A line is left out as mislabelled if neither our reading nor RapidOCR's has
30 percent of its characters in common with the label: it belongs to another line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.language import Reading, half_of, readings
from bench.lines import to_page
from bench.machine import machine
from tongguocr.alignment import DELETION, INSERTION, MATCH, align
from tongguocr.characters import is_ideograph
from tongguocr.engines import open_engine
from tongguocr.engines.calibration import (
    Calibration,
    calibrate,
    load_calibration,
    page_features,
    word_confidence,
)
from tongguocr.engines.language_model import SHIPPED_LANGUAGE, LanguageModel, load_language
from tongguocr.engines.rescore import rescore
from tongguocr.errors import InputError
from tongguocr.page import Char, Page
from tongguocr.reader import Reader
from tongguocr.training.calibration import (
    bins_of,
    calibration_error,
    errors_found,
    fit_calibration,
    save_calibration,
)
from tongguocr.training.synth.real_ink import read_images
from tongguocr.variants import fold
from tongguocr.weights import SHIPPED

LEAST_ALIKE = 0.3
SHARES = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Judged:
    """Characters of many pages: rows are counted ones, ideographs."""

    sure: NDArray[np.float64]
    word: NDArray[np.float64]
    right: NDArray[np.bool_]
    right_word: NDArray[np.bool_]
    features: NDArray[np.float64]


def similarity(found: str, wanted: str) -> float:
    """Characters in common, in order and with variants folded, of the longer of both texts."""
    matches = align(fold(wanted), fold(found)).count(MATCH)
    return matches / max(len(found), len(wanted), 1)


def mislabelled(read: Sequence[Reading], table: Path, threads: int) -> set[str]:
    """Names of the lines whose label is like neither reading; the second engine reads only what is odd."""
    odd = {r.page.image: r.wanted for r in read if similarity(_text(r.page), r.wanted) < LEAST_ALIKE}
    if not odd:
        return set()
    reader, found = Reader(open_engine("rapidocr", None, threads)), set()
    for name, wanted, pixels in read_images(table, odd.__contains__):
        if similarity(_text(reader.read(to_page(name, pixels))), wanted) < LEAST_ALIKE:
            found.add(name)
    return found


def _text(page: Page) -> str:
    return page.full_text.replace("\n", "")


def errors_of(chars: Sequence[Char], wanted: str) -> tuple[list[bool], list[bool]]:
    """For each character whether it is right, strictly and as a word; deletions go to a neighbour."""
    strict, word = [True] * len(chars), [True] * len(chars)
    label, at = iter(wanted), 0
    for step in align(list(fold(wanted)), [fold(char.text) for char in chars]):
        there = next(label) if step != INSERTION else None
        if step == DELETION:
            near = [k for k in (at - 1, at) if 0 <= k < len(chars)]
            if near and is_ideograph(there or ""):
                worst = min(near, key=lambda k: chars[k].confidence or 0.0)
                strict[worst] = word[worst] = False
            continue
        strict[at] = strict[at] and chars[at].text == there
        word[at] = word[at] and step == MATCH
        at += 1
    return strict, word


def judge(pages: Iterable[tuple[Page, str]], model: LanguageModel | None) -> Judged:
    """All characters of the pages with what their labels say of them."""
    sure, word, right, right_word, features = [], [], [], [], []
    for page, wanted in pages:
        chars = [char for line in page.lines for char in line.chars]
        counted = [is_ideograph(char.text[:1]) for char in chars]
        strict, as_word = errors_of(chars, wanted)
        sure += [char.confidence or 0.0 for char, c in zip(chars, counted, strict=True) if c]
        word += [word_confidence(char) for char, c in zip(chars, counted, strict=True) if c]
        right += [r for r, c in zip(strict, counted, strict=True) if c]
        right_word += [r for r, c in zip(as_word, counted, strict=True) if c]
        features.append(page_features(page, model)[np.array(counted, bool)])
    return Judged(
        np.array(sure), np.array(word), np.array(right), np.array(right_word), np.concatenate(features)
    )


def figures(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> list[str]:
    found = [f"{100 * errors_found(sure, right, share):.1f}" for share in SHARES]
    return [str(len(sure)), str(int((~right).sum())), f"{calibration_error(sure, right):.4f}", *found]


def add_rows(table: Table, name: str, judged: Judged) -> None:
    table.add_row(f"{name}, strict", *figures(judged.sure, judged.right))
    table.add_row(f"{name}, folded", *figures(judged.word, judged.right_word))


def draw(path: Path, curves: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]) -> None:
    """The reliability diagram: how often characters are right, by what their confidence says."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5), dpi=120)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for name, (sure, right) in curves.items():
        said, true, _ = zip(*bins_of(sure, right), strict=True)
        axes.plot(said, true, marker="o", markersize=3, label=name)
    axes.set(xlabel="confidence", ylabel="share of right characters", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


@dataclass(frozen=True)
class Side:
    """Text with or without the language model, and its calibration."""

    name: str
    model: LanguageModel | None

    def pages(self, read: Sequence[Reading]) -> list[tuple[Page, str]]:
        return [(rescore(r.page, self.model) if self.model else r.page, r.wanted) for r in read]

    def fit(self, read: Sequence[Reading]) -> Calibration:
        judged = judge(self.pages(read), self.model)
        return fit_calibration(judged.features, judged.right)

    def measure(self, read: Sequence[Reading], calibration: Calibration | None) -> tuple[Judged, Judged]:
        """Before and after."""
        pages = self.pages(read)
        after = [(calibrate(p, calibration, self.model), w) for p, w in pages] if calibration else pages
        return judge(pages, self.model), judge(after, self.model)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether confidence is true, and where errors are.")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="LINES.tsv, pages.json, a folder of JSON")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="where readings are kept")
    parser.add_argument("--weights", type=Path, metavar="DIR", default=SHIPPED)
    parser.add_argument("--language", type=Path, metavar="DIR", default=SHIPPED_LANGUAGE)
    parser.add_argument("--given", action="store_true", help="lines as the pages have them")
    parser.add_argument("--fit", action="store_true", help="fit, and write DIR's manifest")
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="a reliability diagram")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    cache = chosen.cache or Path(tempfile.gettempdir()) / f"readings-{chosen.source.stem}.jsonl"
    read = readings(chosen.source, cache, chosen.weights, chosen.threads, chosen.given)
    is_table = chosen.source.suffix == ".tsv"
    if chosen.fit and not is_table:
        raise InputError("--fit needs a table of lines.")
    left_out = mislabelled(read, chosen.source, chosen.threads) if is_table else set[str]()
    read = [reading for reading in read if reading.page.image not in left_out]
    tune = [reading for reading in read if is_table and half_of(reading) == "tune"]
    report = [reading for reading in read if not is_table or half_of(reading) == "report"]
    if not report:
        raise InputError(f"{chosen.source}: there is no page to measure on.")
    sides = (Side("picture alone", None), Side("with context", load_language(chosen.language)))
    if chosen.fit:
        save_calibration(chosen.weights, *(side.fit(tune) for side in sides))
    table = Table(title=f"{len(report)} pages, {len(left_out)} left out as mislabelled; {machine()}")
    for name in ("", "characters", "errors", "ECE", *(f"in lowest {share:.0%}" for share in SHARES)):
        table.add_column(name, justify="right" if name else "left")
    curves = {}
    for side in sides:
        calibration = load_calibration(chosen.weights, side.model is not None)
        before, after = side.measure(report, calibration)
        add_rows(table, f"{side.name}, as read", before)
        if calibration:
            add_rows(table, f"{side.name}, calibrated", after)
        curves |= {f"{side.name}, as read": (before.sure, before.right)}
        curves |= {f"{side.name}, calibrated": (after.sure, after.right)} if calibration else {}
    Console(width=120).print(table)
    if chosen.picture:
        draw(chosen.picture, curves)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.calibration: {error}")
