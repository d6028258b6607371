"""Pages and their ground truth as files: our JSON, PAGE XML, and the shapes of MTHv2 and M5HisDoc.

In: a page, its pixels, a folder. Out: files that `tongguocr.formats` and `datasets` read. JSON and
PAGE lie beside the image; each data set's shape has a folder of its own, with the folders and lists of the
real one, so that programs written for the data sets take synthetic pages as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

from PIL import Image

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.formats import write_page
from tongguocr.formats.page_xml_write import render_page_xml
from tongguocr.geometry import Box, Point
from tongguocr.page import Line, Page, Pixels

ImageType: TypeAlias = Literal["jpg", "png"]

FORMATS = ("json", "page", "mthv2", "m5hisdoc")
JPEG_QUALITY = 90

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""PAGE wants a date; with one that never changes, the same order gives the same bytes."""

MTHV2_PART = "MTH1000"
M5HISDOC_PART = "M5HisDoc_regular"


def export_page(
    page: Page,
    pixels: Pixels,
    name: str,
    folder: Path,
    formats: Collection[str] = ("json", "page"),
    image_type: ImageType = "jpg",
) -> None:
    """Write the image and the labels in every format; the folders of `prepare` must be there."""
    image = encode_image(pixels, image_type)
    page = replace(page, image=f"{name}.{image_type}", width=pixels.shape[1], height=pixels.shape[0])
    if "json" in formats or "page" in formats:
        write_bytes(image, folder / page.image)
    if "json" in formats:
        write_page(page, folder / f"{name}.json")
    if "page" in formats:
        path = folder / f"{name}.xml"
        write_bytes(render_page_xml(page, path, created=UNDATED), path)
    if "mthv2" in formats:
        _write_labels(page, image, folder / "mthv2" / MTHV2_PART, "img", _mthv2_line, _mthv2_char)
    if "m5hisdoc" in formats:
        part = folder / "m5hisdoc" / M5HISDOC_PART
        _write_labels(page, image, part, "images", _m5hisdoc_line, _m5hisdoc_char)


def prepare(folder: Path, formats: Collection[str]) -> None:
    """Make the folders that these formats need, so that an unwritable one is told before any work."""
    for unknown in set(formats) - set(FORMATS):
        raise InputError(f"There is no format {unknown!r}; take some of {', '.join(FORMATS)}.")
    inside = {
        "mthv2": [f"mthv2/{MTHV2_PART}/{name}" for name in ("img", "label_textline", "label_char")],
        "m5hisdoc": [
            f"m5hisdoc/{M5HISDOC_PART}/{name}" for name in ("images", "label_textline", "label_char")
        ],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in formats:
            for path in inside.get(name, []):
                (folder / path).mkdir(parents=True, exist_ok=True)
        probe = folder / ".tongguocr-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be written ({error.strerror}).") from None


def write_lists(
    folder: Path, names: Iterable[str], chars: Iterable[str], formats: Collection[str], split: str = "train"
) -> None:
    """The lists that the data sets have beside their pages: all pages as one split, all characters."""
    names = list(names)
    if "mthv2" in formats:
        _write_rows((f"{MTHV2_PART}/{name}" for name in names), folder / "mthv2" / f"{split}.txt")
    if "m5hisdoc" in formats:
        _write_rows(names, folder / "m5hisdoc" / f"split_{split}.txt")
        _write_rows(sorted(set(chars)), folder / "m5hisdoc" / "char_dict.txt")


def encode_image(pixels: Pixels, image_type: ImageType = "jpg") -> bytes:
    """The pixels as an image file."""
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, {"jpg": "JPEG", "png": "PNG"}[image_type], quality=JPEG_QUALITY)
    return buffer.getvalue()


def corners(line: Line) -> tuple[Point, ...]:
    """The line's outline where it has four corners, else its box, clockwise from the top left."""
    if line.polygon and len(line.polygon) == 4:
        return line.polygon
    x0, y0, x1, y1 = line.box
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def _write_labels(
    page: Page,
    image: bytes,
    part: Path,
    images: str,
    line_row: Callable[[Line], str],
    char_row: Callable[[str, Box], str],
) -> None:
    name = Path(page.image).stem
    write_bytes(image, part / images / page.image)
    chars = [char for line in page.lines for char in line.chars]
    _write_rows((line_row(line) for line in page.lines), part / "label_textline" / f"{name}.txt")
    _write_rows((char_row(char.text, char.box) for char in chars), part / "label_char" / f"{name}.txt")


def _write_rows(rows: Iterable[str], path: Path) -> None:
    write_bytes("".join(f"{row}\n" for row in rows).encode(), path)


# MTHv2 has whole pixels and the text first; M5HisDoc has the numbers first, and fractions occur in it.


def _mthv2_line(line: Line) -> str:
    return ",".join([line.text, *(str(round(value)) for point in corners(line) for value in point)])


def _mthv2_char(text: str, box: Box) -> str:
    return ",".join([text, *(str(round(value)) for value in box)])


def _m5hisdoc_line(line: Line) -> str:
    return ",".join([*(_fraction(value) for point in corners(line) for value in point), line.text])


def _m5hisdoc_char(text: str, box: Box) -> str:
    return ",".join([*(_fraction(value) for value in box), text])


def _fraction(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
