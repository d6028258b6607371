"""Which characters are ideographs: Unicode's blocks, frozen here.

Python's own tables change with its version (3.11 does not know Extension I), and a score or a vocabulary
must not. Blocks are whole, so characters that Unicode adds inside them later count already.
"""

from __future__ import annotations

from bisect import bisect_right

IDEOGRAPH_BLOCKS: tuple[tuple[str, int, int], ...] = (
    ("Extension A", 0x3400, 0x4DBF),
    ("Unified Ideographs", 0x4E00, 0x9FFF),
    ("Compatibility Ideographs", 0xF900, 0xFAFF),
    ("Extension B", 0x20000, 0x2A6DF),
    ("Extension C", 0x2A700, 0x2B73F),
    ("Extension D", 0x2B740, 0x2B81F),
    ("Extension E", 0x2B820, 0x2CEAF),
    ("Extension F", 0x2CEB0, 0x2EBEF),
    ("Extension I", 0x2EBF0, 0x2EE5F),
    ("Compatibility Ideographs Supplement", 0x2F800, 0x2FA1F),
    ("Extension G", 0x30000, 0x3134F),
    ("Extension H", 0x31350, 0x323AF),
    ("Extension J", 0x323B0, 0x3347F),
)
"""Name, first and last code point of every CJK ideograph block up to Unicode 17, by code point."""

_STARTS = [first for _, first, _ in IDEOGRAPH_BLOCKS]


def ideograph_block(char: str) -> str | None:
    """The name of the ideograph block that holds this one character, or None."""
    index = bisect_right(_STARTS, ord(char)) - 1
    if index >= 0 and ord(char) <= IDEOGRAPH_BLOCKS[index][2]:
        return IDEOGRAPH_BLOCKS[index][0]
    return None


def is_ideograph(char: str) -> bool:
    """Whether `char` is one character of a CJK ideograph block (U+3007 〇 is in none of them)."""
    return len(char) == 1 and ideograph_block(char) is not None
