"""TEI: the text in reading order, each line linked to its zone, notes and folds where they belong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from lxml import etree
from page_strategies import example_page, floats, pages, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.formats.tei import NAMESPACE, render_tei, render_tei_book
from tongguocr.page import Char, Line, Page, as_it_lies
from tongguocr.version import __version__

PATH = Path("page.tei.xml")
ID = "{http://www.w3.org/XML/1998/namespace}id"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
TEI = {"t": NAMESPACE}
CREATED = datetime(2026, 1, 2, tzinfo=UTC)
CHILDREN = {
    "TEI": {"teiHeader", "facsimile", "text"},
    "teiHeader": {"fileDesc", "encodingDesc", "profileDesc", "revisionDesc"},
    "fileDesc": {"titleStmt", "publicationStmt", "sourceDesc"},
    "titleStmt": {"title", "respStmt"},
    "respStmt": {"resp", "name"},
    "publicationStmt": {"p"},
    "sourceDesc": {"p"},
    "p": {"date"},
    "encodingDesc": {"appInfo"},
    "appInfo": {"application"},
    "application": {"label", "desc", "ptr"},
    "profileDesc": {"langUsage"},
    "langUsage": {"language"},
    "revisionDesc": {"change"},
    "facsimile": {"surface"},
    "surface": {"graphic", "zone"},
    "text": {"body"},
    "body": {"ab"},
    "ab": {"pb", "cb", "lb", "note", "fw", "seg", "unclear"},
    "note": {"cb", "lb", "seg", "unclear"},
    "fw": {"unclear"},
    "seg": {"unclear"},
}
"""What each element holds here, as the schema of TEI P5 allows it."""


def parse(data: bytes) -> etree._Element:
    return etree.fromstring(data)


def name_of(element: etree._Element) -> str:
    return etree.QName(element).localname


def lines_of(root: etree._Element) -> list[tuple[str, str]]:
    """Each line's zone and text, in the order of the text.

    A segment or a forme work is one line; what else follows a line beginning, up to any other element than
    `unclear`, is the first line of its column, if it is not a note.
    """
    found: list[tuple[str, str]] = []
    for element in root.iterfind(".//t:ab//*", TEI):
        if name_of(element) in ("seg", "fw"):
            found.append((element.get("facs", ""), "".join(element.itertext())))
        elif name_of(element) == "lb":
            text = element.tail or ""
            for after in element.itersiblings():
                if name_of(after) != "unclear":
                    break
                text += "".join(after.itertext()) + (after.tail or "")
            zone = element.get("facs", "").split()[0]
            if not root.xpath(f".//t:seg[@facs='{zone}']", namespaces=TEI):
                found.append((zone, text))
    return found


def test_the_example_is_marked_up() -> None:
    root = parse(render_tei(example_page(), PATH))
    block = root.find("t:text/t:body/t:ab", TEI)
    assert block is not None
    assert [(name_of(e), dict(e.attrib)) for e in block] == [
        ("pb", {"n": "1", "facs": "#surface1"}),
        ("lb", {"n": "1", "facs": "#l1 #l2 #l3"}),
        ("unclear", {"reason": "unsure", "cert": "medium", "resp": "#tongguocr"}),
        ("note", {"place": "inline", "type": "double-row"}),
        ("lb", {"n": "2", "facs": "#l4"}),
        ("note", {"place": "top"}),
        ("fw", {"type": "header", "place": "fold", "facs": "#l6"}),
    ]
    assert [(dict(seg.attrib), seg.text) for seg in block[3]] == [
        ({"type": "row", "n": "1", "facs": "#l2"}, "注右行"),
        ({"type": "row", "n": "2", "facs": "#l3"}, "左行"),
    ]
    assert "".join(block.itertext()) == "".join(line.text for line in example_page().lines)


def test_the_header_names_source_program_date_and_language() -> None:
    root = parse(render_tei(example_page(), PATH, CREATED))
    header = root.find("t:teiHeader", TEI)
    assert header is not None
    assert header.findtext(".//t:sourceDesc/t:p", namespaces=TEI) == "Read from page-001.png."
    program = header.find(".//t:application", TEI)
    assert program is not None
    assert dict(program.attrib) == {"ident": "TongGuOCR", "version": __version__, "when": "2026-01-02"}
    assert [e.get("when") for e in header.iterfind(".//t:date", TEI)] == ["2026-01-02"]
    assert [e.get("ident") for e in header.iterfind(".//t:language", TEI)] == ["lzh"]
    text = root.find("t:text", TEI)
    assert text is not None and text.get(LANG) == "lzh"


def test_the_images_of_a_book_are_named() -> None:
    pages = [replace(example_page(), image=f"{n}.png") for n in range(9)]
    root = parse(render_tei_book(pages, PATH))
    assert root.findtext(".//t:sourceDesc/t:p", namespaces=TEI) == "Read from 9 images, 0.png to 8.png."
    assert root.findtext(".//t:title", namespaces=TEI) == "Transcription of 9 pages"


def test_columns_have_numbers_and_registers_column_beginnings() -> None:
    boxes = [(x, y, x + 40, y + 180) for y in (0, 200) for x in (150, 100, 50)]
    lines = tuple(Line(f"l{n}", box, "天地玄黃") for n, box in enumerate(boxes))
    root = parse(render_tei(Page("", 200, 400, lines), PATH))
    breaks = [(name_of(e), e.get("n")) for e in root.iterfind(".//t:ab/*", TEI)]
    assert breaks == [
        ("pb", "1"),
        *(("cb", "1"), ("lb", "1"), ("lb", "2"), ("lb", "3")),
        *(("cb", "2"), ("lb", "4"), ("lb", "5"), ("lb", "6")),
    ]
    alone = parse(render_tei(Page("", 200, 400, lines[:3]), PATH))
    assert alone.find(".//t:cb", TEI) is None and len(alone.findall(".//t:lb", TEI)) == 3


def test_a_column_that_begins_with_a_note_begins_before_it() -> None:
    rows = (Line("a", (20, 0, 39, 90), "注右", "note"), Line("b", (0, 0, 19, 90), "注左", "note"))
    root = parse(render_tei(Page("", 40, 200, (*rows, Line("c", (0, 90, 39, 200), "天地"))), PATH))
    block = root.find(".//t:ab", TEI)
    assert block is not None
    assert [name_of(e) for e in block] == ["pb", "lb", "note", "seg"]
    assert block[1].get("facs") == "#a #b #c" and block[3].text == "天地" and block[3].get("type") is None


@pytest.mark.parametrize(
    ("text", "type"), [("大學", "header"), ("十二", "pageNum"), ("第三葉", "pageNum"), ("卷二", "header")]
)
def test_folio_numbers_are_told_from_running_titles(text: str, type: str) -> None:
    root = parse(render_tei(Page("", 9, 99, (Line("a", (0, 0, 9, 99), text, "fold"),)), PATH))
    work = root.find(".//t:fw", TEI)
    assert work is not None and (work.get("type"), work.text) == (type, text)


def test_doubtful_characters_say_how_sure_they_are() -> None:
    confidences = {"天": 0.3, "地": 0.7, "玄": 0.95, "黃": 0.99, "宇": None}
    chars = [Char(c, (0, 10 * n, 9, 10 * n + 10), value) for n, (c, value) in enumerate(confidences.items())]
    chars[3] = replace(chars[3], picture="共")
    line = Line("a", (0, 0, 9, 50), "".join(confidences), chars=tuple(chars))
    root = parse(render_tei(Page("", 9, 50, (line,)), PATH))
    found = [(e.text, e.get("reason"), e.get("cert")) for e in root.iterfind(".//t:unclear", TEI)]
    assert found == [("天", "unsure", "low"), ("地", "unsure", "medium"), ("黃", "changed", "high")]
    assert lines_of(root) == [("#a", "天地玄黃宇")]


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
    assert {name_of(e) for e in root.iter(etree.Element) if e.tail and e.tail.strip()} <= {
        *("lb", "unclear", "note", "fw", "seg", "date")
    }
    ids = [element.get(ID) for element in root.iter(etree.Element) if element.get(ID)]
    assert len(ids) == len(set(ids))
    links = [element.get("facs", "").split() for element in root.iter(etree.Element)]
    zones = {link.removeprefix("#") for each in links for link in each}
    assert zones | {"tongguocr"} == set(ids)


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
    written = parse((tmp_path / name).read_bytes())
    assert lines_of(written) == lines_of(parse(render_tei(example_page(), tmp_path / name)))
