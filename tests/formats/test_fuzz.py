"""Broken files of every format: a page or one sentence, never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paths import GOLDEN

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.page_json import check_page

fast = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JUNK = st.sampled_from(
    [
        b"",
        b"-1",
        b"1e9999",
        b"1e9999999",
        b"1e-9999999",
        b"NaN",
        b"\xff",
        b"<",
        b'"',
        b"&x;",
        b" ",
        b"\n",
        "注".encode(),
        b"9" * 400,
    ]
)


def page_or_sentence(path: Path) -> None:
    try:
        page = read_page(path)
    except InputError as error:
        message = str(error)
        assert message.startswith(f"{path}: ") and message.endswith(".") and "\n" not in message
    else:
        check_page(page, path)


@fast
@given(data=st.data())
@pytest.mark.parametrize("name", ["page.json", "page.xml", "page.alto.xml", "page.txt"])
def test_a_stretch_of_the_file_replaced(name: str, data: st.DataObject, tmp_path: Path) -> None:
    golden = (GOLDEN / name).read_bytes()
    start = data.draw(st.integers(0, len(golden)))
    stop = data.draw(st.integers(start, min(len(golden), start + 12)))
    (tmp_path / name).write_bytes(golden[:start] + data.draw(JUNK) + golden[stop:])
    page_or_sentence(tmp_path / name)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path, *(place for key, member in members for place in places(member, (*path, key)))]


@fast
@given(data=st.data())
def test_any_value_of_our_json_replaced(data: st.DataObject, tmp_path: Path) -> None:
    page = json.loads((GOLDEN / "page.json").read_bytes())
    *way, last = data.draw(st.sampled_from([place for place in places(page) if place]))
    target = page
    for key in way:
        target = target[key]
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    target[last] = data.draw(st.recursive(scalars, lambda s: st.lists(s, max_size=4), max_leaves=4))
    (tmp_path / "page.json").write_text(json.dumps(page), encoding="utf-8")
    page_or_sentence(tmp_path / "page.json")


@fast
@given(data=st.data())
@pytest.mark.parametrize("name", ["page.xml", "page.alto.xml"])
def test_any_attribute_of_the_xml_replaced_or_any_element_removed(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    from lxml import etree

    root = etree.fromstring((GOLDEN / name).read_bytes())
    element = data.draw(st.sampled_from(list(root.iter())))
    if element.attrib and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(element.attrib)))
        numbers = ["", "-1", "1e9", "1e-9", "1e9999999", "1e-9999999", "NaN", "1,2"]
        texts = ["x", "天\n地", "l1", "r1", "b1 b2", "{index:x;}", "readingOrder {index:x;}"]
        element.set(key, data.draw(st.sampled_from(numbers + texts)))
    elif (parent := element.getparent()) is not None:
        parent.remove(element)
    (tmp_path / name).write_bytes(etree.tostring(root))
    page_or_sentence(tmp_path / name)
