"""Where the words of a synthetic page come from: real columns, any plain text, or a list of characters.

In: a file. Out: a TextSource, which gives endless columns with their indents and double-row notes, or an
endless run of characters. Documents are split by name into those that training may see and those held out
for the benchmark.

A file of real columns has one physical column a line: `##GENRE ID #W=21` starts a document (W is the usual
column height in cells), an empty line ends a half-leaf, `-` is an empty column, leading U+3000 are the
indent, and （…） is a double-row note, both its rows in reading order.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from tongguocr.characters import is_ideograph
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes

HELD_OUT_SHARE = 20
"""One document in this many is never trained on."""
COLUMN_MARKS = "〇○"
"""No ideographs, but they stand in columns like one: zero, and the ring before a comment."""
PLAIN_ROWS = 20
"""The height of columns made from running text."""
PLAIN_DOCUMENT = 100
"""Lines of a plain text that make one document, for holding some out."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of one column: main text, or a double-row note with the right row's half first."""

    text: str
    is_note: bool = False

    @property
    def cells(self) -> int:
        """How many cells of the column it takes: a note has two characters in each."""
        return -(-len(self.text) // 2) if self.is_note else len(self.text)


@dataclass(frozen=True, slots=True)
class Column:
    """One physical column: cells of indent, then its runs from top to bottom."""

    indent: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its own column height."""

    name: str
    rows: int
    lines: tuple[str, ...]
    """Columns in the notation above; empty lines are half-leaf breaks."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """Documents to draw from, all of them free to use for the purpose at hand."""

    documents: tuple[Document, ...]
    characters: str = ""
    """Where set, text is a random sequence of these instead."""

    def passage(self, rng: np.random.Generator) -> tuple[int, Iterator[Column]]:
        """A column height, and columns without end from a random place on; blank columns are left out."""
        if self.characters:
            return PLAIN_ROWS, self._random_columns(rng)
        document = self.documents[int(rng.integers(len(self.documents)))]
        return document.rows, self._columns_from(document, int(rng.integers(len(document.lines))))

    def stream(self, rng: np.random.Generator) -> Iterator[str]:
        """Characters without end, for layouts that have no columns of their own."""
        for column in self.passage(rng)[1]:
            yield from "".join(run.text for run in column.runs)

    def _columns_from(self, document: Document, at: int) -> Iterator[Column]:
        while True:
            column = parse_column(document.lines[at % len(document.lines)])
            if column.runs:
                yield column
            at += 1

    def _random_columns(self, rng: np.random.Generator) -> Iterator[Column]:
        while True:
            picked = rng.integers(len(self.characters), size=PLAIN_ROWS)
            yield Column(0, (Run("".join(self.characters[k] for k in picked)),))


def parse_column(line: str) -> Column:
    """One column in the notation above; what is neither ideograph nor 〇 or ○ is dropped."""
    body = line.lstrip("\u3000")
    runs: list[Run] = []
    for number, part in enumerate(body.replace("）", "（").split("（")):
        text = "".join(c for c in part if is_ideograph(c) or c in COLUMN_MARKS)
        if text:
            runs.append(Run(text, number % 2 == 1))
    return Column(len(line) - len(body), tuple(runs))


def load_text(path: Path | None, held_out: bool = False) -> TextSource:
    """The documents of a file that training may use, or those it must not; without a file, 千字文."""
    if path is None:
        text = (files("tongguocr.training.synth") / "thousand.txt").read_text(encoding="utf-8")
        documents = _plain_documents(text.split(), "thousand")
    else:
        documents = _documents(_lines_of(path), path.name)
    if not documents:
        raise InputError(f"{path}: there is no Chinese text in this file.")
    chosen = tuple(d for d in documents if is_held_out(d.name) == held_out)
    # A text of a few documents may have none on one side; half a text is worse than a shared one.
    return TextSource(chosen or documents)


def from_characters(characters: str) -> TextSource:
    """Random sequences of these characters, so that rare ones get examples."""
    kept = "".join(dict.fromkeys(c for c in characters if is_ideograph(c) or c in COLUMN_MARKS))
    if not kept:
        raise InputError("The list of characters holds no ideograph.")
    return TextSource((), kept)


def is_held_out(name: str) -> bool:
    """The same documents everywhere and for ever, whatever else the file holds."""
    return hashlib.sha256(name.encode()).digest()[0] % HELD_OUT_SHARE == 0


def _lines_of(path: Path) -> list[str]:
    data = read_bytes(path)
    if path.suffix == ".xz":
        try:
            data = lzma.decompress(data)
        except lzma.LZMAError:
            raise InputError(f"{path}: this is not an xz file, or it is cut off.") from None
    return decode_utf8(data, path).split("\n")


def _documents(lines: list[str], name: str) -> tuple[Document, ...]:
    heads = [k for k, line in enumerate(lines) if line.startswith("##")]
    if not heads:
        return _plain_documents(lines, name)
    documents = []
    for start, stop in zip(heads, [*heads[1:], len(lines)], strict=True):
        body = tuple(line.rstrip("\r") for line in lines[start + 1 : stop])
        if any(parse_column(line).runs for line in body):
            documents.append(Document(*_heading(lines[start]), body))
    return tuple(documents)


def _heading(line: str) -> tuple[str, int]:
    """Name and column height from `##GENRE ID #W=21`."""
    words = line.removeprefix("##").split()
    height = next((w.removeprefix("#W=") for w in words if w.startswith("#W=")), "")
    name = next((w for w in words[1:] if not w.startswith("#")), words[0] if words else "")
    return name, int(height) if height.isdigit() and int(height) > 0 else PLAIN_ROWS


def _plain_documents(lines: list[str], name: str) -> tuple[Document, ...]:
    """Running text cut into columns; every hundred of them are a document that can be held out."""
    text = "".join(c for line in lines for c in line if is_ideograph(c) or c in COLUMN_MARKS)
    columns = [text[k : k + PLAIN_ROWS] for k in range(0, len(text), PLAIN_ROWS)]
    return tuple(
        Document(f"{name}-{k}", PLAIN_ROWS, tuple(columns[k : k + PLAIN_DOCUMENT]))
        for k in range(0, len(columns), PLAIN_DOCUMENT)
    )
