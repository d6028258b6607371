"""EPUB: what a package must have, columns from the right, notes in two rows, and all of the text in order."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from page_strategies import example_page, pages, xml_text

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, Style, write_book, write_page
from tongguocr.formats.epub import PAGES_A_FILE, render_epub
from tongguocr.formats.unread import NOT_READ, unread_page
from tongguocr.page import Line, Page

PATH = Path("卷一.epub")
DAY = date(2026, 1, 2)
TYPE = "{http://www.idpf.org/2007/ops}type"


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def package_of(data: bytes) -> Element:
    return fromstring(parts(data)["EPUB/package.opf"])


def sections(data: bytes) -> list[Element]:
    """The pages, in the order of the spine."""
    root, files = package_of(data), parts(data)
    hrefs = {item.get("id"): item.get("href") for item in root.iterfind("{*}manifest/{*}item")}
    names = [hrefs[ref.get("idref")] for ref in root.iterfind("{*}spine/{*}itemref")]
    return [
        section for name in names for section in fromstring(files[f"EPUB/{name}"]).iterfind(".//{*}section")
    ]


def texts(section: Element) -> list[str]:
    """The rows of text in a section: what stands between breaks, and in elements of their own."""
    rows = [""]
    for block in section:
        rows.append("")
        for element in block.iter():
            if element.tag.endswith("}br"):
                rows.append("")
            elif element is not block:
                rows.append(element.text or "")
            else:
                rows[-1] += element.text or ""
            if element is not block and element.tail:
                rows.append(element.tail)
    return [row for row in rows if row]


def metadata(data: bytes, name: str) -> list[str]:
    return [found.text or "" for found in package_of(data).iterfind(f"{{*}}metadata/{{*}}{name}")]


def book_of(given: list[Page], tmp_path: Path, style: Style = Style(), name: str = "b.epub") -> bytes:
    write_book(given, tmp_path / name, style=style, day=DAY)
    return (tmp_path / name).read_bytes()


def test_what_programs_look_for_first() -> None:
    data = render_epub(example_page(), PATH)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type, first.extra) == ("mimetype", zipfile.ZIP_STORED, b"")
        assert archive.read(first) == b"application/epub+zip" == FORMATS["epub"].media_type.encode()
    container = fromstring(parts(data)["META-INF/container.xml"])
    assert container.find(".//{*}rootfile").get("full-path") in parts(data)  # type: ignore[union-attr]


def test_columns_from_the_right_in_literary_chinese() -> None:
    data = render_epub(example_page(), PATH)
    root = package_of(data)
    assert root.find("{*}spine").get("page-progression-direction") == "rtl"  # type: ignore[union-attr]
    assert metadata(data, "language") == ["zh-Hant", "lzh"] and metadata(data, "title") == ["卷一"]
    assert metadata(data, "source") == ["page-001.png"]
    (file,) = (text for name, text in parts(data).items() if "pages-" in name)
    html = fromstring(file)
    assert html.get("class") == "vertical"
    assert html.get("{http://www.w3.org/XML/1998/namespace}lang") == "lzh-Hant"
    assert (
        b"html.vertical {" in (css := parts(data)["EPUB/style.css"]) and b"writing-mode: vertical-rl" in css
    )


def test_rows_stay_rows(tmp_path: Path) -> None:
    rows = tuple(
        Line(f"l{n}", (0, 50 * n, 600, 50 * n + 40), "天地玄黃", direction="left-to-right") for n in range(3)
    )
    lying = Page("r.png", 600, 800, rows)
    data = book_of([lying, lying, example_page()], tmp_path)
    classes = [fromstring(text).get("class") for name, text in parts(data).items() if "pages-" in name]
    assert classes == ["horizontal", "vertical"]
    assert package_of(data).find("{*}spine").get("page-progression-direction") == "ltr"  # type: ignore[union-attr]


def test_notes_stand_small_in_two_rows_in_their_place() -> None:
    (section,) = sections(render_epub(example_page(), PATH))
    paragraph = section.find("{*}p")
    assert paragraph is not None and paragraph.text == "天地玄"
    note, end = paragraph
    assert note.tag.endswith("}small") and [row.text for row in note] == ["注右行", "左行"]
    assert end.tag.endswith("}br") and end.tail == "黃𠀀洪", "the next column begins a row"
    (aside,) = section.iterfind("{*}aside")
    assert (aside.get("class"), aside.text) == ("margin", "眉批")


def test_the_style_counts() -> None:
    fold = replace(example_page().lines[5], text="卷一 三")
    page = replace(example_page(), lines=(*example_page().lines[:5], fold))
    assert texts(sections(render_epub(page, PATH))[0]) == ["天地玄", "注右行", "左行", "黃𠀀洪", "眉批"]
    assert texts(sections(render_epub(page, PATH, Style(fold=True)))[0])[-1] == "卷一 三"
    assert texts(sections(render_epub(page, PATH, Style("omit")))[0]) == ["天地玄", "黃𠀀洪", "眉批"]
    (section,) = sections(render_epub(page, PATH, Style("lines")))
    assert [aside.get("class") for aside in section.iterfind("{*}aside")] == ["note", "margin"]
    (section,) = sections(render_epub(page, PATH, Style("omit", flow=True)))
    assert section.find("{*}p").text == "天地玄黃𠀀洪"  # type: ignore[union-attr]


def test_every_page_break_is_in_the_list_of_pages(tmp_path: Path) -> None:
    count = 2 * PAGES_A_FILE + 3
    data = book_of([example_page()] * count, tmp_path)
    files = parts(data)
    listed = {item.get("href") for item in package_of(data).iterfind("{*}manifest/{*}item")}
    assert {f"EPUB/{name}" for name in listed} | {"EPUB/package.opf"} == {
        name for name in files if name.startswith("EPUB/")
    }
    nav = fromstring(files["EPUB/nav.xhtml"])
    (pages_list,) = (found for found in nav.iterfind(".//{*}nav") if found.get(TYPE) == "page-list")
    links = [(link.text, link.get("href") or "") for link in pages_list.iterfind(".//{*}a")]
    assert [text for text, _ in links] == [str(n) for n in range(1, count + 1)]
    for number, href in links:
        name, _, mark = href.partition("#")
        (found,) = (e for e in fromstring(files[f"EPUB/{name}"]).iter() if e.get("id") == mark)
        assert (found.get(TYPE), found.get("aria-label")) == ("pagebreak", number)
    (contents,) = (found for found in nav.iterfind(".//{*}nav") if found.get(TYPE) == "toc")
    assert [link.text for link in contents.iterfind(".//{*}a")] == ["1–20", "21–40", "41–43"]


def test_the_same_book_has_the_same_bytes_and_another_another_identifier(tmp_path: Path) -> None:
    first, again = (book_of([example_page()] * 2, tmp_path) for _ in range(2))
    assert first == again
    assert metadata(first, "meta")[1] == "2026-01-02T00:00:00Z"
    others = [
        book_of([example_page()], tmp_path),
        book_of([example_page()] * 2, tmp_path, name="c.epub"),
        book_of([example_page()] * 2, tmp_path, Style("omit")),
    ]
    names = [metadata(data, "identifier")[0] for data in (first, *others)]
    assert len(set(names)) == 4 and all(name.startswith("urn:uuid:") for name in names)


def test_a_page_that_could_not_be_read_says_so(tmp_path: Path) -> None:
    found = sections(book_of([example_page(), unread_page("p2.png"), example_page()], tmp_path))
    assert texts(found[1]) == [NOT_READ] and texts(found[2]) == texts(found[0])


def test_simplified_characters_are_told(tmp_path: Path) -> None:
    pytest.importorskip("opencc")
    data = book_of([example_page()], tmp_path, Style(script="simplified"))
    assert metadata(data, "language")[0] == "zh-Hans" and "黄" in texts(sections(data)[0])[3]


@given(pages(xml_text))
def test_all_text_is_there_in_order(page: Page) -> None:
    (section,) = sections(render_epub(page, PATH, Style(fold=True)))
    assert "".join(texts(section)) == "".join(line.text for line in page.lines)


def test_what_xml_cannot_hold_is_refused(tmp_path: Path) -> None:
    bad = replace(example_page(), lines=(replace(example_page().lines[3], text="天\x01"),))
    with pytest.raises(InputError, match=r"a\.epub: line l4: XML cannot hold the character U\+0001\.$"):
        write_page(bad, tmp_path / "a.epub")
    with pytest.raises(InputError, match=r"needs at least one page\.$"):
        write_book([], tmp_path / "a.epub")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("epubcheck") is None, reason="epubcheck is not installed")
def test_epubcheck_finds_no_fault(tmp_path: Path) -> None:
    book_of([example_page(), unread_page("p2.png"), *[example_page()] * 30], tmp_path, Style(fold=True))
    done = subprocess.run(["epubcheck", tmp_path / "b.epub"], capture_output=True, text=True)
    assert done.returncode == 0 and "No errors or warnings detected" in done.stdout + done.stderr
