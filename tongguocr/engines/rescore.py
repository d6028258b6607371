"""Context: a page as read in, the page out, with another candidate taken where the picture leaves it open.

The language model is heard on characters of which the recogniser is not sure, and chooses among its own
candidates; nothing is added, left out or written that the picture does not show. Forms of one word
(variants.tsv, forms.tsv) share their probability and are alike to the model: which of them it is remains the
picture's choice, and one is never taken for another. Of each stretch of open characters the best path is
taken: the log of the picture's probability plus a weight times how much more probable the model finds a
character after these two than anywhere. So a rare character is not lost for being rare. Confidence becomes
what each candidate has of that sum, all others as they are.

Text runs on: main text from line to line and past notes; a note from its first row to its second, and into
the next column if it goes on there; margins from line to line; each line of the fold is alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import log

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.base import LineReading
from tongguocr.engines.language_model import NOBODY, UNKNOWN, Ids, LanguageModel
from tongguocr.page import Char, Line, Page

Doubles = NDArray[np.float64]
SELECTORS = ("\ufe00", "\ufe0f", "\U000e0100", "\U000e01ef")


@dataclass(frozen=True, slots=True)
class Context:
    """How far the language model is heard; `python -m bench.language` has measured it."""

    weight: float = 0.4
    """Of the model's log-probability, against the picture's."""
    commonness: float = 1.5
    """How much of the model's preference for common characters is taken off: 1 leaves context alone. The
    recogniser prefers them by itself, so somewhat more is right: rare ones gain, the others lose nothing."""
    sure: float = 0.95
    """A character that is at least so sure stays as it is."""
    least: float = 0.02
    """Candidates that are less probable do not count."""
    odd: float = 18.0
    """Bits of surprise from which on a character is reported though the picture is sure of it."""


@dataclass(slots=True)
class Cell:
    """One character of a text and the words that it may be; the picture's own is the first."""

    line: int
    index: int
    char: Char
    forms: list[dict[str, float]]
    """Of each word the forms that are open, and the picture's share of each."""
    classes: list[int]
    chosen: int = 0

    @property
    def is_open(self) -> bool:
        return len(self.forms) > 1

    @property
    def picture(self) -> list[float]:
        """The picture's share of each word."""
        return [sum(forms.values()) for forms in self.forms] if self.is_open else [1.0]

    @property
    def text(self) -> str:
        """The form that the picture likes most of the word chosen; its own word stays as it is."""
        forms = self.forms[self.chosen]
        return max(forms, key=forms.__getitem__) if self.chosen else self.char.text

    @property
    def now(self) -> int:
        return self.classes[self.chosen]


def rescore(page: Page, model: LanguageModel, context: Context = Context()) -> Page:
    """The page with characters that context chose, with what the picture said, and with odd ones marked."""
    texts = [_cells(page.lines, text, model, context) for text in running_texts(page.lines)]
    changed: dict[tuple[int, int], Char] = {}
    for cells in texts:
        for stretch in open_stretches(cells):
            choose(cells, stretch, model, context)
        shares = [_shares(cells, k, model, context) if cells[k].is_open else None for k in range(len(cells))]
        surprises = surprise(cells, model)
        for cell, share, bits in zip(cells, shares, surprises, strict=True):
            char = cell.char if share is None else _judged(cell, share)
            odd = round(float(bits), 1) if bits >= context.odd else None
            if char is not cell.char or odd is not None:
                changed[cell.line, cell.index] = replace(char, surprise=odd)
    return replace(page, lines=tuple(_with(line, n, changed) for n, line in enumerate(page.lines)))


def running_texts(lines: Sequence[Line]) -> Iterator[list[int]]:
    """The numbers of the lines that are one text each: all main text, each note, each margin, each fold."""
    main: list[int] = []
    texts, last, goes_on = [main], "main", main
    for number, line in enumerate(lines):
        kind = "note" if _is_note(lines, number) else line.kind
        if kind == "fold":
            texts.append([number])
            continue
        if kind == "main":
            goes_on = main
        elif kind != last:
            texts.append(goes_on := [])
        goes_on.append(number)
        last = kind
    return (text for text in texts if text)


def _is_note(lines: Sequence[Line], number: int) -> bool:
    """Whether a line is a row of a note, by its kind or, where kinds are not told, by its place."""
    here, after = lines[number], lines[number + 1] if number + 1 < len(lines) else None
    if here.kind != "main" or here.row:
        return here.kind in ("main", "note")
    return after is not None and after.row == 1 and after.column == here.column


def _cells(lines: Sequence[Line], text: list[int], model: LanguageModel, context: Context) -> list[Cell]:
    """The characters of one text; a line whose characters do not spell it is passed over."""
    spelt = [n for n in text if lines[n].text == "".join(char.text for char in lines[n].chars)]
    at = [(n, k) for n in spelt for k, char in enumerate(lines[n].chars) if char.text]
    chars = [lines[n].chars[k] for n, k in at]
    listed = [[char.text, *_others(char, context)] for char in chars]
    asked = [main_form(reading) for readings in listed for reading in readings]
    classes = iter(model.classes_of(asked).tolist())
    cells = []
    for (n, k), char, readings in zip(at, chars, listed, strict=True):
        sure = dict(sorted(char.candidates, key=lambda pair: pair[1])) | {char.text: char.confidence or 0.0}
        own, *others = [next(classes) for _ in readings]
        words = {own: {char.text: sure[char.text]}}
        for reading, other in zip(readings[1:], others, strict=True):
            # What the model does not know it does not judge.
            if UNKNOWN not in (own, other):
                words.setdefault(other, {})[reading] = sure[reading]
        cells.append(Cell(n, k, char, list(words.values()), list(words)))
    return cells


@cache
def _reduced() -> dict[str, str]:
    rows = resources.files(__package__).joinpath("forms.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [row.split("\t") for row in rows if row and not row.startswith("#")]
    return {form: main for main, forms in pairs for form in forms}


def main_form(reading: str) -> str:
    """The form by which the model knows a character that prints reduce: 數 for 数."""
    return _reduced().get(reading, reading)


def _others(char: Char, context: Context) -> list[str]:
    """The candidates that may be chosen in a character's stead: none if it is sure, each but once."""
    if char.confidence is None or not 0 < char.confidence < context.sure or not _is_one(char.text):
        return []
    likely = (text for text, share in char.candidates if share >= context.least and share > 0)
    return [text for text in dict.fromkeys(likely) if text != char.text and _is_one(text)]


def _is_one(text: str) -> bool:
    """Whether this is one character, which may have variation selectors."""
    low, high, low_more, high_more = SELECTORS
    return len(text) == 1 or all(low <= c <= high or low_more <= c <= high_more for c in text[1:])


def open_stretches(cells: Sequence[Cell]) -> Iterator[range]:
    """Runs of characters that have to be chosen together: between two runs stand two that are not open."""
    places = [k for k, cell in enumerate(cells) if cell.is_open]
    start = 0
    for n, place in enumerate(places):
        if n + 1 == len(places) or places[n + 1] - place > 2:
            yield range(places[start], place + 1)
            start = n + 1


def choose(cells: Sequence[Cell], stretch: range, model: LanguageModel, context: Context) -> None:
    """Set the readings of a stretch to the best path: exact, with the last two readings as the state."""
    stop = min(stretch.stop + 2, len(cells))
    options = {k: cells[k].classes for k in range(stretch.start, stop)}
    tables = _tables(cells, options, model, context)
    best, back = np.zeros((1, 1)), list[NDArray[np.intp]]()
    for k in range(stretch.start, stop):
        # Axes: the reading two before, the one before, this one.
        sums = best[:, :, None] + tables[k] + np.log(cells[k].picture)
        back.append(sums.argmax(0))
        best = sums.max(0)
    last, now = (int(n) for n in np.unravel_index(int(best.argmax()), best.shape))
    for k, step in zip(reversed(range(stretch.start, stop)), reversed(back), strict=True):
        cells[k].chosen = now
        last, now = int(step[last, now]), last


def _tables(
    cells: Sequence[Cell], options: dict[int, list[int]], model: LanguageModel, context: Context
) -> dict[int, Doubles]:
    """The model's weighted scores of each place's classes, after all pairs that may stand before it."""
    asked, shapes = [], []
    for k in options:
        before, last, now = (_classes_at(cells, options, k - back) for back in (2, 1, 0))
        asked.append(np.stack([axis.ravel() for axis in np.meshgrid(before, last, now, indexing="ij")]))
        shapes.append((len(before), len(last), len(now)))
    scores = score(model, np.concatenate(asked, 1), context)
    parts = np.split(scores, np.cumsum([axes.shape[1] for axes in asked])[:-1])
    return {k: part.reshape(shape) for k, part, shape in zip(options, parts, shapes, strict=True)}


def _classes_at(cells: Sequence[Cell], options: dict[int, list[int]], k: int) -> list[int]:
    """What may stand at a place: the classes that are open there, or the one that was chosen, or nobody."""
    return options[k] if k in options else [cells[k].now if k >= 0 else NOBODY]


def score(model: LanguageModel, triples: Ids, context: Context) -> Doubles:
    """What the model says of classes after two others, the rows of `triples`, by its weight."""
    before, last, now = triples
    found = model.log_probability(before, last, now) - context.commonness * model.first[now]
    return context.weight * np.asarray(found, np.float64)


def _shares(cells: Sequence[Cell], k: int, model: LanguageModel, context: Context) -> list[float]:
    """The share of each word of an open character, all others as they were chosen; the sum stays."""
    cell = cells[k]
    near = [cells[n].now if 0 <= n < len(cells) else NOBODY for n in range(k - 2, k + 3)]
    sums = np.log(np.array(cell.picture))
    for at in range(min(3, len(cells) - k)):
        triples = np.array([[*near[:2], now, *near[3:]][at : at + 3] for now in cell.classes])
        sums = sums + score(model, triples.T, context)
    shares = np.exp(sums - sums.max())
    return [float(share) for share in shares / shares.sum() * min(sum(cell.picture), 1.0)]


def _judged(cell: Cell, shares: Sequence[float]) -> Char:
    """The character as chosen; the others, the picture's own among them, are its candidates."""
    judged = {
        form: round(share * own / sum(forms.values()), 4)
        for forms, share in zip(cell.forms, shares, strict=True)
        for form, own in forms.items()
    }
    text = cell.text
    others = {**dict(cell.char.candidates), **judged}
    others.pop(text)
    candidates = sorted(others.items(), key=lambda pair: -pair[1])
    was = None if text == cell.char.text else cell.char.text
    return replace(cell.char, text=text, confidence=judged[text], candidates=tuple(candidates), picture=was)


def surprises_of(page: Page, model: LanguageModel) -> list[list[float]]:
    """How unlikely each character of each line is after the text before it, in bits."""
    found = [[0.0] * len(line.chars) for line in page.lines]
    for text in running_texts(page.lines):
        # Nothing is open to a context that is sure of everything.
        cells = _cells(page.lines, text, model, Context(sure=0.0))
        for cell, bits in zip(cells, surprise(cells, model), strict=True):
            found[cell.line][cell.index] = float(bits)
    return found


def surprise(cells: Sequence[Cell], model: LanguageModel) -> Doubles:
    """How unlikely each character is after the two before it, in bits; 0 for what the model does not know."""
    classes = np.array([NOBODY, NOBODY, *(cell.now for cell in cells)], np.int64)
    found = model.log_probability(classes[:-2], classes[1:-1], classes[2:])
    # Forms that no text of the corpus has are mostly right: to list them all would hide what is wrong.
    return np.where(classes[2:] == UNKNOWN, 0.0, -found / log(2))


def _with(line: Line, number: int, changed: dict[tuple[int, int], Char]) -> Line:
    """The line with the characters that changed, its text and its confidence."""
    chars = tuple(changed.get((number, k), char) for k, char in enumerate(line.chars))
    if chars == line.chars:
        return line
    read = LineReading(chars, "read")
    # A line that is marked by a confidence of 0 stays marked.
    return replace(line, text=read.text, chars=chars, confidence=line.confidence and read.confidence)
