"""IIIF manifests: what Presentation 3 asks for, text in its place, and our own source reads them back."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from page_strategies import example_page, pages, xml_text
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.formats import Style, write_book, write_page
from tongguocr.formats.iiif import render_manifest
from tongguocr.formats.unread import NOT_READ, unread_page
from tongguocr.page import Line, Page
from tongguocr.sources import open_source

PATH = Path("卷一.manifest.json")
STYLE = Style(base_url="https://example.org/books")


def manifest_of(page: Page, style: Style = STYLE) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(render_manifest(page, PATH, style))
    return made


def ids(thing: Any) -> list[str]:
    """The ids of all that is part of a manifest; thumbnails are the images that the canvases show."""
    if isinstance(thing, list):
        return [name for one in thing for name in ids(one)]
    if not isinstance(thing, dict):
        return []
    inner = [name for key, value in thing.items() if key != "thumbnail" for name in ids(value)]
    return [*([thing["id"]] if "id" in thing else []), *inner]


def test_a_canvas_has_its_image_and_its_text_in_place() -> None:
    made = manifest_of(example_page())
    assert made["@context"][-1] == "http://iiif.io/api/presentation/3/context.json"
    assert (made["type"], made["label"]) == ("Manifest", {"none": ["卷一"]})
    assert made["id"] == "https://example.org/books/%E5%8D%B7%E4%B8%80.manifest.json"
    assert made["viewingDirection"] == "right-to-left"
    (canvas,) = made["items"]
    assert (canvas["type"], canvas["width"], canvas["height"]) == ("Canvas", 600, 800)
    (painting,) = canvas["items"][0]["items"]
    assert (painting["motivation"], painting["target"]) == ("painting", canvas["id"])
    assert painting["body"]["id"] == "https://example.org/books/page-001.png"
    assert (painting["body"]["format"], painting["body"]["width"]) == ("image/png", 600)
    lines, characters = (page["items"] for page in canvas["annotations"])
    assert [(one["body"]["value"], one["target"].partition("#")[2]) for one in lines] == [
        ("天地玄", "xywh=500,100,50,150"),
        ("注右行", "xywh=527,250,23,100"),
        ("左行", "xywh=500,250,23,75"),
        ("黃𠀀洪", "xywh=430,100,52,150"),
        ("眉批", "xywh=100,20,200,30"),
    ]
    assert [one["body"]["value"] for one in characters] == ["天", "地", "玄"]
    assert characters[1]["target"] == f"{canvas['id']}#xywh=500,150,50,50"
    for found, granularity in ((lines, "line"), (characters, "glyph")):
        assert all("supplementing" in one["motivation"] for one in found)
        assert {one["textGranularity"] for one in found} == {granularity}
    assert "commenting" in lines[0]["motivation"], "Mirador shows nothing else"


def test_images_with_an_address_of_their_own_keep_it() -> None:
    address = "https://images.example/iiif/1/full/max/0/default.jpg"
    body = manifest_of(replace(example_page(), image=address))["items"][0]["items"][0]["items"][0]["body"]
    assert (body["id"], body["format"]) == (address, "image/jpeg")
    body = manifest_of(replace(example_page(), image="卷 一/p#1.jpg"))["items"][0]["items"][0]["items"][0][
        "body"
    ]
    assert body["id"] == "https://example.org/books/%E5%8D%B7%20%E4%B8%80/p%231.jpg"


def test_a_turned_page_lies_as_its_image_does() -> None:
    line = Line("l1", (0, 100, 50, 300), "天地玄黃")
    (canvas,) = manifest_of(Page("a.jpg", 600, 800, (line,), angle=90))["items"]
    assert (canvas["width"], canvas["height"]) == (800, 600)
    assert canvas["annotations"][0]["items"][0]["target"].endswith("#xywh=100,550,200,50")


def test_rows_are_read_from_the_left() -> None:
    rows = tuple(
        Line(f"l{n}", (0, 50 * n, 600, 50 * n + 40), "天地玄黃", direction="left-to-right") for n in range(3)
    )
    assert manifest_of(Page("a.jpg", 600, 800, rows))["viewingDirection"] == "left-to-right"


def test_a_page_that_could_not_be_read_is_an_empty_canvas(tmp_path: Path) -> None:
    write_book([example_page(), unread_page("p2.png")], tmp_path / "b.manifest.json")
    _, canvas = json.loads((tmp_path / "b.manifest.json").read_bytes())["items"]
    assert canvas["summary"] == {"en": [NOT_READ]} and (canvas["width"], canvas["height"]) == (600, 800)
    assert "items" not in canvas
    with pytest.raises(InputError, match=r"needs at least one page\.$"):
        write_book([], tmp_path / "c.manifest.json")


@pytest.mark.parametrize(
    "address", ["", "books", "ftp://example.org/", "https://", "http://a b/", "http://h/?x"]
)
def test_what_is_no_folders_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"^base_url: .* is not the http or https address of a folder\.$"):
        Style(base_url=address)


@given(pages(xml_text))
def test_every_text_lies_on_its_canvas_under_an_id_of_its_own(page: Page) -> None:
    (canvas,) = (made := manifest_of(page))["items"]
    names = ids(made)
    assert len(set(names)) == len(names) and all(name.startswith("http") for name in names)
    found = [one for texts in canvas.get("annotations", []) for one in texts["items"]]
    assert [one["body"]["value"] for one in found if one["textGranularity"] == "line"] == [
        line.text for line in page.lines if line.text
    ]
    for one in found:
        x, y, w, h = map(int, one["target"].partition("#xywh=")[2].split(","))
        assert 0 <= x < x + w <= canvas["width"] and 0 <= y < y + h <= canvas["height"]


def test_our_own_source_reads_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    (tmp_path / "卷 一").mkdir()
    for shade in (3, 4):
        Image.fromarray(np.full((800, 600), shade, np.uint8)).save(tmp_path / "卷 一" / f"p{shade}.png")
    given = [replace(example_page(), image=f"卷 一/p{shade}.png") for shade in (3, 4)]
    write_book(given, tmp_path / "b.manifest.json", style=STYLE)
    found = list(open_source(tmp_path / "b.manifest.json"))
    assert [page.name for page in found] == ["b-0001", "b-0002"]
    assert [int(page.load()[0, 0]) for page in found] == [3, 4]


def test_the_models_of_iiif_prezi3_take_it(tmp_path: Path) -> None:
    prezi3 = pytest.importorskip("iiif_prezi3")
    write_book([example_page(), unread_page(), example_page()], tmp_path / "b.manifest.json", style=STYLE)
    made = json.loads((tmp_path / "b.manifest.json").read_bytes())
    assert len(prezi3.Manifest(**made).items) == 3
    write_page(example_page(), tmp_path / "p.manifest.json")
    assert prezi3.Manifest(**json.loads((tmp_path / "p.manifest.json").read_bytes())).items
