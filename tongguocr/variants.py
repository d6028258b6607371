"""Folding graphic variants of one character: a text in, the text with each variant's main form out.

峯 and 峰 are one word in two shapes. A page may have either, and a reference may print the other; a score in
which they are equal belongs beside the plain one, never in its place. The table is variants.tsv.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


def fold(text: str) -> str:
    """The text with every variant of the table replaced by its main form; nothing else changes."""
    return text.translate(_table())


def groups() -> list[tuple[str, str]]:
    """The rows of the table: the main form and its variants."""
    rows = resources.files(__package__).joinpath("variants.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [row.split("\t") for row in rows if row and not row.startswith("#")]
    return [(main, variants) for main, variants in pairs]


@cache
def _table() -> dict[int, str]:
    return {ord(variant): main for main, variants in groups() for variant in variants}
