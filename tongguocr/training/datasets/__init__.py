"""Data sets on disk: pages with their lines in reading order, one after another or each when it is drawn.

mthv2       MTHv2, pages of the Tripitaka
m5hisdoc    M5HisDoc, regular and hard
labels      the label files that these two have in common
hisdoc1b    HisDoc1B, one annotation file a book
folder      any folder of JSON, PAGE or ALTO files
indexed     pages that stay on the disk until they are drawn
book_index  where in HisDoc1B's files they lie
sources     how they are named on the command line, and which splits they have
corpus      their text alone

None of them is shipped. A page that cannot be read raises an InputError that names the file and the row; give
`on_error` to record it and go on with the next page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.training.datasets.folder import open_folder, read_folder
from tongguocr.training.datasets.hisdoc1b import Mapping, open_hisdoc1b, read_hisdoc1b
from tongguocr.training.datasets.indexed import IndexedPages, OnError, read_all
from tongguocr.training.datasets.m5hisdoc import open_m5hisdoc, read_m5hisdoc
from tongguocr.training.datasets.mthv2 import open_mthv2, read_mthv2
from tongguocr.training.datasets.sources import DATASETS

__all__ = [
    "DATASETS",
    "IndexedPages",
    "Mapping",
    "OnError",
    "open_dataset",
    "read_dataset",
    "read_folder",
    "read_hisdoc1b",
    "read_m5hisdoc",
    "read_mthv2",
]


def read_dataset(
    kind: str,
    root: Path,
    split: str | None = None,
    mapping: Mapping | None = None,
    on_error: OnError | None = None,
) -> Iterator[Page]:
    """The pages of a data set of this kind, one of DATASETS; of one official split, or all.

    `mapping` names the fields of HisDoc1B's annotations; the other kinds have no use for it.
    """
    if kind == "hisdoc1b" and split is None:
        return read_hisdoc1b(root, mapping, on_error)
    return read_all(open_dataset(kind, root, split, mapping), on_error)


def open_dataset(
    kind: str,
    root: Path,
    split: str | None = None,
    mapping: Mapping | None = None,
    say: Callable[[str], None] = lambda sentence: None,
    on_error: OnError | None = None,
) -> IndexedPages:
    """The same pages in the same order, counted, and each read when it is asked for.

    `say` is told where counting takes long; books that cannot be read go to `on_error`.
    """
    if kind not in DATASETS:
        raise InputError(f"{root}: there is no data set kind {kind!r}; take one of {', '.join(DATASETS)}.")
    name, _, half = kind.partition("-")
    if name == "mthv2":
        return open_mthv2(root, split)
    if name == "m5hisdoc":
        return open_m5hisdoc(root, split, half or "regular")
    if split is not None:
        raise InputError(f"{root}: a data set of the kind {kind!r} has no splits.")
    return open_hisdoc1b(root, mapping, say, on_error) if name == "hisdoc1b" else open_folder(root)
