"""What confidence means: a page as read in, the page with confidences that were measured to be true out.

A recogniser is surer than it should be. How often it is right, given what is known of a character, was fitted
on real lines (`python -m bench.calibration --fit`) and lies in the manifest of the weights: a logistic
regression on a few features, once for text that a language model has seen and once for text that none has.
Confidence is that of the form as written: 爲 that may as well be 為 is doubtful. What the character is as a
word, whichever its form, is its confidence and that of its candidates of the same word (`word_confidence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tongguocr.characters import is_ideograph
from tongguocr.engines.base import LineReading
from tongguocr.engines.language_model import UNKNOWN, LanguageModel
from tongguocr.engines.rescore import main_form, surprises_of
from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Page
from tongguocr.variants import fold
from tongguocr.weights import MANIFEST, read_manifest

Doubles = NDArray[np.float64]

KEY = "calibration"
"""In a manifest: coefficients by `picture` (no language model) and `language`."""
MOST_BITS = 25.0
"""Surprises above count as this."""
LEAST = 1e-4
"""Confidence has four digits, so nothing is surer than 1 less this."""
FEATURES = (
    "sure",
    "sure_above_2",
    "sure_above_5",
    "rival",
    "other_form",
    "changed",
    "before",
    "after",
    "line",
    "at_edge",
    "mark",
    "surprise",
    "surprise_next",
    "rarity",
)
"""Logits: of the character, beyond 2 and 5, of its likeliest candidate that is another word, of its
neighbours (the line's ends count as sure), their mean over the line. Then the share of its other forms;
whether context changed it, it ends the line, it is no ideograph; bits of surprise, here and at the next; bits
of rarity."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The coefficients of FEATURES, a constant before them."""

    constant: float
    coefficients: tuple[float, ...]

    def probability(self, features: Doubles) -> Doubles:
        return np.asarray(1 / (1 + np.exp(-(self.constant + features @ np.array(self.coefficients)))))


def load_calibration(folder: Path, with_language: bool) -> Calibration | None:
    """What the weights in a folder were fitted with; None if they were not."""
    path = folder / MANIFEST
    held: Any = read_manifest(path).get(KEY)
    if held is None:
        return None
    try:
        if list(held["features"]) != list(FEATURES):
            return None  # fitted for another version of this module: raw confidence is no worse
        constant, *rest = (float(value) for value in held["language" if with_language else "picture"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path}: the calibration of the weights is not complete.") from None
    if len(rest) != len(FEATURES):
        raise InputError(f"{path}: the calibration of the weights is not complete.")
    return Calibration(constant, tuple(rest))


def calibrate(page: Page, calibration: Calibration, model: LanguageModel | None) -> Page:
    """The page with confidences of characters and lines as they were measured to be."""
    surprises = _surprises(page, model)
    lines = []
    for number, line in enumerate(page.lines):
        if not line.chars or any(char.confidence is None for char in line.chars):
            lines.append(line)
            continue
        sure = calibration.probability(features_of(line, surprises[number], model))
        chars = tuple(recast(char, float(c)) for char, c in zip(line.chars, sure, strict=True))
        # A line that is marked by a confidence of 0 stays marked.
        mean = line.confidence and LineReading(chars, "read").confidence
        lines.append(replace(line, chars=chars, confidence=mean))
    return replace(page, lines=tuple(lines))


def recast(char: Char, confidence: float) -> Char:
    """The character with another confidence; what its candidates have of the rest keeps its proportions.

    Where it becomes less sure, so do they: what is missing is something that nobody has named.
    """
    old, new = char.confidence or 0.0, round(min(max(confidence, LEAST), 1 - LEAST), 4)
    part = (1 - new) / max(1 - old, LEAST) if new > old else new / max(old, LEAST)
    shares = tuple((text, round(share * min(part, 1.0), 4)) for text, share in char.candidates)
    return replace(char, confidence=new, candidates=shares)


def word_confidence(char: Char) -> float:
    """How sure it is that the character is this word, in whichever of its forms."""
    same = sum(share for text, share in char.candidates if same_word(text, char.text))
    return min((char.confidence or 0.0) + same, 1.0)


def same_word(one: str, other: str) -> bool:
    return fold(main_form(one)) == fold(main_form(other))


def features_of(line: Line, bits: Sequence[float], model: LanguageModel | None) -> Doubles:
    """A row for each character of the line, a column for each of FEATURES; `bits` are its surprises."""
    sure = _logit([char.confidence or 0.0 for char in line.chars])
    end = _logit([1.0])
    surprise = np.minimum(np.asarray(bits, np.float64), MOST_BITS)
    columns = {
        "sure": sure,
        "sure_above_2": np.maximum(sure - 2, 0),
        "sure_above_5": np.maximum(sure - 5, 0),
        "rival": _logit([_rival(char) for char in line.chars]),
        "other_form": [word_confidence(char) - (char.confidence or 0.0) for char in line.chars],
        "changed": [float(char.picture is not None) for char in line.chars],
        "before": np.concatenate([end, sure[:-1]]),
        "after": np.concatenate([sure[1:], end]),
        "line": np.full(len(sure), sure.mean()),
        "at_edge": [float(k in (0, len(sure) - 1)) for k in range(len(sure))],
        "mark": [float(not is_ideograph(char.text[:1])) for char in line.chars],
        "surprise": surprise,
        "surprise_next": np.append(surprise[1:], 0.0),
        "rarity": _rarity(line, model),
    }
    return np.stack([np.asarray(columns[name], np.float64) for name in FEATURES], axis=1)


def _logit(shares: Sequence[float]) -> Doubles:
    clipped = np.clip(np.array(shares, np.float64), LEAST, 1 - LEAST)
    return np.log(clipped / (1 - clipped))


def _rival(char: Char) -> float:
    return max((share for text, share in char.candidates if not same_word(text, char.text)), default=0.0)


def _rarity(line: Line, model: LanguageModel | None) -> Doubles:
    if model is None:
        return np.zeros(len(line.chars))
    classes = model.classes_of([main_form(char.text) for char in line.chars])
    return np.where(classes == UNKNOWN, 0.0, -model.first[classes] / np.log(2))


def _surprises(page: Page, model: LanguageModel | None) -> list[list[float]]:
    if model is None:
        return [[0.0] * len(line.chars) for line in page.lines]
    return surprises_of(page, model)


def page_features(page: Page, model: LanguageModel | None) -> Doubles:
    """The rows of all characters of a page, line after line; all must have a confidence."""
    pairs = zip(page.lines, _surprises(page, model), strict=True)
    rows = [features_of(line, bits, model) for line, bits in pairs if line.chars]
    return np.concatenate([np.zeros((0, len(FEATURES))), *rows])
