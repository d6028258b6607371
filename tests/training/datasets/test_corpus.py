"""The text of training splits, by the commands a user types; and text that must not be mined."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_here
from glm_models import make_tokenizer
from published_sets import PublishedSets, write_sets

from tongguocr.tokens.corpus import count_ideographs


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> PublishedSets:
    root = tmp_path_factory.mktemp("sets")
    make_tokenizer().save(str(root / "tokenizer.json"))
    return write_sets(root)


def pages_of(text: str) -> list[str]:
    """The pages in a text that `corpus` wrote, its first line left out."""
    return text.partition("\n")[2].removesuffix("\n\n").split("\n\n")


def test_the_text_of_the_training_splits(sets: PublishedSets, tmp_path: Path) -> None:
    kinds, out = ("mthv2", "m5hisdoc", "hisdoc1b"), tmp_path / "corpus.txt"
    result = run_here("corpus", *map(sets.source, kinds), "-o", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        f"{sets.folder('mthv2')}: the split train of mthv2: 8 pages, 48 characters. Left out: test.",
        f"{sets.folder('m5hisdoc')}: the split train of m5hisdoc: 6 pages, 36 characters."
        " Left out: val and test.",
        f"{sets.folder('hisdoc1b')}: all of hisdoc1b, which has no splits: 12 pages, 72 characters.",
    ]
    text = out.read_text("utf-8")
    assert text.startswith("# tongguocr corpus: train of mthv2, train of m5hisdoc, train of hisdoc1b\n")
    wanted = [*sets.split("mthv2", "train"), *sets.split("m5hisdoc", "train"), *sets.texts["hisdoc1b"]]
    assert pages_of(text) == wanted
    assert sum(count_ideographs([out]).values()) == 48 + 36 + 72


def test_a_data_set_is_mined_for_its_training_split_alone(sets: PublishedSets, tmp_path: Path) -> None:
    vocab = ("vocab", "--tokenizer", sets.root / "tokenizer.json", "-o", tmp_path / "added.txt")
    counts = {}
    for given in (sets.folder("mthv2"), sets.source("mthv2"), sets.folder("m5hisdoc")):
        result = run_here(*vocab, given)
        assert result.returncode == 0, result.stderr
        said, *table = result.stdout.splitlines()
        assert "the split train of" in said and "Left out:" in said
        counts[str(given)] = table
    train = tmp_path / "train.txt"
    train.write_text("".join(sets.split("mthv2", "train")), encoding="utf-8")
    result = run_here(*vocab, train)
    assert counts[str(sets.folder("mthv2"))] == counts[sets.source("mthv2")] == result.stdout.splitlines()


def test_what_cannot_be_done_is_told_before_a_data_set_is_read(sets: PublishedSets, tmp_path: Path) -> None:
    vocab = ("vocab", sets.source("mthv2"), "--tokenizer", sets.root / "tokenizer.json", "-o")
    for options, said in (((tmp_path,), "it is a folder"), ((tmp_path / "a", "--min-count", 0), "1 or more")):
        result = run_here(*vocab, *options)
        assert result.returncode == 2 and said in result.stderr and not result.stdout


def test_validation_and_test_text_is_refused(sets: PublishedSets, tmp_path: Path) -> None:
    vocab = ("vocab", "--tokenizer", sets.root / "tokenizer.json", "-o", tmp_path / "added.txt")
    for kind, split in (("mthv2", "test"), ("m5hisdoc", "val"), ("m5hisdoc-hard", "test")):
        out = tmp_path / f"{split}.txt"
        assert run_here("corpus", sets.source(kind), "--split", split, "-o", out).returncode == 0
        assert pages_of(out.read_text("utf-8")) == sets.split(kind, split)
        refused = run_here(*vocab, out)
        assert refused.returncode == 2
        assert f"this is text of {split} of {kind}; only training text is mined" in refused.stderr
    for given in (
        sets.folder("mthv2") / "TKH",
        sets.folder("m5hisdoc") / "M5HisDoc_regular" / "label_textline" / "page9.txt",
        sets.root,
    ):
        refused = run_here(*vocab, given)
        assert refused.returncode == 2 and "give the data set as KIND=DIR" in refused.stderr
    assert not (tmp_path / "added.txt").exists()


def test_commands_with_mistakes(sets: PublishedSets, tmp_path: Path) -> None:
    out, folder = tmp_path / "c.txt", sets.folder("hisdoc1b")
    (tmp_path / "fields.toml").write_text('[hisdoc1b]\npages = "sheets"\n')
    mistakes = {
        (folder,): "KIND=DIR",
        (f"hisdoc1b={folder}", "--split", "val"): "'hisdoc1b' has no split 'val'",
        (sets.source("mthv2"), "--split", "val"): "'mthv2' has no split 'val'",
        (f"hisdoc1b={folder}", "--stage", tmp_path / "fields.toml"): "has no key 'sheets'",
        (f"mthv2={folder}",): "there is none of the folders",
    }
    for arguments, said in mistakes.items():
        result = run_here("corpus", *arguments, "-o", out)
        assert result.returncode == 2 and said in result.stderr and result.stderr.count("\n") == 1
        assert not out.exists()
