"""Our JSON: an exact round trip of every page, and errors that say where they are."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from page_strategies import example_page, pages

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.page_json import FORMAT, VERSION, check_page, parse_json, render_json
from tongguocr.page import DIRECTIONS, KINDS, Char, Line, Page

PATH = Path("page.json")


def minimal(**changes: object) -> dict[str, object]:
    page = {"format": FORMAT, "version": VERSION, "width": 10, "height": 20}
    return {**page, "lines": [{"id": "l1", "box": [1, 2, 3, 4]}], **changes}


def parse(data: object) -> Page:
    return parse_json(json.dumps(data).encode(), PATH)


@given(pages())
def test_every_page_comes_back_exactly(page: Page) -> None:
    check_page(page, PATH)
    again = parse_json(render_json(page), PATH)
    assert again == page
    assert [[type(n) for n in line.box] for line in again.lines] == [
        [type(n) for n in p.box] for p in page.lines
    ]


def test_what_the_language_model_did_comes_back() -> None:
    chars = (
        Char("習", (0, 0, 1, 1), 0.9, (("皆", 0.1),), picture="皆"),
        Char("鼉", (0, 0, 1, 1), surprise=19.5),
    )
    page = Page("", 9, 9, (Line("a", (0, 0, 9, 9), "習鼉", chars=chars),))
    assert parse_json(render_json(page), PATH) == page
    assert b"picture" not in render_json(example_page()) and b"surprise" not in render_json(example_page())


def test_optional_fields_may_be_missing() -> None:
    page = parse(minimal())
    assert page == Page("", 10, 20, (Line("l1", (1, 2, 3, 4)),))


def test_a_missing_direction_is_guessed_from_the_box() -> None:
    page = parse(minimal(lines=[{"id": "l1", "box": [0, 0, 100, 10], "text": "天地"}]))
    assert page.lines[0].direction == "left-to-right"


def test_swapped_corners_are_put_right() -> None:
    assert parse(minimal(lines=[{"id": "a", "box": [3, 4, 1, 2]}])).lines[0].box == (1, 2, 3, 4)


def test_boxes_outside_the_page_and_without_area_are_taken() -> None:
    rows = [{"id": "a", "box": [-5, -5, 900, 900.5]}, {"id": "b", "box": [1, 1, 1, 1]}]
    assert [line.box for line in parse(minimal(lines=rows)).lines] == [(-5, -5, 900, 900.5), (1, 1, 1, 1)]


def test_unknown_keys_are_left_alone() -> None:
    page = parse(minimal(scanner="x", lines=[{"id": "l1", "box": [1, 2, 3, 4], "font": {"size": 3}}]))
    assert page.lines[0].box == (1, 2, 3, 4)


def test_integers_stay_integers_and_numpy_numbers_become_plain() -> None:
    box = tuple(np.array([1, 2, 3, 4]))
    page = Page("", 9, 9, (Line("l1", box, confidence=np.float32(0.5)),))  # type: ignore[arg-type]
    assert '"box": [1, 2, 3, 4]' in render_json(page).decode()
    assert parse_json(render_json(page), PATH).lines[0].confidence == 0.5


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], '"format" must be'),
        ({"format": "other"}, '"format" must be'),
        (minimal(version="1"), "version must be a whole number"),
        (minimal(version=2), "version 2 is newer"),
        (minimal(width=-1), "width must be a whole number"),
        (minimal(height=1.5), "height must be a whole number"),
        (minimal(height=None), "height must be"),
        (minimal(lines=None), "lines must be a list"),
        (minimal(lines=["x"]), "lines[0] must be an object"),
        (minimal(image=3), "image must be a text"),
        (minimal(angle=45), "angle must be one of 0, 90, 180, 270"),
        (minimal(angle=-90), "angle must be one of"),
        (minimal(angle=False), "angle must be one of"),
        (minimal(angle=[90]), "angle must be one of"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3]}]), "lines[0].box must be four numbers"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, True]}]), "lines[0].box must be four numbers"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 10**400]}]), "lines[0].box must be four numbers"),
        (minimal(lines=[{"box": [1, 2, 3, 4]}]), "lines[0].id must be a text"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "text": 7}]), "lines[0].text must be a text"),
        (
            minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "text": "a\nb"}]),
            "lines[0].text must hold no line",
        ),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "text": "\ud800"}]), "half of a surrogate pair"),
        (
            minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "kind": "title"}]),
            "lines[0].kind must be one of main",
        ),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "kind": []}]), "lines[0].kind must be one of main"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "direction": "up"}]), "lines[0].direction must be"),
        (minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "confidence": 1.5}]), "lines[0].confidence must be"),
        (
            minimal(lines=[{"id": "a", "box": [1, 2, 3, 4], "polygon": [[1, 2]]}]),
            "lines[0].polygon must be three",
        ),
        (
            minimal(lines=[{"id": "a", "box": [0] * 4, "polygon": [[1, 2], [3], [4, 5]]}]),
            "polygon[1] must be two",
        ),
        (
            minimal(lines=[{"id": "a", "box": [0] * 4, "chars": [{"text": "x"}]}]),
            "lines[0].chars[0].box must be",
        ),
        (
            minimal(
                lines=[
                    {"id": "a", "box": [0] * 4, "chars": [{"text": "x", "box": [0] * 4, "candidates": [1]}]}
                ]
            ),
            "lines[0].chars[0].candidates[0] must be a text and a confidence",
        ),
        (minimal(lines=[{"id": "a", "box": [0] * 4}] * 2), "lines[1].id 'a' is used twice"),
    ],
)
def test_errors_name_their_place(data: object, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse(data)
    message = str(error.value)
    assert message.startswith("page.json: ") and sentence in message
    assert message.endswith(".") and "\n" not in message


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"",
        b"\xff\xfe\x00",
        b"\0\0",
        b'{"width": NaN}',
        b'{"a": Infinity}',
        b"[" * 100_000,
        b"9" * 9999,
        b"{]",
    ],
)
def test_what_is_no_json_is_one_sentence(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^page\.json: [^\n]*\.$"):
        parse_json(data, PATH)


def test_a_byte_order_mark_is_tolerated() -> None:
    assert parse_json(b"\xef\xbb\xbf" + render_json(example_page()), PATH) == example_page()


@pytest.mark.parametrize(
    "line",
    [
        Line("a", (0, 0, float("nan"), 1)),
        Line("a", (0, 0, float("inf"), 1)),
        Line("a", (0, 0, 1, 1), "two\nlines"),
        Line("a", (0, 0, 1, 1), "\udc00"),
        Line("a", (0, 0, 1, 1), confidence=2),
        Line("a", (0, 0, 1, 1), chars=(Char("x", (0, 0, 1, 1), None, (("y", -1.0),)),)),
    ],
)
@pytest.mark.parametrize("name", ["p.json", "p.xml", "p.alto.xml", "p.txt"])
def test_a_page_that_cannot_be_read_again_is_not_written(line: Line, name: str, tmp_path: Path) -> None:
    page = replace(example_page(), lines=(line,))
    with pytest.raises(InputError, match=r"lines\[0\]"):
        write_page(page, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_schema_speaks_of_the_same_fields_and_values() -> None:
    schema = json.loads((files("tongguocr.formats") / "page.schema.json").read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["properties"]["format"]["const"] == FORMAT
    assert schema["properties"]["version"]["const"] == VERSION
    assert set(definitions["line"]["properties"]) == {f.name for f in fields(Line) if f.compare}
    assert set(definitions["char"]["properties"]) == {field.name for field in fields(Char)}
    assert definitions["line"]["properties"]["kind"]["enum"] == list(KINDS)
    assert set(definitions["line"]["properties"]["direction"]["enum"]) == {*DIRECTIONS, None}


def test_what_the_schema_requires_is_required(tmp_path: Path) -> None:
    schema = json.loads((files("tongguocr.formats") / "page.schema.json").read_text(encoding="utf-8"))
    for key in schema["required"]:
        with pytest.raises(InputError):
            parse({k: v for k, v in minimal().items() if k != key})
    for key in schema["$defs"]["line"]["required"]:
        row = {k: v for k, v in {"id": "l1", "box": [1, 2, 3, 4]}.items() if k != key}
        with pytest.raises(InputError):
            parse(minimal(lines=[row]))
    write_page(example_page(), tmp_path / "p.json")
    assert read_page(tmp_path / "p.json") == example_page()
