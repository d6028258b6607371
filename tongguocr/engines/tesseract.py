"""The engine `tesseract`: the program of that name with its language chi_tra_vert, line by line.

Its vertical model reads columns lying on their side, as RapidOCR does, so lines are cut and turned in that
way. All lines of a call go to one process, whose start costs more than a line; it answers in hOCR, with a box
and a confidence for each character. `read_whole` gives it a whole page, as its own users do.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, char_box
from tongguocr.engines.rapidocr import cut_line
from tongguocr.errors import InputError
from tongguocr.formats.xml import Element, parse_xml
from tongguocr.layout.rapidocr import to_bgr
from tongguocr.page import Char, Line, Pixels

PROGRAM = "tesseract"
COLUMN_LANGUAGE, ROW_LANGUAGE = "chi_tra_vert", "chi_tra"
LINE_MODE, PAGE_MODE = 13, 5
"""Its page segmentation modes: a line as it is, without looking for lines; vertical text."""
TIMEOUT = 600.0
"""Seconds for one call; a whole page may take two minutes."""
LEAST_SIDE = 4
"""Lines that are thinner or shorter, in pixels, are not read: it would refuse them all for one."""


class MissingProgramError(InputError):
    """A program of the system, or one of its parts, is not there."""


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character on a line's picture."""

    text: str
    at: float
    """Its middle, as a share of the picture's width."""
    confidence: float


class TesseractEngine(Engine):
    """Reads every line by itself; it writes no more than a line is long, so no guard is needed."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self.timeout = timeout
        check_languages([COLUMN_LANGUAGE])

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """The lines of all blocks: columns in one call of the program, horizontal lines in another."""
        lines = [(block, line) for block in blocks for line in block.lines]
        glyphs: list[list[Glyph]] = [[] for _ in lines]
        for upright in (True, False):
            self._read_kind(lines, glyphs, upright)
        readings = iter([_to_reading(*pair, found) for pair, found in zip(lines, glyphs, strict=True)])
        return [BlockReading(tuple(next(readings) for _ in block.lines)) for block in blocks]

    def read_whole(self, pixels: Pixels) -> list[str]:
        """The lines of a page, found, ordered and read by Tesseract alone; blanks between characters go."""
        options = ["--psm", str(PAGE_MODE), "-c", "tessedit_create_txt=1"]
        text = run([to_bgr(pixels)], COLUMN_LANGUAGE, options, self.timeout).decode("utf-8", "replace")
        return [line for row in text.splitlines() if (line := "".join(row.split()))]

    def _read_kind(
        self, lines: Sequence[tuple[BlockInput, Line]], glyphs: list[list[Glyph]], upright: bool
    ) -> None:
        """Columns, or horizontal lines: each kind in one call with its own language."""
        cuts = {
            k: cut_line(block.crop, line)
            for k, (block, line) in enumerate(lines)
            if line.is_vertical is upright
        }
        cuts = {k: pixels for k, pixels in cuts.items() if min(pixels.shape[:2]) >= LEAST_SIDE}
        if not cuts:
            return
        language = COLUMN_LANGUAGE if upright else ROW_LANGUAGE
        check_languages([language])
        options = ["--psm", str(LINE_MODE), "-c", "hocr_char_boxes=1"]
        answer = run(list(cuts.values()), language, [*options, "-c", "tessedit_create_hocr=1"], self.timeout)
        for k, found in zip(cuts, parse_hocr(answer, len(cuts)), strict=True):
            glyphs[k] = found


def run(pictures: Sequence[Pixels], language: str, options: Sequence[str], timeout: float) -> bytes:
    """What the program prints for these pictures, which are BGR, in one call."""
    with TemporaryDirectory(prefix="tongguocr-") as made:
        folder = Path(made)
        names = [f"{k:05d}.png" for k in range(len(pictures))]
        for name, picture in zip(names, pictures, strict=True):
            Image.fromarray(np.ascontiguousarray(picture[..., ::-1])).save(folder / name, compress_level=1)
        (folder / "list.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        return _call([_program(), "list.txt", "stdout", "-l", language, *options], timeout, folder)


def _call(command: Sequence[str], timeout: float, folder: Path | None = None) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"{PROGRAM}: it did not end within {timeout:.0f} seconds.") from None
    except OSError as error:
        raise MissingProgramError(f"{PROGRAM}: the program cannot be run ({error.strerror}).") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"]
        raise InputError(f"{PROGRAM}: it ended with {done.returncode} ({said[-1].rstrip('.')}).")
    return done.stdout


def _program() -> str:
    found = shutil.which(PROGRAM)
    if found is None:
        raise MissingProgramError(
            f"{PROGRAM}: the program is not installed; on Debian: apt-get install tesseract-ocr-chi-tra-vert."
        )
    return found


def check_languages(wanted: Sequence[str]) -> None:
    """One sentence if the program is missing, or what it needs to know these languages."""
    known = _languages(_program())
    for name in wanted:
        if name not in known:
            package = f"tesseract-ocr-{name.replace('_', '-')}"
            raise MissingProgramError(
                f"{PROGRAM}: its language {name} is not installed; on Debian: apt-get install {package}."
            )


@cache
def _languages(program: str) -> frozenset[str]:
    """Its languages; a first line that names their folder is none."""
    return frozenset(_call([program, "--list-langs"], 30.0).decode("utf-8", "replace").split())


def parse_hocr(answer: bytes, pictures: int) -> list[list[Glyph]]:
    """The characters on each picture."""
    try:
        root = parse_xml(answer, Path(PROGRAM))
    except InputError:
        raise InputError(f"{PROGRAM}: its answer is not hOCR.") from None
    pages = [_parse_page(page) for page in root.iterfind(".//div[@class='ocr_page']")]
    if len(pages) != pictures:
        raise InputError(f"{PROGRAM}: it answered for {len(pages)} pictures of {pictures}.")
    return pages


def _parse_page(page: Element) -> list[Glyph]:
    left, _, right, _ = _numbers(page.get("title", ""), "bbox")
    found = []
    for span in page.iterfind(".//span[@class='ocrx_cinfo']"):
        title, text = span.get("title", ""), "".join(span.itertext()).strip()
        x0, _, x1, _ = _numbers(title, "x_bboxes")
        at = ((x0 + x1) / 2 - left) / max(right - left, 1.0)
        if text:
            found.append(Glyph(text, min(max(at, 0.0), 1.0), min(max(_confidence(title), 0.0), 1.0)))
    return found


def _numbers(title: str, name: str) -> tuple[float, float, float, float]:
    found = re.search(rf"\b{name} (-?\d+) (-?\d+) (-?\d+) (-?\d+)", title)
    if found is None:
        raise InputError(f"{PROGRAM}: its hOCR has no {name} where one belongs.")
    x0, y0, x1, y1 = map(float, found.groups())
    return x0, y0, x1, y1


def _confidence(title: str) -> float:
    found = re.search(r"\bx_conf (-?[\d.]+)", title)
    return float(found[1]) / 100 if found else 0.0


def _to_reading(block: BlockInput, line: Line, found: Sequence[Glyph]) -> LineReading:
    if line.direction in ("right-to-left", "bottom-to-top"):
        # It reads from left to right and, turned, from the top: such lines come out backwards.
        found = found[::-1]
    boxes = (char_box(line, glyph.at, len(found)) for glyph in found)
    chars = tuple(
        Char(glyph.text, block.crop.to_page(box), round(glyph.confidence, 4))
        for glyph, box in zip(found, boxes, strict=True)
    )
    return LineReading(chars, "read" if chars else "empty")
