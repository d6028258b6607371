"""The protocols side by side on one page."""

from __future__ import annotations

import pytest

from tongguocr.evaluate.protocols import PROTOCOLS, score_lines

REFERENCE = ["學而時習之，", "不亦說乎。□"]
PRIVATE = "\ue123"


def figures(
    predicted: list[str], reference: list[str], protocol: str, *, folded: bool = False
) -> dict[str, float]:
    return score_lines(predicted, reference, PROTOCOLS[protocol], folded=folded).figures


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_reference_itself_is_perfect(protocol: str) -> None:
    result = figures(REFERENCE, REFERENCE, protocol)
    assert (result["AR"], result["CR"], result["NED"], result["BLEU"], result["RO-ED"]) == (1, 1, 0, 1, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_punctuation_and_line_breaks_do_not_count_in_the_text(protocol: str) -> None:
    assert figures(["學而", "時習之不亦說乎□"], REFERENCE, protocol)["AR"] == 1


def test_simplified_output_passes_in_mcs_alone() -> None:
    simplified = ["学而时习之", "不亦说乎□"]
    assert figures(simplified, REFERENCE, "mcs")["AR"] == 1
    assert figures(simplified, REFERENCE, "paper")["AR"] == pytest.approx(1 - 4 / 9)
    assert figures(simplified, ["学而时习之", "不亦说乎"], "mcs")["AR"] == 1


def test_an_unread_character_counts_in_strict_alone() -> None:
    for lost in ("□", PRIVATE):
        reference = ["學而時習之", f"不亦說乎{lost}"]
        predicted = ["學而時習之", "不亦說乎"]
        assert figures(predicted, reference, "paper")["AR"] == 1
        assert figures(predicted, reference, "strict")["AR"] == pytest.approx(9 / 10)


def test_mcs_takes_the_papers_order() -> None:
    predicted = ["不亦说乎", "学而时习之"]
    assert (
        figures(predicted, REFERENCE, "mcs")["RO-ED"] == figures(predicted, REFERENCE, "paper")["RO-ED"] == 1
    )


def test_lost_pages_cost() -> None:
    for protocol in PROTOCOLS:
        result = figures([], REFERENCE, protocol)
        assert (result["AR"], result["CR"], result["NED"], result["RO-ED"]) == (0, 0, 1, 1)


def test_variants_count_as_one_when_folded() -> None:
    reference, predicted = ["羣峯徃復"], ["群峰往復"]
    assert figures(predicted, reference, "paper")["AR"] == 0.25
    assert figures(predicted, reference, "paper", folded=True)["AR"] == 1


def test_added_characters_are_treated_as_the_texts() -> None:
    reference, predicted, added = ["𤣥學"], ["玄學"], frozenset("𤣥學，")
    plain = score_lines(predicted, reference, PROTOCOLS["paper"], added=added).occurrences
    folded = score_lines(predicted, reference, PROTOCOLS["paper"], added=added, folded=True).occurrences
    simplified = score_lines(predicted, reference, PROTOCOLS["mcs"], added=added).occurrences
    assert plain is not None and folded is not None and simplified is not None
    assert (plain[0].hits, plain[0].misses, plain[1].false_positives) == (1, 1, 1)
    assert (folded[0].hits, folded[0].misses, folded[1].false_positives) == (2, 0, 0)
    assert simplified[0].hits >= 1  # 学, though the list says 學
