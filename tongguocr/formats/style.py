"""How a page's text is written: what the formats leave to the one who asks.

`notes`, `flow` and `fold` act on plain text, Markdown and EPUB, `page_schema` on PAGE XML, `base_url` on IIIF
manifests, `script` and `min_confidence` everywhere. The other formats hold all lines with their kinds,
whatever the style.

Traditional characters become simplified ones by OpenCC's rules: a phrase that it knows keeps a character that
others give up (乾坤, but 干 for 乾 in any other place). One character always becomes one character, so that
every box stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tongguocr.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from tongguocr.page import Char, Line, Page

Notes: TypeAlias = Literal["lines", "inline", "omit"]
"""Double-row notes: as lines of their own, in 〔〕 behind the text before them, or left out."""
Script: TypeAlias = Literal["keep", "simplified"]
"""Characters as they were read, or each in its simplified form."""
PageSchema: TypeAlias = Literal["2019-07-15", "2013-07-15"]
"""Versions of PAGE XML."""
PAGE_SCHEMAS: tuple[PageSchema, ...] = get_args(PageSchema)
Doubtful: TypeAlias = Literal["mark", "omit"]
"""Characters that are not sure enough: 〓 in their place, or nothing."""
NOTES: tuple[Notes, ...] = get_args(Notes)
SCRIPTS: tuple[Script, ...] = get_args(Script)
DOUBTFUL: tuple[Doubtful, ...] = get_args(Doubtful)
GETA = "〓"
"""Stands for a character that is not known."""
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
"""Variation selectors."""


@dataclass(frozen=True, slots=True)
class Style:
    """What may be asked of the text in a written file."""

    notes: Notes | None = None
    """None: as suits the format, lines of their own in plain text and brackets in Markdown."""
    flow: bool = False
    """Lines that follow each other and are of one kind become one."""
    script: Script = "keep"
    """Of every character, candidates included."""
    fold: bool = False
    """The fold's lines, running titles and folio numbers, are written too."""
    min_confidence: float = 0.0
    """What is less sure is not written as it was read."""
    doubtful: Doubtful = "mark"
    """What stands for it."""
    page_schema: PageSchema = PAGE_SCHEMAS[0]
    """Of PAGE XML: the newest, or that of 2013, without which Transkribus takes no file."""
    base_url: str = "http://localhost:8000/"
    """Of a IIIF manifest: where it and the pages' images will lie, as `python -m http.server` has them."""

    def __post_init__(self) -> None:
        if self.page_schema not in PAGE_SCHEMAS:
            raise InputError(f"page_schema: {self.page_schema!r} is not one of {', '.join(PAGE_SCHEMAS)}.")
        if self.notes is not None and self.notes not in NOTES:
            raise InputError(f"notes: {self.notes!r} is not one of {', '.join(NOTES)}.")
        if self.script not in SCRIPTS:
            raise InputError(f"script: {self.script!r} is not one of {', '.join(SCRIPTS)}.")
        if self.doubtful not in DOUBTFUL:
            raise InputError(f"doubtful: {self.doubtful!r} is not one of {', '.join(DOUBTFUL)}.")
        if not re.match(r"https?://[^/?#\s]+(/[^?#\s]*)?$", self.base_url):
            raise InputError(f"base_url: {self.base_url!r} is not the http or https address of a folder.")
        if not 0 <= self.min_confidence <= 1:
            raise InputError(f"min_confidence: {self.min_confidence} is not between 0 and 1.")


def in_style(page: Page, style: Style) -> Page:
    """The page as every format has it: without what is not sure enough, and in its script."""
    return in_script(_without_doubts(page, style) if style.min_confidence else page, style.script)


def _without_doubts(page: Page, style: Style) -> Page:
    return replace(page, lines=tuple(_sure_line(line, style) for line in page.lines))


def _sure_line(line: Line, style: Style) -> Line:
    """The line with 〓, or nothing, for characters that are not sure enough; unknown confidence is enough.

    What was read there stays among the candidates of 〓. A line whose characters are not known is one doubt.
    """
    if "".join(char.text for char in line.chars) != line.text or not line.chars:
        doubtful = line.text and line.confidence is not None and line.confidence < style.min_confidence
        return replace(line, text=GETA if style.doubtful == "mark" else "") if doubtful else line
    chars = tuple(_sure_char(char, style) for char in line.chars)
    if style.doubtful == "omit":
        chars = tuple(char for char in chars if char.text)
    return replace(line, text="".join(char.text for char in chars), chars=chars)


def _sure_char(char: Char, style: Style) -> Char:
    if not char.text or char.confidence is None or char.confidence >= style.min_confidence:
        return char
    if style.doubtful == "omit":
        return replace(char, text="")
    return replace(char, text=GETA, candidates=((char.text, char.confidence), *char.candidates))


def in_script(page: Page, script: Script) -> Page:
    """The page in this script: texts, characters and candidates."""
    if script == "keep":
        return page
    return replace(page, lines=tuple(_simplified_line(line) for line in page.lines))


def simplify(text: str) -> str:
    """The text in simplified characters; a variation selector goes with the form that it selected."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """What each character of the text becomes."""
    convert = _converter()
    simple = convert(text)
    if len(simple) != len(text):
        simple = "".join(found if len(found := convert(c)) == 1 else c for c in text)
    changed = False
    for old, new in zip(text, simple, strict=True):
        if any(ord(old) in block for block in _SELECTORS):
            yield "" if changed else old
        else:
            changed = old != new
            yield new


@cache
def _converter() -> Callable[[str], str]:
    try:
        import opencc
    except ImportError:
        raise MissingExtraError("Writing in simplified characters", "script") from None
    convert: Callable[[str], str] = opencc.OpenCC("t2s").convert
    return convert


def _simplified_line(line: Line) -> Line:
    """The line with its characters, which still spell it if they did."""
    texts = [char.text for char in line.chars]
    if "".join(texts) == line.text:
        pieces = _pieces(line.text)
        texts = ["".join(next(pieces) for _ in text) for text in texts]
    else:
        texts = [simplify(text) for text in texts]
    chars = (_simplified_char(char, text) for char, text in zip(line.chars, texts, strict=True))
    return replace(line, text=simplify(line.text), chars=tuple(chars))


def _simplified_char(char: Char, text: str) -> Char:
    """The character with its candidates, of which none is the same as the character or as another."""
    candidates: dict[str, float] = {}
    for other, confidence in char.candidates:
        if (simple := simplify(other)) != text:
            candidates[simple] = max(confidence, candidates.get(simple, 0.0))
    best_first = sorted(candidates.items(), key=lambda pair: -pair[1])
    return replace(char, text=text, candidates=tuple(best_first))
