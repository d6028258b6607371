"""A text and a size in bytes -> the folder that `engines.language_model` opens, with a model no larger.

Log-probabilities and weights are rounded to 256 levels an order: means of as many equally large groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tongguocr.engines.language_model import ARRAYS, FILE, LEVELS
from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.training.language_model import (
    Alphabet,
    Counts,
    Trigrams,
    count,
    fit,
    make_alphabet,
    perplexity,
    split_documents,
    to_classes,
    to_codes,
)
from tongguocr.weights import FORMAT, MANIFEST, VERSION

STEPS = 7
"""Thresholds that are tried for a size, each halving what is left."""
LEAST, MOST = 1.0, 256.0
"""The thresholds to try between, in nats."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made."""

    max_bytes: int = 5_000_000
    min_count: int = 3
    """Characters that occur less often are unknown to the model."""


def train_language(
    text: Path, out: Path, recipe: Recipe = Recipe(), say: Callable[[str], None] = print
) -> None:
    """Fit a model to a text and write its folder; every tenth document is held out, to measure on."""
    train, test = split_documents(text)
    codes = to_codes(train)
    alphabet = make_alphabet(codes, recipe.min_count)
    held_out = to_classes(to_codes(test), alphabet)
    counts = count(to_classes(codes, alphabet), alphabet.size)
    say(f"{(codes > 0).sum():,} characters, {alphabet.size:,} classes, {len(counts.triples):,} triples")
    model, data, threshold = fit_size(counts, alphabet, recipe.max_bytes, say)
    figures = {
        "characters": int((codes > 0).sum()),
        "classes": alphabet.size,
        "pairs": len(model.pairs),
        "triples": len(model.triples),
        "threshold": round(threshold, 3),
    }
    if test:
        figures["perplexity"] = round(perplexity(model, held_out), 1)
    save_language(data, out, figures)
    say(f"{out}: {len(data):,} bytes, {figures}")


def fit_size(
    counts: Counts, alphabet: Alphabet, most: int, say: Callable[[str], None]
) -> tuple[Trigrams, bytes, float]:
    """The model with the lowest threshold whose file is no larger than so many bytes."""
    whole = fit(counts)
    data = render_language(whole, alphabet) if len(whole.triples) < most else b""
    if data and len(data) <= most:
        return whole, data, 0.0
    low, high, best = LEAST, MOST, None
    for step in range(STEPS):
        # The last step begins with the highest if nothing fitted before.
        threshold = (low * high) ** 0.5 if best or step < STEPS - 1 else MOST
        model = fit(counts, threshold)
        data = render_language(model, alphabet)
        say(f"threshold {threshold:.2f}: {len(data):,} bytes")
        if len(data) <= most:
            high, best = threshold, (model, data, threshold)
        else:
            low = threshold
    if best is None:
        raise InputError(f"--max-bytes {most}: even the smallest model of this text is larger.")
    return best


def save_language(data: bytes, out: Path, figures: dict[str, float]) -> None:
    """The folder with the file and the manifest by which it is checked."""
    make_folder(out)
    write_bytes(data, out / FILE)
    entry = {FILE: {"sha256": sha256(data).hexdigest(), "bytes": len(data)}}
    manifest = {"format": FORMAT, "version": VERSION, "figures": figures, "files": entry}
    write_bytes((json.dumps(manifest, indent=2) + "\n").encode(), out / MANIFEST)


def render_language(model: Trigrams, alphabet: Alphabet) -> bytes:
    """The file of a model."""
    begins = np.searchsorted(model.pairs, model.triples >> 16)
    thirds = np.bincount(begins, minlength=len(model.pairs))
    held: dict[str, NDArray[np.generic]] = {
        "characters": alphabet.characters,
        "classes": alphabet.classes,
        "seconds": np.bincount(model.pairs >> 16, minlength=len(model.first)),
        "second": model.pairs & 0xFFFF,
        "thirds": thirds,
        "third": model.triples & 0xFFFF,
    }
    for name, levels, values in (
        ("first", "first_levels", model.first),
        ("first_weight", "first_weight_levels", model.first_weight),
        ("second_probability", "second_levels", model.pair_probability),
        ("weight", "weight_levels", model.pair_weight[thirds > 0]),
        ("third_probability", "third_levels", model.triple_probability),
    ):
        held[name], held[levels] = to_levels(np.log(values))
    out = BytesIO()
    np.savez_compressed(out, **{name: held[name].astype(kind) for name, kind in ARRAYS.items()})  # type: ignore[arg-type]
    return out.getvalue()


def to_levels(values: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Each value's level, and what the levels stand for."""
    if not len(values):
        return np.zeros(0, np.uint8), np.zeros(1, np.float32)
    order = np.argsort(values, kind="stable")
    level = np.empty(len(values), np.uint8)
    means = []
    for number, group in enumerate(np.array_split(order, min(LEVELS, len(values)))):
        level[group] = number
        means.append(values[group].mean())
    return level, np.array(means, np.float32)
