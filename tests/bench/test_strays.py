"""The bench of characters outside of their lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from recognise_pages import char_at, column, spread

from bench.strays import RULES, ReadPage, count, read_all, tabulate
from tongguocr.alignment import INSERTION, MATCH
from tongguocr.engines.strays import StrayRule
from tongguocr.page import Page, bare_page
from tongguocr.reader import Reader


def read_page() -> ReadPage:
    line = column("l1", 200, 0, 40, 400)
    chars = (*spread("一二", line.box), replace(char_at("雲", 300, 200), confidence=0.2))
    return ReadPage(Page("p.png", 400, 500, (replace(line, text="一二雲", chars=chars),)), "一二", True)


def test_each_rule_is_counted_on_the_same_reading() -> None:
    steps, strays = count([read_page()], None)
    assert (steps[MATCH], steps[INSERTION]) == (2, 1)
    assert strays == {"characters": 1, "lines": 1, "pages": 1, "own": 0}
    steps, strays = count([read_page()], StrayRule())
    assert (steps[INSERTION], +strays) == (0, {})
    steps, strays = count([read_page()], StrayRule(least=0.0))
    assert (steps[INSERTION], +strays) == (1, {"own": 1})
    table = tabulate("pages", [read_page()])
    assert list(table.columns[0].cells) == list(RULES) and next(iter(table.columns[1].cells)) == "50.00"


def test_labels_are_kept_and_pixels_read() -> None:
    page = replace(bare_page("p.png", np.zeros((9, 9), np.uint8)), lines=(column("a", 0, 0, 3, 9, "天 地"),))
    (one,) = read_all(Reader(None), [page], True, True)
    assert one.wanted == "天地" and one.page.lines == page.lines
    (bare,) = read_all(Reader(None), [page], True, False)
    assert bare.page.lines == ()
