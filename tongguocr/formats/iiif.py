"""A IIIF Presentation 3 manifest: pages in, what Mirador and Universal Viewer show out.

Each page is a canvas of its image's size, painted with the image, and has two pages of annotations: the text
of its lines, and its characters. Whatever lies somewhere has an address: those of the manifest, and of images
that have none of their own, lie below the style's `base_url`. A page that was turned to be read lies as its
image does. A page that could not be read is an empty canvas.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import quote

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.page_json import check_page
from tongguocr.formats.registry import page_stem
from tongguocr.formats.style import Style
from tongguocr.formats.tei_header import LANGUAGE
from tongguocr.formats.unread import NOT_READ, is_unread
from tongguocr.geometry import Box
from tongguocr.layout.frame import guess_writing_mode
from tongguocr.page import Line, Page, as_it_lies

Json: TypeAlias = dict[str, Any]
CONTEXTS = (
    "http://iiif.io/api/extension/text-granularity/context.json",
    "http://iiif.io/api/presentation/3/context.json",
)
_MEDIA_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".avif": "image/avif",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".jp2": "image/jp2",
}
_BLANK = (1000, 1414)
"""The size of an empty canvas at the beginning; a later one is as large as the one before."""


def render_manifest(page: Page, path: Path, style: Style = Style()) -> bytes:
    """One page as a manifest."""
    file = io.BytesIO()
    _write([page], path, file, style)
    return file.getvalue()


def write_manifest(pages: Iterable[Page], path: Path, style: Style = Style()) -> None:
    """A manifest of all the pages, whole or not at all, each written before the next is asked for."""
    with open_whole(path) as file:
        _write(pages, path, file, style)


def _write(pages: Iterable[Page], path: Path, file: BinaryIO, style: Style) -> None:
    base, title = style.base_url.rstrip("/") + "/", page_stem(path)
    own = f"{base}{_quoted(path.name)}"
    label = {"none": [_printable(title)]}
    head = {"@context": list(CONTEXTS), "id": own, "type": "Manifest", "label": label}
    file.write(f'{_dumped(head)[:-1]},"items":['.encode())
    size, modes, number = _BLANK, Counter[bool](), 0
    for number, page in enumerate(pages, start=1):
        check_page(page, path)
        modes[guess_writing_mode(page.lines) == "horizontal"] += bool(page.lines)
        canvas = _canvas(page, f"{base}{_quoted(title)}/canvas/{number}", number, base, size)
        size = canvas["width"], canvas["height"]
        file.write(("\n" if number == 1 else ",\n").encode() + _dumped(canvas).encode())
    if not number:
        raise InputError(f"{path}: a manifest needs at least one page.")
    way = "left-to-right" if modes[True] > modes[False] else "right-to-left"
    file.write(f'\n],"viewingDirection":"{way}"}}\n'.encode())


def _canvas(page: Page, name: str, number: int, base: str, blank: tuple[int, int]) -> Json:
    """A page as a canvas; one that could not be read is blank, as large as the page before it."""
    page = as_it_lies(page)
    width, height = (max(1, int(side)) for side in ((page.width, page.height) if page.width else blank))
    canvas: Json = {"id": name, "type": "Canvas", "label": {"none": [str(number)]}}
    canvas |= {"width": width, "height": height}
    if is_unread(page):
        return canvas | {"summary": {"en": [NOT_READ]}}
    if page.image:
        image = _image(page.image, base, width, height)
        painted = _annotation(f"{name}/image", "painting", image, name)
        # There is no smaller one, and Universal Viewer would ask the file for one.
        canvas["thumbnail"] = [image]
        canvas["items"] = [{"id": f"{name}/painting", "type": "AnnotationPage", "items": [painted]}]
    lines, characters = (list(found(page, canvas)) for found in (_lines, _characters))
    found = (("lines", "Lines", lines), ("characters", "Characters", characters))
    texts = [_annotation_page(f"{name}/{key}", label, items) for key, label, items in found if items]
    return canvas | ({"annotations": texts} if texts else {})


def _image(image: str, base: str, width: int, height: int) -> Json:
    """The image at its own address, or at the place below the manifest's folder that is its name."""
    address = image if image.startswith(("http://", "https://")) else f"{base}{_quoted(image)}"
    kind = _MEDIA_TYPES.get(PurePosixPath(image.partition("?")[0]).suffix.lower())
    format = {"format": kind} if kind else {}
    return {"id": address, "type": "Image", **format, "width": width, "height": height}


def _annotation_page(name: str, label: str, items: Sequence[Json]) -> Json:
    return {"id": name, "type": "AnnotationPage", "label": {"en": [label]}, "items": items}


def _lines(page: Page, canvas: Json) -> Iterator[Json]:
    """The text of each line that has one, in reading order."""
    for n, line in enumerate(page.lines, start=1):
        if line.text:
            yield _text(f"line/{n}", "line", line.text, line.box, canvas)


def _characters(page: Page, canvas: Json) -> Iterator[Json]:
    """Each character of the lines whose characters are known."""
    for n, line in enumerate(page.lines, start=1):
        if _is_spelt(line):
            for k, char in enumerate(line.chars, start=1):
                yield _text(f"line/{n}/{k}", "glyph", char.text, char.box, canvas)


def _is_spelt(line: Line) -> bool:
    return "".join(char.text for char in line.chars) == line.text


def _text(name: str, granularity: str, text: str, box: Box, canvas: Json) -> Json:
    """Text in its place. Mirador shows only what comments on a canvas, and so lines do that, too."""
    body = {"type": "TextualBody", "value": text, "language": LANGUAGE, "format": "text/plain"}
    motivation = ["supplementing", "commenting"] if granularity == "line" else "supplementing"
    target = f"{canvas['id']}#xywh={_region(box, (canvas['width'], canvas['height']))}"
    return _annotation(f"{canvas['id']}/{name}", motivation, body, target) | {"textGranularity": granularity}


def _annotation(name: str, motivation: str | list[str], body: Json, target: str) -> Json:
    return {"id": name, "type": "Annotation", "motivation": motivation, "body": body, "target": target}


def _region(box: Box, size: tuple[int, int]) -> str:
    """A box in whole pixels of the canvas, at least one wide and high."""
    x0, y0 = (min(max(floor(v), 0), side - 1) for v, side in zip(box[:2], size, strict=True))
    x1, y1 = (min(ceil(v), side) for v, side in zip(box[2:], size, strict=True))
    return f"{x0},{y0},{max(x1 - x0, 1)},{max(y1 - y0, 1)}"


def _quoted(place: str) -> str:
    return quote(place, errors="replace")


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _dumped(thing: Json) -> str:
    return json.dumps(thing, ensure_ascii=False, separators=(",", ":"))
