"""Everything a training run reads, in one folder: fonts, text, counts and line images in, files out.

The folder holds atlas.npz (with its parts), codec.json, counts.tsv, text.txt or text.txt.xz, and, where line
images are given, lines.npz and held_out.npz, the pages that training must not see; and char_pages.npz, real
pages with character boxes, for the detector; runs of their labelled characters join the lines to train on;
and line_pages.npz, real pages with labelled lines, for the detector, with bare.npz, their paper without text.
It can be carried to a machine without fonts. Its characters are mined as `tongguocr vocab` mines them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path, PurePath

import numpy as np

from tongguocr.characters import is_ideograph
from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.layout.detect import SHIPPED_DETECTOR, CharacterDetector, load_network
from tongguocr.layout.link import chains_of
from tongguocr.tokens.codec import make_codec
from tongguocr.tokens.vocabulary import mine
from tongguocr.training.detector.line_pages import FILE as LINE_PAGES
from tongguocr.training.detector.line_pages import read_entries, read_line_pages
from tongguocr.training.detector.real_pages import FILE, RealPage, is_held_out, read_char_pages, save_pages
from tongguocr.training.recogniser.block_feed import BARE
from tongguocr.training.synth.atlas import build_atlas, save_atlas
from tongguocr.training.synth.bare_ink import bare_lines, held_out_stems
from tongguocr.training.synth.fonts import load_fonts
from tongguocr.training.synth.line_cuts import CIRCLE, extract_ink
from tongguocr.training.synth.line_pieces import known_runs
from tongguocr.training.synth.real_ink import (
    LineImage,
    Lines,
    gather,
    is_history,
    line_names,
    read_lines,
    save_lines,
    split,
)
from tongguocr.training.synth.text import COLUMN_MARKS, load_text


def gather_data(
    out: Path,
    fonts: Path,
    text: Path,
    counts: Path,
    lines: Path | None = None,
    min_count: int = 20,
    char_pages: Path | None = None,
    line_pages: Path | None = None,
    most: int | None = None,
) -> list[str]:
    """Fill the folder; returns what to tell the user, one sentence each.

    With `most`, the data have only so many characters, the commonest: others are neither drawn nor tokens.
    """
    load_text(text)
    found = {char: count for char, count in mine([counts]).items() if count >= min_count}
    found = dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most])
    if not found:
        raise InputError(f"{counts}: no character occurs {min_count} times.")
    make_folder(out)
    found = {**dict.fromkeys(COLUMN_MARKS, min_count), **found}
    chars = sorted(found, key=lambda char: (-found[char], char))
    make_codec(chars).save(out / "codec.json")
    write_bytes("".join(f"{char}\t{found[char]}\n" for char in chars).encode(), out / "counts.tsv")
    shutil.copyfile(text, out / ("text.txt.xz" if text.suffix == ".xz" else "text.txt"))
    book = load_fonts(fonts)
    save_atlas(build_atlas(book, chars), out / "atlas.npz")
    missing = book.missing(chars)
    drawn = f"{len(missing)} cannot be drawn: {''.join(missing[:40])}"
    said = [f"{len(chars)} characters, {len(book.faces)} faces; {drawn}"]
    pages = read_char_pages(char_pages) if char_pages is not None else []
    if char_pages is not None:
        said.append(_keep_char_pages(pages, out))
    if line_pages is not None:
        said.append(_keep_line_pages(line_pages, out))
    if line_pages is not None and lines is not None:
        said.append(keep_bare_ink(line_pages, lines, out))
    if lines is not None or pages:
        said.append(_gather_lines(lines, pages, out, frozenset(chars)))
    return said


def _gather_lines(table: Path | None, pages: list[RealPage], out: Path, chars: frozenset[str]) -> str:
    """Line images; of verse in Nôm, told by the book, only what Chinese has too, and to train on alone."""
    train, test = list[LineImage](), list[LineImage]()
    for line in read_lines(table) if table is not None else ():
        if split(line.name) == "train":
            train += known_runs(line, _is_known if is_history(line.name) else chars.__contains__)
        elif is_history(line.name):
            test.append(line)
    for page in pages:
        if not is_held_out(page.name):
            train += lines_of_page(page, chars.__contains__)
    save_lines(_coarse(gather(train)), out / "lines.npz")
    if table is not None:
        save_lines(_coarse(gather(test)), out / "held_out.npz")
    return f"{len(train)} line images to train on, {len(test)} held out by book page."


def _is_known(char: str) -> bool:
    return char == CIRCLE or is_ideograph(char)


def _keep_char_pages(pages: list[RealPage], out: Path) -> str:
    """Real pages, held-out ones among them: their names tell which."""
    save_pages(pages, out / FILE)
    held_out = sum(is_held_out(page.name) for page in pages)
    return f"{len(pages) - held_out} real pages to train the detector on, {held_out} held out."


def _keep_line_pages(folder: Path, out: Path) -> str:
    """Real pages with labelled lines, whose characters the shipped detector tells apart."""
    detector = CharacterDetector(load_network(SHIPPED_DETECTOR))
    pages = list(read_line_pages(folder, detector.find_characters))
    # Small pictures of noisy paper: finer, they would be larger than all else together.
    save_pages(pages, out / LINE_PAGES, quality=55)
    held_out = sum(is_held_out(page.name) for page in pages)
    return f"{len(pages) - held_out} real pages with lines to train the detector on, {held_out} held out."


def keep_bare_ink(folder: Path, table: Path, out: Path) -> str:
    """Places without text, of pages whose lines are not held out: the table of lines tells which are."""
    held_out = held_out_stems(name for name in line_names(table) if split(name) == "test")
    bare = list(bare_lines(read_entries(folder), held_out, np.random.default_rng(BARE_SEED)))
    save_lines(_coarse(gather(bare)), out / BARE)
    return f"{len(bare)} pictures of paper without text."


def _coarse(lines: Lines) -> Lines:
    """Ink in sixteen levels: more than such scans have, and the file shrinks by a third."""
    return replace(lines, ink=((lines.ink.astype(np.uint16) + 8) // 17 * 17).astype(np.uint8))


BARE_SEED = 1368
PAPER = 0.08
"""Paper around a run, in characters."""


def lines_of_page(page: RealPage, known: Callable[[str], bool]) -> Iterator[LineImage]:
    """All runs of known characters of one page."""
    number = 0
    for chain in chains_of(page.following):
        for is_known, run in groupby(
            chain.tolist(), lambda k: bool(page.labels[k]) and known(page.labels[k])
        ):
            if is_known:
                yield _cut_out(page, list(run), number)
                number += 1


def _cut_out(page: RealPage, run: list[int], number: int) -> LineImage:
    boxes = page.boxes[run]
    paper = PAPER * float(np.median(boxes[:, 3] - boxes[:, 1]))
    (left, top), (right, bottom) = boxes[:, :2].min(0) - paper, boxes[:, 2:].max(0) + paper
    x0, y0 = max(round(float(left)), 0), max(round(float(top)), 0)
    grey = page.pixels[y0 : round(float(bottom)) + 1, x0 : round(float(right)) + 1]
    between = (boxes[:-1, 3] + boxes[1:, 1]) / 2
    cuts = np.concatenate([boxes[:1, 1], between, boxes[-1:, 3]]) - y0
    text = "".join(page.labels[k] for k in run)
    return LineImage(_name(page.name, number), text, extract_ink(grey), cuts.astype(np.float32))


def _name(image: str, number: int) -> str:
    """BOOK__PAGE_NUMBER, as line images are called; a page's name begins with its book's."""
    stem = PurePath(image).stem
    return f"{stem.rpartition('-')[0] or stem}__{stem}_{number}"
