"""Corpus files in, stretches of ideographs with their counts out: what vocabulary mining reads.

A corpus is a UTF-8 text file, a folder with such files named *.txt at any depth, or a frequency table: a
.tsv file whose header names the columns `char` and `total`. Files are streamed, never held whole. What is
known to be validation or test text is refused: characters are mined from training text alone (paper 3.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tongguocr.characters import IDEOGRAPH_BLOCKS, is_ideograph
from tongguocr.errors import InputError

MAX_RUN = 1000
"""Characters in one stretch: 4,000 bytes at most. SentencePiece silently drops sentences above 4,192."""
MAX_TOTAL = 10**15
_CHUNK = 1 << 20

TRAINING = "train"
"""The split that may be mined."""
LABELS = ("label_textline", "label_char")
"""Folders in which data sets have their labels, of all splits together."""
_HEADER = "# tongguocr corpus:"

_RANGES = "".join(f"{chr(first)}-{chr(last)}" for _, first, last in IDEOGRAPH_BLOCKS)
_RUN = re.compile(f"[{_RANGES}]{{1,{MAX_RUN}}}")


def count_ideographs(corpora: Iterable[Path]) -> Counter[str]:
    """How often each ideograph occurs in all of these together; every one of them has to hold some."""
    totals: Counter[str] = Counter()
    for corpus in corpora:
        counts: Counter[str] = Counter()
        for file in corpus_files(corpus):
            check_training_text(file)
            if is_table(file):
                for char, total in read_table(file):
                    counts[char] += total
            else:
                for run in read_runs(file):
                    counts.update(run)
        if not counts:
            raise InputError(f"{corpus}: holds no ideographs.")
        totals.update(counts)
    return totals


def corpus_files(corpus: Path) -> list[Path]:
    """The files of one corpus: itself, or what its folder holds."""
    if corpus.is_file():
        return [corpus]
    if not corpus.is_dir():
        raise InputError(f"{corpus}: there is no such file or folder.")
    files = sorted(file for file in corpus.rglob("*") if file.suffix.lower() == ".txt" and file.is_file())
    if not files:
        raise InputError(f"{corpus}: the folder holds no .txt files.")
    return files


def make_header(parts: Iterable[tuple[str, str]]) -> str:
    """The first line of a text made of data sets: each one's kind and split."""
    return f"{_HEADER} {', '.join(f'{split} of {kind}' for kind, split in parts)}"


def check_training_text(file: Path) -> None:
    """Refuse a text that says it is of another split than the training split, and data sets' label files."""
    if any(part in LABELS for part in file.resolve().parts):
        raise InputError(
            f"{file}: these are labels of a data set, those of its test pages among them; give the data set"
            " as KIND=DIR, and its training split is taken."
        )
    try:
        with file.open("rb") as stream:
            first = stream.readline(10_000).decode(errors="ignore").removeprefix("\ufeff").strip()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}).") from error
    if not first.startswith(_HEADER):
        return
    for part in first.removeprefix(_HEADER).split(","):
        if part.split()[:1] != [TRAINING]:
            raise InputError(f"{file}: this is text of {part.strip()}; only training text is mined.")


def text_files(corpora: Sequence[Path]) -> list[Path]:
    return [file for corpus in corpora for file in corpus_files(corpus) if not is_table(file)]


def is_table(file: Path) -> bool:
    return file.suffix.lower() == ".tsv"


def read_runs(file: Path) -> Iterator[str]:
    """The stretches of ideographs in a text; where one is cut at MAX_RUN or a chunk's end does not matter."""
    try:
        with file.open(encoding="utf-8") as stream:
            while chunk := stream.read(_CHUNK):
                if "\0" in chunk:
                    raise InputError(f"{file}: holds NUL characters, so it is not UTF-8 text.")
                yield from _RUN.findall(chunk)
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: line {_undecodable_line(file)} is not UTF-8 text.") from error
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}).") from error


def _undecodable_line(file: Path) -> int:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.decode(errors="ignore").encode() != line:
                return number
    raise AssertionError("the file changed while it was read")


def read_table(file: Path) -> Iterator[tuple[str, int]]:
    """The ideographs of a frequency table and how often each occurs; other characters are passed over."""
    rows = _read_rows(file)
    header = next(rows, (0, []))[1]
    if "char" not in header or "total" not in header:
        raise InputError(f"{file}: the first line has to name the columns char and total, between tabs.")
    char_column, total_column = header.index("char"), header.index("total")
    for number, row in rows:
        if len(row) <= max(char_column, total_column):
            raise InputError(f"{file}: line {number} has fewer columns than the header.")
        char, total = row[char_column], row[total_column]
        if len(char) != 1:
            raise InputError(f"{file}: line {number} has {char!r} where one character is expected.")
        if not (total.isascii() and total.isdigit() and len(total) < 20 and int(total) <= MAX_TOTAL):
            raise InputError(f"{file}: line {number} has {total!r} where a count is expected.")
        if is_ideograph(char) and int(total):
            yield char, int(total)


def _read_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells. Lines end at a line feed only: a table may list stranger line breaks."""
    try:
        with file.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if line:
                    yield number, line.split("\t")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: line {number} is not UTF-8 text.") from error
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}).") from error
