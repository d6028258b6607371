"""The bench of other programs' readers: what it compares, and what it does without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from page_strategies import example_page
from paths import ROOT

from bench.readers import compare, find_schema, inside, write_files


def found() -> list[dict[str, Any]]:
    return [{"id": line.id, "text": line.text, "box": list(line.box)} for line in example_page().lines]


def test_what_is_the_same_is_found_so() -> None:
    assert compare(example_page(), found()) == (6, 6, True, 0)


def test_texts_order_and_boxes_that_differ_are_told() -> None:
    lines = found()
    lines[0]["text"] = "天地"
    lines[1]["box"][2] += 3
    assert compare(example_page(), lines) == (6, 5, True, 3)
    assert compare(example_page(), found()[::-1])[2] is False
    assert compare(example_page(), [])[:3] == (0, 0, False)


def test_a_package_that_is_not_there_has_no_schema(monkeypatch: Any) -> None:
    monkeypatch.setattr("bench.readers.SCHEMAS", {"page": (("no_such_package_at_all", "page.xsd"),)})
    assert find_schema("page") is None


def test_files_are_written_and_looked_at(tmp_path: Path, monkeypatch: Any) -> None:
    for name, nothing in (("READERS", {}), ("SCHEMAS", ())):
        monkeypatch.setattr(
            f"bench.readers.{name}", dict.fromkeys(("page", "page-2013", "alto", "tei"), nothing)
        )
    write_files({"a": example_page()}, tmp_path)
    files = {format: list(result["files"]) for format, result in inside(tmp_path).items()}
    assert files == {
        "page": ["a.xml"],
        "page-2013": ["a.xml"],
        "alto": ["a.alto.xml"],
        "tei": ["a.tei.xml"],
    }


def test_the_script_knows_nothing_of_our_package() -> None:
    code = "import sys; sys.path.pop(0); import runpy; runpy.run_path('bench/readers.py');"
    code += "assert not any(name.startswith('tongguocr') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
