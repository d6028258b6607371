"""A character model of classical Chinese: a folder in, log-probabilities of characters after two others out.

Trigrams with back-off. The graphic variants of one character are one class, so the model never tells 峯 from
峰. A text's first character has nobody before it, which is NOBODY. The file is a set of small arrays: classes
as 16 bits, log-probabilities and back-off weights as numbers of 256 levels. `training.language_model` makes
it; only numpy is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.errors import InputError
from tongguocr.weights import MANIFEST, SHIPPED, read_checked, read_manifest

Ids: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]

SHIPPED_LANGUAGE = SHIPPED / "language"
FILE = "trigrams.npz"
UNKNOWN = 0
"""The class of all characters that the model was not told of."""
NOBODY = 0xFFFF
"""Stands before a text's first character; no class has this number."""
LEVELS = 256
ARRAYS = {
    "characters": np.uint32,  # code points, rising
    "classes": np.uint16,  # of each of them
    "first_levels": np.float32,  # of a class: its log-probability alone
    "first": np.uint8,
    "first_weight_levels": np.float32,  # of a class as the one before: the log of its back-off weight
    "first_weight": np.uint8,
    "seconds": np.uint16,  # how many pairs begin with a class
    "second": np.uint16,  # the pairs' second characters
    "second_levels": np.float32,
    "second_probability": np.uint8,
    "thirds": np.uint16,  # how many triples begin with a pair
    "weight_levels": np.float32,  # back-off weights of those pairs that begin any
    "weight": np.uint8,
    "third": np.uint16,  # the triples' third characters
    "third_levels": np.float32,
    "third_probability": np.uint8,
}
"""What the file holds, in order."""


@dataclass(frozen=True)
class Levels:
    """Numbers that were rounded to a few: which of them each is, and what they stand for."""

    numbers: NDArray[np.uint8]
    levels: Floats

    def __getitem__(self, places: Ids | slice) -> Floats:
        return self.levels[self.numbers[places]]


@dataclass(frozen=True)
class LanguageModel:
    """The arrays of a file, made ready for searching."""

    characters: Ids
    classes: Ids
    first: Floats
    first_weight: Floats
    pairs: Ids
    """Each known pair as one number, rising; likewise triples: the pair's place, and the third class."""
    pair_probability: Levels
    pair_weight: Floats
    triples: Ids
    triple_probability: Levels

    def classes_of(self, characters: list[str]) -> Ids:
        """The class of each character, which may have a variation selector behind it."""
        codes = np.array([ord(char[0]) if char else 0 for char in characters], np.int64)
        places, found = _find(self.characters, codes)
        return np.where(found, self.classes[places], UNKNOWN)

    def log_probability(self, before: Ids, last: Ids, now: Ids) -> Floats:
        """The log-probability of each class `now` after `last`, which follows `before`."""
        pair, is_pair = _find(self.pairs, (before << 16) | last)
        triple, is_triple = _find(self.triples, (pair << 16) | now)
        weight = np.where(is_pair, self.pair_weight[pair], np.float32(0))
        known = is_pair & is_triple
        return np.where(known, self.triple_probability[triple], weight + self._after_one(last, now))

    def _after_one(self, last: Ids, now: Ids) -> Floats:
        pair, found = _find(self.pairs, (last << 16) | now)
        has_last = last != NOBODY
        weight = np.where(has_last, self.first_weight[np.where(has_last, last, 0)], np.float32(0))
        return np.where(found, self.pair_probability[pair], weight + self.first[now])

    @property
    def size(self) -> tuple[int, int, int]:
        """How many classes, pairs and triples it knows."""
        return len(self.first), len(self.pairs), len(self.triples)


def _find(table: Ids, wanted: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """Where each number stands in a rising table, and whether it is there at all."""
    if not len(table):
        return np.zeros_like(wanted), np.zeros(wanted.shape, bool)
    places = np.minimum(np.searchsorted(table, wanted), len(table) - 1)
    return places, table[places] == wanted


@lru_cache(maxsize=2)
def load_language(folder: Path = SHIPPED_LANGUAGE) -> LanguageModel:
    """The model in a folder, checked against its manifest; what was loaded before is kept."""
    path = folder / MANIFEST
    try:
        wanted = str(read_manifest(path)["files"][FILE]["sha256"])
    except (KeyError, TypeError):
        raise InputError(f"{path}: the manifest of the language model is not complete.") from None
    return parse_language(read_checked(folder / FILE, wanted), folder / FILE)


def parse_language(data: bytes, path: Path) -> LanguageModel:
    """The model in a file's bytes."""
    try:
        with np.load(BytesIO(data), allow_pickle=False) as held:
            arrays = {name: held[name] for name in ARRAYS}
        if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in ARRAYS.items()):
            raise ValueError
        return _make(arrays)
    except Exception:
        # A file that is no archive, or not this one: zipfile and numpy have many exceptions for that.
        raise InputError(f"{path}: this is not a language model, or it is damaged.") from None


def _make(held: dict[str, NDArray[Any]]) -> LanguageModel:
    """Levels become numbers, and counts become the numbers of pairs and triples."""

    def levels(name: str, of: str) -> Levels:
        rounded = Levels(np.asarray(held[name], np.uint8), np.asarray(held[of], np.float32))
        if rounded.numbers.max(initial=0) >= len(rounded.levels):
            raise ValueError
        return rounded

    second, third = held["second"], held["third"]
    seconds, thirds = (np.asarray(held[name], np.int64) for name in ("seconds", "thirds"))
    classes = np.asarray(held["classes"], np.int64)
    first = levels("first", "first_levels")[:]
    sizes = (len(second), len(third)), (int(seconds.sum()), int(thirds.sum()))
    if sizes[0] != sizes[1] or len(thirds) != len(second) or classes.max() >= len(first):
        raise ValueError
    weight = np.zeros(len(second), np.float32)
    weight[thirds > 0] = levels("weight", "weight_levels")[:]
    return LanguageModel(
        characters=np.asarray(held["characters"], np.int64),
        classes=classes,
        first=first,
        first_weight=levels("first_weight", "first_weight_levels")[:],
        pairs=np.repeat(np.arange(len(seconds)) << 16, seconds) + second,
        pair_probability=levels("second_probability", "second_levels"),
        pair_weight=weight,
        triples=np.repeat(np.arange(len(thirds)) << 16, thirds) + third,
        triple_probability=levels("third_probability", "third_levels"),
    )
