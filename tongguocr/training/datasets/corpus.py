"""The text of data sets: their pages in, one text file out, from which characters are mined (paper 3.2).

A page's lines are lines of the text, in reading order, and an empty line ends a page. The first line of the
file says which split of which data sets it is, so that mining can refuse validation and test text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.page import Page
from tongguocr.tokens.corpus import TRAINING, make_header
from tongguocr.training.datasets import read_dataset
from tongguocr.training.datasets.hisdoc1b import Mapping
from tongguocr.training.datasets.sources import SPLITS, Source, family, official_split


@dataclass(slots=True)
class _Count:
    """What was written of one data set."""

    pages: int = 0
    characters: int = 0


def write_corpus(
    sources: Sequence[Source],
    output: Path,
    split: str = TRAINING,
    mapping: Mapping | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Write the text of a split of each data set, of those without splits all; `say` is told how much."""
    for kind, folder in sources:
        if split != TRAINING and split not in SPLITS.get(family(kind), ()):
            raise InputError(f"{folder}: a data set of the kind {kind!r} has no split {split!r}.")
    header = make_header((kind, official_split(kind, split) or TRAINING) for kind, _ in sources)
    with open_whole(output) as file:
        file.write(f"{header}\n".encode())
        for kind, folder in sources:
            count, errors = _Count(), list[InputError]()
            for text in _texts(
                read_dataset(kind, folder, official_split(kind, split), mapping, errors.append)
            ):
                file.write(f"{text}\n\n".encode())
                count.pages += 1
                count.characters += len(text) - text.count("\n")
            if not count.pages:
                raise errors[0] if errors else InputError(f"{folder}: there is no page with text.")
            if errors:
                say(f"{len(errors)} pages of {folder} cannot be read. The first one: {errors[0]}")
            say(_sentence(kind, folder, split, count))


def _texts(pages: Iterator[Page]) -> Iterator[str]:
    """What each page says, lines without text left out."""
    for page in pages:
        text = "\n".join(line.text for line in page.lines if line.text.strip())
        if text:
            yield text


def _sentence(kind: str, folder: Path, split: str, count: _Count) -> str:
    what = f"{count.pages} pages, {count.characters} characters"
    if family(kind) not in SPLITS:
        return f"{folder}: all of {kind}, which has no splits: {what}."
    others = " and ".join(name for name in SPLITS[family(kind)] if name != split)
    return f"{folder}: the split {split} of {kind}: {what}. Left out: {others}."
