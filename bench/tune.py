"""What corrections teach: `python -m bench.tune FOLDER [--kanjivg WHEEL --text FILE --faces FILE...]`.

A hurried hand that no training saw (bench/strokes.py, out of the stroke data that --kanjivg gives) writes a
book of 20 pages, and ten pages more. The book is read and corrected as in `tongguocr proofread`: a journal,
corrections where the reading is wrong, the mark. Then the two commands that the page shows: `tongguocr train
tune --pages folder=BOOK`, and `tongguocr export`. Lines are given throughout: only reading is measured.

Printed are CER (errors over characters of the reference, strict protocol), plain and with variants folded,
before and after: on the ten pages, whose texts are others than the book's, and on pages of other hands and
faces, drawn (--faces) or real (--dev), which show whether anything is lost. And how true confidence is: the
share of errors among the tenth of characters that are the least sure, and ECE. Without --kanjivg the pages
are those that lie in FOLDER; a book that lies there is corrected already.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from zlib import crc32

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.calibration import errors_of
from bench.hands import KINDS, gather_faces
from bench.machine import machine
from bench.pages import load_dev, load_folder
from bench.strokes import draw_hand, load_strokes, write_font
from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import Tally
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.page import Char, Page
from tongguocr.proofread.book import open_book
from tongguocr.proofread.models import EditsRequest, TextEdit
from tongguocr.proofread.proofreading import Means, Proofreading
from tongguocr.reader import Reader, Setup, open_reader
from tongguocr.training.calibration import calibration_error, errors_found
from tongguocr.training.synth.export import export_page, prepare
from tongguocr.training.synth.fonts import Face, FontBook, load_fonts
from tongguocr.training.synth.generate import page_seed
from tongguocr.training.synth.kinds import compose_page
from tongguocr.training.synth.paint import render
from tongguocr.training.synth.text import TextSource, load_text

SEED = 1898
HAND = 21
"""The seed of a hand by which no setting was chosen."""
SHAKE, JOIN = 4.5, 0.9
"""Of a hurried hand: the recogniser reads a practised one with half an error in a hundred characters."""
CORRECTED, NEW, OTHERS = 20, 10, 2
"""Pages of the book, further ones of its hand, and pages of each other hand and face."""
LEAST_SURE = 0.1


@dataclass(frozen=True)
class Figures:
    """What one set of weights makes of a set of pages; fractions."""

    cer: float
    folded: float
    found: float
    """Errors among the least sure characters."""
    ece: float


def draw_book(folder: Path, strokes: Path, faces: Sequence[Path], text: Path, hand: int) -> None:
    """Pages of the hand, in `drawn` and `new`, and those of others in `others`."""
    source = load_text(text, held_out=True)
    read, unread = (TextSource(source.documents[k::2]) for k in (0, 1))
    for name in ("fonts", "hand"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    hurried = replace(draw_hand(hand), shake=SHAKE, join=JOIN)
    write_font(hurried, load_strokes(strokes), folder / "hand" / "Hand.ttf")
    own = load_fonts(folder / "hand", unseen=True).faces
    _draw(own, CORRECTED, read, folder / "drawn")
    _draw(own, NEW, unread, folder / "new")
    _draw(gather_faces(faces, strokes, folder / "fonts").faces, OTHERS, unread, folder / "others")


def _draw(faces: Sequence[Face], pages: int, text: TextSource, out: Path) -> None:
    """So many pages of each face."""
    prepare(out, ("json",))
    for face in faces:
        alone = FontBook((face,))
        for number in range(pages):
            kind = KINDS[number % len(KINDS)]
            seed = page_seed(SEED, crc32(f"{out.name} {face.key} {number}".encode()))
            pixels, page = render(compose_page(kind, text, alone, seed, face.held_out), alone)
            export_page(page, pixels, f"{face.key}-{number + 1:02}-{kind}", out, ("json",))


def correct(drawn: Path, folder: Path) -> int:
    """Read these pages and correct them as a book; how many characters were changed."""
    shutil.copytree(drawn, folder, ignore=shutil.ignore_patterns("*.json"))
    work = Proofreading(open_book(str(folder)), Means(can_read=False))
    # Strays in lines of their own would be no lines of the label's.
    reader, changed = replace(open_reader(Setup(detector=None)), strays=None), 0
    try:
        for number, wanted in enumerate(load_folder(drawn), start=1):
            work.store.put_reading(number, reader.read(wanted), "", True)
            edits = list(corrections(work.store.state(number).page, wanted))
            changed += sum(max(edit.count, len(edit.insert)) for edit in edits)
            if edits:
                work.store.edit(number, EditsRequest(base=0, client="bench", edits=[*edits]))
            work.store.mark(number, True, "bench")
    finally:
        work.close()
    return changed


def corrections(read: Page, wanted: Page) -> Iterator[TextEdit]:
    """The edits that make the one page's text the other's, those of a line from its end on."""
    for line, label in zip(read.lines, wanted.lines, strict=True):
        chars, text = [char.text for char in line.chars], list(label.text)
        steps = SequenceMatcher(None, chars, text, False).get_opcodes()
        for what, start, stop, first, last in reversed(steps):
            if what != "equal":
                yield TextEdit(op="text", line=line.id, at=start, count=stop - start, insert=text[first:last])


def tune(book: Path, stage: str) -> tuple[Path, float]:
    """Train on the book and export, by the commands that the page shows; the weights, and minutes."""
    out, begun = book / "tuned", time.monotonic()
    for words in (
        ["train", stage, "--pages", f"folder={book}", "--out", out],
        ["export", out / "model.pt", "-o", out / "weights"],
    ):
        subprocess.run([sys.executable, "-m", "tongguocr", *map(str, words)], check=True)
    return out / "weights", (time.monotonic() - begun) / 60


def measure(pages: Iterable[Page], reader: Reader) -> Figures:
    """All pages together."""
    strict, wrong, wrong_folded, whole = PROTOCOLS["strict"], 0, 0, 0
    chars: list[Char] = []
    right: list[bool] = []
    for page in pages:
        result = reader.read(page)
        found, wanted = ([line.text for line in p.lines] for p in (result, page))
        plain, folded = (score_lines(found, wanted, strict, folded=f).tally for f in (False, True))
        whole += plain.reference
        wrong += errors(plain)
        wrong_folded += errors(folded)
        here = [char for line in result.lines for char in line.chars]
        chars += here
        right += errors_of(here, "".join(wanted)).strict
    sure, true = np.array([char.confidence or 0.0 for char in chars]), np.array(right)
    return Figures(
        wrong / whole,
        wrong_folded / whole,
        errors_found(sure, true, LEAST_SURE),
        calibration_error(sure, true),
    )


def errors(tally: Tally) -> int:
    return tally.substitutions + tally.deletions + tally.insertions


def tabulate(rows: Sequence[tuple[str, int, Sequence[Figures]]]) -> Table:
    """A row for each set of pages, before and after side by side."""
    table = Table("", title=f"Before and after tuning, percent; {machine()}")
    for name in ("pages", "CER", "after", "folded", "after", "errors found", "after", "ECE", "after"):
        table.add_column(name, justify="right")
    for name, pages, figures in rows:
        pairs = zip(*(astuple(one) for one in figures), strict=True)
        table.add_row(name, str(pages), *(f"{100 * value:.2f}" for pair in pairs for value in pair))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Correct a book of one hand, tune on it, and read before and after."
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--kanjivg", type=Path, metavar="WHEEL", help="draw the pages first, from this stroke data"
    )
    parser.add_argument("--text", type=Path, metavar="FILE", help="what is drawn; default: a short text")
    parser.add_argument("--faces", type=Path, nargs="+", default=[], metavar="FILE", help="other faces")
    parser.add_argument(
        "--hand", type=int, default=HAND, metavar="N", help=f"seed of the hand (default: {HAND})"
    )
    parser.add_argument("--dev", type=Path, nargs=2, metavar=("PAGES.json", "FOLDER"), help="real pages")
    parser.add_argument("--stage", default="tune", help="a stage file in its place")
    chosen = parser.parse_args(arguments)
    console, folder = Console(width=120), chosen.folder
    if chosen.kanjivg:
        draw_book(folder, chosen.kanjivg, chosen.faces, chosen.text, chosen.hand)
    book = folder / "book"
    if not book.exists():
        console.print(f"{correct(folder / 'drawn', book)} characters corrected on {CORRECTED} pages")
    weights, minutes = tune(book, chosen.stage)
    console.print(f"tuned in {minutes:.1f} minutes")
    sets = {name: list(load_folder(folder / name)) for name in ("new", "others")}
    if chosen.dev:
        sets["real"] = list(load_dev(*chosen.dev))
    readers = [open_reader(Setup(weights=one, detector=None)) for one in (None, weights)]
    rows = [
        (name, len(pages), [measure(pages, reader) for reader in readers]) for name, pages in sets.items()
    ]
    console.print(tabulate(rows))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.tune: {error}")
