"""Occurrences of added characters after alignment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.alignment import align
from tongguocr.errors import InputError
from tongguocr.evaluate.occurrences import Occurrences, count_occurrences, pool, read_added

ADDED = frozenset("𤣥㫖")


def occurrences(reference: str, prediction: str) -> tuple[Occurrences, Occurrences]:
    return count_occurrences(reference, prediction, align(reference, prediction), ADDED)


def test_a_substitution_misses_one_and_over_generates_the_other() -> None:
    assert occurrences("天𤣥地", "天玄地") == (Occurrences(0, 0, 1), Occurrences(2, 1, 0))
    assert occurrences("天玄地", "天𤣥地") == (Occurrences(0, 1, 0), Occurrences(2, 0, 1))


def test_deletions_and_insertions() -> None:
    assert occurrences("𤣥之㫖", "𤣥之") == (Occurrences(1, 0, 1), Occurrences(1, 0, 0))
    assert occurrences("𤣥之", "𤣥之㫖也") == (Occurrences(1, 1, 0), Occurrences(1, 1, 0))


def test_counts_are_pooled_before_they_are_divided() -> None:
    added, others = pool([occurrences("𤣥𤣥𤣥", "𤣥𤣥𤣥"), occurrences("㫖", "旨")])
    assert (added.precision, added.recall) == (1.0, 0.75)
    assert added.f1 == pytest.approx(2 * 0.75 / 1.75)
    assert others == Occurrences(0, 1, 0)
    assert (others.precision, others.recall, others.f1) == (0, 0, 0)


@given(st.text("天𤣥㫖", max_size=12), st.text("天𤣥㫖", max_size=12))
def test_every_character_is_counted_once(reference: str, prediction: str) -> None:
    added, others = occurrences(reference, prediction)
    assert added.hits + added.misses == sum(char in ADDED for char in reference)
    assert added.hits + added.false_positives == sum(char in ADDED for char in prediction)
    assert others.hits + others.misses == reference.count("天")
    assert others.hits + others.false_positives == prediction.count("天")


def test_reading_the_list(tmp_path: Path) -> None:
    path = tmp_path / "added.txt"
    path.write_text("\ufeff𤣥\r\n\n㫖\n", encoding="utf-8")
    assert read_added(path) == ADDED


@pytest.mark.parametrize("content", ["𤣥\n㫖旨\n", "", "\n\n"])
def test_a_bad_list_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "added.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"added\.txt"):
        read_added(path)
