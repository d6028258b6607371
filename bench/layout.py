"""How well and how fast lines are found: `python -m bench.layout FOLDER --weights DIR`.

    python -m bench.layout FOLDER [--weights DIR] [--detector tongguocr --detector rapidocr]
    python -m bench.layout --dev PAGES.json FOLDER
    python -m bench.layout --chars FOLDER [--all]
    python -m bench.layout --lines FOLDER [--all]

FOLDER holds pages as our JSON with their images beside them. A line is found if its box shares half of the
area with it (IoU 0.5), one to one. F1 counts lines, kinds those that are found; RO-ED compares the order of
the found lines with the reference's, a line too many or too few being one edit. With `--dev` the reference is
whole columns of text (see bench.recogniser), so found lines of one column are joined first, the fold's lines
beside all columns, which no text has, do not count, and other lines whose middle is in no column count as
strays. With `--chars` the folder has character boxes: a character is found if its centre is in the box; only
pages that training does not see count, unless `--all`. With `--lines` the folder has labelled lines
(training/detector/line_pages.py), which leave out the fold and the margins: lines that are found outside of
the labelled block, in a box that nobody has read, or as fold or margin, do not count against it. Each
detector runs in a process of its own; memory is the most that process took, pages included. Seconds do not
count loading or the first, warming-up page.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment

from bench.pages import load_dev, load_folder
from tongguocr.errors import InputError
from tongguocr.evaluate.order import order_edits
from tongguocr.geometry import Box, area, centre, intersection, union
from tongguocr.layout.detect import DETECTORS, find_lines, open_detector
from tongguocr.layout.detection import Detection, LineDetector
from tongguocr.layout.notes import find_columns
from tongguocr.layout.peaks import Floats
from tongguocr.page import KINDS, Line, Page, Pixels, bare_page
from tongguocr.training.detector.line_pages import line_boxes, line_kinds, read_entries
from tongguocr.training.detector.real_pages import HELD_OUT_PARTS, is_held_out, read_char_pages
from tongguocr.training.detector.validation import match_centres

BY_PLACE = "tongguocr, kinds by place"
"""Our detector, with kinds as the rules of reading order tell them."""


@dataclass(frozen=True)
class Score:
    """Counts over one page or several."""

    found: int = 0
    """Lines of both sides that are the same."""
    given: int = 0
    wanted: int = 0
    right_kind: int = 0
    edits: int = 0
    length: int = 0
    strays: int = 0
    seconds: float = 0.0
    pages: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*(a + b for a, b in zip(_values(self), _values(other), strict=True)))


def _values(score: Score) -> tuple[float, ...]:
    return tuple(getattr(score, name) for name in Score.__dataclass_fields__)


@dataclass(frozen=True)
class Task:
    """What one process does."""

    detector: str
    folder: Path
    weights: Path | None
    threads: int
    dev: Path | None = None
    chars: bool = False
    lines: bool = False
    every_page: bool = False


@dataclass(frozen=True)
class ByPlace:
    """Another detector, whose kinds are not believed."""

    detector: LineDetector
    tells_kinds: bool = False

    def detect(self, pixels: Pixels) -> Detection:
        return self.detector.detect(pixels)


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    both = intersection(a, b)
    return area(both) / (area(a) + area(b) - area(both)) if both else 0.0


def match_lines(wanted: Sequence[Line], found: Sequence[Line]) -> list[tuple[int, int]]:
    """One-to-one pairs that share at least half of their area, the most that there are."""
    if not wanted or not found:
        return []
    shared = np.array([[overlap(a.box, b.box) for b in found] for a in wanted])
    costs = np.where(shared >= 0.5, 1 - shared, 10.0)
    return [(i, j) for i, j in zip(*linear_sum_assignment(costs), strict=True) if shared[i, j] >= 0.5]


def score_page(wanted: Page, found: Page, seconds: float, whole_columns: bool = False) -> Score:
    if whole_columns:
        text = [line for line in found.lines if line.kind != "fold" or _in_any(line, wanted.lines)]
        found = replace(found, lines=tuple(text))
    lines = join_columns(found.lines) if whole_columns else found.lines
    pairs = match_lines(wanted.lines, lines)
    number = {j: i for i, j in pairs}
    edits, length = order_edits(range(len(wanted.lines)), [number.get(j, -1) for j in range(len(lines))])
    return Score(
        found=len(pairs),
        given=len(lines),
        wanted=len(wanted.lines),
        right_kind=sum(wanted.lines[i].kind == lines[j].kind for i, j in pairs),
        edits=edits,
        length=length,
        strays=sum(not _in_any(line, wanted.lines) for line in found.lines) if whole_columns else 0,
        seconds=seconds,
        pages=1,
    )


def _in_any(line: Line, lines: Sequence[Line]) -> bool:
    return any(_holds(other.box, line) for other in lines)


def join_columns(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines of one column as one: main text and the rows of its notes; fold and margins stay as they are."""
    body = [line for line in lines if line.kind in ("main", "note")]
    if not body:
        return tuple(lines)
    columns = find_columns(np.array([line.box for line in body], np.float64)).column
    joined: list[Line] = []
    for line in lines:
        if line.kind not in ("main", "note"):
            joined.append(line)
            continue
        members = [b for b, c in zip(body, columns, strict=True) if c == columns[body.index(line)]]
        if members[0] is line:
            joined.append(replace(line, box=union(m.box for m in members), polygon=None, chars=()))
    return tuple(joined)


def score_chars(boxes: Floats, found: Page, seconds: float) -> Score:
    chars = [char.box for line in found.lines for char in line.chars]
    centres = np.array([centre(box) for box in chars], np.float32).reshape(-1, 2)
    match = match_centres(centres, boxes, np.ones(len(boxes), np.bool_))
    return Score(found=int((match >= 0).sum()), given=len(chars), wanted=len(boxes), seconds=seconds, pages=1)


def labelled_page(entry: dict[str, Any], pixels: Pixels) -> tuple[Page, list[Box]]:
    """A page with its labelled lines, and the boxes that nobody has read."""
    boxes = line_boxes(entry)
    lines = tuple(
        Line(f"l{n}", cast(Box, tuple(map(float, box))), kind=KINDS[kind])
        for n, (box, kind) in enumerate(zip(boxes, line_kinds(boxes), strict=True), start=1)
    )
    unread = [
        cast(Box, tuple(box)) for key in ("unlabelled", "erased") for box in line_boxes(entry, key).tolist()
    ]
    return replace(bare_page(str(entry["image"]), pixels), lines=lines), unread


def without_excused(wanted: Page, found: Page, unread: Sequence[Box]) -> Page:
    """The page as found, without what the labels leave out."""
    block = union(line.box for line in wanted.lines)
    inside = [line for line in found.lines if _holds(block, line) and line.kind in ("main", "note")]
    return replace(
        found, lines=tuple(line for line in inside if not any(_holds(box, line) for box in unread))
    )


def _holds(box: Box, line: Line) -> bool:
    x, y = centre(line.box)
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def run_task(task: Task) -> tuple[dict[str, Score], float]:
    """Scores by page, and the megabytes that it took."""
    try:
        return _run(task), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    except InputError as error:
        raise InputError(str(error)) from None  # plain, so that it finds its way to the parent process


def _run(task: Task) -> dict[str, Score]:
    ours = open_detector(
        "rapidocr" if task.detector == "rapidocr" else "tongguocr", task.weights, task.threads
    )
    detector = ByPlace(ours) if task.detector == BY_PLACE else ours
    scores: dict[str, Score] = {}
    if task.chars:
        pages = [p for p in read_char_pages(task.folder) if task.every_page or is_held_out(p.name)]
        for real in pages:
            page = bare_page(real.name, real.pixels)
            found, seconds = _timed(page, detector, warm=not scores)
            scores[real.name] = score_chars(real.boxes, found, seconds)
    elif task.lines:
        for entry, pixels in read_entries(task.folder):
            if entry["lines"] and (task.every_page or is_held_out(str(entry["image"]))):
                page, unread = labelled_page(entry, pixels)
                found, seconds = _timed(bare_page(page.image, pixels), detector, warm=not scores)
                scores[page.image] = score_page(page, without_excused(page, found, unread), seconds)
    else:
        for page in load_dev(task.dev, task.folder) if task.dev else load_folder(task.folder):
            found, seconds = _timed(page, detector, warm=not scores)
            scores[page.image] = score_page(page, found, seconds, task.dev is not None)
    return scores


def _timed(page: Page, detector: LineDetector, warm: bool) -> tuple[Page, float]:
    if warm:
        find_lines(page, detector)
    start = time.perf_counter()
    found = find_lines(page, detector)
    return found, time.perf_counter() - start


def group_of(name: str) -> str:
    """The kind of a benchmark page, whose file is called NUMBER-KIND, or the part of a book that is held out.

    Other pages are groups of their own.
    """
    number, _, kind = Path(name).stem.partition("-")
    if number.isdigit() and kind:
        return kind
    return next((part for parts in HELD_OUT_PARTS.values() for part in parts if name.startswith(part)), name)


def tabulate(results: dict[str, dict[str, Score]], chars: bool) -> Table:
    table = Table(title="Characters found" if chars else "Lines found, IoU 0.5")
    columns = ["pages", "detector", "wanted", "recall", "precision", "F1"]
    columns += [] if chars else ["kinds", "RO-ED", "strays"]
    for name in (*columns, "s/page"):
        table.add_column(name, justify="left" if name in ("pages", "detector") else "right")
    groups = list(dict.fromkeys(group_of(name) for scores in results.values() for name in scores))
    for group in (*groups, "all"):
        for detector, scores in results.items():
            parts = [s for name, s in scores.items() if group in ("all", group_of(name))]
            table.add_row(group, detector, *_cells(sum(parts, Score()), chars))
        table.add_section()
    return table


def _cells(s: Score, chars: bool) -> list[str]:
    recall, precision = s.found / max(s.wanted, 1), s.found / max(s.given, 1)
    f1 = 2 * s.found / max(s.wanted + s.given, 1)
    cells = [f"{s.wanted}", f"{recall:.4f}", f"{precision:.4f}", f"{f1:.4f}"]
    if not chars:
        cells += [f"{s.right_kind / max(s.found, 1):.4f}", f"{s.edits / max(s.length, 1):.4f}", f"{s.strays}"]
    return [*cells, f"{s.seconds / max(s.pages, 1):.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Find the lines of pages whose lines are known.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--dev", type=Path, metavar="PAGES.json")
    parser.add_argument("--chars", action="store_true", help="FOLDER has character boxes")
    parser.add_argument("--lines", action="store_true", help="FOLDER has labelled lines")
    parser.add_argument("--all", action="store_true", help="with --chars, --lines: those of training too")
    parser.add_argument("--detector", action="append", choices=(*DETECTORS, BY_PLACE), help="default: all")
    parser.add_argument("--weights", type=Path, metavar="DIR")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args(arguments)
    console = Console(width=120)
    every = ("tongguocr",) if chosen.chars else ("tongguocr", BY_PLACE, "rapidocr")
    results: dict[str, dict[str, Score]] = {}
    for name in chosen.detector or every:
        task = Task(
            name,
            chosen.folder,
            chosen.weights,
            chosen.threads,
            chosen.dev,
            chosen.chars,
            chosen.lines,
            chosen.all,
        )
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            results[name], memory = pool.submit(run_task, task).result()
        if not results[name]:
            raise InputError(f"{chosen.folder}: there are no pages here.")
        console.print(f"{name}: {memory:.0f} MB at most")
    console.print(tabulate(results, chosen.chars))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.layout: {error}")
