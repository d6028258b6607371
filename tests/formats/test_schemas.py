"""Our files against the public schemas, where a package that ships one is installed.

None is a part of the tests' own environment: see `bench/readers.py`, which names the packages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from lxml import etree
from page_strategies import floats, pages, xml_text
from paths import EXAMPLES, GOLDEN

from bench.readers import SCHEMAS, find_schema, open_schema
from tongguocr.formats import read_page
from tongguocr.formats.alto_write import render_alto
from tongguocr.formats.page_xml_write import render_page_xml
from tongguocr.formats.tei import render_tei, render_tei_book
from tongguocr.formats.unread import unread_page
from tongguocr.page import Page

RENDER = {"page": render_page_xml, "alto": render_alto, "tei": render_tei}
NAMES = {"page": "page.xml", "alto": "page.alto.xml", "tei": "page.tei.xml"}
PATH = Path("page.xml")


@pytest.fixture(scope="module", params=SCHEMAS)
def judge(request: pytest.FixtureRequest) -> tuple[str, Any]:
    path = find_schema(request.param)
    if path is None:
        pytest.skip(f"no package that ships the schema of {request.param} is installed")
    return request.param, open_schema(path)


def check(schema: Any, data: bytes) -> None:
    assert schema.validate(etree.fromstring(data)), schema.error_log.last_error


def test_the_golden_file_and_the_example_are_valid(judge: tuple[str, Any]) -> None:
    format, schema = judge
    check(schema, (GOLDEN / NAMES[format]).read_bytes())
    check(schema, RENDER[format](read_page(EXAMPLES / "page.json"), PATH))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(page=pages(xml_text, floats))
def test_any_page_is_valid(judge: tuple[str, Any], page: Page) -> None:
    format, schema = judge
    check(schema, RENDER[format](page, PATH))


def test_a_book_with_a_page_that_could_not_be_read_is_valid(judge: tuple[str, Any]) -> None:
    format, schema = judge
    if format == "tei":
        page = read_page(EXAMPLES / "page.json")
        check(schema, render_tei_book([page, unread_page("p2.png"), page, unread_page()], PATH))


def test_the_schema_tells_what_is_wrong(judge: tuple[str, Any]) -> None:
    format, schema = judge
    root = etree.fromstring((GOLDEN / NAMES[format]).read_bytes())
    etree.SubElement(root, f"{{{etree.QName(root).namespace}}}Nonsense")
    assert not schema.validate(root)
