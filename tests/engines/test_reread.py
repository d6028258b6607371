"""Reading doubtful lines again: which they are, and what comes of both readings."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from recognise_pages import FakeEngine, char_at, inputs_of, make_page

from tongguocr.engines import open_engine
from tongguocr.engines.base import BlockInput, BlockReading, LineReading
from tongguocr.engines.guard import Guarded
from tongguocr.engines.reread import LARGER, Rereading, combine, is_doubtful
from tongguocr.engines.tongguocr import OnnxEngine
from tongguocr.page import Char

Reading = tuple[str, float, tuple[tuple[str, float], ...]]


def line(*chars: Reading) -> LineReading:
    """A column of characters, each with its probability and its candidates."""
    found = [
        replace(char_at(text, 20, 40 * k + 20), confidence=sure, candidates=others)
        for k, (text, sure, others) in enumerate(chars)
    ]
    return LineReading(tuple(found), "read")


def test_the_character_that_both_hold_possible_wins() -> None:
    first = line(("天", 0.99, ()), ("本", 0.45, (("木", 0.4), ("未", 0.1))))
    second = line(("天", 0.9, ()), ("未", 0.5, (("木", 0.42), ("本", 0.02))))
    both = combine(first, second)
    assert both.text == "天木"
    assert both.chars[1].confidence == 0.41
    assert both.chars[1].candidates == (("未", 0.3), ("本", 0.235))
    assert [char.box for char in both.chars] == [char.box for char in first.chars]


def test_no_character_is_added_or_lost() -> None:
    first = line(("天", 0.9, ()), ("玄", 0.4, ()), ("黃", 0.9, ()))
    assert (
        combine(first, line(("天", 0.9, ()), ("地", 0.9, ()), ("玄", 0.9, ()), ("黃", 0.9, ()))).text
        == "天玄黃"
    )
    assert combine(first, line(("天", 0.9, ()), ("黃", 0.9, ()))).text == "天玄黃"


def test_a_reading_that_failed_says_nothing() -> None:
    first = line(("天", 0.4, ()))
    for status in ("empty", "capped", "failed"):
        assert combine(first, replace(line(("地", 0.9, ())), status=status)) is first


def test_only_lines_with_a_doubtful_character_are_read_again_alone() -> None:
    def answer(block: BlockInput) -> BlockReading:
        sure = {"l1": 0.9, "l2": 0.3, "l3": 0.9}
        return BlockReading(tuple(line(("天", sure[one.id], (("夫", 0.2),))) for one in block.lines))

    def look(block: BlockInput) -> BlockReading:
        return BlockReading(tuple(line(("夫", 0.8, (("天", 0.1),))) for _ in block.lines))

    engine, again = FakeEngine(answer), FakeEngine(look)
    (reading,) = Rereading(engine, again).read(inputs_of(make_page(3)))
    assert again.asked == [["l2"]]
    assert [one.text for one in reading.lines] == ["天", "夫", "天"]
    calm = FakeEngine(look)
    Rereading(engine, calm, unsure=0.2).read(inputs_of(make_page(3)))
    assert calm.asked in ([], [[]]), "nothing is doubtful"


def test_it_is_asked_for_and_sees_more() -> None:
    once, twice = open_engine("tongguocr"), open_engine("tongguocr", reread=True)
    assert not isinstance(once, Rereading) and isinstance(twice, Rereading)
    assert isinstance(twice.engine, Guarded) and isinstance(twice.again, Guarded)
    usual, more = twice.engine.engine, twice.again.engine
    assert isinstance(usual, OnnxEngine) and isinstance(more, OnnxEngine)
    assert more.encoder is usual.encoder, "the weights are opened once"
    assert more.settings.scaling.character == LARGER > usual.settings.scaling.character
    inputs = inputs_of(make_page(2))
    readings = zip(once.read(inputs), twice.read(inputs), strict=True)
    assert all(
        len(a.chars) == len(b.chars) for x, y in readings for a, b in zip(x.lines, y.lines, strict=True)
    )


def test_what_failed_or_is_empty_is_not_doubtful() -> None:
    assert is_doubtful(line(("天", 0.3, ()))) and not is_doubtful(line(("天", 0.6, ())))
    assert not is_doubtful(LineReading())
    assert not is_doubtful(replace(line(("天", 0.3, ())), status="failed"))
    assert is_doubtful(LineReading((Char("天", (0, 0, 1, 1)),), "read")), "nobody said how sure"


readings = st.lists(st.tuples(st.sampled_from("天地玄黃"), st.floats(0, 1)))


@given(readings, readings)
def test_probabilities_stay_probabilities(
    first: list[tuple[str, float]], second: list[tuple[str, float]]
) -> None:
    a, b = (line(*((text, sure, (("夫", 1 - sure),)) for text, sure in chars)) for chars in (first, second))
    both = combine(a, b)
    assert len(both.chars) == len(a.chars)
    for char in both.chars:
        assert char.confidence is not None
        assert 0 <= char.confidence <= 1
        assert all(share <= char.confidence + 1e-4 for _, share in char.candidates) or char in a.chars
        assert char.text not in dict(char.candidates)
