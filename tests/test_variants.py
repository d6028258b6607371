"""The table of graphic variants keeps its own rule."""

from __future__ import annotations

from collections import Counter

from tongguocr.characters import is_ideograph
from tongguocr.variants import fold, groups

SEPARATE_WORDS = "后後云雲余餘干幹乾台臺里裏只隻几幾丑醜谷穀斗鬥鍾鐘髮發复復己已巳"


def test_every_row_is_one_main_form_and_its_variants() -> None:
    assert len(groups()) > 300
    for main, variants in groups():
        assert len(main) == 1 and variants
        assert all(is_ideograph(char) for char in main + variants)


def test_no_character_stands_twice() -> None:
    counts = Counter(char for main, variants in groups() for char in main + variants)
    assert [char for char, number in counts.items() if number > 1] == []


def test_folding() -> None:
    assert fold("羣峯徃髙𤣥㫖，Aか") == "群峰往高玄旨，Aか"
    assert fold(fold("爲衆")) == fold("爲衆") == "為眾"


def test_different_words_stay_different() -> None:
    assert len(set(fold(SEPARATE_WORDS))) == len(SEPARATE_WORDS)


def test_the_simplified_script_is_not_forgiven() -> None:
    assert fold("国学无万与为众说") == "国学无万与为众说"
