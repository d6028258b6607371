"""Exported pages come back equal through the readers of the formats and of the data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_fonts import make_font, many

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.page import Char, Line, Page, Pixels
from tongguocr.training.datasets import read_m5hisdoc, read_mthv2
from tongguocr.training.synth.composition import to_page
from tongguocr.training.synth.export import FORMATS, corners, export_page, prepare, write_lists
from tongguocr.training.synth.fonts import FontBook, load_fonts
from tongguocr.training.synth.kinds import KINDS, compose_page
from tongguocr.training.synth.text import load_text


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    folder = tmp_path_factory.mktemp("fonts")
    thousand = "".join(line for document in load_text(None).documents for line in document.lines)
    make_font(folder / "tiny.ttf", many(thousand))
    return load_fonts(folder)


def blank(page: Page) -> Pixels:
    return np.full((page.height, page.width), 230, np.uint8)


def export(page: Page, folder: Path, name: str = "00001", **options: str) -> None:
    prepare(folder, FORMATS)
    export_page(page, blank(page), name, folder, FORMATS, **options)  # type: ignore[arg-type]
    write_lists(folder, [name], page.full_text, FORMATS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back(book: FontBook, kind: str, tmp_path: Path) -> None:
    page = to_page(compose_page(kind, load_text(None), book, seed=5), "00001.jpg")
    export(page, tmp_path)
    assert read_page(tmp_path / "00001.json") == page
    pages = {
        "page": read_page(tmp_path / "00001.xml"),
        "mthv2": next(read_mthv2(tmp_path / "mthv2", "train")),
        "m5hisdoc": next(read_m5hisdoc(tmp_path / "m5hisdoc", "train")),
    }
    for name, read in pages.items():
        # PAGE and MTHv2 have whole pixels.
        near = 0.0 if name == "m5hisdoc" else 0.5
        assert (read.width, read.height, read.full_text) == (page.width, page.height, page.full_text)
        for line, original in zip(read.lines, page.lines, strict=True):
            assert line.box == pytest.approx(original.box, rel=0, abs=near)
            assert [char.text for char in line.chars] == [char.text for char in original.chars]
            for char, known in zip(line.chars, original.chars, strict=True):
                assert char.box == pytest.approx(known.box, rel=0, abs=near)


def test_rows_have_the_data_sets_own_shape(tmp_path: Path) -> None:
    chars = (Char("天", (10, 20, 30.5, 40)), Char(",", (10, 40, 30.5, 59.75)))
    outline = ((10.0, 20.0), (30.5, 21.0), (31.0, 59.0), (11.0, 60.25))
    page = Page("", 100, 80, (Line("l1", (10, 20, 31, 60.25), "天,", polygon=outline, chars=chars),))
    export(page, tmp_path)
    mthv2, m5hisdoc = tmp_path / "mthv2" / "MTH1000", tmp_path / "m5hisdoc" / "M5HisDoc_regular"
    assert (mthv2 / "label_textline" / "00001.txt").read_text("utf-8") == "天,,10,20,30,21,31,59,11,60\n"
    assert (mthv2 / "label_char" / "00001.txt").read_text("utf-8") == "天,10,20,30,40\n,,10,40,30,60\n"
    lines = (m5hisdoc / "label_textline" / "00001.txt").read_text("utf-8")
    assert lines == "10,20,30.5,21,31,59,11,60.25,天,\n"
    assert (m5hisdoc / "label_char" / "00001.txt").read_text("utf-8").startswith("10,20,30.5,40,天\n")
    assert (tmp_path / "mthv2" / "train.txt").read_text("utf-8") == "MTH1000/00001\n"
    assert (tmp_path / "m5hisdoc" / "split_train.txt").read_text("utf-8") == "00001\n"
    with Image.open(mthv2 / "img" / "00001.jpg") as image:
        assert image.format == "JPEG" and image.size == (100, 80)
    assert next(read_mthv2(tmp_path / "mthv2")).lines[0].text == "天,"


def test_a_longer_outline_becomes_its_box() -> None:
    polygon = tuple((float(k), float(k % 3)) for k in range(6))
    line = Line("l1", (0, 0, 5, 2), polygon=polygon)
    assert corners(line) == ((0, 0), (5, 0), (5, 2), (0, 2))


def test_png_keeps_every_pixel(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3)).astype(np.uint8)
    prepare(tmp_path, ("json",))
    export_page(Page("", 30, 40), pixels, "a", tmp_path, ("json",), "png")
    with Image.open(tmp_path / "a.png") as image:
        assert (np.asarray(image) == pixels).all()
    assert read_page(tmp_path / "a.json").image == "a.png"
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "a.json"}


def test_only_the_formats_that_were_asked_for(tmp_path: Path) -> None:
    prepare(tmp_path / "out", ("mthv2",))
    export_page(Page("", 30, 40), np.zeros((40, 30), np.uint8), "a", tmp_path / "out", ("mthv2",))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mthv2"}


def test_an_unknown_format_and_a_file_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no format 'alto'"):
        prepare(tmp_path, ("json", "alto"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: the folder cannot be written"):
        prepare(tmp_path / "file", ("json",))
