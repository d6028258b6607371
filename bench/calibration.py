"""Whether confidence is true: `python -m bench.calibration SOURCE --weights DIR [--fit] [--picture PNG]`.

SOURCE, --cache, --given and --language are those of bench.language; from a table of lines only held-out pages
are read. They are parted by their page: --fit fits on one half and writes the manifest in DIR; figures are
those of the other half, before (as the recogniser and context say) and after. Any other source is measured
whole, with what DIR's manifest has.

Printed: ECE (15 groups of equal mass), and the share of errors among the 5, 10 and 20 percent of characters
with the least confidence; strict, and with forms of one character as one (then confidence is that of the
word). Characters are ideographs as read, aligned with the label. A missing character is an error of that of
its neighbours which is less sure. Left out are characters where the label has none (`?`, private use), and
lines as mislabelled if neither our reading nor RapidOCR's has 30 percent of its characters in common with the
label: it belongs to another line.

Labels are wrong now and then (實 typed for 日). The rows "undisputed" leave out characters that RapidOCR
reads as we do and the label does not. That takes away most errors of labels, and also the errors that both
engines share, so these rows flatter: the truth lies between them and the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

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

Labelled: TypeAlias = tuple[Page, str, str | None]
"""A page as read, its label, and what the second engine reads."""
LEAST_ALIKE = 0.3
SHARES = (0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Judged:
    """Characters of many pages: rows are counted ones, ideographs."""

    sure: NDArray[np.float64]
    word: NDArray[np.float64]
    right: NDArray[np.bool_]
    right_word: NDArray[np.bool_]
    disputed: NDArray[np.bool_]
    """RapidOCR reads as we do, and the label has another word."""
    features: NDArray[np.float64]

    def pick(self, rows: NDArray[np.bool_]) -> Judged:
        return Judged(*(getattr(self, field.name)[rows] for field in fields(self)))


def similarity(found: str, wanted: str) -> float:
    """Characters in common, in order and with variants folded, of the longer of both texts."""
    matches = align(fold(wanted), fold(found)).count(MATCH)
    return matches / max(len(found), len(wanted), 1)


def second_readings(table: Path, cache: Path, names: Sequence[str], threads: int) -> dict[str, str]:
    """What RapidOCR reads of these lines; kept beside our readings, for it does not change with weights."""
    path = cache.with_suffix(".second.json")
    held: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    wanted = set(names) - held.keys()
    if wanted:
        reader = Reader(open_engine("rapidocr", None, threads))
        for name, _, pixels in read_images(table, wanted.__contains__):
            held[name] = _text(reader.read(to_page(name, pixels)))
        path.write_text(json.dumps(held, ensure_ascii=False), encoding="utf-8")
    return held


def is_mislabelled(reading: Reading, second: dict[str, str]) -> bool:
    """Whether the label is like neither reading."""
    texts = (_text(reading.page), second[reading.page.image])
    return all(similarity(text, reading.wanted) < LEAST_ALIKE for text in texts)


def _text(page: Page) -> str:
    return page.full_text.replace("\n", "")


@dataclass
class Verdicts:
    """Of each character: right, right as a word, whether the label says anything of it."""

    strict: list[bool]
    word: list[bool]
    counted: list[bool]


def errors_of(chars: Sequence[Char], wanted: str) -> Verdicts:
    """What the label says of each character; a missing one goes to a neighbour."""
    counted = [is_ideograph(char.text[:1]) for char in chars]
    found = Verdicts([True] * len(chars), [True] * len(chars), counted)
    label, at = iter(wanted), 0
    for step in align(list(fold(wanted)), [fold(char.text) for char in chars]):
        there = next(label) if step != INSERTION else ""
        if step == DELETION:
            near = [k for k in (at - 1, at) if 0 <= k < len(chars)]
            if near and is_ideograph(there):
                worst = min(near, key=lambda k: chars[k].confidence or 0.0)
                found.strict[worst] = found.word[worst] = False
            continue
        found.strict[at] = found.strict[at] and chars[at].text == there
        found.word[at] = found.word[at] and step == MATCH
        found.counted[at] = found.counted[at] and (not there or is_ideograph(there))
        at += 1
    return found


def agreed(chars: Sequence[Char], second: str) -> list[bool]:
    """Which characters the second engine reads, too."""
    steps = align(list(fold(second)), [fold(char.text) for char in chars])
    return [step == MATCH for step in steps if step != DELETION]


def judge(pages: Iterable[Labelled], model: LanguageModel | None) -> Judged:
    """All characters of the pages with what their labels say of them."""
    parts = []
    for page, wanted, second in pages:
        chars = [char for line in page.lines for char in line.chars]
        found = errors_of(chars, wanted)
        alike = np.array(agreed(chars, second) if second is not None else [False] * len(chars), bool)
        strict, word = np.array(found.strict, bool), np.array(found.word, bool)
        whole = Judged(
            np.array([char.confidence or 0.0 for char in chars]),
            np.array([word_confidence(char) for char in chars]),
            strict,
            word,
            alike & ~word,
            page_features(page, model),
        )
        parts.append(whole.pick(np.array(found.counted, bool)))
    names = [field.name for field in fields(Judged)]
    return Judged(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def figures(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> list[str]:
    found = [f"{100 * errors_found(sure, right, share):.1f}" for share in SHARES]
    return [str(len(sure)), str(int((~right).sum())), f"{calibration_error(sure, right):.4f}", *found]


def add_rows(table: Table, name: str, judged: Judged) -> None:
    kept = judged.pick(~judged.disputed)
    for part, rows in (("", judged), (", undisputed", kept)) if judged.disputed.any() else (("", judged),):
        table.add_row(f"{name}, strict{part}", *figures(rows.sure, rows.right))
        table.add_row(f"{name}, folded{part}", *figures(rows.word, rows.right_word))


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

    def pages(self, read: Sequence[Reading], second: dict[str, str]) -> list[Labelled]:
        pages = [rescore(r.page, self.model) if self.model else r.page for r in read]
        return [(page, r.wanted, second.get(r.page.image)) for page, r in zip(pages, read, strict=True)]

    def fit(self, read: Sequence[Reading]) -> Calibration:
        judged = judge(self.pages(read, {}), self.model)
        return fit_calibration(judged.features, judged.right)

    def measure(
        self, read: Sequence[Reading], second: dict[str, str], calibration: Calibration | None
    ) -> tuple[Judged, Judged]:
        """Before and after."""
        pages = self.pages(read, second)
        after = [(calibrate(p, calibration, self.model) if calibration else p, w, o) for p, w, o in pages]
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
    names = [reading.page.image for reading in read]
    second = second_readings(chosen.source, cache, names, chosen.threads) if is_table else {}
    kept = [reading for reading in read if not (second and is_mislabelled(reading, second))]
    left_out, read = len(read) - len(kept), kept
    tune = [reading for reading in read if is_table and half_of(reading) == "tune"]
    report = [reading for reading in read if not is_table or half_of(reading) == "report"]
    if not report:
        raise InputError(f"{chosen.source}: there is no page to measure on.")
    sides = (Side("picture alone", None), Side("with context", load_language(chosen.language)))
    if chosen.fit:
        save_calibration(chosen.weights, *(side.fit(tune) for side in sides))
    table = Table(title=f"{len(report)} pages, {left_out} left out as mislabelled; {machine()}")
    for name in ("", "characters", "errors", "ECE", *(f"in lowest {share:.0%}" for share in SHARES)):
        table.add_column(name, justify="right" if name else "left")
    curves: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
    for side in sides:
        calibration = load_calibration(chosen.weights, side.model is not None)
        before, after = side.measure(report, second, calibration)
        add_rows(table, f"{side.name}, as read", before)
        if calibration:
            add_rows(table, f"{side.name}, calibrated", after)
        curves |= {f"{side.name}, as read": (before.sure, before.right)}
        curves |= {f"{side.name}, calibrated": (after.sure, after.right)} if calibration else {}
    Console(width=132).print(table)
    if chosen.picture:
        draw(chosen.picture, curves)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.calibration: {error}")
