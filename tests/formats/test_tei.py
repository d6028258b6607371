"""TEI: the text in reading order, each line linked to its zone, notes and folds where they belong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from lxml import etree
from page_strategies import example_page, floats, pages, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.formats.tei import NAMESPACE, render_tei, render_tei_book
from tongguocr.page import Line, Page, as_it_lies

PATH = Path("page.tei.xml")
ID = "{http://www.w3.org/XML/1998/namespace}id"
TEI = {"t": NAMESPACE}
CHILDREN = {
    "TEI": {"teiHeader", "facsimile", "text"},
    "teiHeader": {"fileDesc", "encodingDesc"},
    "fileDesc": {"titleStmt", "publicationStmt", "sourceDesc"},
    "titleStmt": {"title"},
    "publicationStmt": {"p"},
    "sourceDesc": {"p"},
    "encodingDesc": {"appInfo"},
    "appInfo": {"application"},
    "application": {"label"},
    "facsimile": {"surface"},
    "surface": {"graphic", "zone"},
    "text": {"body"},
    "body": {"ab"},
    "ab": {"pb", "cb", "lb", "note", "fw"},
    "note": {"cb", "lb"},
    "fw": {"lb"},
}
"""What each element holds here, as the schema of TEI P5 allows it."""


def parse(data: bytes) -> etree._Element:
    return etree.fromstring(data)


def lines_of(root: etree._Element) -> list[tuple[str, str]]:
    """Each line's zone and text, in the order of the text."""
    return [(lb.get("facs", ""), lb.tail or "") for lb in root.iterfind(".//t:lb", TEI)]


def test_the_example_is_marked_up() -> None:
    root = parse(render_tei(example_page(), PATH))
    block = root.find("t:text/t:body/t:ab", TEI)
    assert block is not None
    assert [(etree.QName(e).localname, dict(e.attrib)) for e in block] == [
        ("pb", {"n": "1", "facs": "#surface1"}),
        ("cb", {"n": "1"}),
        ("lb", {"facs": "#l1"}),
        ("note", {"place": "inline", "type": "double-row"}),
        ("cb", {"n": "2"}),
        ("lb", {"facs": "#l4"}),
        ("note", {"place": "top"}),
        ("fw", {"type": "fold"}),
    ]
    assert lines_of(root)[1:3] == [("#l2", "注右行"), ("#l3", "左行")]


@given(pages(xml_text, floats))
def test_text_order_and_places_come_back(page: Page) -> None:
    root = parse(render_tei(page, PATH))
    zones = {zone.get(ID, ""): zone for zone in root.iterfind(".//t:zone", TEI)}
    found = lines_of(root)
    assert [text for _, text in found] == [line.text for line in page.lines]
    for (link, _), line in zip(found, as_it_lies(page).lines, strict=True):
        zone = zones[link.removeprefix("#")]
        assert tuple(float(zone.get(name, "")) for name in ("ulx", "uly", "lrx", "lry")) == line.box
        assert zone.get("type") == line.kind
        points = [tuple(map(float, pair.split(","))) for pair in zone.get("points", "").split()]
        assert tuple(points) == (line.polygon or ())


@settings(max_examples=50)
@given(pages(xml_text))
def test_the_file_is_built_as_the_schema_wants(page: Page) -> None:
    root = parse(render_tei_book([page, page], PATH))
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        assert {etree.QName(child).localname for child in element} <= CHILDREN.get(name, set())
    ids = [element.get(ID) for element in root.iter(etree.Element) if element.get(ID)]
    assert len(ids) == len(set(ids))
    links = [element.get("facs", "") for element in root.iter(etree.Element) if element.get("facs")]
    assert {link.removeprefix("#") for link in links} == set(ids)


def test_margins_are_told_apart_by_their_place() -> None:
    boxes = {"top": (0, 0, 9, 9), "margin": (0, 50, 9, 60), "bottom": (0, 95, 9, 99)}
    margins = tuple(Line(name, box, "批", "margin") for name, box in boxes.items())
    root = parse(render_tei(Page("", 99, 99, (Line("a", (20, 10, 30, 90), "天"), *margins)), PATH))
    assert [note.get("place") for note in root.iterfind(".//t:note", TEI)] == ["top", "margin", "bottom"]


def test_the_image_is_an_address() -> None:
    page = replace(example_page(), image='卷 1/"a".png')
    graphic = parse(render_tei(page, PATH)).find(".//t:graphic", TEI)
    assert graphic is not None
    assert graphic.get("url") == "%E5%8D%B7%201/%22a%22.png"


def test_what_xml_cannot_hold_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"page.tei.xml: line a: XML cannot hold the character U\+0001\.$"):
        render_tei(Page("", 1, 1, (Line("a", (0, 0, 1, 1), "\x01"),)), PATH)
    with pytest.raises(InputError, match="image: XML cannot hold"):
        render_tei(Page("\x01", 1, 1), PATH)
    with pytest.raises(InputError, match="at least one page"):
        render_tei_book([], PATH)


@pytest.mark.parametrize("name", ["a.tei.xml", "a.tei"])
def test_the_name_chooses_the_format(name: str, tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / name)
    assert (tmp_path / name).read_bytes() == render_tei(example_page(), tmp_path / name)
