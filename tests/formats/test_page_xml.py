"""PAGE XML: our pages come back, other tools' files open, and the file is built as the schema wants."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from page_strategies import around, example_page, pages, whole, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.page_xml_read import parse_page_xml
from tongguocr.formats.page_xml_write import NAMESPACE, REGION_TYPE, render_page_xml
from tongguocr.formats.style import PAGE_SCHEMAS
from tongguocr.formats.xml import parse_xml
from tongguocr.page import DIRECTIONS, KINDS, Char, Line, Page

PATH = Path("page.xml")
NEWEST = NAMESPACE + "2019-07-15"
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,4}", fullmatch=True)


def again(page: Page) -> Page:
    return parse_page_xml(parse_xml(render_page_xml(page, PATH), PATH), PATH)


def parse(body: str, attributes: str = "", version: str = "2019-07-15") -> Page:
    namespace = f"http://schema.primaresearch.org/PAGE/gts/pagecontent/{version}"
    page = f'<Page imageFilename="a.jpg" imageWidth="100" imageHeight="200" {attributes}>{body}</Page>'
    text = f'<?xml version="1.0" encoding="UTF-8"?><PcGts xmlns="{namespace}"><Metadata/>{page}</PcGts>'
    return parse_page_xml(parse_xml(text.encode(), PATH), PATH)


def line(
    name: str, text: str = "", extra: str = "", points: str = "1,2 3,2 3,4 1,4", inside: str = ""
) -> str:
    equiv = f"<TextEquiv><Unicode>{text}</Unicode></TextEquiv>" if text else ""
    return f'<TextLine id="{name}" {extra}><Coords points="{points}"/>{inside}{equiv}</TextLine>'


def region(name: str, body: str, extra: str = "") -> str:
    return f'<TextRegion id="{name}" {extra}><Coords points="0,0 9,0 9,9"/>{body}</TextRegion>'


@given(pages(xml_text, whole, names, bounded=True, sizes=around))
def test_what_the_format_can_hold_comes_back(page: Page) -> None:
    assert again(page) == page


def test_fractions_are_rounded_and_negative_points_become_nought() -> None:
    box = (-3.2, 1.5, 10.6, 20.4)
    found = again(Page("", 9, 9, (Line("a", box, chars=(Char("x", (0.2, 0.7, 1, 1)),)),))).lines[0]
    assert found.box == (0, 2, 11, 20)
    assert found.chars[0].box == (0, 1, 1, 1)


def test_ids_that_are_no_names_are_replaced() -> None:
    assert [
        x.id for x in again(Page("", 1, 1, (Line("1 a", (0, 0, 1, 1)), Line("b", (0, 0, 1, 1))))).lines
    ] == ["l1", "b"]


@pytest.mark.parametrize("text", ["\x00", "\x1b", "\ufffe"])
def test_what_xml_cannot_hold_is_one_sentence(text: str, tmp_path: Path) -> None:
    for page in (Page("", 1, 1, (Line("a", (0, 0, 1, 1), text),)), Page(text, 1, 1)):
        for name in ("p.xml", "p.alto.xml"):
            with pytest.raises(InputError, match="XML cannot hold the character U\\+"):
                write_page(page, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@given(pages(xml_text, st.floats(-100, 1e6)))
def test_the_file_is_built_as_the_schema_wants(page: Page) -> None:
    root = etree.fromstring(render_page_xml(page, PATH))
    order = {
        "PcGts": ["Metadata", "Page"],
        "Metadata": ["Creator", "Created", "LastChange"],
        "Page": ["ReadingOrder", "TextRegion"],
        "ReadingOrder": ["OrderedGroup"],
        "OrderedGroup": ["RegionRefIndexed"],
        "TextRegion": ["Coords", "TextLine"],
        "TextLine": ["Coords", "Baseline", "Word", "TextEquiv"],
        "Word": ["Coords", "Glyph", "TextEquiv"],
        "Glyph": ["Coords", "TextEquiv"],
        "TextEquiv": ["Unicode"],
    }
    for element in root.iter():
        name = etree.QName(element)
        assert name.namespace == NEWEST
        children = [etree.QName(child).localname for child in element]
        allowed = order.get(name.localname, [])
        assert children == sorted(children, key=allowed.index), name.localname
        if name.localname in ("TextRegion", "TextLine", "Word", "Glyph"):
            assert children.count("Coords") == 1
        if name.localname in ("Coords", "Baseline"):
            assert re.fullmatch(r"([0-9]+,[0-9]+ )+([0-9]+,[0-9]+)", element.get("points", ""))
        assert element.get("readingDirection") in (None, *DIRECTIONS)
        assert 0 <= float(element.get("conf", "0")) <= 1
    ids = [element.get("id") for element in root.iter() if element.get("id") is not None]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[A-Za-z_\u4e00-\u9fa5][\w.-]*", name) for name in ids)
    references = [element.get("regionRef") for element in root.iter() if element.get("regionRef")]
    assert references == [element.get("id") for element in root.iter(f"{{{NEWEST}}}TextRegion")]


def test_every_kind_has_a_type_of_the_schema() -> None:
    schema = {
        "paragraph",
        "heading",
        "caption",
        "header",
        "footer",
        "page-number",
        "marginalia",
        "footnote",
        "other",
    }
    assert set(REGION_TYPE) == set(KINDS) and set(REGION_TYPE.values()) <= schema


def test_the_time_is_in_utc() -> None:
    data = render_page_xml(Page("", 1, 1), PATH, created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert b"<Created>2026-01-02T03:04:05Z</Created>" in data


@pytest.mark.parametrize("version", ["2013-07-15", "2017-07-15", "2018-07-15", "2019-07-15"])
def test_every_namespace_version_opens(version: str) -> None:
    assert parse(region("r", line("a", "天")), version=version).text == "天"


def test_a_transkribus_page_opens() -> None:
    """Regions and lines out of order, sorted by ReadingOrder and by `custom`; baselines; structure types."""
    body = (
        '<ReadingOrder><OrderedGroup id="ro"><RegionRefIndexed index="1" regionRef="r1"/>'
        '<RegionRefIndexed index="0" regionRef="r2"/></OrderedGroup></ReadingOrder>'
        + region(
            "r1",
            line("b", "二", 'custom="readingOrder {index:1;}"')
            + line("a", "一", 'custom="readingOrder {index:0;} structure {type:heading;}"'),
            'custom="readingOrder {index:1;}"',
        )
        + region(
            "r2",
            '<TextLine id="m"><Coords points=""/><Baseline points="5,6 7,8"/></TextLine>',
            'type="marginalia" custom="readingOrder {index:0;} structure {type:marginalia;}"',
        )
    )
    page = parse(body, version="2013-07-15")
    assert [(x.id, x.text, x.kind) for x in page.lines] == [
        ("m", "", "margin"),
        ("a", "一", "main"),
        ("b", "二", "main"),
    ]
    assert page.lines[0].box == (5, 6, 7, 8)


def test_without_a_reading_order_the_custom_index_of_regions_counts() -> None:
    first, second = (
        region("r1", line("a", "後"), 'custom="readingOrder {index:1;}"'),
        region("r2", line("b", "前"), 'custom="readingOrder {index:0;}"'),
    )
    assert parse(first + second).text == "前\n後"
    assert parse(first + second.replace("readingOrder", "other")).text == "後\n前"


def test_groups_in_groups_and_regions_that_no_group_names() -> None:
    body = (
        '<ReadingOrder><UnorderedGroup id="g"><RegionRef regionRef="r3"/><OrderedGroup id="h">'
        '<RegionRefIndexed index="10" regionRef="r1"/><UnorderedGroupIndexed index="9" id="k" regionRef="r2">'
        '<RegionRef regionRef="r2a"/></UnorderedGroupIndexed></OrderedGroup></UnorderedGroup></ReadingOrder>'
        + region("r0", line("l0", "0"))
        + region("r1", line("l1", "1"))
        + region("r2", region("r2b", line("l2b", "2b")) + region("r2a", line("l2a", "2a")) + line("l2", "2"))
        + region("r3", line("l3", "3"))
    )
    assert parse(body).text.split("\n") == ["3", "2b", "2", "2a", "1", "0"]


def test_text_in_tables_is_found() -> None:
    cell = '<TableCell id="c"><Coords points="0,0 1,1"/>' + line("a", "格") + "</TableCell>"
    assert parse(f'<TableRegion id="t"><Coords points="0,0 1,1"/>{cell}</TableRegion>').text == "格"


def test_the_reading_with_the_lowest_index_is_the_text() -> None:
    equivs = (
        '<TextEquiv index="2" conf="0.9"><Unicode>乙</Unicode></TextEquiv>'
        '<TextEquiv index="1" conf="0.25"><PlainText>no</PlainText><Unicode>甲</Unicode></TextEquiv>'
    )
    found = parse(region("r", line("a", inside=equivs))).lines[0]
    assert (found.text, found.confidence) == ("甲", 0.25)


def test_kraken_words_and_glyphs_without_line_text() -> None:
    def glyph(text: str, conf: float) -> str:
        equiv = f'<TextEquiv conf="{conf}"><Unicode>{text}</Unicode></TextEquiv>'
        return f'<Glyph id="g{text}"><Coords points="1,1 2,2"/>{equiv}</Glyph>'

    first, second = glyph("天", 0.5) + glyph("地", 1), glyph("玄", 0)
    words = f'<Word id="w1"><Coords points="1,1 2,2"/>{first}</Word><Word id="w2">{second}</Word>'
    found = parse(region("r", line("a", inside=words))).lines[0]
    assert found.text == "天地玄"
    assert found.chars == tuple(
        Char(c, (1, 1, 2, 2), conf) for c, conf in zip("天地玄", (0.5, 1, 0), strict=True)
    )


def test_words_of_one_character_are_characters_and_longer_ones_are_not() -> None:
    def word(text: str) -> str:
        equiv = f"<TextEquiv><Unicode>{text}</Unicode></TextEquiv>"
        return f'<Word id="w{text}"><Coords points="1,1 2,2"/>{equiv}</Word>'

    assert [
        c.text for c in parse(region("r", line("a", "天地", inside=word("天") + word("地")))).lines[0].chars
    ] == ["天", "地"]
    assert parse(region("r", line("a", "天地玄", inside=word("天") + word("地玄")))).lines[0].chars == ()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_direction_comes_from_the_nearest_that_says_it(direction: str) -> None:
    other = 'readingDirection="left-to-right"'
    says = f'readingDirection="{direction}"'
    assert parse(region("r", line("a", "x", says), other), other).lines[0].direction == direction
    assert parse(region("r", line("a", "x"), says), other).lines[0].direction == direction
    assert parse(region("r", line("a", "x")), says).lines[0].direction == direction
    assert parse(region("r", line("a", "xy", points="0,0 90,9"))).lines[0].direction == "left-to-right"


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("header", "fold"),
        ("page-number", "fold"),
        ("footnote", "margin"),
        ("paragraph", "main"),
        ("credit", "main"),
    ],
)
def test_region_types_become_kinds(label: str, kind: str) -> None:
    assert parse(region("r", line("a", "x"), f'type="{label}"')).lines[0].kind == kind
    own = 'custom="structure {type:note;}"'
    assert parse(region("r", line("a", "x", own), f'type="{label}"')).lines[0].kind == "note"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (region("r", line("a", points="1,2 3")), "line a: '3' is not a point"),
        (region("r", line("a", points="1,2 NaN,3")), "'NaN' is not a number"),
        (region("r", line("a", points="1,2 1e30,3")), "'1e30' is too large"),
        (region("r", '<TextLine id="a"/>'), "line a: the line has no Coords"),
        (region("r", line("a") + line("a")), "the line id 'a' is used twice"),
        (region("r", line("a", "天\n地")), "line a: the text of a line holds a line break"),
        (region("r", "<TextEquiv><Unicode>天\n地</Unicode></TextEquiv>"), "'r' has text but no text lines"),
        (region("r", line("a", inside='<TextEquiv conf="2"><Unicode/></TextEquiv>')), "not between 0 and 1"),
        (region("r", line("a", inside='<TextEquiv conf="high"><Unicode/></TextEquiv>')), "is not a number"),
        (region("r", line("a", inside='<Word id="w"><Glyph id="g"/></Word>')), "an element has no Coords"),
    ],
)
def test_wrong_fields_are_one_sentence(body: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse(body)
    assert str(error.value).startswith("page.xml: ") and sentence in str(error.value)


@pytest.mark.parametrize(
    "size", ['imageWidth="x" imageHeight="1"', 'imageHeight="1"', 'imageWidth="-1" imageHeight="1"']
)
def test_a_wrong_size_is_one_sentence(size: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(f"<PcGts><Page {size}/></PcGts>")
    with pytest.raises(InputError, match="imageWidth"):
        read_page(tmp_path / "a.xml")


def test_any_reader_that_takes_regions_in_order_gets_our_order() -> None:
    root = etree.fromstring(render_page_xml(example_page(), PATH))
    texts = [e.text or "" for e in root.iterfind(".//{*}TextLine/{*}TextEquiv/{*}Unicode")]
    assert texts == [x.text for x in example_page().lines if x.text]


OLD = {
    "PcGts": {"schemaLocation"},
    "Metadata": set(),
    "Creator": set(),
    "Created": set(),
    "LastChange": set(),
    "Page": {"imageFilename", "imageWidth", "imageHeight"},
    "ReadingOrder": set(),
    "OrderedGroup": {"id"},
    "RegionRefIndexed": {"index", "regionRef"},
    "TextRegion": {"id", "type", "custom", "readingDirection", "orientation"},
    "TextLine": {"id", "custom"},
    "Word": {"id"},
    "Glyph": {"id"},
    "Coords": {"points"},
    "Baseline": {"points"},
    "TextEquiv": {"conf"},
    "Unicode": set(),
}
"""What the schema of 2013-07-15 has of all that we write, and its attributes there."""


@settings(max_examples=60)
@given(pages(xml_text, whole, names, bounded=True, sizes=around))
def test_the_old_schema_has_all_that_is_written_for_it(page: Page) -> None:
    data = render_page_xml(page, PATH, "2013-07-15")
    root = etree.fromstring(data)
    for element in root.iter():
        name = etree.QName(element)
        assert name.namespace == NAMESPACE + "2013-07-15"
        assert {etree.QName(key).localname for key in element.attrib} <= OLD[name.localname]
        equivs = [child for child in element if etree.QName(child).localname == "TextEquiv"]
        assert len(equivs) <= 1, "one reading"
    without_candidates = replace(
        page,
        lines=tuple(
            replace(line, chars=tuple(replace(char, candidates=()) for char in line.chars))
            for line in page.lines
        ),
    )
    if page.lines or not page.angle:
        assert parse_page_xml(parse_xml(data, PATH), PATH) == without_candidates


def test_other_programs_are_told_the_schema() -> None:
    for schema in PAGE_SCHEMAS:
        root = etree.fromstring(render_page_xml(example_page(), PATH, schema))
        location = root.get("{http://www.w3.org/2001/XMLSchema-instance}schemaLocation")
        assert location == f"{NAMESPACE}{schema} {NAMESPACE}{schema}/pagecontent.xsd"
        assert root.prefix is None, "Transkribus and LAREX take no prefix"


def test_regions_that_lie_differently_are_no_turned_page() -> None:
    lying, standing = region("r", line("a", "x"), 'orientation="90"'), region("s", line("b", "x"))
    assert parse(lying).angle == 90 and parse(lying + standing).angle == 0
    assert parse(lying, 'orientation="0"').angle == 0
