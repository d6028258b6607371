"""hOCR: text, boxes and confidences come back, and the file keeps to the specification."""

from __future__ import annotations

import re
from dataclasses import replace
from math import ceil, floor
from pathlib import Path

import pytest
from hypothesis import given, settings
from lxml import etree
from page_strategies import example_page, pages, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.formats.hocr import NAMESPACE, render_hocr
from tongguocr.page import Line, Page, as_it_lies

PATH = Path("page.hocr")
PROPERTY = re.compile(
    r'(image "[^";]*"|bbox( \d+){4}|ppageno 0|x_kind \w+|textangle (90|180|270)|x_wconf [\d.]+)'
)


def of_class(root: etree._Element, name: str) -> list[etree._Element]:
    return [element for element in root.iter(etree.Element) if element.get("class") == name]


def properties(element: etree._Element) -> dict[str, str]:
    found = (part.partition(" ") for part in element.get("title", "").split("; "))
    return {name: value for name, _, value in found}


@given(pages(xml_text))
def test_text_and_boxes_come_back(page: Page) -> None:
    root = etree.fromstring(render_hocr(page, PATH))
    lines = of_class(root, "ocr_line")
    assert ["".join(line.itertext()) for line in lines] == [line.text for line in page.lines]
    for element, line in zip(lines, as_it_lies(page).lines, strict=True):
        x0, y0, x1, y1 = line.box
        box = [max(0, floor(x0)), max(0, floor(y0)), max(0, ceil(x1)), max(0, ceil(y1))]
        assert [int(value) for value in properties(element)["bbox"].split()] == box
    kinds = [properties(area)["x_kind"] for area in of_class(root, "ocr_carea") for _ in area]
    assert kinds == [line.kind for line in page.lines]


@settings(max_examples=50)
@given(pages(xml_text))
def test_the_file_keeps_to_the_specification(page: Page) -> None:
    root = etree.fromstring(render_hocr(page, PATH))
    meta = {element.get("name"): element.get("content", "") for element in root.iter(f"{{{NAMESPACE}}}meta")}
    used = {element.get("class") for element in root.iter(etree.Element)} - {None}
    assert used <= set(meta["ocr-capabilities"].split()) and meta["ocr-system"].startswith("TongGuOCR ")
    ids = [element.get("id") for element in root.iter(etree.Element) if element.get("id")]
    assert len(ids) == len(set(ids))
    nested = {"ocr_page": "body", "ocr_carea": "ocr_page", "ocr_line": "ocr_carea", "ocrx_word": "ocr_line"}
    for name, parent in nested.items():
        for element in of_class(root, name):
            above = element.getparent()
            assert above is not None and parent in (above.get("class"), etree.QName(above).localname)
            assert all(PROPERTY.fullmatch(part) for part in element.get("title", "").split("; "))


def test_characters_are_words_with_their_confidence() -> None:
    words = of_class(etree.fromstring(render_hocr(example_page(), PATH)), "ocrx_word")
    assert [(word.text, word.get("title")) for word in words[:2]] == [
        ("天", "bbox 500 100 550 150; x_wconf 50"),
        ("地", "bbox 500 150 550 200; x_wconf 100"),
    ]
    assert (words[3].text, words[3].get("title")) == ("注右行", "bbox 527 250 550 350; x_wconf 50")


def test_directions_are_told_in_css_and_only_turned_text_has_an_angle() -> None:
    turned = Line("b", (0, 0, 9, 9), "天", direction="bottom-to-top")
    page = replace(example_page(), lines=(*example_page().lines, turned))
    lines = {line.get("id"): line for line in of_class(etree.fromstring(render_hocr(page, PATH)), "ocr_line")}
    assert lines["l1"].get("style") == "writing-mode: vertical-rl"
    assert lines["l5"].get("dir") == "rtl"
    assert [name for name, line in lines.items() if "textangle" in properties(line)] == ["b"]


def test_html_readers_see_the_same_text() -> None:
    text = render_hocr(example_page(), PATH)
    root = etree.fromstring(text.split(b"?>", 1)[1], etree.HTMLParser(encoding="utf-8"))
    assert "".join(root.find("body").itertext()).split() == [t for t in example_page().text.split("\n") if t]
    assert b"/></div>" not in text and b"<span/>" not in text


def test_an_image_name_cannot_break_the_properties() -> None:
    page = replace(example_page(), image='a";bbox 1.png')
    sheet = of_class(etree.fromstring(render_hocr(page, PATH)), "ocr_page")[0]
    assert sheet.get("title") == 'image "a%22%3Bbbox 1.png"; bbox 0 0 600 800; ppageno 0'


def test_what_xml_cannot_hold_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^page.hocr: line a: XML cannot hold the character U\+0001\.$"):
        render_hocr(Page("", 1, 1, (Line("a", (0, 0, 1, 1), "\x01"),)), PATH)


@pytest.mark.parametrize("name", ["a.hocr", "a.html"])
def test_the_name_chooses_the_format(name: str, tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / name)
    assert (tmp_path / name).read_bytes() == render_hocr(example_page(), tmp_path / name)
