"""What comes with a request: names, options, lines, and pictures within bounds."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from recognise_pages import make_page
from serve_models import png

from tongguocr.errors import InputError
from tongguocr.formats import Style
from tongguocr.formats.page_json import render_json
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.serve.upload import ReadOptions, Upload, clean_name, load_picture, parse_options


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("page.jpg", "page.jpg"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\葉.tif", "葉.tif"),
        ("", "page"),
        ("..", "page"),
        ("a/..", "page"),
        (" ", "page"),
        ("a\nb\0.png", "ab.png"),
    ],
)
def test_names_are_names(written: str, name: str) -> None:
    assert clean_name(written) == name


@given(st.text())
def test_any_name_is_one_that_a_folder_takes(written: str) -> None:
    name = clean_name(written)
    assert Path(name).name == name and len(name.encode()) < 250 and name.isprintable()


def test_options() -> None:
    assert parse_options({}) == ReadOptions("json", Style(), None)
    assert parse_options({"format": "md", "notes": "omit", "flow": "true"}).style == Style("omit", True)
    assert parse_options({"fold": "1"}).style == Style(fold=True)
    assert [parse_options(o).turn for o in ({}, {"turn": "1"}, {"turn": "false"})] == [None, True, False]
    names = ("txt", "text", "csv", "doubts", "alto")
    assert [parse_options({"format": f}).format for f in names] == ["txt", "txt", "csv", "csv", "alto"]
    assert parse_options({"direction": "vertical-lr"}).direction == "vertical-lr"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("format", "docx"),
        ("notes", "maybe"),
        ("flow", "yes"),
        ("fold", "all"),
        ("turn", "left"),
        ("script", "cursive"),
        ("direction", "up"),
        ("colour", "red"),
    ],
)
def test_unknown_options_are_named(option: str, value: str) -> None:
    with pytest.raises(InputError, match=option):
        parse_options({option: value})


def test_lines_are_read_and_bounded() -> None:
    page = make_page(3)
    assert page.pixels is not None
    upload = Upload("a.png", png(page.pixels), render_json(page), ReadOptions())
    known, shown = upload.known(Bounds()), upload.page(Bounds())
    assert known is not None and known.lines == page.lines
    assert (shown.image, shown.width, shown.height) == ("a.png", page.width, page.height)
    with pytest.raises(StatusError, match="3 are more than the 2") as caught:
        upload.known(Bounds(lines=2))
    assert caught.value.status == 422
    with pytest.raises(InputError, match="lines: this is not JSON"):
        Upload("a.png", b"", b"junk", ReadOptions()).known(Bounds())


def test_pictures_are_bounded_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    small = png(np.zeros((10, 20), np.uint8))
    assert load_picture(small, "a.png", Bounds(pixels=200)).shape == (10, 20)
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("was unpacked"))
    with pytest.raises(StatusError, match=r"a\.png: the image is 20 x 10 pixels") as caught:
        load_picture(small, "a.png", Bounds(pixels=199))
    assert caught.value.status == 422
    bomb = bytearray(small)
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    with pytest.raises(StatusError, match="megapixels"):
        load_picture(bytes(bomb), "a.png", Bounds())


@pytest.mark.parametrize("data", [b"", b"junk", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7"])
def test_what_is_no_picture_gets_a_sentence(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.png: "):
        load_picture(data, "a.png", Bounds())
