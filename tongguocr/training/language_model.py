"""Text -> a character model of classical Chinese: interpolated modified Kneser-Ney trigrams, pruned.

In: a file of real columns or plain text. Out: a folder that `engines.language_model` opens. Main text runs on
from column to column and past notes; each note is a text of its own. Characters that are graphic variants
(variants.tsv) are one class.

Of all triples and pairs only those stay whose loss would cost most: an entry counts as often as it occurs
times the log of what its probability gains over backing off. As in Siivola, Hirsimäki and Virpioja (2007), an
entry that stays gives one count to the order below, as Kneser and Ney have it, and one that goes gives all of
its own; so each order still sums to one and keeps the marginals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tongguocr.characters import IDEOGRAPH_BLOCKS
from tongguocr.engines.language_model import NOBODY, UNKNOWN
from tongguocr.errors import InputError
from tongguocr.training.synth.text import Document, load_text
from tongguocr.variants import groups

Ints: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]

HELD_OUT = 10
"""Every so manieth document is for measuring."""
MOST_CLASSES = 0xFFF0
_BREAK = 0xFFFE
"""Between two texts; like NOBODY, it is no class."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """Characters by rising code point, and the class of each; class 0 is for all others."""

    characters: Ints
    classes: Ints

    @property
    def size(self) -> int:
        return int(self.classes.max()) + 1


@dataclass(frozen=True)
class Trigrams:
    """A smoothed model: for every class its share and weight, then pairs and triples that were kept."""

    first: Doubles
    first_weight: Doubles
    pairs: Ints
    pair_probability: Doubles
    pair_weight: Doubles
    triples: Ints
    triple_probability: Doubles


def split_documents(path: Path) -> tuple[list[str], list[str]]:
    """Texts to train on, and those of every tenth document; what benchmarks draw from is in neither."""
    train, test = list[str](), list[str]()
    for number, document in enumerate(load_text(path).documents):
        (test if number % HELD_OUT == HELD_OUT - 1 else train).extend(texts_of(document))
    return train, test


def texts_of(document: Document) -> list[str]:
    """The main text in one piece, and each note; a note at a column's end goes on at the next one's head."""
    joined = "".join(line.lstrip("\u3000") for line in document.lines).replace("）（", "")
    parts = re.split("[（）]", joined)
    return ["".join(parts[::2]), *parts[1::2]]


def to_codes(texts: Iterable[str]) -> Ints:
    """The ideographs of all texts as code points, 0 before each text and at the end."""
    data = np.frombuffer("".join(f"\0{text}" for text in texts).encode("utf-32-le"), np.uint32)
    kept = data == 0
    for _, start, stop in IDEOGRAPH_BLOCKS:
        kept |= (data >= start) & (data <= stop)
    return np.append(data[kept], 0).astype(np.int64)


def make_alphabet(codes: Ints, min_count: int) -> Alphabet:
    """Classes by falling frequency; a class that occurs less often than `min_count` times is unknown."""
    main = {ord(variant): ord(form) for form, variants in groups() for variant in variants}
    values, counts = np.unique(codes[codes > 0], return_counts=True)
    total: dict[int, int] = {}
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        form = main.get(value, value)
        total[form] = total.get(form, 0) + count
    ranked = sorted((f for f in total if total[f] >= min_count), key=lambda f: (-total[f], f))
    number = {form: n for n, form in enumerate(ranked[: MOST_CLASSES - 1], start=1)}
    # All forms of a class are known, those too that the text does not have.
    members = {*number, *(variant for variant, form in main.items() if form in number)}
    known = sorted(members | {v for v in values.tolist() if main.get(v, v) in number})
    if not known:
        raise InputError(f"No character of the text occurs {min_count} times.")
    return Alphabet(np.array(known), np.array([number[main.get(c, c)] for c in known]))


def to_classes(codes: Ints, alphabet: Alphabet) -> Ints:
    """Code points as classes, with _BREAK between texts."""
    places = np.minimum(np.searchsorted(alphabet.characters, codes), len(alphabet.characters) - 1)
    classes = np.where(alphabet.characters[places] == codes, alphabet.classes[places], UNKNOWN)
    return np.where(codes == 0, _BREAK, classes)


def discounts(counts: Ints) -> Doubles:
    """Chen and Goodman's D1, D2 and D3+, by how many entries occur once, twice, three and four times."""
    n1, n2, n3, n4 = (int((counts == n).sum()) for n in (1, 2, 3, 4))
    if not n1 or not n2:
        return np.array([0, 0.5, 0.75, 0.75])
    share = n1 / (n1 + 2 * n2)
    found = [1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3 if n3 else 1.5]
    return np.array([0.0, *(min(max(d, 0.05), 0.95 * n) for n, d in enumerate(found, start=1))])


@dataclass(frozen=True)
class Counts:
    """How often each triple, pair and class occurs; of the last two, what has nobody before it apart."""

    classes: int
    triples: Ints
    triple_counts: Ints
    pairs: Ints
    pair_starts: Ints
    first_starts: Ints


def count(classes: Ints, size: int) -> Counts:
    """The triples of a text with breaks in it; none of them goes over a break."""
    inside = classes != _BREAK
    pair_at = np.flatnonzero(inside[:-1] & inside[1:])
    pair_keys = (classes[pair_at] << 16) | classes[pair_at + 1]
    starts = pair_at[~inside[pair_at - 1]]
    triple_at = pair_at[inside[pair_at - 1]]
    keys = (classes[triple_at - 1] << 32) | (classes[triple_at] << 16) | classes[triple_at + 1]
    triples, triple_counts = np.unique(keys, return_counts=True)
    pairs = np.unique(pair_keys)
    start_keys = (classes[starts] << 16) | classes[starts + 1]
    pair_starts = np.bincount(np.searchsorted(pairs, start_keys), minlength=len(pairs))
    heads = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    first_starts = np.bincount(classes[heads], minlength=size)
    return Counts(size, triples, triple_counts, pairs, pair_starts, first_starts)


@dataclass(frozen=True)
class Level:
    """One order smoothed: each entry's probability, what backing off would give it, and contexts' weights."""

    probability: Doubles
    backed_off: Doubles
    contexts: Ints
    weights: Doubles
    """Of each context: the share of the order below; a context that is not here has 1."""


def smooth(keys: Ints, counts: Ints, kept: NDArray[np.bool_], lower: Doubles) -> Level:
    """One order over the one below, of which `lower` has each entry's probability.

    An entry that is kept gives its discount to the order below, one that is not gives all its counts.
    """
    contexts, place = np.unique(keys >> 16, return_inverse=True)
    totals = np.bincount(place, counts, len(contexts))
    discounted = counts - discounts(counts)[np.minimum(counts, 3)]
    own = np.where(kept, discounted, 0.0) / totals[place]
    weights = 1.0 - np.bincount(place, own, len(contexts)).astype(np.float64)
    backed_off = weights[place] * lower
    return Level(own + backed_off, backed_off, contexts, weights)


def passed_down(keys: Ints, counts: Ints, kept: NDArray[np.bool_], below: Ints, bits: int) -> Ints:
    """The counts that the entries give to those of the order below, which are their last `bits` bits."""
    place = np.searchsorted(below, keys & ((1 << bits) - 1))
    return np.bincount(place, np.where(kept, 1, counts), len(below)).astype(np.int64)


@dataclass(frozen=True)
class Pairs:
    """The two lower orders: classes alone, and the pairs that were kept."""

    first: Doubles
    first_weight: Doubles
    keys: Ints
    probability: Doubles

    def probability_of(self, keys: Ints) -> Doubles:
        """The probability of any pair's second class after its first."""
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        backed_off = self.first_weight[keys >> 16] * self.first[keys & 0xFFFF]
        if not len(self.keys):
            return backed_off
        return np.where(self.keys[place] == keys, self.probability[place], backed_off)


def fit(counts: Counts, threshold: float = 0.0) -> Trigrams:
    """The smoothed model; entries whose gain, in nats over the whole text, is below the threshold go."""
    kept = np.ones(len(counts.triples), bool)
    last_two = counts.triples & 0xFFFFFFFF
    if threshold > 0:
        whole = fit_pairs(counts, kept).probability_of(last_two)
        level = smooth(counts.triples, counts.triple_counts, kept, whole)
        kept = gain(counts.triple_counts, level) >= threshold
    pairs = fit_pairs(counts, kept, threshold)
    level = smooth(counts.triples, counts.triple_counts, kept, pairs.probability_of(last_two))
    weight, stay = np.ones(len(pairs.keys)), np.isin(level.contexts, pairs.keys, assume_unique=True)
    weight[np.searchsorted(pairs.keys, level.contexts[stay])] = level.weights[stay]
    lower = (pairs.first, pairs.first_weight, pairs.keys, pairs.probability)
    return Trigrams(*lower, weight, counts.triples[kept], level.probability[kept])


def fit_pairs(counts: Counts, kept: NDArray[np.bool_], threshold: float = 0.0) -> Pairs:
    """The lower orders below these triples; pairs with which one of them begins stay in any case."""
    given = passed_down(counts.triples, counts.triple_counts, kept, counts.pairs, 32)
    pair_counts = counts.pair_starts + given
    stay = np.ones(len(counts.pairs), bool)
    if threshold > 0:
        level = smooth(
            counts.pairs, pair_counts, stay, fit_first(counts, pair_counts, stay)[counts.pairs & 0xFFFF]
        )
        begun = np.isin(counts.pairs, counts.triples[kept] >> 16)
        stay = begun | (gain(pair_counts, level) >= threshold)
    first = fit_first(counts, pair_counts, stay)
    level = smooth(counts.pairs, pair_counts, stay, first[counts.pairs & 0xFFFF])
    weight = np.ones(counts.classes)
    weight[level.contexts] = level.weights
    return Pairs(first, weight, counts.pairs[stay], level.probability[stay])


def fit_first(counts: Counts, pair_counts: Ints, kept: NDArray[np.bool_]) -> Doubles:
    """Classes alone, over an even distribution."""
    below = np.arange(counts.classes)
    own = counts.first_starts + passed_down(counts.pairs, pair_counts, kept, below, 16)
    discounted = (own - discounts(own)[np.minimum(own, 3)]) / own.sum()
    return np.asarray(discounted + (1 - discounted.sum()) / counts.classes)


def gain(counts: Ints, level: Level) -> Doubles:
    """What an entry is worth: the log-likelihood of its occurrences against that of backing off."""
    return np.asarray(counts * np.log(level.probability / level.backed_off))


def perplexity(model: Trigrams, classes: Ints) -> float:
    """Of a text with breaks in it, the first character of each piece included."""
    total, number = 0.0, 0
    inside = np.flatnonzero(classes != _BREAK)
    for at in np.array_split(inside, max(len(inside) // 1_000_000, 1)):
        total += float(np.log(probability(model, *_histories(classes, at))).sum())
        number += len(at)
    return float(np.exp(-total / max(number, 1)))


def _histories(classes: Ints, at: Ints) -> tuple[Ints, Ints, Ints]:
    """The two classes before each place, NOBODY where a break comes before, and the class there."""
    last = np.where(classes[at - 1] == _BREAK, NOBODY, classes[at - 1])
    before = np.where((last == NOBODY) | (classes[at - 2] == _BREAK), NOBODY, classes[at - 2])
    return before, last, classes[at]


def probability(model: Trigrams, before: Ints, last: Ints, now: Ints) -> Doubles:
    """As `LanguageModel.log_probability`, but no logarithm, and before anything is rounded to levels."""
    padded = np.append(model.first_weight, 1.0)
    first_weight = padded[np.minimum(last, len(padded) - 1)]
    pair = np.where(last == NOBODY, -1, (last << 16) | now)
    found = _look_up(model.pairs, model.pair_probability, pair, -1.0)
    second = np.where(found >= 0, found, first_weight * model.first[now])
    context = np.where(before == NOBODY, -1, (before << 16) | last)
    weight = _look_up(model.pairs, model.pair_weight, context, 1.0)
    third = _look_up(model.triples, model.triple_probability, (context << 16) | now, -1.0)
    return np.where(third >= 0, third, weight * second)


def _look_up(keys: Ints, values: Doubles, wanted: Ints, default: float) -> Doubles:
    if not len(keys):
        return np.full(wanted.shape, default)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], default)
