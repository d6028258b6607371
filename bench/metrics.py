"""How fast pages are scored: synthetic page pairs in, a table of seconds out.

    python -m bench.metrics [--pages 1000]

Every protocol runs through the code of `tongguocr eval`: text files are read, scored and summed up, in as
many processes as there are cores. The baseline, in the same run, is the straightforward way: nltk's
sentence_bleu, rapidfuzz's editops and Python sets, on texts in memory, without cleaning and without reading
order, on one core. It is no target: it leaves out what is hard, and its CR follows another alignment.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rapidfuzz.distance import Levenshtein
from rich.console import Console
from rich.table import Table

from bench.machine import processor
from tongguocr.evaluate.files import evaluate
from tongguocr.evaluate.protocols import PROTOCOLS

LINES, CHARACTERS = 50, 20
ALPHABET = [chr(code) for code in range(0x4E00, 0x4E00 + 4000)]
Pages = list[tuple[list[str], list[str]]]


def make_pages(number: int, seed: int = 7) -> Pages:
    """Pairs (prediction, reference): 5 to 10 % of the characters wrong, some lines swapped, some lost."""
    rng = random.Random(seed)
    pages: Pages = []
    for _ in range(number):
        reference = ["".join(rng.choices(ALPHABET, k=CHARACTERS)) for _ in range(LINES)]
        share = rng.uniform(0.05, 0.10)
        predicted = [misread(line, share, rng) for line in reference]
        for _ in range(rng.randrange(4)):
            i = rng.randrange(LINES - 1)
            predicted[i], predicted[i + 1] = predicted[i + 1], predicted[i]
        if rng.random() < 0.2:
            del predicted[rng.randrange(LINES)]
        pages.append((predicted, reference))
    return pages


def misread(line: str, share: float, rng: random.Random) -> str:
    """The line with about this share of its characters replaced, dropped or followed by another."""
    result = []
    for char in line:
        if rng.random() >= share:
            result.append(char)
        else:
            result.append(rng.choice((rng.choice(ALPHABET), "", char + rng.choice(ALPHABET))))
    return "".join(result)


def write_pages(pages: Pages, folder: Path) -> tuple[Path, Path]:
    folders = folder / "prediction", folder / "reference"
    for side, target in enumerate(folders):
        target.mkdir()
        for number, page in enumerate(pages):
            (target / f"{number:05}.txt").write_text("\n".join(page[side]) + "\n", encoding="utf-8")
    return folders


def straightforward(pages: Pages) -> dict[str, float]:
    """The baseline: AR, CR, NED, F1, P, R and BLEU, means over pages."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    sums = dict.fromkeys(("AR", "CR", "NED", "F1", "P", "R", "BLEU"), 0.0)
    smoothing = SmoothingFunction().method1
    for predicted, expected in pages:
        prediction, reference = "".join(predicted), "".join(expected)
        tags = [edit.tag for edit in Levenshtein.editops(reference, prediction)]
        sums["AR"] += 1 - len(tags) / len(reference)
        sums["CR"] += 1 - (len(tags) - tags.count("insert")) / len(reference)
        sums["NED"] += len(tags) / max(len(reference), len(prediction))
        common, ours, theirs = set(prediction) & set(reference), set(prediction), set(reference)
        precision, recall = len(common) / len(ours), len(common) / len(theirs)
        sums["P"] += precision
        sums["R"] += recall
        sums["F1"] += 2 * precision * recall / (precision + recall)
        bleu = sentence_bleu([list(reference)], list(prediction), smoothing_function=smoothing)
        sums["BLEU"] += float(bleu)
    return {key: 100 * value / len(pages) for key, value in sums.items()}


def timed(work: Callable[[], dict[str, float]]) -> tuple[float, dict[str, float]]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the scoring of synthetic pages.")
    parser.add_argument("--pages", type=int, default=1000)
    pages = make_pages(parser.parse_args().pages)
    cores = os.cpu_count() or 1
    machine = f"{processor()}, {cores} cores, Python {platform.python_version()}"
    table = Table(
        title=f"{machine}\n{len(pages)} pages of {LINES * CHARACTERS} characters", title_justify="left"
    )
    for column in ("protocol", "seconds", "pages/s", "baseline / ours", "AR", "CR", "BLEU", "RO-ED"):
        table.add_column(column, justify="right")
    straightforward(pages[:1])  # the import of nltk is not the baseline's fault
    baseline, figures = timed(lambda: straightforward(pages))
    rows = [("baseline (no RO-ED)", baseline, figures)]
    with tempfile.TemporaryDirectory() as folder:
        prediction, reference = write_pages(pages, Path(folder))
        for name in PROTOCOLS:
            work = lambda name=name: evaluate(prediction, reference, name, workers=cores)  # noqa: E731
            rows.append((name, *timed(work)))
    for name, seconds, figures in rows:
        shown = (f"{figures[key]:.2f}" if key in figures else "-" for key in ("AR", "CR", "BLEU", "RO-ED"))
        table.add_row(
            name, f"{seconds:.2f}", f"{len(pages) / seconds:.0f}", f"{baseline / seconds:.2f}", *shown
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
