"""The example page in every format, byte for byte.

When a format is changed on purpose, write the files again and read the difference before it is committed:

    TONGGUOCR_UPDATE_GOLDEN=1 pytest tests/formats/test_golden.py
"""

from __future__ import annotations

import io
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from page_strategies import example_page
from paths import GOLDEN

from tongguocr.formats import read_page
from tongguocr.formats.alto_write import render_alto
from tongguocr.formats.doubts import render_doubts
from tongguocr.formats.epub import render_epub
from tongguocr.formats.hocr import render_hocr
from tongguocr.formats.iiif import render_manifest
from tongguocr.formats.markdown import render_markdown
from tongguocr.formats.page_json import render_json
from tongguocr.formats.page_xml_write import render_page_xml
from tongguocr.formats.style import Style
from tongguocr.formats.tei import render_tei
from tongguocr.formats.txt import render_txt

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def _first_file(epub: bytes) -> bytes:
    """What an EPUB has on its first pages."""
    with zipfile.ZipFile(io.BytesIO(epub)) as archive:
        return archive.read("EPUB/pages-00001.xhtml")


RENDERED = {
    "page.json": render_json(example_page()),
    "page.xml": render_page_xml(example_page(), Path("page.xml"), created=CREATED),
    "page.alto.xml": render_alto(example_page(), Path("page.alto.xml")),
    "page.txt": render_txt(example_page(), Path("page.txt")),
    "page.flow.txt": render_txt(example_page(), Path("page.txt"), Style("inline", flow=True)),
    "page.md": render_markdown(example_page(), Path("page.md")),
    "page.hocr": render_hocr(example_page(), Path("page.hocr")),
    "page.tei.xml": render_tei(example_page(), Path("page.tei.xml"), CREATED),
    "page.epub.xhtml": _first_file(render_epub(example_page(), Path("page.epub"))),
    "page.manifest.json": render_manifest(example_page(), Path("page.manifest.json")),
    "page.csv": render_doubts(example_page(), Path("page.csv")),
}


@pytest.mark.parametrize("name", RENDERED)
def test_files_are_written_as_they_were(name: str) -> None:
    if os.environ.get("TONGGUOCR_UPDATE_GOLDEN"):
        (GOLDEN / name).write_bytes(RENDERED[name])
    assert (GOLDEN / name).read_bytes() == RENDERED[name]


@pytest.mark.parametrize("name", ["page.json", "page.xml", "page.alto.xml"])
def test_files_are_read_as_they_were(name: str) -> None:
    assert read_page(GOLDEN / name) == example_page()


def test_the_text_is_read_as_it_was() -> None:
    texts = [line.text for line in example_page().lines if line.text]
    assert [line.text for line in read_page(GOLDEN / "page.txt").lines] == texts
