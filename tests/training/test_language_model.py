"""Kneser-Ney by brute force, pruning, sizes, and the folder that the command writes."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tongguocr import cli
from tongguocr.engines.language_model import NOBODY, load_language, parse_language
from tongguocr.errors import InputError
from tongguocr.training.language_file import Recipe, render_language, to_levels, train_language
from tongguocr.training.language_model import (
    Alphabet,
    Counts,
    count,
    discounts,
    fit,
    make_alphabet,
    perplexity,
    probability,
    texts_of,
    to_classes,
    to_codes,
)
from tongguocr.training.synth.text import Document

LETTERS = "天地玄黃宇宙"


def sentences(number: int = 60, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(LETTERS, (9, 6, 4, 3, 2, 1), k=rng.randrange(1, 9))) for _ in range(number)]


def counted(texts: list[str], min_count: int = 1) -> tuple[Counts, Alphabet]:
    codes = to_codes(texts)
    alphabet = make_alphabet(codes, min_count)
    return count(to_classes(codes, alphabet), alphabet.size), alphabet


def ids(*classes: int) -> list[np.ndarray]:
    return [np.array([one], np.int64) for one in classes]


def brute_force(texts: list[list[int]], size: int, before: int, last: int, now: int) -> float:
    """Interpolated modified Kneser-Ney as its authors write it, with dictionaries; nothing pruned."""
    triples = Counter(tuple(t[k - 2 : k + 1]) for t in texts for k in range(2, len(t)))
    pairs = Counter(triple[1:] for triple in triples) + Counter(tuple(t[:2]) for t in texts if len(t) > 1)
    ones = Counter(dict.fromkeys(range(size), 0))
    ones.update(pair[1] for pair in pairs)
    ones.update(t[0] for t in texts if t)

    def smooth(counts: Counter, context: tuple[int, ...], lower: float) -> float:
        cut = discounts(np.array(list(counts.values())))
        inside = {key: n for key, n in counts.items() if key[: len(context)] == context}
        total = sum(inside.values())
        if not total:
            return lower
        left = sum(cut[min(n, 3)] for n in inside.values())
        own = inside.get((*context, now), 0)
        return float((own - cut[min(own, 3)] + left * lower) / total)

    first = smooth(Counter({(n,): c for n, c in ones.items()}), (), 1 / size)
    second = first if last == NOBODY else smooth(pairs, (last,), first)
    return second if before == NOBODY else smooth(triples, (before, last), second)


def test_kneser_ney_is_what_its_definition_says() -> None:
    texts = sentences()
    counts, alphabet = counted(texts)
    number = {chr(c): n for c, n in zip(alphabet.characters.tolist(), alphabet.classes.tolist(), strict=True)}
    numbers = [[number[c] for c in text] for text in texts]
    model = fit(counts)
    known = range(alphabet.size)
    histories = [(NOBODY, NOBODY), *((NOBODY, n) for n in known), *product(known, known)]
    for (before, last), now in product(histories[::3], known):
        wanted = brute_force(numbers, alphabet.size, before, last, now)
        assert probability(model, *ids(before, last, now))[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 2.0, 1e9])
def test_probabilities_sum_to_one_after_every_history(threshold: float) -> None:
    counts, alphabet = counted(sentences())
    model = fit(counts, threshold)
    now = np.arange(alphabet.size)
    known = range(alphabet.size)
    for before, last in [(NOBODY, NOBODY), *((NOBODY, n) for n in known), *product(known, known)]:
        history = (np.full(len(now), before), np.full(len(now), last))
        assert probability(model, *history, now).sum() == pytest.approx(1)


def test_pruning_goes_from_everything_to_nothing() -> None:
    counts, _ = counted(sentences())
    sizes = [len(fit(counts, threshold).triples) for threshold in (0.0, 0.5, 1.0, 4.0, 1e9)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == len(counts.triples) and sizes[-1] == 0


def test_every_pair_that_begins_a_triple_is_kept() -> None:
    model = fit(counted(sentences())[0], 1.0)
    assert set((model.triples >> 16).tolist()) <= set(model.pairs.tolist())


def test_perplexity_is_lower_where_the_text_is_known() -> None:
    codes = to_codes(sentences())
    alphabet = make_alphabet(codes, 1)
    classes = to_classes(codes, alphabet)
    model = fit(count(classes, alphabet.size))
    other = to_classes(to_codes(sentences(seed=2)), alphabet)
    assert 1 < perplexity(model, classes) < perplexity(model, other) < alphabet.size


def test_the_file_says_what_the_model_says() -> None:
    counts, alphabet = counted(sentences(300))
    model = fit(counts, 0.5)
    opened = parse_language(render_language(model, alphabet), Path("a.npz"))
    assert opened.size == (alphabet.size, len(model.pairs), len(model.triples))
    known = [*range(alphabet.size)]
    triples = np.array([*product([NOBODY, *known], known, known)], np.int64).T
    assert np.allclose(opened.log_probability(*triples), np.log(probability(model, *triples)), atol=0.05)


def test_levels_are_few_and_near() -> None:
    values = np.random.default_rng(0).normal(size=5000)
    numbers, levels = to_levels(values)
    assert len(levels) == 256 and np.abs(levels[numbers] - values).mean() < 0.01
    assert len(to_levels(np.zeros(0))[0]) == 0


def test_notes_are_texts_of_their_own_and_go_on_in_the_next_column() -> None:
    document = Document("a", 20, ("\u3000天地（注文）玄", "黃（上半）", "（下半）宇宙", "", "-"))
    assert [text.replace("-", "") for text in texts_of(document)] == ["天地玄黃宇宙", "注文", "上半下半"]


def test_triples_never_go_over_the_end_of_a_text() -> None:
    counts, alphabet = counted(["天地", "玄黃宇"])
    assert len(counts.triples) == 1 and len(counts.pairs) == 3
    assert int(counts.pair_starts.sum()) == 2 and int(counts.first_starts.sum()) == 2
    assert alphabet.size == 6


def test_forms_of_one_character_are_one_class_even_if_the_text_has_one_of_them() -> None:
    alphabet = make_alphabet(to_codes(["雲峯爲"]), 1)
    number = dict(zip(map(chr, alphabet.characters.tolist()), alphabet.classes.tolist(), strict=True))
    assert number["峯"] == number["峰"] and number["為"] == number["爲"] != number["峰"]


def test_the_command_writes_a_folder_that_opens(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(sentences(3000)), encoding="utf-8")
    assert cli.main(["train-language", str(text), "-o", str(tmp_path / "out")]) == 0
    assert load_language(tmp_path / "out").size[0] == len(LETTERS) + 1


def test_a_size_is_kept(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    rng = random.Random(3)
    text.write_text(
        "".join(chr(0x4E00 + int(rng.expovariate(0.01))) for _ in range(40_000)), encoding="utf-8"
    )
    said: list[str] = []
    train_language(text, tmp_path / "out", Recipe(max_bytes=40_000), said.append)
    assert (tmp_path / "out" / "trigrams.npz").stat().st_size <= 40_000
    with pytest.raises(InputError, match="even the smallest model"):
        train_language(text, tmp_path / "none", Recipe(max_bytes=100), said.append)


def test_a_text_without_any_character_often_enough_is_one_sentence() -> None:
    with pytest.raises(InputError, match="occurs 5 times"):
        make_alphabet(to_codes(["天地"]), 5)
