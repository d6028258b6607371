"""Mining, the selection rule on every kind of tokenizer, growing one, and the command itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tongguocr.characters import IDEOGRAPH_BLOCKS
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.tokens.base_tokenizer import open_tokenizer, wrap_tokenizer
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.tokens.vocabulary import grow, make_vocabulary, mine, report, select

SENTENCES = ["天地玄黃宇宙洪荒", "天地天地天地玄黃玄黃玄黃", "日月盈昃辰宿列張"] * 4
RARE = ["龘", "\uf900", "𠀀", "\U0003347f"]
"""A rare ideograph, a compatibility one that NFC and NFKC fold into 豈, Extension B and Extension J."""


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=275, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def metaspace(unk: str | None = "<unk>") -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=unk))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(vocab_size=40, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("天", -1.0), ("豈", -1.0)], 0, False))
    tokenizer.normalizer = normalizers.NFKC()
    return tokenizer


ALL_KINDS = [byte_level, metaspace, word_piece, unigram]


# Mining.


def corpus(tmp_path: Path, text: str, name: str = "corpus.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", ["天", "天地" * 3, "".join(RARE), "天\n" * 50 + "地", "𠀀" * 5000 + "\n天"])
def test_small_and_odd_corpora_give_their_ideographs(tmp_path: Path, text: str) -> None:
    expected = Counter(text)
    expected.pop("\n", None)
    assert mine([corpus(tmp_path, text)]) == expected


ideographs = st.sampled_from([chr(point) for _, a, b in IDEOGRAPH_BLOCKS for point in (a, a + 1, b)])


@given(st.text(st.one_of(ideographs, st.sampled_from("天地a ▁⁇\t\n，〇")), max_size=80).filter(str.strip))
@settings(max_examples=40)
def test_candidates_are_the_ideographs_of_the_corpus(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = corpus(tmp_path_factory.mktemp("mined"), "天" + text)
    expected = Counter(
        char for char in "天" + text if any(a <= ord(char) <= b for _, a, b in IDEOGRAPH_BLOCKS)
    )
    for limit in (0, 10, 10**6):
        assert mine([path], max_characters=limit) == expected


def test_characters_seen_once_in_a_huge_table_are_not_lost(tmp_path: Path) -> None:
    """SentencePiece's coverage is a 32-bit float and reaches 1.0 too early on a large total."""
    rows = [("天", 5 * 10**8), ("地", 10**14), *((chr(0x20000 + i), 1) for i in range(50))]
    path = corpus(tmp_path, "char\ttotal\n" + "".join(f"{c}\t{n}\n" for c, n in rows), "counts.tsv")
    assert mine([path]) == dict(rows)


def test_mining_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mine([corpus(tmp_path, "天地玄黃" * 20)])
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_mining_without_sentencepiece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(MissingExtraError, match=r"tongguocr\[vocab\]"):
        mine([corpus(tmp_path, "天")])


# The selection rule.


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_rule_is_the_papers_on_every_kind_of_tokenizer(kind) -> None:  # type: ignore[no-untyped-def]
    tokenizer = kind()
    counts = dict.fromkeys([*"".join(SENTENCES), *RARE, "豈"], 1)
    for candidate in select(counts, wrap_tokenizer(tokenizer)):
        char = candidate.char
        ids = tokenizer.encode(char, add_special_tokens=False).ids
        assert candidate.added == (char not in tokenizer.get_vocab() and len(ids) > 1)
        assert candidate.comes_back == (tokenizer.decode(ids) == char)


def judged(tokenizer: Tokenizer, chars: str) -> dict[str, tuple[bool, bool, bool]]:
    candidates = select(dict.fromkeys(chars, 1), wrap_tokenizer(tokenizer))
    return {c.char: (c.added, c.unknown, c.comes_back) for c in candidates}


def test_byte_level() -> None:
    assert judged(byte_level(), "天龘\uf900") == {
        "天": (False, False, True),
        "龘": (True, False, True),
        "\uf900": (True, False, True),
    }


def test_word_piece_knows_one_unknown_token() -> None:
    assert judged(word_piece(), "天龘") == {"天": (False, False, True), "龘": (False, True, False)}


def test_metaspace_puts_a_marker_before_the_character() -> None:
    assert judged(metaspace(), "天龘") == {"天": (False, False, True), "龘": (True, True, False)}
    assert judged(metaspace(unk=None), "天龘") == {"天": (False, False, True), "龘": (False, True, False)}


def test_a_normaliser_folds_compatibility_ideographs() -> None:
    assert judged(unigram(), "豈\uf900龘") == {
        "豈": (False, False, True),
        "\uf900": (False, False, False),
        "龘": (False, True, False),
    }


def test_the_most_frequent_come_first_then_the_code_point() -> None:
    counts = {"黃": 1, "天": 9, "地": 1, "𠀀": 9, "玄": 1}
    assert [c.char for c in select(counts, wrap_tokenizer(byte_level()))] == ["天", "𠀀", "地", "玄", "黃"]


def test_the_report_adds_up() -> None:
    lines = report(select(dict.fromkeys("天地龘𠀀", 1), wrap_tokenizer(word_piece()))).splitlines()
    cells = [line.rsplit(maxsplit=3) for line in lines[1:4]]
    assert cells == [
        ["Unified Ideographs", "3", "0", "2"],
        ["Extension B", "1", "0", "0"],
        ["all", "4", "0", "2"],
    ]
    assert lines[4:] == [
        "2 not added are unknown to the tokenizer: a single unknown token, or none.",
        "2 do not come back as themselves from the tokenizer, 2 of them not added.",
    ]
    assert "1 added are unknown" in report(select({"龘": 1}, wrap_tokenizer(metaspace())))
    assert report(select({"龘": 1, "天": 1}, wrap_tokenizer(byte_level()))).splitlines()[-1].split() == [
        "all",
        "2",
        "1",
        "1",
    ]


# Growing.


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_grown_tokenizer_has_one_token_for_each(tmp_path: Path, kind) -> None:  # type: ignore[no-untyped-def]
    tokenizer = kind()
    before = tokenizer.get_vocab()
    ids = grow(tokenizer, RARE, tmp_path / "tokenizer.json")
    assert tokenizer.get_vocab() == before, "the tokenizer itself must stay as it was"
    assert list(ids) == [*TRANSITIONS, *RARE]
    assert sorted(ids.values()) == list(range(len(before), len(before) + 28))
    reloaded = open_tokenizer(tmp_path)
    assert reloaded.get_vocab() == {**before, **ids}
    for token, number in ids.items():
        assert reloaded.encode(token, add_special_tokens=False).ids == [number]
        assert reloaded.decode([number], skip_special_tokens=True) == token


def test_growing_changes_nothing_else(tmp_path: Path) -> None:
    grow(byte_level(), RARE, tmp_path / "tokenizer.json")
    grown = open_tokenizer(tmp_path)
    text = "天地龘<left|far_up>\uf900𠀀 x<left><leftx>"
    ids = grown.encode(text, add_special_tokens=False).ids
    assert grown.decode(ids, skip_special_tokens=True) == text
    assert grown.encode("天地玄黃").ids == byte_level().encode("天地玄黃").ids


def test_growing_again_keeps_the_ids(tmp_path: Path) -> None:
    first = grow(byte_level(), RARE[:2], tmp_path / "a.json")
    second = grow(open_tokenizer(tmp_path / "a.json"), [*RARE[2:], RARE[0]], tmp_path / "b.json")
    assert {token: second[token] for token in [*TRANSITIONS, RARE[0]]} == {
        token: first[token] for token in [*TRANSITIONS, RARE[0]]
    }
    assert {second[RARE[2]], second[RARE[3]]}.isdisjoint(first.values())


def test_ids_with_gaps_are_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "天": 5}, unk_token="[UNK]"))
    with pytest.raises(InputError, match="gaps"):
        grow(tokenizer, ["龘"], tmp_path / "tokenizer.json")
    assert not (tmp_path / "tokenizer.json").exists()


# The command.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    corpus(tmp_path, "天地龘龘龘𠀀\n\uf900𠀀豈", "corpus.txt")
    return tmp_path


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tongguocr.cli", "vocab", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_writes_characters_and_a_table(folder: Path) -> None:
    output = folder / "added.txt"
    done = command(folder / "corpus.txt", "--tokenizer", folder, "-o", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert output.read_bytes().decode() == "龘\n𠀀\n豈\n\uf900\n"
    rows = [line.rsplit(maxsplit=3) for line in done.stdout.splitlines()[1:]]
    assert rows == [
        ["Unified Ideographs", "4", "2", "2"],
        ["Compatibility Ideographs", "1", "1", "0"],
        ["Extension B", "1", "1", "0"],
        ["all", "6", "4", "2"],
    ]


def test_bad_input_is_one_sentence_and_exit_code_2(folder: Path) -> None:
    done = command(folder / "none.txt", "--tokenizer", folder, "-o", folder / "added.txt")
    assert done.returncode == 2
    assert done.stderr == f"tongguocr: {folder / 'none.txt'}: there is no such file or folder.\n"
    assert done.stdout == ""


def test_min_count_drops_rarer_characters(folder: Path) -> None:
    output = folder / "added.txt"
    make_vocabulary([folder / "corpus.txt"], folder, output, min_count=2)
    assert output.read_text(encoding="utf-8") == "龘\n𠀀\n"
    text = make_vocabulary([folder / "corpus.txt"], folder, output, min_count=99)
    assert output.read_text(encoding="utf-8") == ""
    assert text.splitlines()[-1].split() == ["all", "0", "0", "0"]


@pytest.mark.parametrize(
    ("output", "min_count", "complaint"),
    [
        ("added.txt", 0, "--min-count"),
        (".", 1, "cannot be written"),
        ("none/added.txt", 1, "cannot be written"),
        ("corpus.txt", 1, "overwritten"),
    ],
)
def test_an_output_that_would_do_harm(folder: Path, output: str, min_count: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make_vocabulary([folder / "corpus.txt"], folder, folder / output, min_count)
    assert (folder / "corpus.txt").read_text(encoding="utf-8").startswith("天地")


def test_a_tokenizer_that_fails_on_text(folder: Path) -> None:
    broken = json.loads(word_piece().to_str())
    broken["model"]["vocab"], broken["added_tokens"] = {"天": 0}, []
    (folder / "tokenizer.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(InputError, match="fails on a single character"):
        make_vocabulary([folder / "corpus.txt"], folder, folder / "added.txt")
