"""Predictions and references on disk: two files or two folders in, the summary of report.py out.

Folders are matched by file stem. Pages are read and scored one by one, in several processes where there are
many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.evaluate.occurrences import read_added
from tongguocr.evaluate.protocols import PROTOCOLS, PageScore, check_installed, score_lines
from tongguocr.evaluate.report import Summary, summarise
from tongguocr.formats import READ_ENDINGS, files_by_stem, page_stem, read_page

PAGES_A_WORKER = 40
"""A process takes about a quarter of a second to start: with fewer pages than this it does not pay."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One page to score."""

    stem: str
    prediction: Path | None
    """None where the page was lost: it is scored as an empty prediction."""
    reference: Path


def evaluate(
    prediction: Path,
    reference: Path,
    protocol: str = "paper",
    *,
    fold_variants: bool = False,
    added: Path | None = None,
    fold: bool = True,
    workers: int = 1,
    warn: Callable[[str], None] = lambda message: None,
) -> Summary:
    """Score two files or two folders; what is missing or left over is told to `warn`, a sentence each.

    Without `fold`, lines that a file calls running titles or folio numbers do not count, on either side.
    """
    check_installed(PROTOCOLS[protocol])
    characters = None if added is None else read_added(added)
    pairs = find_pairs(prediction, reference, warn)
    score = partial(_score_pair, protocol=protocol, added=characters, fold_variants=fold_variants, fold=fold)
    scores = list(_map(score, pairs, workers))
    result: Summary = {"protocol": protocol, "pages": len(pairs)}
    plain = {pair.stem: views[0] for pair, views in zip(pairs, scores, strict=True)}
    result |= summarise(plain, PROTOCOLS[protocol])
    if fold_variants:
        folded = {pair.stem: views[1] for pair, views in zip(pairs, scores, strict=True)}
        result["folded"] = summarise(folded, PROTOCOLS[protocol])
    return result


def find_pairs(prediction: Path, reference: Path, warn: Callable[[str], None]) -> list[Pair]:
    """The pages to score: every reference, with its prediction or without."""
    for path in (prediction, reference):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder.")
    if prediction.is_dir() != reference.is_dir():
        folder, file = (prediction, reference) if prediction.is_dir() else (reference, prediction)
        raise InputError(f"{folder}: this is a folder, but {file} is a file; give two files or two folders.")
    if not reference.is_dir():
        return [Pair(page_stem(reference), prediction, reference)]
    return _pair_folders(prediction, reference, warn)


def _pair_folders(prediction: Path, reference: Path, warn: Callable[[str], None]) -> list[Pair]:
    found, expected = files_by_stem(prediction, warn), files_by_stem(reference, warn)
    if not expected:
        raise InputError(f"{reference}: there is no reference ({', '.join(READ_ENDINGS)}) in this folder.")
    if not found.keys() & expected.keys():
        raise InputError(f"{prediction}: no file here has the same stem as one in {reference}.")
    for stem in sorted(found.keys() - expected.keys()):
        warn(f"{found[stem]}: there is no reference for this prediction; it is not scored.")
    for stem in sorted(expected.keys() - found.keys()):
        warn(f"{expected[stem]}: there is no prediction for this reference; it counts as an empty one.")
    return [Pair(stem, found.get(stem), expected[stem]) for stem in sorted(expected)]


def _map(
    score: Callable[[Pair], list[PageScore]], pairs: list[Pair], workers: int
) -> Iterable[list[PageScore]]:
    workers = min(workers, len(pairs) // PAGES_A_WORKER)
    if workers < 2:
        return map(score, pairs)
    # Spawned, not forked: numpy may hold threads, and a fork of a threaded process can hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(score, pairs, chunksize=PAGES_A_WORKER // 4))


def _score_pair(
    pair: Pair, *, protocol: str, added: frozenset[str] | None, fold_variants: bool, fold: bool
) -> list[PageScore]:
    """The plain score, and the folded one after it where that is asked for."""
    predicted = _lines(pair.prediction, fold) if pair.prediction is not None else []
    reference = _lines(pair.reference, fold)
    views = (False, True) if fold_variants else (False,)
    rules = PROTOCOLS[protocol]
    return [score_lines(predicted, reference, rules, added=added, folded=folded) for folded in views]


def _lines(path: Path, fold: bool) -> list[str]:
    """The text of a file's lines, whatever their kind, or without those of the fold."""
    return [line.text for line in read_page(path).lines if fold or line.kind != "fold"]
