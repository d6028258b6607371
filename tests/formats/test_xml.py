"""XML is read safely: no entities, nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.xml import parse_xml

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
