"""Several pages on standard output: pages and a format in; text page by page, or one file of a book, out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tongguocr.errors import InputError
from tongguocr.formats import Format, Style, write_book
from tongguocr.formats.style import in_style
from tongguocr.stdout import NAME, write_out

if TYPE_CHECKING:
    from tongguocr.page import Page

STDOUT = "-"
"""What `-o` calls it."""


def check_several(format: Format) -> None:
    """Refuse a format whose files hold one page."""
    if not format.book:
        raise InputError(f"{NAME}: the format {format.name} holds one page; several need a folder: -o OUT/.")


def write_several(pages: Iterable[Page], format: Format, style: Style) -> None:
    """All pages, each as it comes where the format allows; what is no text as one whole file."""
    if not format.in_pieces:
        write_out(_book(pages, format, style))
        return
    for piece in format.book_pieces((in_style(page, style) for page in pages), style):
        write_out(piece)


def _book(pages: Iterable[Page], format: Format, style: Style) -> bytes:
    with TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / f"book{format.ending}"
        try:
            write_book(pages, path, format.name, style=style)
        except InputError as error:
            raise type(error)(str(error).replace(str(path), NAME)) from None
        return path.read_bytes()
