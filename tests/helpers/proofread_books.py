"""Books to proofread: folders with small pages that look as if `read` had written them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from recognise_pages import make_page, spread

from tongguocr.formats import write_page
from tongguocr.page import Char, Line, Page
from tongguocr.proofread.models import Edit, EditsRequest
from tongguocr.proofread.store import EDITS

TEXTS = ("天地玄黃", "宇宙洪荒", "日月盈昃")


def read_page_of(name: str, texts: Sequence[str] = TEXTS) -> Page:
    """A page of columns, as it was read: its second character is in doubt, and has candidates."""
    bare = make_page(len(texts), length=max(map(len, texts)))
    lines = [with_text(line, text) for line, text in zip(bare.lines, texts, strict=True)]
    return Page(f"{name}.png", bare.width, bare.height, tuple(lines), bare.pixels)


def with_text(line: Line, text: str) -> Line:
    """The line with a character of the text in each of its cells."""
    chars = [
        Char(char.text, char.box, 0.5, (("他", 0.25), ("池", 0.125))) if k == 1 else char
        for k, char in enumerate(spread(text, line.box))
    ]
    mean = sum(char.confidence or 0 for char in chars) / len(chars)
    return Line(line.id, line.box, text, confidence=mean, chars=tuple(chars))


def write_book(folder: Path, pages: int = 3, images: bool = True, texts: bool = True) -> Path:
    """A folder of so many pages p1, p2 …, with their images, with our JSON, or with both."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, pages + 1):
        page = read_page_of(f"p{number}")
        if images:
            assert page.pixels is not None
            Image.fromarray(page.pixels).save(folder / page.image)
        if texts:
            write_page(page, folder / f"p{number}.json")
    return folder


def edits(*written: dict[str, object]) -> list[Edit]:
    """Edits as a browser sends them."""
    return EDITS.validate_python(list(written))


def request(base: int, *written: dict[str, object], client: str = "a", **more: str) -> EditsRequest:
    """A call with these edits."""
    return EditsRequest.model_validate({"base": base, "client": client, "edits": list(written), **more})


def typed(line: str, at: int, text: str, count: int = 1) -> dict[str, object]:
    """Characters that are replaced by others."""
    return {"op": "text", "line": line, "at": at, "count": count, "insert": list(text)}
