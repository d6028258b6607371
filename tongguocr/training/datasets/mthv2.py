"""MTHv2: Tripitaka pages with line and character labels; its folder in, pages out.

`MTH1000`, `MTH1200` and `TKH` each hold `img/`, `label_textline/NAME.txt` and `label_char/NAME.txt`; beside
them `train.txt` and `test.txt` list the official split. A line's row is `text,x1,y1,...,x4,y4`, its corners
in no fixed order, the text perhaps with commas of its own; a character's row is the character and
`x1,y1,x2,y2`, with commas or spaces between. Rows are in reading order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.page import Page
from tongguocr.training.datasets.indexed import ListedPages, OnError, read_all
from tongguocr.training.datasets.labels import LabelFolders, page_name, read_split

PARTS = ("MTH1000", "MTH1200", "TKH")
SPLITS = ("train", "test")

_CHAR_ROW = re.compile(r"\s*(\S+?|\s)" + r"[,\s]\s*([^,\s]+)" * 4 + r"\s*")


def read_mthv2(root: Path, split: str | None = None, on_error: OnError | None = None) -> Iterator[Page]:
    """The pages that `open_mthv2` lists."""
    yield from read_all(open_mthv2(root, split), on_error)


def open_mthv2(root: Path, split: str | None = None) -> ListedPages[Callable[[], Page]]:
    """The pages of one split in its list's order, or all pages by part and name."""
    parts = {name: _folders(root, name) for name in PARTS if (root / name).is_dir()}
    if not parts:
        raise InputError(f"{root}: there is none of the folders {', '.join(PARTS)}.")
    if split is None:
        jobs: list[Callable[[], Page]] = [
            partial(part.read, name) for part in parts.values() for name in part.names()
        ]
    elif split in SPLITS:
        entries = read_split(root / f"{split}.txt")
        jobs = [partial(_read_entry, entry, parts, root / f"{split}.txt") for entry in entries]
    else:
        raise InputError(f"{root}: MTHv2 has no split {split!r}; take one of {', '.join(SPLITS)}.")
    return ListedPages(jobs, _call)


def _call(job: Callable[[], Page]) -> Page:
    return job()


def _folders(root: Path, part: str) -> LabelFolders:
    folder = root / part
    labels = folder / "label_textline", folder / "label_char"
    return LabelFolders(root, folder / "img", *labels, _textline_fields, _char_fields)


def _read_entry(entry: str, parts: dict[str, LabelFolders], listed_in: Path) -> Page:
    """The page that an entry of a list means; without its part's name it must be in one part only."""
    name = page_name(entry)
    named = [part for part in parts if part in entry.split("/")[:-1]]
    found = named or [part for part, folders in parts.items() if (folders.textlines / f"{name}.txt").exists()]
    if len(found) != 1:
        problem = f"is in {' and '.join(found)}" if found else "has no line labels"
        raise InputError(f"{listed_in}: the page {entry!r} {problem}.")
    return parts[found[0]].read(name)


def _textline_fields(row: str) -> tuple[str, list[str]] | None:
    text, *values = row.rsplit(",", 8)
    return (text, values) if len(values) == 8 else None


def _char_fields(row: str) -> tuple[str, list[str]] | None:
    found = _CHAR_ROW.fullmatch(row)
    return (found[1], list(found.groups()[1:])) if found else None
