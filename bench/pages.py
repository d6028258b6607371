"""Pages with their text for the benches: a folder of our JSON, or one JSON list of pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.formats import read_page
from tongguocr.geometry import make_box
from tongguocr.page import Line, Page, guess_direction, turn_pixels
from tongguocr.sources import find_image, load_pixels

BRACKETS = str.maketrans("", "", "（）")


def load_folder(folder: Path) -> Iterator[Page]:
    """Pages as our JSON, each with its image."""
    for path in sorted(folder.glob("*.json")):
        page = read_page(path)
        image = find_image(page.image, path)
        if image is None:
            raise InputError(f"{path}: the page's image is not beside it.")
        yield replace(page, pixels=turn_pixels(load_pixels(image), page.angle))


def load_dev(path: Path, folder: Path) -> Iterator[Page]:
    """Pages of one JSON list, whose columns are whole: a note inside one is part of it."""
    try:
        entries = json.loads(decode_utf8(read_bytes(path), path))
        for entry in entries:
            pixels = load_pixels(folder / str(entry["image"]))
            boxed = [(make_box(*map(float, line["box"])), str(line["text"])) for line in entry["lines"]]
            lines = tuple(
                Line(f"l{k}", box, text.translate(BRACKETS), direction=guess_direction(box, text))
                for k, (box, text) in enumerate(boxed, start=1)
            )
            yield Page(str(entry["image"]), pixels.shape[1], pixels.shape[0], lines, pixels)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: this is not a list of pages with image and lines ({error!r}).") from None
