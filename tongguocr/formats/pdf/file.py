"""A PDF file written object by object, and the font of its invisible text.

In: dictionaries as PDF spells them, and bytes. Out: a file. Nothing is kept but where each object begins, so
that memory does not grow with the book. The font has one glyph that draws nothing: what a code means stands
in its ToUnicode map, and how far it reaches in its widths.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO

MAX_CODES = 65_535
"""Two-byte codes, without 0."""
_EM = 1000
_CMAP_HEAD = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
"""
_CMAP_TAIL = """endcmap
CMapName currentdict /CMap defineresource pop
end
end
"""
_CMAP_SECTION = 100
"""Entries that one bfchar section may have by the CMap specification."""


class PdfFile:
    """An open PDF: objects go out at once; `finish` writes where they are."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: list[int] = []
        self._at = 0
        # The bytes above 127 tell programs that copy files that this one is binary.
        self._put(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")

    def reserve(self) -> int:
        """The number of an object that is written later."""
        self._places.append(0)
        return len(self._places)

    def add(self, body: str, number: int | None = None) -> int:
        """Write an object and return its number."""
        number = number or self.reserve()
        self._begin(number)
        self._put(f"{body}\nendobj\n".encode("ascii"))
        return number

    def add_stream(self, data: bytes, entries: str = "", compress: bool = True) -> int:
        """Write a stream, compressed unless it is already, and return its number."""
        number = self.reserve()
        data, entries = (
            (zlib.compress(data), f"/Filter /FlateDecode {entries}") if compress else (data, entries)
        )
        self._begin(number)
        self._put(f"<< {entries} /Length {len(data)} >>\nstream\n".encode("ascii"))
        self._put(data)
        self._put(b"\nendstream\nendobj\n")
        return number

    def finish(self, root: int, info: int) -> None:
        """Write the table of objects and the trailer, with the numbers of the catalog and of the metadata."""
        start = self._at
        rows = [f"xref\n0 {len(self._places) + 1}\n0000000000 65535 f \n"]
        rows += [f"{place:010d} 00000 n \n" for place in self._places]
        size = len(self._places) + 1
        rows.append(
            f"trailer\n<< /Size {size} /Root {root} 0 R /Info {info} 0 R >>\nstartxref\n{start}\n%%EOF\n"
        )
        self._put("".join(rows).encode("ascii"))

    def _begin(self, number: int) -> None:
        self._places[number - 1] = self._at
        self._put(f"{number} 0 obj\n".encode("ascii"))

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def add_shared_font(pdf: PdfFile) -> str:
    """What the fonts of all pages have in common, as entries of a CIDFont."""
    program = glyphless_font()
    file = pdf.add_stream(program, f"/Length1 {len(program)}")
    descriptor = pdf.add(
        "<< /Type /FontDescriptor /FontName /TongGuInvisible /Flags 4 /ItalicAngle 0 /StemV 80"
        f" /FontBBox [0 0 {_EM} {_EM}] /Ascent {_EM} /Descent 0 /CapHeight {_EM} /FontFile2 {file} 0 R >>"
    )
    glyph_of_code = pdf.add_stream(bytes(2 * (MAX_CODES + 1)))
    return (
        "/Type /Font /Subtype /CIDFontType2 /BaseFont /TongGuInvisible"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
        f" /FontDescriptor {descriptor} 0 R /CIDToGIDMap {glyph_of_code} 0 R /DW {_EM}"
    )


def add_font(pdf: PdfFile, shared: str, texts: Sequence[str], widths: Sequence[float]) -> int:
    """A font in which code n means `texts[n - 1]` and advances by `widths[n - 1]` ems."""
    advances = " ".join(f"{_EM * width:.1f}" for width in widths)
    descendant = pdf.add(f"<< {shared} /W [1 [{advances}]] >>")
    meaning = pdf.add_stream(to_unicode(texts).encode("ascii"))
    return pdf.add(
        "<< /Type /Font /Subtype /Type0 /BaseFont /TongGuInvisible /Encoding /Identity-H"
        f" /DescendantFonts [{descendant} 0 R] /ToUnicode {meaning} 0 R >>"
    )


def to_unicode(texts: Sequence[str]) -> str:
    """The CMap that gives codes 1, 2 ... their text: any length, any plane, in UTF-16."""
    rows = [f"<{n:04X}> <{text.encode('utf-16-be').hex().upper()}>" for n, text in enumerate(texts, start=1)]
    sections = [rows[i : i + _CMAP_SECTION] for i in range(0, len(rows), _CMAP_SECTION)]
    listed = ["\n".join((f"{len(part)} beginbfchar", *part, "endbfchar\n")) for part in sections]
    return _CMAP_HEAD + "".join(listed) + _CMAP_TAIL


def glyphless_font() -> bytes:
    """A TrueType font of one glyph: a stroke of no breadth, one em high.

    It covers no pixel even where a program draws it, and yet gives text its height: some programs take text
    without any height for no text at all. It has no breadth, so that a code reaches as far as its width.
    """
    on_curve, same_x, same_y = 0x01, 0x10, 0x20
    outline = struct.pack(
        ">5h2H2Bh", 1, 0, 0, 0, _EM, 1, 0, on_curve | same_x | same_y, on_curve | same_x, _EM
    )
    glyph = outline + bytes(-len(outline) % 4)
    head = struct.pack(
        ">4I2H2q4h2H3h", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, _EM, 0, 0, 0, 0, 0, _EM, 0, 8, 2, 0, 0
    )
    tables = {
        b"glyf": glyph,
        b"head": head,
        b"hhea": struct.pack(">I3hH11hH", 0x10000, _EM, 0, 0, _EM, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1),
        b"hmtx": struct.pack(">Hh", _EM, 0),
        b"loca": struct.pack(">2H", 0, len(glyph) // 2),
        b"maxp": struct.pack(">I14H", 0x10000, 1, 2, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    return _font_of(tables)


def _font_of(tables: dict[bytes, bytes]) -> bytes:
    """The tables, by name in order, behind their directory."""
    directory = struct.pack(">I4H", 0x10000, len(tables), 64, 2, 16 * len(tables) - 64)
    start, body = len(directory) + 16 * len(tables), b""
    for tag, table in tables.items():
        padded = table + bytes(-len(table) % 4)
        checksum = sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF
        directory += struct.pack(">4s3I", tag, checksum, start + len(body), len(table))
        body += padded
    return directory + body
