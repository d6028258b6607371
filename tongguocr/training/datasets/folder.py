"""A folder of page files, JSON, PAGE XML or ALTO, with or without their images beside them; pages out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.formats import LINE_ENDINGS, page_stem, read_page
from tongguocr.formats.folder import NOT_PAGES
from tongguocr.page import Page
from tongguocr.sources import find_image, image_named
from tongguocr.training.datasets.labels import OnError, read_each


def read_folder(root: Path, on_error: OnError | None = None) -> Iterator[Page]:
    """The folder's pages by file name; folders inside it are not entered."""
    if not root.is_dir():
        raise InputError(f"{root}: there is no such folder.")
    paths = sorted(path for path in root.iterdir() if _is_page(path))
    if not paths:
        raise InputError(f"{root}: the folder has no page files ({', '.join(LINE_ENDINGS)}).")
    yield from read_each([partial(_read, path) for path in paths], on_error)


def _is_page(path: Path) -> bool:
    wanted = path.name.lower().endswith(LINE_ENDINGS) and path.name.lower() not in NOT_PAGES
    return wanted and not path.name.startswith(".") and path.is_file()


def _read(path: Path) -> Page:
    """The page; where it names no image, or one that is not there, an image of the file's own name counts."""
    page = read_page(path)
    if page.image and (path.parent / page.image).is_file():
        return page
    image = find_image(page.image, path) or image_named(path.parent, page_stem(path))
    return replace(page, image=image.name) if image else page
