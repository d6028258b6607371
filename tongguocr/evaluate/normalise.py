"""What a protocol keeps of a text before it counts: one line in, the cleaned line out.

The public scorers keep what Python's `\\w` matches; that depends on the Python version, so Python 3.11's
answer is frozen in word_characters.txt. `strict` keeps its own frozen list. There is no Unicode
normalisation. Section 4.2 of the paper; docs/metrics.md tells what each rule drops.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources

from tongguocr.characters import IDEOGRAPH_BLOCKS
from tongguocr.errors import MissingExtraError

STRICT_RANGES: tuple[tuple[str, int, int], ...] = (
    *IDEOGRAPH_BLOCKS,
    ("々 〆 〇, ideographic iteration and closing marks, zero", 0x3005, 0x3007),
    ("〡 to 〩, Suzhou numerals", 0x3021, 0x3029),
    ("〸 〹 〺 〻, Suzhou numerals and vertical iteration mark", 0x3038, 0x303B),
    ("CJK and Kangxi radicals", 0x2E80, 0x2FD5),
    ("⿰ to ⿿, ideographic description", 0x2FF0, 0x2FFF),
    ("CJK strokes, and the description character ㇯", 0x31C0, 0x31EF),
    ("private use: characters that Unicode does not have", 0xE000, 0xF8FF),
    ("private use, plane 15", 0xF0000, 0xFFFFD),
    ("private use, plane 16", 0x100000, 0x10FFFD),
    ("■ □ ▢, an ink block, an illegible character", 0x25A0, 0x25A2),
    ("〓, a character that could not be set", 0x3013, 0x3013),
    ("☰ to ☷, trigrams", 0x2630, 0x2637),
    ("䷀ to ䷿, hexagrams", 0x4DC0, 0x4DFF),
    ("Tai Xuan Jing symbols and counting rods", 0x1D300, 0x1D37F),
    ("Latin digits", 0x30, 0x39),
    ("Latin capitals", 0x41, 0x5A),
    ("Latin small letters", 0x61, 0x7A),
    ("Latin letters with marks, first part", 0xC0, 0xD6),
    ("Latin letters with marks, second part", 0xD8, 0xF6),
    ("Latin letters with marks, third part", 0xF8, 0x24F),
    ("combining marks for Latin letters", 0x300, 0x36F),
    ("Latin letters with marks, Vietnamese among them", 0x1E00, 0x1EFF),
    ("full-width digits", 0xFF10, 0xFF19),
    ("full-width capitals", 0xFF21, 0xFF3A),
    ("full-width small letters", 0xFF41, 0xFF5A),
    ("Greek and Cyrillic letters", 0x388, 0x481),
    ("Cyrillic letters, continued", 0x48A, 0x52F),
    ("Hiragana", 0x3041, 0x309F),
    ("Katakana", 0x30A1, 0x30FA),
    ("Katakana, long-vowel and iteration marks", 0x30FC, 0x30FF),
    ("Katakana for Ainu", 0x31F0, 0x31FF),
    ("half-width Katakana", 0xFF66, 0xFF9F),
    ("old kana", 0x1AFF0, 0x1B16F),
    ("Hangul letters", 0x1100, 0x11FF),
    ("Hangul letters, compatibility", 0x3131, 0x318E),
    ("Hangul letters, extended A", 0xA960, 0xA97C),
    ("Hangul syllables and letters, extended B", 0xAC00, 0xD7FB),
    ("Bopomofo", 0x3105, 0x312F),
    ("Bopomofo, extended", 0x31A0, 0x31BF),
    ("Tibetan letters", 0x0F40, 0x0FBC),
    ("Mongolian and Manchu digits and letters", 0x1810, 0x18AA),
    ("Yi", 0xA000, 0xA48C),
    ("Phags-pa", 0xA840, 0xA873),
    ("Siddham", 0x11580, 0x115B5),
    ("Tangut and Nushu iteration marks", 0x16FE0, 0x16FE1),
    ("old Chinese iteration mark", 0x16FE3, 0x16FE3),
    ("Tangut and Khitan", 0x17000, 0x18D7F),
    ("Nushu", 0x1B170, 0x1B2FB),
)
"""What `strict` keeps: (what, first, last). The rest goes: punctuation, white space, selectors, ○."""

_BREAKS = ("\\t", "\\n", "\t", "\n", "/t", "/n")
"""What clean_string deletes before its regular expression, in this order: the marks of a broken escape."""


def clean_words(line: str) -> str:
    """MCS-Bench's clean_text, with Python 3.11's tables: letters, digits, ideographs and `_` stay."""
    return _others_than_words().sub("", line)


def clean_string(line: str) -> str:
    """OmniDocBench's clean_string: `/n`, `/t` and their kin go first, then all but letters and digits."""
    for mark in _BREAKS:
        line = line.replace(mark, "")
    return clean_words(line)


def clean_strict(line: str) -> str:
    """Keep STRICT_RANGES; variation selectors go, since they choose a form and are no character."""
    return _others_than_strict().sub("", line)


def simplifier() -> Callable[[str], str]:
    """The conversion to simplified characters that MCS-Bench applies: zhconv's zh-cn, words included."""
    try:
        # It opens its table through an old interface and leaves the file open.
        with warnings.catch_warnings(action="ignore"):
            from zhconv import convert

            convert("", "zh-cn")
    except ImportError:
        raise MissingExtraError("the mcs protocol", "mcs") from None
    return lambda text: str(convert(text, "zh-cn"))


@cache
def word_ranges() -> tuple[tuple[int, int], ...]:
    """The frozen ranges of word_characters.txt."""
    table = resources.files(__package__).joinpath("word_characters.txt").read_text(encoding="utf-8")
    entries = [entry for row in table.splitlines() if not row.startswith("#") for entry in row.split()]
    pairs = (entry.split("-") for entry in entries)
    return tuple((int(pair[0], 16), int(pair[-1], 16)) for pair in pairs)


@cache
def _others_than_words() -> re.Pattern[str]:
    return _others_than(word_ranges())


@cache
def _others_than_strict() -> re.Pattern[str]:
    return _others_than((first, last) for _, first, last in STRICT_RANGES)


def _others_than(ranges: Iterable[tuple[int, int]]) -> re.Pattern[str]:
    return re.compile("[^" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]+")
