"""The alignment against a plain table walked back by the stated order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from tongguocr import alignment as module
from tongguocr.alignment import align

texts = st.text("天地玄黃", max_size=24)


def plain_align(reference: str, prediction: str) -> str:
    rows, columns = len(reference), len(prediction)
    table = [[i + j if not i or not j else 0 for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            around = (table[i - 1][j - 1], table[i - 1][j], table[i][j - 1])
            table[i][j] = around[0] if reference[i - 1] == prediction[j - 1] else 1 + min(around)
    steps = ""
    i, j = rows, columns
    while i or j:
        here = table[i][j]
        if i and j and reference[i - 1] == prediction[j - 1]:
            step = "="
        elif i and j and here == table[i - 1][j - 1] + 1:
            step = "S"
        elif i and here == table[i - 1][j] + 1:
            step = "D"
        else:
            step = "I"
        steps = step + steps
        i, j = i - (step != "I"), j - (step != "D")
    return steps


@given(texts, texts)
@settings(max_examples=300)
def test_alignment_follows_the_stated_order(reference: str, prediction: str) -> None:
    assert align(reference, prediction) == plain_align(reference, prediction)


@given(texts, texts)
def test_huge_texts_are_aligned_as_shortly(reference: str, prediction: str) -> None:
    steps = module._align_huge(reference, prediction)
    assert len(steps) - steps.count("=") == Levenshtein.distance(reference, prediction)
    assert len(steps) - steps.count("I") == len(reference)
    assert len(steps) - steps.count("D") == len(prediction)


def test_the_tie_order_decides_cr() -> None:
    """Two substitutions, or a deletion and an insertion: both cost 2, MCS-Bench's order takes the former."""
    assert align("ab", "ba") == "SS"
    assert align("子曰學", "曰學時") == "D==I"
    assert align("", "") == ""
    assert align("子曰", "") == "DD"
    assert align("", "子曰") == "II"


def test_a_pair_too_large_for_the_table_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_TABLE", 5)
    monkeypatch.setattr(module, "_columns", lambda *_: pytest.fail("the table was made"))
    assert align("子曰學而", "子曰學") == "===D"
