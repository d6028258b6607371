"""The bar: what it counts, and where it shows."""

from __future__ import annotations

import pytest

from tongguocr.progress import PageBar, page_bar


def test_pages_done_before_are_not_pages_to_do() -> None:
    bar = PageBar(10, shown=False)
    for _ in range(4):
        bar.drop()
    bar.step(300)
    bar.step(1200)
    assert (bar.pages, bar.total) == (2, 6)
    assert bar.said.startswith("1,500 characters, ") and bar.said.endswith(" a minute")


def test_without_a_terminal_only_sentences_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    with page_bar(2) as bar:
        bar.step()
        bar.say("tongguocr: a sentence with [bold]brackets[/bold] that is longer than any terminal " * 3)
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "[bold]" in said.err
