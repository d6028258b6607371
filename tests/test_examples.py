"""The notebook in examples/: its cells run, one after the other, and read the page without a mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from paths import EXAMPLES, ROOT


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    cells = json.loads((EXAMPLES / "read_a_page.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["figures"]["AR"] == 100.0 and names["figures"]["RO-ED"] == 0.0
    assert "大學之道" in capsys.readouterr().out
