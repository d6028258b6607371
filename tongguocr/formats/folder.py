"""A folder in, the files of pages in it out, one a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.formats.registry import READ_ENDINGS, ending_of, page_stem

NOT_PAGES = ("mets.xml", "metadata.xml")
"""What Transkribus and eScriptorium put beside the pages."""


def files_by_stem(
    folder: Path, warn: Callable[[str], None], endings: Sequence[str] = READ_ENDINGS
) -> dict[str, Path]:
    """The pages of a folder, not of those inside it; hidden files are not pages.

    Of several files with one stem, that of the first ending is taken; `warn` gets a sentence of the others.
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read ({error.strerror}).") from None
    files: dict[str, Path] = {}
    for ending in endings:
        for path in paths:
            if ending_of(path) != ending or not _may_be_page(path):
                continue
            if (stem := page_stem(path)) in files:
                warn(f"{path}: not read, since {files[stem].name} holds the same page.")
            else:
                files[stem] = path
    return files


def _may_be_page(path: Path) -> bool:
    return not path.name.startswith(".") and path.name.lower() not in NOT_PAGES and path.is_file()
