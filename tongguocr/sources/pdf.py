"""PDF -> its pages: the scan itself where a page is nothing but a scan, the rendered page otherwise.

In: a file. Out: pages that each open the file anew, so that nothing stays in memory between them. The work is
PDFium's (the optional part `pdf`), which one thread at a time may use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import ArgumentError, c_uint
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np
from PIL import Image

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Pixels
from tongguocr.sources.depth import eight_bit
from tongguocr.sources.images import STRIP, MemoryFile, Scan, StoredFile, check_size, load_frame
from tongguocr.sources.listing import SourcePage, content_of, page_name

MAX_PAGES = 100_000
MAX_POINTS = 100_000
"""The longest side of a page, in points. Scans without a resolution count a pixel a point, so this is far."""
MAX_OBJECTS = 20_000
"""A scanned page has a handful of objects; after so many of them it is a drawing, whatever follows."""
SLACK = 0.01
"""How far a scan's edges may lie from the page's, as part of its longer side, and still fill it."""
THUMBNAIL, GRID, UNLIKE = 240, 12, 32
"""A scan is compared with the rendered page at so many pixels, in so many fields, to so many grey levels."""

ROUNDING = 8
"""Grey levels by which two decoders may differ over a JPEG."""

_pdfium = Lock()


@dataclass(frozen=True, slots=True)
class Rendering:
    """How large a page becomes that is not simply a scan."""

    long_side: int = 2_400
    """Pixels of the longer side; a page whose only image has more gets as many as that."""
    max_long_side: int = 20_000
    max_pixels: int = 40_000_000


def list_pdf(
    path: StoredFile, rendering: Rendering = Rendering(), password: str | None = None
) -> Iterator[SourcePage]:
    """The pages of a PDF; only their number is read."""
    with _open_pdf(path, password) as pdf:
        count = len(pdf)
    if not 1 <= count <= MAX_PAGES:
        raise InputError(f"{path}: the PDF says that it has {count} pages, and 1 to {MAX_PAGES} are read.")
    content = content_of(path)
    return (
        SourcePage(
            page_name(path.stem, number, count),
            str(path),
            number,
            partial(load_pdf_page, path, number, rendering, password),
            content,
        )
        for number in range(1, count + 1)
    )


def load_pdf_page(
    path: StoredFile, number: int, rendering: Rendering = Rendering(), password: str | None = None
) -> Scan:
    """Page `number`, counted from 1."""
    where = f"{path}, page {number}"
    with _open_pdf(path, password) as pdf:
        try:
            page = pdf[number - 1]
            try:
                return _page_scan(page, rendering, where)
            finally:
                page.close()
        except InputError:
            raise
        except MemoryError:
            raise InputError(f"{where}: the page does not fit into memory.") from None
        except (RuntimeError, ValueError, ArithmeticError, OSError, ArgumentError):
            raise InputError(f"{where}: the page is damaged.") from None


@contextmanager
def _open_pdf(path: StoredFile, password: str | None) -> Iterator[Any]:
    try:
        import pypdfium2  # type: ignore[import, unused-ignore]
    except ImportError:
        raise MissingExtraError(f"{path}: reading a PDF", "pdf") from None
    with _pdfium:
        try:
            pdf = pypdfium2.PdfDocument(path.data if isinstance(path, MemoryFile) else path, password)
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file.") from None
        except (RuntimeError, ValueError, OSError) as error:
            if "password" in str(error).lower():
                told = "is encrypted and needs a password" if password is None else "has another password"
                raise InputError(f"{path}: the PDF {told}.") from None
            raise InputError(f"{path}: not a PDF that can be read.") from None
        try:
            yield pdf
        finally:
            pdf.close()


def _page_scan(page: Any, rendering: Rendering, where: str) -> Scan:
    width, height = page.get_size()
    if not 0 < min(width, height) <= max(width, height) <= MAX_POINTS:
        raise InputError(f"{where}: the page is {width:.0f} x {height:.0f} points, more than can be read.")
    long_side = rendering.long_side
    scan = _only_image(page, where)
    if scan is not None:
        size = _image_size(scan)
        if _fills_page(page, scan, size):
            pixels = np.rot90(_pixels(scan.get_bitmap()), -page.get_rotation() // 90).copy()
            if _looks_like(page, pixels):
                return Scan(pixels, None if page.get_rotation() else _jpeg_of(scan, pixels, where))
        long_side = max(long_side, *size)
    scale = min(long_side, rendering.max_long_side) / max(width, height)
    scale = min(scale, (rendering.max_pixels / (width * height)) ** 0.5)
    return Scan(_pixels(page.render(scale=scale)))


def _only_image(page: Any, where: str) -> Any | None:
    """The page's one image, where nothing else is to be seen on it (an invisible text layer is not).

    Every image is measured on the way: PDFium shows an empty page for one that it cannot hold.
    """
    from pypdfium2 import raw  # type: ignore[import, unused-ignore]

    visible = []
    for thing in islice(page.get_objects(), MAX_OBJECTS):
        if thing.type == raw.FPDF_PAGEOBJ_IMAGE:
            check_size(_image_size(thing), where)
        is_text = thing.type == raw.FPDF_PAGEOBJ_TEXT
        if not is_text or raw.FPDFTextObj_GetTextRenderMode(thing.raw) != raw.FPDF_TEXTRENDERMODE_INVISIBLE:
            visible.append(thing)
    return visible[0] if len(visible) == 1 and visible[0].type == raw.FPDF_PAGEOBJ_IMAGE else None


def _jpeg_of(image: Any, pixels: Pixels, where: str) -> bytes | None:
    """The JPEG file that the image is inside the PDF, if it alone gives these pixels again.

    A PDF may tell what a JPEG's colours mean, and knows nothing of the orientation that EXIF tells.
    """
    if image.get_filters() != ["DCTDecode"]:
        return None
    data = bytes(image.get_data(decode_simple=False))
    try:
        alone = load_frame(MemoryFile(where, "", data), 0, where)
    except InputError:
        return None
    if alone.jpeg is None or alone.pixels.shape != pixels.shape:
        return None
    return data if _are_alike(alone.pixels, pixels) else None


def _are_alike(one: Pixels, other: Pixels) -> bool:
    """Whether two pictures of one size differ by no more than decoders round; strip by strip, for memory."""
    strips = (slice(top, top + STRIP) for top in range(0, len(one), STRIP))
    return all(np.abs(one[s].astype(np.int16) - other[s]).max(initial=0) <= ROUNDING for s in strips)


def _image_size(image: Any) -> tuple[int, int]:
    from pypdfium2 import raw

    width, height = c_uint(), c_uint()
    raw.FPDFImageObj_GetImagePixelSize(image.raw, width, height)
    return width.value, height.value


def _fills_page(page: Any, image: Any, size: tuple[int, int]) -> bool:
    """Whether the image lies on the page upright, edge to edge and in square pixels."""
    a, b, c, d, e, f = image.get_matrix().get()
    box = page.get_bbox()
    slack = SLACK * max(box[2] - box[0], box[3] - box[1])
    at_edges = all(abs(p - q) <= slack for p, q in zip((e, f, e + a, f + d), box, strict=True))
    upright = a > 0 and d > 0 and abs(b) + abs(c) <= slack / 10
    return upright and at_edges and min(size) > 0 and abs(a * size[1] / (d * size[0]) - 1) < 2 * SLACK


def _looks_like(page: Any, pixels: Pixels) -> bool:
    """Whether the page, rendered very small, shows these pixels and nothing else.

    A stencil's bits, a mask, a clip or a way of blending make a page that differs from its image; PDFium does
    not tell of all of them, so the outcome is judged.
    """
    rendered = Image.fromarray(_pixels(page.render(scale=THUMBNAIL / max(page.get_size()))))
    small = [
        np.asarray(picture.convert("L").resize((GRID, GRID), Image.Resampling.BOX), dtype=np.int16)
        for picture in (rendered, Image.fromarray(pixels))
    ]
    return bool(np.abs(small[0] - small[1]).max() <= UNLIKE)


def _pixels(bitmap: Any) -> Pixels:
    """A copy of the bitmap, made while PDFium still has it; an array of the bitmap itself would keep it."""
    return np.asarray(eight_bit(bitmap.to_pil().copy()))
