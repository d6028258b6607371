"""Search: places in characters with their marks, over the ends of lines, with variants on demand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tongguocr.formats.txt import characters
from tongguocr.proofread.search import PageText, search
from tongguocr.variants import fold

texts = st.lists(st.text("天地玄󠄀峯峰", max_size=6), max_size=4)


def page(number: int, *lines: str) -> PageText:
    return PageText(number, tuple((f"l{k}", text) for k, text in enumerate(lines)))


@given(st.lists(texts, max_size=3), st.text("天地峯峰", min_size=1, max_size=3), st.booleans())
def test_what_is_found_stands_there(pages: list[list[str]], words: str, folded: bool) -> None:
    book = [page(n, *lines) for n, lines in enumerate(pages, start=1)]
    found = search(book, words, folded, limit=1000)
    plain = (lambda text: fold(text)) if folded else (lambda text: text)
    assert found.total == len(found.hits) == sum(plain(one.text).count(plain(words)) for one in book)
    for hit in found.hits:
        lines = dict(book[hit.page - 1].lines)
        after = [text for name, text in book[hit.page - 1].lines if name >= hit.line]
        chars = characters("".join(after))
        stands = "".join(chars[hit.start : hit.start + hit.length])
        assert plain(words) in plain(stands) or plain(stands).startswith(plain(words)[0])
        assert hit.start < max(len(characters(lines[hit.line])), 1)
        assert "".join(hit.context) in book[hit.page - 1].text


def test_marks_and_variants() -> None:
    book = [page(1, "葛󠄀天", "峯地"), page(2, "峰")]
    assert [(hit.line, hit.start, hit.length) for hit in search(book, "天峯").hits] == [("l0", 1, 2)]
    assert [hit.page for hit in search(book, "峰").hits] == [2]
    assert [hit.page for hit in search(book, "峰", folded=True).hits] == [1, 2]


def test_limits_and_nothing() -> None:
    book = [page(n, "天天天") for n in range(5)]
    found = search(book, " 天\n", limit=2)
    assert (found.total, len(found.hits)) == (15, 2)
    assert search(book, " \n ").total == 0
