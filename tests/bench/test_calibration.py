"""Which characters count as wrong when confidence is measured."""

from __future__ import annotations

from bench.calibration import agreed, errors_of, is_mislabelled, judge
from bench.language import Reading
from tongguocr.page import Char, Line, Page

BOX = (0.0, 0.0, 1.0, 1.0)


def chars(text: str, *sure: float) -> list[Char]:
    return [Char(c, BOX, s) for c, s in zip(text, sure or [0.9] * len(text), strict=True)]


def page(found: list[Char]) -> Page:
    return Page("a.webp", 9, 9, (Line("l", BOX, "".join(c.text for c in found), chars=tuple(found)),))


def test_a_missing_character_is_an_error_of_the_less_sure_neighbour() -> None:
    assert errors_of(chars("天黃", 0.9, 0.8), "天玄黃").word == [True, False]
    assert errors_of(chars("天黃", 0.7, 0.8), "天玄黃").strict == [False, True]


def test_another_form_is_wrong_strictly_and_right_as_a_word() -> None:
    found = errors_of(chars("爲人"), "為人")
    assert (found.strict, found.word) == ([False, True], [True, True])


def test_marks_and_places_without_a_label_are_not_counted() -> None:
    assert errors_of(chars("天地人"), "天?人").counted == [True, False, True]
    assert errors_of(chars("天地○"), "天地").counted == [True, True, False]


def test_what_both_engines_read_against_the_label_is_disputed() -> None:
    assert agreed(chars("二十七日"), "十七日也") == [False, True, True, True]
    found = judge([(page(chars("七日")), "七實", "七日")], None)
    assert found.disputed.tolist() == [False, True] and found.right.tolist() == [True, False]


def test_a_label_like_neither_reading_belongs_to_another_line() -> None:
    reading = Reading(page(chars("天地玄黃")), "宇宙洪荒")
    assert is_mislabelled(reading, {"a.webp": "天地玄黃"})
    assert not is_mislabelled(reading, {"a.webp": "宇宙洪黃"})
