"""Reading from Python, as the README shows it."""

from __future__ import annotations

import io
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
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, lines_on_page
from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.layout.detection import Detection
from tongguocr.page import Char, Page, Pixels
from tongguocr.reader import Reader
from tongguocr.sources import load_pixels
from tongguocr.sources.given import page_of


class Counting(Engine):
    """Says of every line how many it has read so far."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        readings = []
        for block in blocks:
            lines = []
            for line in lines_on_page(block):
                self.count += 1
                lines.append(LineReading((Char(str(self.count), line.box, 1.0),), "read"))
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


def test_a_page_is_read_from_whatever_holds_its_image(tmp_path: Path) -> None:
    image, lines = save(tmp_path)
    data = image.read_bytes()
    with Image.open(image) as opened, image.open("rb") as file:
        for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), opened, file):
            page = tongguocr.read(source, lines=lines, engine=Counting())
            assert page.text == "1\n2\n3" and page.pixels is not None
            assert page.image == ("page.png" if source is opened or source is file else "")
    turned = Image.fromarray(np.zeros((10, 20), np.uint8))
    turned.getexif()[0x0112] = 6
    assert page_of(turned).pixels.shape == (20, 10) and turned.size == (20, 10), "and stays as it is"
    deep = Image.fromarray(np.array([[0, 4095]], np.uint16))
    assert page_of(deep).pixels.tolist() == [[0, 255]]


def test_the_shipped_weights_read_the_example(tmp_path: Path) -> None:
    known = read_page(EXAMPLES / "page.json")
    write_page(replace(known, lines=known.lines[:1]), tmp_path / "page.json")
    page = tongguocr.read(EXAMPLES / "page.jpg", lines=tmp_path / "page.json")
    assert page.text.startswith("大學之道在明明德")


def test_a_mirrored_page_is_warned_of_though_many_characters_are_symmetrical() -> None:
    page = tongguocr.read(np.ascontiguousarray(load_pixels(EXAMPLES / "page.jpg")[:, ::-1]))
    assert len(page.text) > 300 and len(page.warnings) == 1 and "cannot be trusted" in page.warnings[0]


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


def test_all_pages_of_a_file_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shades = [Image.fromarray(np.full((40, 40), shade, np.uint8)) for shade in (50, 200)]
    shades[0].save(tmp_path / "a.tif", save_all=True, append_images=shades[1:])
    monkeypatch.setattr("tongguocr.api._open", lambda setup: Reader(None, Blind()))
    data = (tmp_path / "a.tif").read_bytes()
    for source in (data, io.BytesIO(data)):
        pages = list(tongguocr.read_all(source, engine=Counting()))
        assert [int(page.pixels[0, 0]) for page in pages if page.pixels is not None] == [50, 200]


GREY = np.full((40, 40), 200, np.uint8)
BOOL = GREY > 3


@pytest.mark.parametrize(
    ("image", "error", "said"),
    [
        (BOOL, TypeError, "uint8.*not bool"),
        (GREY.astype(float), TypeError, "uint8.*not float64"),
        (np.empty((0, 0), np.uint8), ValueError, "0 x 0 pixels"),
        (np.empty((0, 9, 3), np.uint8), ValueError, "0 x 9 x 3"),
        (np.zeros((9, 9, 4), np.uint8), ValueError, "height x width x 3, not 9 x 9 x 4"),
        (np.zeros(9, np.uint8), ValueError, "not 9"),
        (Image.new("L", (0, 0)), ValueError, "0 x 0 pixels"),
        (None, TypeError, "image must be .*not None"),
        (7, TypeError, "not int"),
        ([GREY], TypeError, "not list"),
        (b"", ValueError, "nothing in it"),
        ("", ValueError, "image: the path is empty"),
        (b"junk", InputError, "image: not an image"),
        (io.StringIO("junk"), TypeError, "mode 'rb'"),
        (Page("p.png", 40, 40), ValueError, "p.png: this page has no pixels"),
        (Page("p.png", 40, 41, pixels=GREY), ValueError, "40 x 41 pixels by its numbers"),
        (Page("p.png", 40, 40, pixels=BOOL), TypeError, "uint8"),
    ],
)
def test_what_is_no_page_is_refused(image: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        tongguocr.read(image, engine=Counting())  # type: ignore[arg-type]
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        (
            {"direction": "sideways"},
            ValueError,
            "horizontal or None, not 'sideways'",
        ),
        ({"direction": True}, ValueError, "direction must be"),
        ({"turn": "no"}, TypeError, "turn must be True or False, not 'no'"),
        ({"language_model": 0}, TypeError, "language_model must be True or False, not 0"),
        ({"detector": "magic"}, ValueError, "detector must be one of tongguocr, rapidocr, not 'magic'"),
        ({"engine": None}, TypeError, "engine must be .*not NoneType"),
        ({"engine": "magic"}, InputError, "no engine 'magic'"),
        ({"binarise": True}, TypeError, "binarise"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    options: dict[str, object], error: type[Exception], said: str
) -> None:
    for function, source in ((tongguocr.read, GREY), (tongguocr.read_all, EXAMPLES / "page.jpg")):
        with pytest.raises(error, match=said) as caught:
            list(function(source, **options))  # type: ignore[arg-type, operator]
        assert "\n" not in str(caught.value)


def test_arguments_of_one_function_only_are_refused_too(tmp_path: Path) -> None:
    for options, error in (
        ({"lines": 7}, TypeError),
        ({"lines": ""}, TypeError),
        ({"lines": "a.json", "direction": "horizontal"}, ValueError),
        ({"lines": "a.json", "detector": "rapidocr"}, ValueError),
        ({"lines": "a.json", "turn": False}, ValueError),
        ({"lines": tmp_path / "none.json"}, InputError),
    ):
        with pytest.raises(error):
            tongguocr.read(GREY, engine=Counting(), **options)  # type: ignore[arg-type]
    # Before any page is asked for.
    for source, arguments, error in (
        (EXAMPLES / "page.jpg", {"pages": 3}, TypeError),
        (EXAMPLES / "page.jpg", {"pages": "3-1"}, InputError),
        (EXAMPLES / "page.jpg", {"password": b"x"}, TypeError),
        (EXAMPLES / "page.jpg", {"password": "x"}, ValueError),
        (GREY, {}, TypeError),
        (tmp_path / "none.pdf", {}, InputError),
    ):
        with pytest.raises(error):
            tongguocr.read_all(source, **arguments)  # type: ignore[arg-type]


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
