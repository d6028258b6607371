"""Context chooses among candidates, and does nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_strategies import pages

from tongguocr.engines.language_model import NOBODY, load_language
from tongguocr.engines.rescore import Context, main_form, rescore, running_texts
from tongguocr.page import Char, Line, Page
from tongguocr.variants import groups

BOX = (0.0, 0.0, 1.0, 1.0)
Open = tuple[str, float, tuple[tuple[str, float], ...]]


def line(text: str, *opened: Open, kind: str = "main", name: str = "a", **changes: object) -> Line:
    """A line of sure characters; ? is the next of the open ones."""
    left = iter(opened)
    chars = []
    for c in text:
        reading, sure, others = next(left) if c == "?" else (c, 0.99, ())
        chars.append(Char(reading, BOX, sure, others))
    text = "".join(char.text for char in chars)
    return replace(Line(name, BOX, text, kind, confidence=0.9, chars=tuple(chars)), **changes)  # type: ignore[arg-type]


def page(*lines: Line) -> Page:
    return Page("", 9, 9, tuple(replace(one, id=str(n)) for n, one in enumerate(lines)))


def read(*lines: Line, context: Context = Context()) -> Page:
    return rescore(page(*lines), load_language(), context)


def test_context_chooses_what_the_picture_leaves_open_and_says_so() -> None:
    found = read(line("學而時?之不亦說乎", ("皆", 0.5, (("習", 0.4), ("晉", 0.05)))))
    assert found.lines[0].text == "學而時習之不亦說乎"
    char = found.lines[0].chars[3]
    assert (char.text, char.picture) == ("習", "皆") and char.confidence and 0.5 < char.confidence < 1
    assert dict(char.candidates).keys() == {"皆", "晉"}
    shares = [char.confidence, *(share for _, share in char.candidates)]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(0.95, abs=0.001)
    assert found.lines[0].confidence == pytest.approx((8 * 0.99 + char.confidence) / 9)


def test_a_sure_character_and_unlikely_candidates_stay() -> None:
    sure = line("學而時?之", ("皆", 0.96, (("習", 0.04),)))
    unlikely = line("學而時?之", ("皆", 0.5, (("習", 0.01),)))
    for one in (sure, unlikely):
        assert read(one).lines[0].text == "學而時皆之"
        assert read(one).lines[0].chars[3].picture is None


def test_which_form_it_is_remains_the_choice_of_the_picture() -> None:
    for form, other in ("為爲", "爲為"):
        char = read(line("以?", (form, 0.5, ((other, 0.45),)))).lines[0].chars[1]
        assert char.text == form and char.picture is None and char.confidence == pytest.approx(0.5, abs=1e-3)


def test_a_reduced_form_is_not_written_out() -> None:
    for form, other in ("数數", "變变", "備僃"):
        char = read(line("不可勝?", (form, 0.5, ((other, 0.45),)))).lines[0].chars[3]
        assert char.text == form and char.picture is None
    assert main_form("数") == "數" and main_form("后") == "后"


def test_forms_of_one_word_share_their_probability() -> None:
    """且 is likelier than either form, and less likely than both."""
    context = Context(weight=1e-6)
    one = line("?", ("且", 0.4, (("為", 0.3), ("爲", 0.25))))
    char = read(one, context=context).lines[0].chars[0]
    assert (char.text, char.picture) == ("為", "且")
    assert [char.confidence, *(share for _, share in char.candidates)] == pytest.approx(
        [0.3, 0.4, 0.25], 1e-2
    )


def test_what_the_model_does_not_know_is_left_alone() -> None:
    strange = "\U00030000"
    for reading, other in ((strange, "習"), ("皆", strange), ("○", "習")):
        assert read(line("學而時?之", (reading, 0.5, ((other, 0.45),)))).lines[0].text == f"學而時{reading}之"


def test_text_runs_on_from_line_to_line() -> None:
    found = read(line("學而時"), line("?之不亦說乎", ("皆", 0.5, (("習", 0.4),))))
    assert found.lines[1].text == "習之不亦說乎"


def test_notes_are_texts_of_their_own_and_main_text_goes_on_behind_them() -> None:
    lines = [
        line("學而時"),
        line("注文", kind="note", row=0),
        line("下半", kind="note", row=1),
        line("習之"),
        line("卷一", kind="fold"),
        line("又注", kind="note"),
        line("中", kind="fold"),
        line("又半", kind="note"),
        line("眉批", kind="margin"),
        line("二行", kind="margin"),
        line("不亦"),
    ]
    assert [*running_texts(lines)] == [[0, 3, 10], [1, 2], [4], [5, 7], [6], [8, 9]]


def test_notes_whose_kind_is_not_told_are_known_by_their_rows() -> None:
    lines = [line("學而", column=0, row=0), line("注", column=0, row=0), line("文", column=0, row=1)]
    assert [*running_texts([*lines, line("時習", column=0, row=0)])] == [[0, 3], [1, 2]]


def test_a_note_between_does_not_disturb() -> None:
    open_one = ("皆", 0.5, (("習", 0.4),))
    alone = read(line("學而時"), line("?之", open_one))
    noted = read(line("學而時"), line("天下國家", kind="note"), line("?之", open_one))
    assert alone.lines[1].chars == noted.lines[2].chars


def test_an_unlikely_character_of_which_the_picture_is_sure_is_reported() -> None:
    chars = read(line("學而時鼉之不亦說乎")).lines[0].chars
    odd = [char for char in chars if char.surprise is not None]
    assert "鼉" in [char.text for char in odd] and len(odd) <= 2
    assert all((char.surprise or 0) >= Context().odd and char.picture is None for char in odd)


def test_a_marked_line_stays_marked_and_text_without_characters_stays() -> None:
    marked = line("學而時?之", ("皆", 0.5, (("習", 0.4),)), confidence=0.0)
    assert read(marked).lines[0].confidence == 0.0
    bare = Line("b", BOX, "學而時皆之", chars=marked.chars[:2])
    assert read(bare).lines[0] == replace(bare, id="0")


readings = st.sampled_from("學而時習之皆晉不亦為爲峰峯子曰○")
shares = st.floats(0, 1)
some_chars = st.builds(
    lambda text, sure, others: Char(text, BOX, sure, tuple(o for o in others if o[0] != text)),
    readings,
    st.none() | shares,
    st.lists(st.tuples(readings, shares), max_size=4),
)
some_lines = st.builds(
    lambda chars, kind: Line("", BOX, "".join(c.text for c in chars), kind, chars=tuple(chars)),
    st.lists(some_chars, max_size=8),
    st.sampled_from(("main", "note", "margin", "fold")),
)


@settings(deadline=None)
@given(st.lists(some_lines, max_size=5))
def test_nothing_is_added_or_lost_and_every_reading_is_a_candidate(lines: list[Line]) -> None:
    before = page(*lines)
    after = rescore(before, load_language())
    assert [len(one.chars) for one in after.lines] == [len(one.chars) for one in before.lines]
    same = {form: main for main, variants in groups() for form in main + variants}
    for old, new in zip(before.lines, after.lines, strict=True):
        assert new.text == "".join(char.text for char in new.chars)
        for a, b in zip(old.chars, new.chars, strict=True):
            offered = {a.text, *(text for text, _ in a.candidates)}
            assert b.text in offered and {b.text, *(text for text, _ in b.candidates)} == offered
            assert b.box == a.box and (b.picture == a.text) == (b.text != a.text)
            if a.confidence is None or a.confidence >= Context().sure:
                assert replace(b, surprise=None) == a
            elif b.text != a.text and same.get(b.text, b.text) == same.get(a.text, a.text):
                # Another form only if the picture liked it more.
                assert max(share for text, share in a.candidates if text == b.text) >= a.confidence


@settings(deadline=None)
@given(pages())
def test_any_page_can_be_rescored(any_page: Page) -> None:
    after = rescore(any_page, load_language())
    assert [len(one.chars) for one in after.lines] == [len(one.chars) for one in any_page.lines]


def test_without_weight_the_text_is_the_picture_s() -> None:
    lines = line("學而時?之", ("皆", 0.5, (("習", 0.4),)))
    assert read(lines, context=Context(weight=0)).lines[0].text == lines.text


@pytest.mark.parametrize("seed", range(8))
def test_the_path_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = list("學而時習之不亦說乎皆晉子曰")
    chars = []
    for _ in range(7):
        picked = [letters[k] for k in rng.permutation(len(letters))[: rng.integers(1, 4)]]
        sure = sorted(rng.dirichlet([1.0] * (len(picked) + 1))[: len(picked)].tolist(), reverse=True)
        others = tuple(zip(picked[1:], sure[1:], strict=True))
        chars.append(Char(picked[0], BOX, sure[0] if others else 0.99, others))
    context, model = Context(weight=0.7, sure=1.1, least=0.0), load_language()
    one = Line("a", BOX, "".join(char.text for char in chars), chars=tuple(chars))

    def total(text: tuple[tuple[str, float], ...]) -> float:
        classes = np.array([NOBODY, NOBODY, *model.classes_of([c for c, _ in text])], np.int64)
        found = model.log_probability(classes[:-2], classes[1:-1], classes[2:])
        pulled = found - context.commonness * model.first[classes[2:]]
        return float(np.log([share for _, share in text]).sum() + context.weight * pulled.sum())

    options = [((char.text, char.confidence or 0), *char.candidates) for char in chars]
    best = max(product(*options), key=total)
    assert rescore(page(one), model, context).lines[0].text == "".join(c for c, _ in best)
