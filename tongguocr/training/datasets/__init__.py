"""Data sets on disk: each reader is a generator of pages with their lines in reading order.

mthv2       MTHv2, pages of the Tripitaka
m5hisdoc    M5HisDoc, regular and hard
labels      the label files that these two have in common
hisdoc1b    HisDoc1B, one annotation file a book
folder      any folder of JSON, PAGE or ALTO files

None of them is shipped. A page that cannot be read raises an InputError that names the file and the row; give
`on_error` to record it and go on with the next page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.training.datasets.folder import read_folder
from tongguocr.training.datasets.hisdoc1b import Mapping, read_hisdoc1b
from tongguocr.training.datasets.labels import OnError
from tongguocr.training.datasets.m5hisdoc import read_m5hisdoc
from tongguocr.training.datasets.mthv2 import read_mthv2

__all__ = [
    "DATASETS",
    "Mapping",
    "OnError",
    "read_dataset",
    "read_folder",
    "read_hisdoc1b",
    "read_m5hisdoc",
    "read_mthv2",
]

DATASETS = (
    "mthv2",
    "m5hisdoc",
    "m5hisdoc-regular",
    "m5hisdoc-hard",
    "m5hisdoc-both",
    "hisdoc1b",
    "folder",
)
"""Kinds of data sets. `m5hisdoc` alone is the regular half, as in the paper."""


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
    if kind not in DATASETS:
        raise InputError(f"{root}: there is no data set kind {kind!r}; take one of {', '.join(DATASETS)}.")
    name, _, half = kind.partition("-")
    if name == "mthv2":
        return read_mthv2(root, split, on_error)
    if name == "m5hisdoc":
        return read_m5hisdoc(root, split, half or "regular", on_error)
    if split is not None:
        raise InputError(f"{root}: a data set of the kind {kind!r} has no splits.")
    return read_hisdoc1b(root, mapping, on_error) if name == "hisdoc1b" else read_folder(root, on_error)
