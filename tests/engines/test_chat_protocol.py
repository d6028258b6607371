"""Chat completions, whole and broken."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.engines.chat_protocol import Answer, NonsenseError, parse_answer, parse_complaint
from tongguocr.tokens.transitions import TRANSITIONS

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def body(content: Any, tokens: Any = None) -> bytes:
    choice = {"message": {"content": content}, "logprobs": {"content": tokens}}
    return json.dumps({"choices": [choice]}).encode()


def spelled(answer: Answer) -> list[str]:
    return ["".join(char.text for char in line) for line in answer.lines()]


@given(st.binary(max_size=60) | junk.map(lambda value: json.dumps(value).encode()))
def test_anything_is_an_answer_or_nonsense(data: bytes) -> None:
    with pytest.raises(NonsenseError):
        parse_answer(data)
    assert "\n" not in parse_complaint(data)


@given(st.text(max_size=12), junk)
def test_strange_probabilities_never_spoil_the_text(content: str, tokens: Any) -> None:
    answer = parse_answer(body(content, tokens))
    assert len(answer.text) == len(content) and len(answer.marks) in (0, len(content))


@given(st.lists(st.text(min_size=1, max_size=4), max_size=6), st.data())
def test_probabilities_of_any_pieces_reach_the_characters(pieces: list[str], data: st.DataObject) -> None:
    """The text's bytes are cut anywhere; each character has the product of the pieces it lies in."""
    text = "".join(pieces)
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(raw) - 1, 1)))))
    bounds = [0, *(cut for cut in cuts if cut < len(raw)), len(raw)]
    sure = data.draw(st.lists(st.floats(-3, 0), min_size=len(bounds) - 1, max_size=len(bounds) - 1))
    tokens = [
        {"token": "?", "bytes": list(raw[a:b]), "logprob": p}
        for a, b, p in zip(bounds, bounds[1:], sure, strict=False)
    ]
    marks = parse_answer(body(text, tokens)).marks
    assert len(marks) == len(text)
    at = 0
    for char, (found, _) in zip(text, marks, strict=True):
        stop = at + len(char.encode())
        inside = [p for a, b, p in zip(bounds, bounds[1:], sure, strict=False) if a < stop and b > at]
        assert found == pytest.approx(math.exp(sum(inside)), abs=1e-3)
        at = stop


def test_probabilities_of_another_text_are_left_out() -> None:
    tokens = [{"token": "地", "logprob": -0.1}]
    assert parse_answer(body("天", tokens)).marks == ()
    assert parse_answer(body("地", tokens)).marks == ((pytest.approx(0.9048), ()),)
    assert parse_answer(body("地", [{"token": "地", "logprob": float("nan")}])).marks == ()
    assert parse_answer(body("地", [{"token": "地", "logprob": -1e999}])).marks == ((0.0, ()),)


@given(
    st.lists(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=5), min_size=1),
    st.data(),
)
def test_line_breaks_and_transitions_part_lines(lines: list[str], data: st.DataObject) -> None:
    breaks = data.draw(
        st.lists(
            st.sampled_from([*TRANSITIONS, "\n", "\r", "\u2028"]),
            min_size=len(lines) - 1,
            max_size=len(lines) - 1,
        )
    )
    text = "".join(a + b for a, b in zip(lines, [*breaks, ""], strict=True))
    assert spelled(Answer(text)) == lines


def test_what_is_no_character_goes_and_what_belongs_to_one_stays_with_it() -> None:
    answer = parse_answer(body("```markdown\n 葛\U000e0100　城\x00\t\n```\nA\ud800\n"))
    assert spelled(answer) == ["葛\U000e0100城", "A\ufffd", ""]
    assert [char.text for char in answer.lines()[0]] == ["葛\U000e0100", "城"]
    assert spelled(Answer("``` 天")) == ["```天"]


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "天"}, {"type": "image"}, {"type": "text", "text": "地"}]
    assert parse_answer(body(parts)).text == "天地"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"error": {"message": "No such model.", "code": 404}}', "No such model"),
        (b'{"object": "error", "message": "too\\n long"}', "too long"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": [{"loc": 1}]}', ""),
        (b'{"error": 5}', ""),
        (b"Bad Gateway", ""),
    ],
)
def test_complaints(data: bytes, said: str) -> None:
    assert parse_complaint(data) == said


def test_long_complaints_are_cut() -> None:
    assert len(parse_complaint(json.dumps({"error": "x" * 9999}).encode())) == 201
