"""A folder of page files, JSON, PAGE XML or ALTO, with or without their images beside them; pages out.

The folder of a book that is being proofread gives the pages that are marked as proofread, and no others. A
page that lies there in several formats is one: the first that can be read counts, our JSON before all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.formats import LINE_ENDINGS, ending_of, page_stem, read_page
from tongguocr.formats.folder import NOT_PAGES
from tongguocr.page import Page
from tongguocr.proofread.journal import has_journals, proofread_names
from tongguocr.sources import find_image, image_named
from tongguocr.training.datasets.indexed import ListedPages, OnError, read_all


def read_folder(root: Path, on_error: OnError | None = None) -> Iterator[Page]:
    """The pages that `open_folder` lists."""
    yield from read_all(open_folder(root), on_error)


def open_folder(root: Path) -> ListedPages[list[Path]]:
    """The folder's pages by file name; folders inside it are not entered."""
    if not root.is_dir():
        raise InputError(f"{root}: there is no such folder.")
    files: dict[str, list[Path]] = {}
    for path in sorted(path for path in root.iterdir() if _is_page(path)):
        files.setdefault(page_stem(path), []).append(path)
    if not files:
        raise InputError(f"{root}: the folder has no page files ({', '.join(LINE_ENDINGS)}).")
    if has_journals(root):
        marked = set(proofread_names(root))
        files = {name: paths for name, paths in files.items() if name in marked}
        if not files:
            raise InputError(f"{root}: no page of this book is marked as proofread yet.")
    return ListedPages(list(files.values()), _read_first)


def _read_first(paths: list[Path]) -> Page:
    """The page in the first of its files that holds one."""
    paths = sorted(paths, key=lambda path: LINE_ENDINGS.index(ending_of(path)))
    for path in paths[:-1]:
        with suppress(InputError):
            return _read(path)
    return _read(paths[-1])


def _is_page(path: Path) -> bool:
    wanted = ending_of(path) in LINE_ENDINGS and path.name.lower() not in NOT_PAGES
    return wanted and not path.name.startswith(".") and path.is_file()


def _read(path: Path) -> Page:
    """The page; where it names no image, or one that is not there, an image of the file's own name counts."""
    page = read_page(path)
    if page.image and (path.parent / page.image).is_file():
        return page
    image = find_image(page.image, path) or image_named(path.parent, page_stem(path))
    return replace(page, image=image.name) if image else page
