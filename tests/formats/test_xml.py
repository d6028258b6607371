"""XML safety, and the small helpers of both XML formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.values import line_text, unique_name, xml_line_names
from tongguocr.formats.xml import is_one_character, join_words, parse_xml, reading_order
from tongguocr.page import Line

LAUGHS = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


def alto(definitions: str, content: str = "天", page: str = "") -> str:
    """A file that opens, but for what is defined in it."""
    place = 'HPOS="1" VPOS="2" WIDTH="3" HEIGHT="4"'
    line = f'<TextLine ID="l1" {place}><String CONTENT="{content}"/></TextLine>'
    layout = (
        f'<Layout><Page><PrintSpace><TextBlock ID="b">{line}</TextBlock></PrintSpace>{page}</Page></Layout>'
    )
    return f"<!DOCTYPE alto [{definitions}]><alto>{layout}</alto>"


def test_the_file_itself_opens(tmp_path: Path) -> None:
    (tmp_path / "good.xml").write_text(alto(""), encoding="utf-8")
    assert read_page(tmp_path / "good.xml").text == "天"


@pytest.mark.parametrize(
    "text",
    [
        alto(LAUGHS, page="&a11;"),
        alto(LAUGHS, content="&a11;"),
        alto('<!ENTITY a "one">', content="&a;"),
        alto('<!ENTITY a "one">', page="<Other>&a;</Other>"),
        alto('<!ENTITY a SYSTEM "file:///etc/hostname">', page="<Other>&a;</Other>"),
        alto('<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;'),
        alto("", content="&undefined;"),
        "<a>" * 5000,
    ],
)
def test_entities_are_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"^[^\n]*bad\.xml: [^\n]*(not well-formed|defines XML entities)[^\n]*\.$"
    ):
        read_page(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030", "big5", "euc-jp"])
def test_any_encoding_that_the_file_declares(encoding: str, tmp_path: Path) -> None:
    name = "utf-8" if encoding == "utf-8-sig" else encoding
    text = f'<?xml version="1.0" encoding="{name}"?>' + alto("").partition("]>")[2]
    (tmp_path / "page.xml").write_bytes(text.encode(encoding))
    assert read_page(tmp_path / "page.xml").text == "天"


@pytest.mark.parametrize("encoding", ["klingon", "utf-7-of-a-kind", "ascii"])
def test_an_encoding_that_does_not_fit_is_one_sentence(encoding: str, tmp_path: Path) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + alto("").partition("]>")[2]
    (tmp_path / "page.xml").write_bytes(text.encode())
    with pytest.raises(InputError, match=r"page\.xml: this is not well-formed XML"):
        read_page(tmp_path / "page.xml")


def test_a_document_type_that_defines_nothing_is_not_loaded() -> None:
    data = b'<!DOCTYPE alto SYSTEM "http://127.0.0.1:9/none.dtd"><alto xmlns="u:x"><Layout/></alto>'
    root = parse_xml(data, Path("a.xml"))
    assert [element.tag for element in root.iter()] == ["alto", "Layout"]


def test_words_are_joined_as_their_script_wants() -> None:
    assert join_words(["天", "地", "玄黃"]) == "天地玄黃"
    assert join_words(["two", "words", "，", "天"]) == "two words，天"
    assert join_words(["a", " ", "b", "", "　c"]) == "a b　c"


def test_one_character_with_its_marks() -> None:
    assert is_one_character("天") and is_one_character("葛\U000e0100") and is_one_character("e\u0301")
    assert not is_one_character("") and not is_one_character("天地")


@pytest.mark.parametrize(
    ("raw", "text"), [("\n    天　\n  ", "天　"), ("　天", "　天"), (" a ", " a "), ("\n", "")]
)
def test_indentation_is_not_text(raw: str, text: str) -> None:
    assert line_text(raw, "x") == text


def test_a_break_inside_a_line_is_refused() -> None:
    with pytest.raises(InputError, match="line break"):
        line_text("天\n地", "x")


def test_ids_become_names_that_xml_takes() -> None:
    lines = tuple(Line(name, (0, 0, 0, 0)) for name in ["l2", "1", "l4", "", "a b", "第一行", "x:y"])
    names = xml_line_names(lines)
    assert names == ["l2", "l2_2", "l4", "l4_2", "l5", "第一行", "l7"]
    taken = {"a", "a_2"}
    assert unique_name("a", taken) == "a_3" and "a_3" in taken


def test_lines_go_with_the_innermost_owner_that_is_named() -> None:
    owners = [["a", "r1"], ["b", "r1"], ["c", "r2", "r1"], ["d", "r3"], ["e", "r4"]]
    assert reading_order(owners, ["r3", "r2", "gone", "r1", "r3"]) == [3, 2, 0, 1, 4]
    assert reading_order(owners, []) == [0, 1, 2, 3, 4]


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=3), max_size=6), st.lists(st.sampled_from("abcde"))
)
def test_no_line_is_lost_or_doubled(owners: list[list[str]], references: list[str]) -> None:
    assert sorted(reading_order(owners, references)) == list(range(len(owners)))
