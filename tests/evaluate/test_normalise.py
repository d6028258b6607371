"""What each protocol keeps of a text."""

from __future__ import annotations

import hashlib
import re
import sys

import pytest

from tongguocr.errors import MissingExtraError
from tongguocr.evaluate.normalise import clean_strict, clean_string, clean_words, simplifier, word_ranges

EXTENSION_H, EXTENSION_I = "\U00031350", "\U0002ebf0"
PRIVATE, SELECTOR, IVS = "\ue000", "\ufe00", "\U000e0100"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table is Python 3.11's")
def test_frozen_words_are_python_3_11s() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert clean_words(every) == re.sub(r"[^\u4e00-\u9fff\w]", "", every)


def test_frozen_words_are_the_same_on_every_python() -> None:
    every = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    kept = clean_words(every)
    assert len(kept) == sum(last - first + 1 for first, last in word_ranges()) == 133_548
    assert hashlib.sha256(kept.encode()).hexdigest()[:16] == "fad7ecbbe89c705e"


def test_public_cleaning_drops_what_scholars_write() -> None:
    dropped = "，。「」　 \n" + PRIVATE + "□〓⿰" + SELECTOR + IVS + EXTENSION_H + EXTENSION_I
    assert clean_words(f"學{dropped}𠮷かA1_〇々") == "學𠮷かA1_〇々"


def test_clean_string_also_deletes_escapes() -> None:
    assert clean_string("a/nb/tc\\nd\\te\nf。") == "abcdef"
    assert clean_words("a/nb") == "anb"


def test_strict_keeps_what_stands_for_a_character() -> None:
    kept = "學𠮷〇々" + PRIVATE + "□■〓⿰" + EXTENSION_H + EXTENSION_I + "\U0003347f䷀☰かカ한ㄅA1é"
    assert clean_strict(kept) == kept


def test_strict_drops_marks_and_selectors() -> None:
    assert clean_strict("邉" + IVS + SELECTOR + "，。、·「」『』〈〉○◎—…_ \t\u3000\n\u200b！？") == "邉"


def test_strict_does_not_normalise() -> None:
    assert clean_strict("\uf900豈") == "\uf900豈"
    assert clean_strict("Ａか\u3099") == "Ａか\u3099"


def test_simplified_as_in_the_public_code() -> None:
    simplify = simplifier()
    assert simplify("學而時習之") == "学而时习之"
    assert simplify("学而时习之") == "学而时习之"


def test_without_zhconv_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zhconv", None)
    with pytest.raises(MissingExtraError, match=r"the mcs protocol .*tongguocr\[mcs\]"):
        simplifier()
