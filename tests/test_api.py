"""Reading from Python, as the README shows it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lying_pages import Observant, scan_of
from paths import EXAMPLES
from PIL import Image
from recognise_pages import make_page

import tongguocr
from tongguocr.engines.base import BlockInput, BlockReading, LineReading
from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.layout.detection import Detection
from tongguocr.page import Char, Pixels
from tongguocr.reader import Reader


class Counting:
    """Says of every line how many it has read so far."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        readings = []
        for block in blocks:
            lines = []
            for _ in block.lines:
                self.count += 1
                lines.append(LineReading((Char(str(self.count), (0, 0, 1, 1), 1.0),), "read"))
            readings.append(BlockReading(tuple(lines)))
        return readings


class Blind:
    """A detector that finds nothing."""

    tells_kinds = True

    def detect(self, pixels: Pixels) -> Detection:
        return Detection(())


def save(folder: Path) -> tuple[Path, Path]:
    page = replace(make_page(3), image="page.png")
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(folder / "page.png")
    write_page(page, folder / "page.json")
    return folder / "page.png", folder / "page.json"


def test_a_page_is_read_from_its_file_its_pixels_or_its_lines(tmp_path: Path) -> None:
    image, lines = save(tmp_path)
    for source in (image, str(image), np.asarray(Image.open(image))):
        assert tongguocr.read(source, lines=lines, engine=Counting()).text == "1\n2\n3"
    page = tongguocr.read(make_page(2), engine=Counting())
    assert page.text == "1\n2" and page.pixels is not None
    other = replace(make_page(3), lines=make_page(3).lines[:1])
    assert tongguocr.read(other, lines=lines, engine=Counting()).text == "1\n2\n3", "the file's lines count"


def test_the_shipped_weights_read_the_example(tmp_path: Path) -> None:
    known = read_page(EXAMPLES / "page.json")
    write_page(replace(known, lines=known.lines[:1]), tmp_path / "page.json")
    page = tongguocr.read(EXAMPLES / "page.jpg", lines=tmp_path / "page.json")
    assert page.text.startswith("大學之道在明明德")


def test_a_missing_image_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jpg"):
        tongguocr.read(tmp_path / "nothing.jpg")
    with pytest.raises(InputError, match=r"nothing\.pdf"):
        list(tongguocr.read_all(tmp_path / "nothing.pdf"))


def test_all_pages_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        Image.fromarray(np.full((40, 40), 200, np.uint8)).save(tmp_path / f"{name}.png")
    monkeypatch.setattr("tongguocr.api._open", lambda setup: Reader(None, Blind()))
    pages = list(tongguocr.read_all(tmp_path, "2-", engine=Counting()))
    assert [page.image for page in pages] == ["b.png", "c.png"]


@pytest.mark.parametrize("turn", [True, False])
def test_pages_that_lie_on_their_side(turn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = make_page(3)
    Image.fromarray(scan_of(page, 270)).save(tmp_path / "a.png")
    monkeypatch.setattr("tongguocr.api._open", lambda setup: Reader(None, Observant(page)))
    one = tongguocr.read(tmp_path / "a.png", turn=turn, engine=Counting())
    pages = [one, *tongguocr.read_all(tmp_path, turn=turn, engine=Counting())]
    assert [found.angle for found in pages] == [270 if turn else 0] * 2
    assert [found.text for found in pages] == ["1\n2\n3"] * 2


def test_importing_is_light() -> None:
    heavy = "('numpy', 'PIL', 'lxml', 'onnxruntime', 'torch', 'rapidfuzz')"
    code = f"import sys, tongguocr; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
