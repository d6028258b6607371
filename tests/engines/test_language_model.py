"""The shipped language model, and files that are none."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tongguocr.engines.language_model import FILE, NOBODY, SHIPPED_LANGUAGE, UNKNOWN, load_language
from tongguocr.errors import InputError
from tongguocr.variants import groups


def score(text: str) -> float:
    """The log-probability of a text."""
    model = load_language()
    classes = np.array([NOBODY, NOBODY, *model.classes_of(list(text))], np.int64)
    return float(model.log_probability(classes[:-2], classes[1:-1], classes[2:]).sum())


def test_the_shipped_model_is_small_and_knows_the_classics() -> None:
    assert (SHIPPED_LANGUAGE / FILE).stat().st_size <= 5_000_000
    assert score("學而時習之") > score("學而時晉之") > score("之習時而學") - 30


def test_forms_of_one_character_are_alike() -> None:
    model = load_language()
    for main, variants in groups():
        assert len(set(model.classes_of([main, *variants]).tolist())) == 1
    assert score("以為") == score("以爲")
    assert model.classes_of(["為\U000e0100"]) == model.classes_of(["為"])


def test_what_is_not_known_is_one_class() -> None:
    assert load_language().classes_of(["A", "", "○", "\U00030000"]).tolist() == [UNKNOWN] * 4


def test_probabilities_sum_to_about_one() -> None:
    model = load_language()
    now = np.arange(model.size[0])
    for history in ("天地", "子曰", "之之", "龘龘"):
        before, last = model.classes_of(list(history))
        log = model.log_probability(np.full(len(now), before), np.full(len(now), last), now)
        assert np.exp(log.astype(np.float64)).sum() == pytest.approx(1, abs=0.03)
    alone = model.log_probability(np.full(len(now), NOBODY), np.full(len(now), NOBODY), now)
    assert np.exp(alone.astype(np.float64)).sum() == pytest.approx(1, abs=0.03)


def copy(folder: Path) -> Path:
    shutil.copytree(SHIPPED_LANGUAGE, folder)
    return folder


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    folder = copy(tmp_path / "model")
    data = bytearray((folder / FILE).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / FILE).write_bytes(data)
    with pytest.raises(InputError, match=r"trigrams\.npz: the file is not the one"):
        load_language(folder)


def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    import json
    from hashlib import sha256

    for number, data in enumerate(
        (b"", b"PK\x03\x04nothing", (SHIPPED_LANGUAGE / FILE).read_bytes()[:-5000])
    ):
        folder = copy(tmp_path / str(number))
        (folder / FILE).write_bytes(data)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][FILE]["sha256"] = sha256(data).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=r"trigrams\.npz: this is not a language model"):
            load_language(folder)


def test_an_incomplete_manifest_and_a_missing_folder_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        load_language(tmp_path / "none")
    folder = copy(tmp_path / "model")
    (folder / "manifest.json").write_text('{"format": "tongguocr-weights", "version": 1}')
    with pytest.raises(InputError, match="not complete"):
        load_language(folder)
