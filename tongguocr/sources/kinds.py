"""What a file is, by what it begins with: its first bytes in, a kind out, whatever the file is called.

Scanners and mail programs give files the wrong ending: a JPEG that is called .pdf is read as the image that
it is. Kinds that begin with nothing of their own (BMP, PPM, manifests) are left to their names.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["image", "pdf", "archive", "djvu", "manifest"]
TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
"""The kinds of file that pillow-heif opens; AVIF has other brands, and may name these behind its own."""
_AVIF_BRANDS = (b"avif", b"avis")
_IMAGES = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"GIF8",
    *TIFF_STARTS,
    b"\0\0\0\x0cjP  \r\n\x87\n",  # JPEG 2000,
    b"\xff\x4f\xff\x51",  # and its bare codestream.
)
_STARTS: dict[bytes, Kind] = {
    b"%PDF-": "pdf",
    b"PK\3\4": "archive",
    b"PK\5\6": "archive",
    b"AT&TFORM": "djvu",
    **dict.fromkeys(_IMAGES, "image"),
}
_NAMED: dict[Kind, str] = {"pdf": "a PDF", "archive": "a ZIP archive", "djvu": "a DjVu file"}


def kind_of_start(start: bytes) -> Kind | None:
    """The kind of a file that begins so; None where that does not tell."""
    if kind := next((kind for begin, kind in _STARTS.items() if start.startswith(begin)), None):
        return kind
    webp = start[:4] == b"RIFF" and start[8:12] == b"WEBP"
    return "image" if webp or brand_of(start) in (*HEIF_BRANDS, *_AVIF_BRANDS) else None


def brand_of(start: bytes) -> bytes:
    """The brand of a file that is built like MPEG-4, as HEIC and AVIF are; empty for others."""
    return start[8:12] if start[4:8] == b"ftyp" else b""


def not_an_image(start: bytes) -> str:
    """What is to be said of a file that begins so and was to be an image."""
    kind = kind_of_start(start)
    return f"this is {_NAMED[kind]}, not an image." if kind in _NAMED else "not an image that can be read."
