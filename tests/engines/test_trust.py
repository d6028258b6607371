"""A page that its own engine does not believe says so."""

from __future__ import annotations

import pytest

from tongguocr.engines.trust import NO_TEXT, find_warnings, mean_confidence
from tongguocr.page import Char, Line, Page


def page(*confidences: float | None, text: str = "天") -> Page:
    chars = tuple(Char(text, (0, 0, 9, 9), confidence) for confidence in confidences)
    line = Line("l1", (0, 0, 9, 9), text * len(chars), chars=chars)
    return Page("p.png", 9, 9, (line, Line("l2", (0, 0, 9, 9), confidence=0)))


def test_all_characters_together_are_judged() -> None:
    assert mean_confidence(page(0.9, 0.5, None)) == pytest.approx(0.7)
    assert find_warnings(page(0.99, 0.3), 0.5) == ()
    (said,) = find_warnings(page(*[0.4] * 3), 0.5)
    assert "cannot be trusted" in said and "0.40" in said and said.endswith(".")
    assert find_warnings(page(0.1), None) == (), "an engine whose confidence nobody measured"


def test_nothing_is_said_of_a_page_without_confidence() -> None:
    assert mean_confidence(page(None)) is None and find_warnings(page(None), 0.5) == ()


@pytest.mark.parametrize("empty", [Page("p.png", 9, 9), page(), page(0.0, text="")])
@pytest.mark.parametrize("least", [0.5, None])
def test_a_page_without_text_says_so_whichever_engine_read_it(empty: Page, least: float | None) -> None:
    assert mean_confidence(empty) is None and find_warnings(empty, least) == (NO_TEXT,)
