"""What the XML formats share about lines: characters, texts, ids and their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.errors import InputError
from tongguocr.formats.xml import unique_name
from tongguocr.formats.xml_lines import ids_for_xml, is_one_character, line_text, reading_order
from tongguocr.page import Line


def test_one_character_with_its_marks() -> None:
    assert is_one_character("天") and is_one_character("葛\U000e0100") and is_one_character("e\u0301")
    assert not is_one_character("") and not is_one_character("天地")


@pytest.mark.parametrize(
    ("raw", "text"), [("\n    天　\n  ", "天　"), ("　天", "　天"), (" a ", " a "), ("\n", "")]
)
def test_indentation_is_not_text(raw: str, text: str) -> None:
    assert line_text(raw, "x") == text


def test_a_break_inside_a_line_is_refused() -> None:
    with pytest.raises(InputError, match="line break"):
        line_text("天\n地", "x")


def test_ids_become_names_that_xml_takes() -> None:
    lines = tuple(Line(name, (0, 0, 0, 0)) for name in ["l2", "1", "l4", "", "a b", "第一行", "x:y"])
    names = ids_for_xml(lines)
    assert names == ["l2", "l2_2", "l4", "l4_2", "l5", "第一行", "l7"]
    taken = {"a", "a_2"}
    assert unique_name("a", taken) == "a_3" and "a_3" in taken


def test_lines_go_with_the_innermost_owner_that_is_named() -> None:
    owners = [["a", "r1"], ["b", "r1"], ["c", "r2", "r1"], ["d", "r3"], ["e", "r4"]]
    assert reading_order(owners, ["r3", "r2", "gone", "r1", "r3"]) == [3, 2, 0, 1, 4]
    assert reading_order(owners, []) == [0, 1, 2, 3, 4]


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=3), max_size=6), st.lists(st.sampled_from("abcde"))
)
def test_no_line_is_lost_or_doubled(owners: list[list[str]], references: list[str]) -> None:
    assert sorted(reading_order(owners, references)) == list(range(len(owners)))
