"""Data sets as they are named on the command line: KIND=DIR in; a kind, a folder, official splits out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tongguocr.errors import InputError
from tongguocr.training.datasets.hisdoc1b import ANNOTATIONS
from tongguocr.training.datasets.m5hisdoc import HALVES
from tongguocr.training.datasets.m5hisdoc import SPLITS as M5HISDOC_SPLITS
from tongguocr.training.datasets.mthv2 import PARTS
from tongguocr.training.datasets.mthv2 import SPLITS as MTHV2_SPLITS

Source: TypeAlias = tuple[str, Path]
"""A kind of data set and its folder."""

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
SPLITS: Mapping[str, tuple[str, ...]] = MappingProxyType({"mthv2": MTHV2_SPLITS, "m5hisdoc": M5HISDOC_SPLITS})
"""The official splits of those families that have any; the others are for training as a whole."""


def parse_source(written: str) -> Source:
    """KIND=DIR as it is typed."""
    kind, sign, folder = written.partition("=")
    if not sign or not folder or kind not in DATASETS:
        raise InputError(f"{written}: pages are given as KIND=DIR, KIND being one of {', '.join(DATASETS)}.")
    return kind, Path(folder)


def family(kind: str) -> str:
    """The data set that a kind belongs to, whichever half it means."""
    return kind.partition("-")[0]


def official_split(kind: str, split: str) -> str | None:
    """The split of this name where the data set has splits; None, all its pages, where it has none."""
    return split if family(kind) in SPLITS else None


def recognise(folder: Path) -> str | None:
    """The kind of data set that a folder holds, as its own folders tell; None where it is not the paper's."""
    if any((folder / part).is_dir() for part in PARTS):
        return "mthv2"
    if any((folder / f"M5HisDoc_{half}").is_dir() for half in HALVES):
        return "m5hisdoc"
    if any((folder / ANNOTATIONS).glob("*.json")):
        return "hisdoc1b"
    return None
