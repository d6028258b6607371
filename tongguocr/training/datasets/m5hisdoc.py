"""M5HisDoc: pages of many styles, each once as it is and once made harder; its folder in, pages out.

`M5HisDoc_regular` and `M5HisDoc_hard` each hold `images/`, `label_textline/` and `label_char/`; beside them,
or inside each, lie `split_train.txt`, `split_val.txt` and `split_test.txt`. A line's row is
`x1,y1,...,x4,y4,text`, a character's `x1,y1,x2,y2,char`: numbers first, and they may be fractions. Rows are
in reading order. The same page names occur in both halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.training.datasets.indexed import ListedPages, OnError, read_all
from tongguocr.training.datasets.labels import LabelFolders, page_name, read_split

HALVES: dict[str, tuple[str, ...]] = {
    "regular": ("regular",),
    "hard": ("hard",),
    "both": ("regular", "hard"),
}
"""What may be asked for, and the folders that it means. The paper trains and scores on the regular half."""
SPLITS = ("train", "val", "test")

Entry: TypeAlias = tuple[LabelFolders, str]
"""A page's half, and its name."""


def read_m5hisdoc(
    root: Path, split: str | None = None, half: str = "regular", on_error: OnError | None = None
) -> Iterator[Page]:
    """The pages that `open_m5hisdoc` lists."""
    yield from read_all(open_m5hisdoc(root, split, half), on_error)


def open_m5hisdoc(root: Path, split: str | None = None, half: str = "regular") -> ListedPages[Entry]:
    """The pages of one split in its list's order, or all pages by name; of one of HALVES."""
    if split not in (None, *SPLITS):
        raise InputError(f"{root}: M5HisDoc has no split {split!r}; take one of {', '.join(SPLITS)}.")
    if half not in HALVES:
        raise InputError(f"{root}: M5HisDoc has no half {half!r}; take one of {', '.join(HALVES)}.")
    folders = [root / f"M5HisDoc_{name}" for name in HALVES[half]]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{root}: there is no folder {folder.name}.")
    entries: list[Entry] = []
    for folder in folders:
        labels = _folders(root, folder)
        names = labels.names() if split is None else _listed(root, folder, split)
        entries += [(labels, name) for name in names]
    return ListedPages(entries, _read_entry)


def _read_entry(entry: Entry) -> Page:
    labels, name = entry
    return labels.read(name)


def _folders(root: Path, folder: Path) -> LabelFolders:
    labels = folder / "label_textline", folder / "label_char"
    return LabelFolders(root, folder / "images", *labels, _textline_fields, _char_fields)


def _listed(root: Path, folder: Path, split: str) -> list[str]:
    inside = folder / f"split_{split}.txt"
    path = inside if inside.exists() else root / inside.name
    return [page_name(entry) for entry in read_split(path)]


def _textline_fields(row: str) -> tuple[str, list[str]] | None:
    *values, text = row.split(",", 8)
    return (text, values) if len(values) == 8 else None


def _char_fields(row: str) -> tuple[str, list[str]] | None:
    *values, text = row.split(",", 4)
    return (text, values) if len(values) == 4 else None
