"""Prompt, answers, and what any sequence of ids says."""

from __future__ import annotations

import pytest
from glm_models import COMMON, RARE, make_pretrained, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from labelled_pages import CHARS

from tongguocr.engines.glm.prompt import Prompt, byte_alphabet, make_prompt
from tongguocr.errors import InputError
from tongguocr.tokens.codec import UNREADABLE, split_target
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.glm.expand import add_tokens, expand


@pytest.fixture(scope="module")
def prompt() -> Prompt:
    return expand(make_pretrained(), CHARS + RARE)[0].prompt


def test_the_prompt_is_that_of_the_chat_template(prompt: Prompt) -> None:
    text = prompt.tokenizer.decode(prompt.ids(3), skip_special_tokens=False)
    assert text == (
        "[gMASK]<sop><|user|>\n<|begin_of_image|><|image|><|image|><|image|><|end_of_image|>"
        "Text Recognition:<|assistant|>\n"
    )
    assert prompt.ids(3).count(prompt.image) == 3


texts = st.lists(
    st.text(st.sampled_from(COMMON + CHARS + RARE + "永ab 　"), max_size=6), min_size=1, max_size=6
)


@given(texts, st.data())
def test_answers_come_back_with_their_lines(prompt: Prompt, lines: list[str], data: st.DataObject) -> None:
    moves = [data.draw(st.sampled_from(TRANSITIONS)) for _ in lines[1:]]
    answer = lines[0] + "".join(move + line for move, line in zip(moves, lines[1:], strict=True))
    found = prompt.decode([*prompt.encode(answer), prompt.end, 5, 6])
    assert [line.text for line in found] == lines == split_target(answer)
    assert [line.transition for line in found] == [*moves, None]


@given(st.data())
def test_any_ids_give_the_right_line_breaks(prompt: Prompt, data: st.DataObject) -> None:
    last = len(prompt.spellings)
    ids = data.draw(
        st.lists(st.integers(-2, last + 40) | st.sampled_from(list(prompt.transitions)), max_size=30)
    )
    stop = next((k for k, token in enumerate(ids) if token in prompt.ends), len(ids))
    read = ids[:stop]
    breaks = sum(prompt.ends_line(token) for token in read)
    inside = sum((prompt.spelling(t) or b"").count(b"\n") for t in read if prompt.spelling(t) != b"\n")
    lines = prompt.decode(ids)
    assert len(lines) == breaks + inside + 1
    assert not any("\n" in line.text for line in lines)
    used = [k for line in lines for char in line.chars for k in char.positions]
    assert used == sorted(used) and set(used) <= set(range(stop))
    ours = [token for token in read if 0 <= token < last]
    if ours == read:
        # What a server would give: the library's own decoding, special tokens skipped.
        theirs = prompt.tokenizer.decode(ours, skip_special_tokens=True)
        assert theirs.count("\n") + sum(theirs.count(move) for move in TRANSITIONS) >= breaks
        if UNREADABLE not in theirs:
            parts = [part for piece in split_target(theirs) for part in piece.split("\n")]
            plain = [
                p.translate({ord(c): UNREADABLE for c in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}) for p in parts
            ]
            assert [line.text for line in lines] == plain


def test_marks_join_their_character_and_know_their_tokens(prompt: Prompt) -> None:
    ids = prompt.encode("永\ufe00天")
    (line,) = prompt.decode(ids)
    assert [char.text for char in line.chars] == ["永\ufe00", "天"]
    assert line.chars[0].positions == tuple(range(len(ids) - 1)) and line.chars[1].positions == (
        len(ids) - 1,
    )
    assert sum(prompt.starts[token] for token in ids) == 3, "code points, as they begin"


def test_the_alphabet_is_the_library_s() -> None:
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(byte_alphabet()) == set(ByteLevel.alphabet()) and len(set(byte_alphabet().values())) == 256


def test_tokenizers_that_do_not_fit() -> None:
    from tokenizers import Tokenizer, models

    with pytest.raises(
        InputError, match=r"x: this is not GLM-OCR's tokenizer, it has no token <\|endoftext\|>"
    ):
        make_prompt(Tokenizer(models.BPE()), "x")
    some = add_tokens(make_tokenizer(), TRANSITIONS[:3])
    with pytest.raises(InputError, match="has 3 of the 24 transitions"):
        make_prompt(some, "x")
    other = make_tokenizer()
    from tokenizers import decoders

    other.decoder = decoders.Metaspace()
    with pytest.raises(InputError, match="not a byte-level tokenizer"):
        make_prompt(other, "x")
