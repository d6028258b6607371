"""What comes with a request: names, options and lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import make_page
from serve_models import png

from tongguocr.errors import InputError
from tongguocr.formats import Style
from tongguocr.formats.page_json import render_json
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.serve.upload import OPENINGS, ReadOptions, Upload, clean_name, parse_options


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
    assert parse_options({"fold": "1", "format": "txt"}).style == Style(fold=True)
    doubts = parse_options({"min_confidence": "0.9", "doubtful": "omit"}).style
    assert doubts == Style(min_confidence=0.9, doubtful="omit")
    assert [parse_options(o).turn for o in ({}, {"turn": "1"}, {"turn": "false"})] == [None, True, False]
    names = ("txt", "text", "csv", "doubts", "alto")
    assert [parse_options({"format": f}).format for f in names] == ["txt", "txt", "csv", "csv", "alto"]
    locked = [parse_options({"password": word}, OPENINGS) for word in ("", "秘密")]
    assert [options.password for options in locked] == [None, "秘密"] and "秘密" not in repr(locked)
    assert parse_options({"direction": "vertical-lr"}).direction == "vertical-lr"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("format", "docx"),
        ("notes", "maybe"),
        ("flow", "yes"),
        ("fold", "all"),
        ("turn", "left"),
        ("min_confidence", "much"),
        ("min_confidence", "nan"),
        ("min_confidence", "1.5"),
        ("doubtful", "question"),
        ("script", "cursive"),
        ("direction", "up"),
        ("colour", "red"),
    ],
)
def test_unknown_options_are_named(option: str, value: str) -> None:
    with pytest.raises(InputError, match=option):
        parse_options({option: value})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"notes": "inline"}, "notes is for txt, md, epub, and what is to be written is json."),
        ({"fold": "true", "format": "tei"}, "fold is for txt, md, epub, and what is to be written is tei."),
        ({"doubtful": "omit"}, "doubtful is for characters that min_confidence says"),
    ],
)
def test_options_that_the_format_does_not_obey_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_options(options)
    assert parse_options({"flow": "false", "script": "keep"}).style == Style(), "what happens anyway"


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
