"""ALTO: our pages come back, other tools' files open, and the file is built as the schema wants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from page_strategies import around, example_page, floats, is_box, pages, whole, xml_text
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.alto_read import parse_alto
from tongguocr.formats.alto_write import NAMESPACE, render_alto
from tongguocr.formats.xml import parse_xml
from tongguocr.formats.xml_lines import is_one_character
from tongguocr.page import Char, Line, Page

PATH = Path("page.xml")
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,4}", fullmatch=True)
single_characters = st.sampled_from(["天", "𠀀", "葛\U000e0100", "e\u0301", "，", "<", " "])


def again(page: Page) -> Page:
    return parse_alto(parse_xml(render_alto(page, PATH), PATH), PATH)


def document(body: str, head: str = "", page: str = 'WIDTH="100" HEIGHT="200"', unit: str = "pixel") -> str:
    source = "<sourceImageInformation><fileName>a.png</fileName></sourceImageInformation>"
    description = f"<Description><MeasurementUnit>{unit}</MeasurementUnit>{source}</Description>"
    layout = f'<Layout><Page ID="p" PHYSICAL_IMG_NR="0" {page}>{body}</Page></Layout>'
    return f'<alto xmlns="{NAMESPACE}">{description}{head}{layout}</alto>'


def parse(body: str, head: str = "", page: str = 'WIDTH="100" HEIGHT="200"') -> Page:
    text = document(f"<PrintSpace>{body}</PrintSpace>", head, page)
    return parse_alto(parse_xml(text.encode(), PATH), PATH)


def place(x: float = 1, y: float = 2, width: float = 3, height: float = 4) -> str:
    return f'HPOS="{x}" VPOS="{y}" WIDTH="{width}" HEIGHT="{height}"'


def line(name: str, text: str = "", extra: str = "") -> str:
    string = f'<String CONTENT="{text}" {place()}/>'
    return f'<TextLine ID="{name}" {place()} {extra}>{string}</TextLine>'


def block(name: str, body: str, extra: str = "") -> str:
    return f'<TextBlock ID="{name}" {extra}>{body}</TextBlock>'


def with_chars_that_fit(page: Page, units: list[str]) -> Page:
    """The page with characters that spell each line's text, as ALTO's glyphs must; no outline is a box."""
    lines = []
    for each in page.lines:
        chars = tuple(
            replace(char, text=unit, candidates=tuple(c for c in char.candidates if len(c[0]) <= 3))
            for char, unit in zip(each.chars, units, strict=False)
        )
        outline = None if is_box(each.polygon, each.box) else each.polygon
        text = "".join(c.text for c in chars) or each.text
        lines.append(replace(each, chars=chars, text=text, polygon=outline))
    return replace(page, lines=tuple(lines))


upright = pages(xml_text, floats, names, angles=(0,))
hundredths = st.integers(0, 500_000).map(lambda n: n / 100)
turned = pages(xml_text, whole | hundredths, names, sizes=around)


@given(upright | turned, st.lists(single_characters, min_size=3, max_size=3))
def test_what_the_format_can_hold_comes_back(page: Page, units: list[str]) -> None:
    page = with_chars_that_fit(page, units)
    page = replace(page, image=page.image.strip())
    assert again(page) == page


def test_fractions_are_exact() -> None:
    box = (0.1, 1e-300, 0.3, 123456.7)
    assert again(Page("", 9, 9, (Line("a", box),))).lines[0].box == box


def test_a_longer_reading_and_a_character_without_text_are_left_out() -> None:
    chars = (Char("天", (0, 0, 1, 1), None, (("四個字符", 0.5), ("夫", 0.25))), Char("", (0, 0, 1, 1)))
    found = again(Page("", 1, 1, (Line("a", (0, 0, 1, 1), "天", chars=chars),))).lines[0]
    assert found.chars == (Char("天", (0, 0, 1, 1), None, (("夫", 0.25),)),)


@given(pages(xml_text))
def test_the_file_is_built_as_the_schema_wants(page: Page) -> None:
    root = etree.fromstring(render_alto(page, PATH))
    order = {
        "alto": ["Description", "Tags", "ReadingOrder", "Layout"],
        "Description": ["MeasurementUnit", "sourceImageInformation", "Processing"],
        "sourceImageInformation": ["fileName"],
        "Processing": ["processingSoftware"],
        "processingSoftware": ["softwareName"],
        "Tags": ["OtherTag"],
        "ReadingOrder": ["OrderedGroup"],
        "OrderedGroup": ["ElementRef"],
        "Layout": ["Page"],
        "Page": ["PrintSpace"],
        "PrintSpace": ["TextBlock"],
        "TextBlock": ["TextLine"],
        "TextLine": ["Shape", "String"],
        "Shape": ["Polygon"],
        "String": ["Glyph"],
        "Glyph": ["Variant"],
    }
    required = {
        "Page": {"ID", "PHYSICAL_IMG_NR"},
        "TextBlock": {"ID"},
        "String": {"CONTENT"},
        "Glyph": {"CONTENT"},
        "OtherTag": {"ID", "LABEL"},
        "ElementRef": {"ID", "REF"},
        "OrderedGroup": {"ID"},
        "Processing": {"ID"},
        "Polygon": {"POINTS"},
    }
    for element in root.iter():
        name = etree.QName(element)
        assert name.namespace == NAMESPACE
        children = [etree.QName(child).localname for child in element]
        assert children == sorted(children, key=order.get(name.localname, []).index), name.localname
        assert required.get(name.localname, set()) <= set(element.attrib)
        if name.localname in ("TextLine", "Layout"):
            assert children.count("String" if name.localname == "TextLine" else "Page") == 1
        if name.localname in ("Tags", "ReadingOrder", "OrderedGroup", "TextBlock"):
            assert children
        if name.localname == "Glyph":
            assert len(element.get("CONTENT", "")) == 1
        if name.localname == "Variant":
            assert len(element.get("CONTENT", "")) <= 3
        assert element.get("BASEDIRECTION") in (None, "ltr", "rtl", "ttb", "btt")
        assert all(0 <= float(element.get(key, "0")) <= 1 for key in ("WC", "GC", "VC"))
        assert all(float(element.get(key, "0")) >= 0 for key in ("WIDTH", "HEIGHT"))
    ids = [element.get("ID") for element in root.iter() if element.get("ID") is not None]
    assert len(ids) == len(set(ids))
    blocks = [element.get("ID") for element in root.iter(f"{{{NAMESPACE}}}TextBlock")]
    assert [element.get("REF") for element in root.iter(f"{{{NAMESPACE}}}ElementRef")] == blocks
    tags = {element.get("ID") for element in root.iter(f"{{{NAMESPACE}}}OtherTag")}
    assert {element.get("TAGREFS") for element in root.iter() if element.get("TAGREFS")} == tags


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_versions_and_files_without_a_namespace_open(version: str) -> None:
    text = document(f"<PrintSpace>{block('b', line('a', '天'))}</PrintSpace>")
    for namespace in (f"http://www.loc.gov/standards/alto/ns-v{version}#", ""):
        data = text.replace(NAMESPACE, namespace).encode()
        assert parse_alto(parse_xml(data, PATH), PATH).text == "天"


def test_an_escriptorium_file_opens() -> None:
    """One String a line with spaces in it, polygons as plain numbers, types as OtherTags, baselines."""
    tags = (
        '<Tags><OtherTag ID="BT1" LABEL="MarginTextZone" DESCRIPTION="block type"/>'
        '<OtherTag ID="LT2" LABEL="default" DESCRIPTION="line type"/></Tags>'
    )
    shape = '<Shape><Polygon POINTS="10 20 30 21 30 90 10 90"/></Shape>'
    text_line = (
        f'<TextLine ID="eSc_line_1" TAGREFS="LT2" BASELINE="10 20 10 90" {place(10, 20, 20, 70)}>{shape}'
        f'<String CONTENT="天 地" {place(10, 20, 20, 70)}></String></TextLine>'
    )
    empty = f'<TextLine ID="eSc_line_2" {place()}><String CONTENT=""/></TextLine>'
    page = parse(block("eSc_textblock_1", text_line + empty, 'TAGREFS="BT1"'), tags)
    polygon = ((10, 20), (30, 21), (30, 90), (10, 90))
    assert page.lines[0] == Line("eSc_line_1", (10, 20, 30, 90), "天 地", "margin", polygon=polygon)
    assert page.lines[1].text == "" and page.image == "a.png"


def test_a_kraken_file_opens() -> None:
    """Strings and spaces with glyphs inside them, and a reading order of lines."""

    def glyph(text: str) -> str:
        return f'<Glyph ID="g{text}" CONTENT="{text}" {place()} GC="0.5"/>'

    strings = (
        f'<String ID="s1" CONTENT="天地" WC="0.5" {place()}>{glyph("天")}{glyph("地")}</String>'
        f'<SP {place()}/><String ID="s2" CONTENT="a" WC="0.8" {place()}>{glyph("a")}</String>'
    )
    first = f'<TextLine ID="l0" {place()}>{strings}</TextLine>'
    order = (
        '<ReadingOrder><OrderedGroup ID="o"><ElementRef ID="o0" REF="l1"/><ElementRef ID="o1" REF="s1"/>'
        '</OrderedGroup><OrderedGroup ID="other"><ElementRef ID="o2" REF="l0"/></OrderedGroup></ReadingOrder>'
    )
    page = parse(block("b", first + line("l1", "先")), order)
    assert page.text == "先\n天地 a"
    assert [c.text for c in page.lines[1].chars] == ["天", "地", "a"]
    assert page.lines[1].confidence == pytest.approx(0.6)


def test_blocks_in_reading_order_nested_and_left_over() -> None:
    order = (
        '<ReadingOrder><OrderedGroup ID="o"><ElementRef ID="x1" REF="b3 b1"/><UnorderedGroup ID="u" REF="c">'
        '<ElementRef ID="x2" REF="gone"/></UnorderedGroup></OrderedGroup></ReadingOrder>'
    )
    inner = f'<ComposedBlock ID="c">{block("b2", line("l2", "2"))}</ComposedBlock>'
    blocks = (
        block("b0", line("l0", "0")) + block("b1", line("l1", "1")) + inner + block("b3", line("l3", "3"))
    )
    assert parse(blocks, order).text.split("\n") == ["3", "1", "2", "0"]


def test_the_idnext_chain_counts_where_there_is_no_reading_order() -> None:
    first = block("b1", line("l1", "末"))
    second, third = block("b2", line("l2", "首"), 'IDNEXT="b3"'), block("b3", line("l3", "中"), 'IDNEXT="b1"')
    assert parse(first + second + third).text == "首\n中\n末"
    loop = block("b1", line("l1", "甲"), 'IDNEXT="b2"') + block("b2", line("l2", "乙"), 'IDNEXT="b1"')
    assert parse(loop).text == "甲\n乙"


def test_words_hyphens_and_alternatives() -> None:
    strings = (
        '<String CONTENT="two"><ALTERNATIVE>2</ALTERNATIVE></String><String CONTENT="wor"/><HYP CONTENT="-"/>'
    )
    found = parse(block("b", f'<TextLine ID="a" {place()}>{strings}</TextLine>')).lines[0]
    assert found.text == "two wor-" and found.chars == () and found.confidence is None


def test_strings_of_one_character_are_characters() -> None:
    strings = "".join(f'<String CONTENT="{c}" WC="0.5" {place(y=n)}/>' for n, c in enumerate("天地"))
    found = parse(block("b", f'<TextLine ID="a">{strings}</TextLine>')).lines[0]
    assert found.chars == (Char("天", (1, 0, 4, 4), 0.5), Char("地", (1, 1, 4, 5), 0.5))
    assert found.box == (1, 0, 4, 5)
    assert parse(block("b", line("a", "天"))).lines[0].chars == ()


def test_direction_and_kind_come_from_the_nearest_that_says_them() -> None:
    tags = '<Tags><LayoutTag ID="t1" LABEL="note"/><OtherTag ID="t2" LABEL="RunningTitleZone"/></Tags>'
    inner = line("a", "x", 'BASEDIRECTION="btt" TAGREFS="none t1"') + line("b", "x")
    page = parse(block("b1", inner, 'BASEDIRECTION="rtl" TAGREFS="t2"'), tags)
    assert [(x.direction, x.kind) for x in page.lines] == [
        ("bottom-to-top", "note"),
        ("right-to-left", "fold"),
    ]


def test_text_in_a_margin_is_a_margin() -> None:
    margin, main = block("b", line("a", "眉")), block("c", line("b", "正"))
    body = f"<TopMargin>{margin}</TopMargin><PrintSpace>{main}</PrintSpace>"
    page = parse_alto(parse_xml(document(body).encode(), PATH), PATH)
    assert [(x.text, x.kind) for x in page.lines] == [("眉", "margin"), ("正", "main")]


def test_lines_without_ids_get_some() -> None:
    bare = f'<TextLine {place()}><String CONTENT="x"/></TextLine>'
    assert [x.id for x in parse(block("b", bare + line("l1") + bare)).lines] == ["l1_2", "l1", "l3"]


def test_a_page_without_a_size_reaches_as_far_as_its_lines() -> None:
    page = parse(block("b", line("a")), page="")
    assert (page.width, page.height) == (4, 6)


@pytest.mark.parametrize("unit", ["mm10", "inch1200"])
def test_other_units_need_the_image_beside_the_file(unit: str, tmp_path: Path) -> None:
    body = f"<PrintSpace>{block('b', line('a', '天'))}</PrintSpace>"
    path = tmp_path / "a.xml"
    path.write_text(document(body, unit=unit), encoding="utf-8")
    with pytest.raises(InputError, match=f"sizes are in {unit}, and the page's size in pixels is not known"):
        read_page(path)
    Image.new("L", (50, 400)).save(tmp_path / "a.png")
    page = read_page(path)
    assert (page.width, page.height, page.lines[0].box) == (50, 400, (0.5, 4, 2, 12))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (document("", unit="mm"), "the measurement unit 'mm' is not known"),
        (document("").replace("<Page", "<Other").replace("</Page", "</Other"), "has 0 pages"),
        (document("", page='WIDTH="-1" HEIGHT="1"'), "WIDTH must not be negative"),
        (document("", page='WIDTH="wide" HEIGHT="1"'), "'wide' is not a number"),
    ],
)
def test_wrong_files_are_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_alto(parse_xml(text.encode(), PATH), PATH)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('<TextLine ID="a"><String CONTENT="x"/></TextLine>', "line a: the line has no position"),
        (line("a") + line("a"), "the line id 'a' is used twice"),
        (line("a").replace('HPOS="1"', 'HPOS="inf"'), "line a: position: 'inf' is not a number"),
        (
            line("a").replace("<String", '<Shape><Polygon POINTS="1,2 3"/></Shape><String'),
            "without its second",
        ),
        (line("a").replace("CONTENT", 'WC="7" CONTENT'), "not between 0 and 1"),
        (
            f'<TextLine ID="a" {place()}><String CONTENT="x"><Glyph CONTENT="x"/></String></TextLine>',
            "a Glyph has no",
        ),
        (line("a", "天&#10;地"), "holds a line break"),
    ],
)
def test_wrong_lines_are_one_sentence(body: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        parse(block("b", body))
    assert str(error.value).startswith("page.xml: ") and sentence in str(error.value)


def test_the_example_page_keeps_everything() -> None:
    assert all(is_one_character(c.text) for x in example_page().lines for c in x.chars)
    assert again(example_page()) == example_page()


def test_every_line_has_a_baseline_and_an_outline() -> None:
    """kraken passes over lines without."""
    chars = (Char("天", (40, 0, 60, 50)), Char("地", (44, 50, 64, 100)))
    lines = (
        Line("a", (40, 0, 64, 100), "天地", chars=chars),
        Line("b", (0, 0, 20, 100), "天地", direction="bottom-to-top"),
        Line("c", (0, 120, 90, 140), "天地", direction="right-to-left"),
    )
    root = parse_xml(render_alto(Page("", 100, 200, lines), PATH), PATH)
    found = [line.get("BASELINE") for line in root.iter("TextLine")]
    assert found == ["50,0 54,100", "10,100 10,0", "0,140 90,140"]
    outlines = [shape.get("POINTS") for shape in root.iter("Polygon")]
    assert outlines[0] == "40,0 64,0 64,100 40,100" and len(outlines) == 3
    assert all(line.polygon is None for line in again(Page("", 100, 200, lines)).lines)
