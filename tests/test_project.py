"""What stands in several files of the project says the same in all of them."""

from __future__ import annotations

import pytest
from paths import ROOT

from tongguocr.cli import COMMANDS
from tongguocr.version import __version__


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "README.ja.md"])
def test_every_front_page_names_every_command(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    absent = [word for word in COMMANDS if f"tongguocr {word}" not in text and f"`{word}`" not in text]
    assert not absent
