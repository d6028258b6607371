"""What a row's model reads of the test pages: page by page, each kept in a file as soon as it is read.

In: an engine, pages, how they are read. Out: text, one line of the page a line, as the model wrote it: the
transitions between them are line breaks, the blocks follow each other in their order (paper 4.3, inference).
A page that cannot be opened has no file and is scored as empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.blocks.segment import Objective
from tongguocr.crops import crop_blocks
from tongguocr.engines.base import BlockInput, Engine, make_inputs
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, make_folder, read_bytes, write_bytes
from tongguocr.layout.columns import number_columns
from tongguocr.page import Block, Page
from tongguocr.reader import without_text
from tongguocr.straight import as_read
from tongguocr.training.recogniser.labelled import Say
from tongguocr.training.recogniser.pages import Granularity
from tongguocr.training.reproduce.scored_pages import Layout, ScoredPage, open_page, whole
from tongguocr.training.reproduce.tables import Weights

TOGETHER = 16
"""Pages whose blocks are read together, which is what a GPU wants."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a row reads a page."""

    read: Granularity
    weights: Weights


def read_all(
    pages: Sequence[ScoredPage],
    open_engine: Callable[[], Engine],
    manner: Manner,
    layout: Layout,
    folder: Path,
    say: Say,
) -> None:
    """Read the pages that have no file in the folder yet; the engine is opened if there are any."""
    make_folder(folder)
    left = [page for page in pages if page.reference is not None and not kept(folder, page).exists()]
    if not left:
        return
    engine = open_engine()
    for first in range(0, len(left), TOGETHER):
        for page, text in _read_group(left[first : first + TOGETHER], engine, manner, layout, say):
            write_bytes("".join(f"{line}\n" for line in text).encode(), kept(folder, page))


def kept(folder: Path, page: ScoredPage) -> Path:
    """Where the text of a page is kept."""
    return folder / f"{page.name}.txt"


def kept_text(folder: Path, page: ScoredPage) -> list[str]:
    """The lines that were read of a page; none of one that was lost."""
    path = kept(folder, page)
    return decode_utf8(read_bytes(path), path).split("\n")[:-1] if path.exists() else []


def _read_group(
    group: Sequence[ScoredPage], engine: Engine, manner: Manner, layout: Layout, say: Say
) -> Iterator[tuple[ScoredPage, list[str]]]:
    opened: list[tuple[ScoredPage, tuple[BlockInput, ...]]] = []
    for page in group:
        try:
            opened.append((page, inputs_of(page, manner, layout)))
        except InputError as error:
            say(f"{page.name} counts as lost: {error}")
    readings = iter(engine.read([block for _, blocks in opened for block in blocks]))
    for page, blocks in opened:
        yield page, [one_line(text) for _ in blocks for text in next(readings).transcription]


def one_line(text: str) -> str:
    """A line as it may stand in a file of lines."""
    return " ".join(text.splitlines())


def inputs_of(page: ScoredPage, manner: Manner, layout: Layout) -> tuple[BlockInput, ...]:
    """The pictures that a model is shown of a page: the whole page as it is, or its blocks."""
    full = open_page(page)
    if manner.read == "page":
        # No layout: the lines only tell a guard how much text there can be.
        bare = whole(without_text(full))
        blocks: tuple[Block, ...] = (Block(0, len(bare.lines), (0, 0, bare.width, bare.height)),)
    else:
        bare = number_columns(as_read(layout.lines_of(page.name, full)))
        blocks = cut_blocks(bare, BlockSettings(objective=Objective(*manner.weights)))
    return make_inputs(bare, crop_blocks(bare, blocks))


def read_whole(
    pages: Sequence[ScoredPage], read: Callable[[Page], list[str]], folder: Path, say: Say
) -> None:
    """The same with something that reads whole pages in its own way."""
    make_folder(folder)
    for page in pages:
        if page.reference is None or kept(folder, page).exists():
            continue
        try:
            text = read(open_page(page))
        except InputError as error:
            say(f"{page.name} counts as lost: {error}")
            continue
        write_bytes("".join(f"{one_line(line)}\n" for line in text).encode(), kept(folder, page))
