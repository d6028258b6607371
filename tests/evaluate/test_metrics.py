"""The figures: by hand, and against nltk, as the public scorer computes them."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics import f_measure, precision, recall
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu

from tongguocr.alignment import align
from tongguocr.evaluate.metrics import METRICS, Order, Tally, bleu, count, extra_figures, figures

texts = st.text("天地玄黃宇宙", max_size=30)


def tally(reference: str, prediction: str, *, multiset: bool = False) -> Tally:
    return count(reference, prediction, align(reference, prediction), Order(), multiset=multiset)


def score(reference: str, prediction: str, *, multiset: bool = False) -> dict[str, float]:
    return figures(tally(reference, prediction, multiset=multiset), blank_is_right=False)


def test_by_hand() -> None:
    """N = 8: one substitution (習 -> 集), one deletion (之), two insertions (乎乎)."""
    result = score("學而時習之不亦說", "學而時集不亦說乎乎")
    assert result["AR"] == pytest.approx((8 - 1 - 1 - 2) / 8)
    assert result["CR"] == pytest.approx((8 - 1 - 1) / 8)
    assert result["NED"] == pytest.approx(4 / 9)
    assert (result["P"], result["R"]) == (pytest.approx(6 / 8), pytest.approx(6 / 8))
    assert result["F1"] == pytest.approx(0.75)


def test_insertions_make_ar_negative_and_leave_cr() -> None:
    result = score("子曰", "子曰子曰子曰子曰")
    assert result["AR"] == -2
    assert result["CR"] == 1


def test_a_loop_has_the_right_inventory_and_the_wrong_text() -> None:
    loop = "子曰" * 8
    assert score("子曰", loop)["F1"] == 1
    assert score("子曰", loop, multiset=True)["F1"] == pytest.approx(2 * (1 / 8) / (1 + 1 / 8))
    assert extra_figures(tally("子曰", loop)) == {"over_generation": 7, "long_pages": 1, "lines_found": 1}


@given(texts, texts)
def test_bleu_is_nltks(reference: str, prediction: str) -> None:
    smoothing = SmoothingFunction().method1
    expected = sentence_bleu([list(reference)], list(prediction), smoothing_function=smoothing)
    assert bleu(tally(reference, prediction)) == pytest.approx(float(expected), abs=1e-12)


@given(st.lists(st.tuples(texts, texts.filter(lambda text: len(text) >= 4)), min_size=1, max_size=4))
def test_micro_bleu_is_nltks_corpus_bleu(pages: list[tuple[str, str]]) -> None:
    """For pages of four characters or more: nltk counts one n-gram too many for each shorter one."""
    smoothing = SmoothingFunction().method1
    references, predictions = [[list(page[0])] for page in pages], [list(page[1]) for page in pages]
    expected = corpus_bleu(references, predictions, smoothing_function=smoothing)
    pooled = reduce(add, (tally(*page) for page in pages))
    assert bleu(pooled) == pytest.approx(float(expected), abs=1e-12)


@given(texts.filter(bool), texts)
def test_inventory_figures_are_nltks(reference: str, prediction: str) -> None:
    result, sets = score(reference, prediction), (set(reference), set(prediction))
    assert result["P"] == pytest.approx(precision(*sets) or 0)
    assert result["R"] == pytest.approx(recall(*sets))
    assert result["F1"] == pytest.approx(f_measure(*sets) or 0)


@given(texts.filter(bool), texts)
def test_relations(reference: str, prediction: str) -> None:
    result = score(reference, prediction, multiset=True)
    assert result["AR"] <= result["CR"] <= 1
    assert 0 <= result["NED"] <= 1
    assert (result["AR"] == 1) == (reference == prediction)
    assert result["CR"] <= result["R"] + 1e-12  # an aligned match is also a common occurrence


def test_empty_references() -> None:
    zero = dict.fromkeys(METRICS, 0.0)
    assert figures(tally("", ""), blank_is_right=False) == zero
    assert figures(tally("", "子"), blank_is_right=False) == {**zero, "NED": 1}
    assert figures(tally("", ""), blank_is_right=True) == {
        **dict.fromkeys(METRICS, 1.0),
        "NED": 0,
        "RO-ED": 0,
    }
    assert figures(tally("", "子"), blank_is_right=True) == {**zero, "NED": 1}
    assert extra_figures(tally("", "子")) == {"over_generation": 1, "long_pages": 1, "lines_found": 1}
    assert extra_figures(tally("", "")) == {"over_generation": 0, "long_pages": 0, "lines_found": 1}


def test_an_empty_prediction_finds_nothing() -> None:
    assert score("子曰", "") == {**dict.fromkeys(METRICS, 0.0), "NED": 1}


def test_tallies_add_up() -> None:
    both = tally("子曰", "子") + tally("學而時", "學而時習")
    assert (both.pages, both.reference, both.deletions, both.insertions) == (2, 5, 1, 1)
    assert both.grams_common == (4, 2, 1, 0)
    assert figures(both, blank_is_right=True)["AR"] == pytest.approx(3 / 5)
