"""A searchable PDF: pages and their images in, a file out whose invisible text lies on the ink.

text     the invisible text of a page, as operators
columns  its order for programs that sort text by its place
image    the page's picture
file     objects, and the font of the text
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from math import cos, radians, sin
from pathlib import Path
from typing import BinaryIO

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.page_json import check_page
from tongguocr.formats.pdf.file import MAX_CODES, PdfFile, add_font, add_shared_font
from tongguocr.formats.pdf.image import (
    Picture,
    add_picture,
    picture_of_file,
    picture_of_jpeg,
    picture_of_pixels,
)
from tongguocr.formats.pdf.text import FORM_NAME, numbers, text_layer
from tongguocr.formats.unread import NOT_READ, is_unread
from tongguocr.page import Page
from tongguocr.sources import is_one_image
from tongguocr.straight import as_read, straight_point

DPI = 300
"""Pixels an inch: image files seldom tell it truly, and only the size on paper hangs on it."""
_POINTS = 72
_BLANK = (420.0, 595.0)
"""Points: the first page of a book, if it could not be read; later ones are as large as the one before."""
_MAX_SIDE = 14_400.0
"""Points: no page may be larger by the PDF specification."""


def render_pdf(page: Page, path: Path, image: Path | None = None) -> bytes:
    """One page as a PDF file; its image is `image`, or the page's own, or lies beside `path`."""
    file = io.BytesIO()
    _write([page], path, file, image=image)
    return file.getvalue()


def write_pdf(pages: Iterable[Page], path: Path, images: Path | None = None) -> None:
    """A PDF of all the pages, whole or not at all, each written before the next is asked for.

    A page's image is looked for in the folder `images`, if it is given, under the name that the page has for
    it. Else it is the JPEG that the page was loaded from, wherever that lay, or else the page's pixels; of a
    page without any, the file of its image's name beside the PDF.
    """
    with open_whole(path) as file:
        _write(pages, path, file, images)


def _write(
    pages: Iterable[Page],
    path: Path,
    file: BinaryIO,
    images: Path | None = None,
    image: Path | None = None,
) -> None:
    pdf = PdfFile(file)
    tree, shared, kids = pdf.reserve(), add_shared_font(pdf), list[int]()
    size = _BLANK
    for page in pages:
        check_page(page, path)
        if is_unread(page):
            kids.append(_add_unread(pdf, size, tree))
            continue
        picture = _picture(page, path, images, image)
        kids.append(_add_page(pdf, page, picture, shared, tree, path))
        size = _size(page)
    if not kids:
        raise InputError(f"{path}: a PDF needs at least one page.")
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    pdf.add(f"<< /Type /Pages /Count {len(kids)} /Kids [{listed}] >>", tree)
    root = pdf.add(f"<< /Type /Catalog /Pages {tree} 0 R /Lang (zh) >>")
    pdf.finish(root, pdf.add("<< /Producer (TongGuOCR) >>"))


def _picture(page: Page, path: Path, images: Path | None, image: Path | None) -> Picture:
    folder = images or path.parent
    if image is None and (images or page.pixels is None) and page.image:
        image = folder / Path(page.image).name
    jpeg = None if page.jpeg is None else picture_of_jpeg(page.jpeg, page.angle)
    if image is not None and image.is_file() and is_one_image(image):
        picture = picture_of_file(image, page.angle)
    elif jpeg is not None:
        picture = jpeg
    elif page.pixels is not None:
        picture = picture_of_pixels(page.pixels)
    else:
        raise InputError(f"{path}: the page's image {page.image!r} does not lie in {folder}.")
    if (picture.width, picture.height) != (page.width, page.height):
        raise InputError(
            f"{path}: the image {page.image!r} has {picture.width} x {picture.height} pixels,"
            f" and the page has {page.width} x {page.height}."
        )
    return picture


def _add_page(pdf: PdfFile, page: Page, picture: Picture, shared: str, tree: int, path: Path) -> int:
    width, height = _size(page)
    scale = width / page.width
    straight = as_read(replace(page, pixels=None))
    layer = text_layer(straight, scale)
    if len(layer.texts) > MAX_CODES:
        raise InputError(f"{path}: the page has more than {MAX_CODES} characters and line ends.")
    turn = numbers(v * side for v, side in zip(picture.turn, (width, height) * 3, strict=True))
    data = f"q {turn} cm /Image Do Q\n{_leaning(layer.content, page, straight, scale)}".encode("ascii")
    box = f"[0 0 {numbers((width, height))}]"
    font = f"/Font << /Text {add_font(pdf, shared, layer.texts, layer.widths)} 0 R >>" if layer.texts else ""
    whole = f"[0 0 {numbers((scale * straight.width, scale * straight.height))}]"
    entries = f"/Type /XObject /Subtype /Form /BBox {whole} /Resources << {font} >>"
    forms = [pdf.add_stream(form.encode("ascii"), entries) for form in layer.forms]
    named = "".join(f" /{FORM_NAME}{n} {form} 0 R" for n, form in enumerate(forms))
    image = f"/XObject << /Image {add_picture(pdf, picture)} 0 R{named} >>"
    return pdf.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox {box}"
        f" /Resources << {font} {image} >> /Contents {pdf.add_stream(data)} 0 R >>"
    )


def _size(page: Page) -> tuple[float, float]:
    """The page's width and height in points."""
    scale = min(_POINTS / DPI, _MAX_SIDE / max(page.width, page.height))
    return scale * page.width, scale * page.height


def _add_unread(pdf: PdfFile, size: tuple[float, float], tree: int) -> int:
    """A blank page of this size that says why it is blank, in one of the fonts that every program has."""
    height, start = size[0] / 20, (size[0] / 10, size[1] / 2)
    data = f"BT /Plain 1 Tf {numbers((height, 0, 0, height, *start))} Tm ({NOT_READ}) Tj ET".encode("ascii")
    font = "/Font << /Plain << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    return pdf.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {numbers(size)}]"
        f" /Resources << {font} >> /Contents {pdf.add_stream(data)} 0 R >>"
    )


def _leaning(content: str, page: Page, straight: Page, scale: float) -> str:
    """Operators for the page once its skew is undone, which write on the page as its picture leans."""
    if not page.skew:
        return content
    t = radians(page.skew)
    x, y = straight_point((0.0, straight.height), page, back=True)
    # The lower left corner of the straight page, and the way of its axes, on a page that counts upwards.
    matrix = (cos(t), sin(t), -sin(t), cos(t), scale * x, scale * (page.height - y))
    return f"q {numbers(matrix)} cm\n{content}\nQ"
