"""M5HisDoc on small files of its shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_files import LINE, add_page

from tongguocr.errors import InputError
from tongguocr.training.datasets import read_dataset, read_m5hisdoc


def test_numbers_come_first_and_the_text_may_hold_commas(tmp_path: Path) -> None:
    add_page(
        tmp_path, "regular", "a", LINE.format("天,𠀀"), "0,0,10,7,天\r\n0,7,10,13,,\r\n0.5,13.25,10,20,𠀀\r\n"
    )
    page = next(read_m5hisdoc(tmp_path))
    assert (page.image, page.width, page.height) == ("M5HisDoc_regular/images/a.png", 30, 40)
    assert page.lines[0].text == "天,𠀀"
    assert page.lines[0].box == (0, 0, 10, 20)
    assert page.lines[0].polygon == ((0, 0), (10, 0.5), (10, 20), (0, 20))
    assert [c.text for c in page.lines[0].chars] == ["天", ",", "𠀀"]
    assert page.lines[0].chars[2].box == (0.5, 13.25, 10, 20)


@pytest.mark.parametrize("beside", [True, False])
def test_splits_and_halves(tmp_path: Path, beside: bool) -> None:
    for half in ("regular", "hard"):
        for name in ("a", "b", "c"):
            add_page(tmp_path, half, name, LINE.format(half + name))
        lists = tmp_path if beside else tmp_path / f"M5HisDoc_{half}"
        (lists / "split_val.txt").write_text("c.jpg\na\n")
    found = {
        kind: [p.text for p in read_dataset(kind, tmp_path, "val")]
        for kind in ("m5hisdoc", "m5hisdoc-hard", "m5hisdoc-both")
    }
    assert found == {
        "m5hisdoc": ["regularc", "regulara"],
        "m5hisdoc-hard": ["hardc", "harda"],
        "m5hisdoc-both": ["regularc", "regulara", "hardc", "harda"],
    }
    assert [p.text for p in read_dataset("m5hisdoc-regular", tmp_path)] == [
        "regulara",
        "regularb",
        "regularc",
    ]


def test_bad_rows_are_errors_of_their_page(tmp_path: Path) -> None:
    add_page(tmp_path, "hard", "a", "0,0,10,天")
    add_page(tmp_path, "hard", "b", LINE.format("天"), "0,0,10,天\n")
    add_page(tmp_path, "hard", "c", LINE.format("天"), "0,0,10,5,\n")
    add_page(tmp_path, "hard", "d", LINE.format("好"))
    errors: list[InputError] = []
    assert [page.text for page in read_m5hisdoc(tmp_path, half="hard", on_error=errors.append)] == ["好"]
    assert [str(e).rsplit("/", 1)[1] for e in errors] == [
        "a.txt: row 1 is not a label: '0,0,10,天'.",
        "b.txt: row 1 is not a label: '0,0,10,天'.",
        "c.txt: row 1 must hold a character and four numbers.",
    ]


@pytest.mark.parametrize(
    ("split", "half", "sentence"),
    [
        ("dev", "regular", "no split 'dev'"),
        (None, "regular", "no folder M5HisDoc_regular"),
        (None, "easy", "no half 'easy'"),
        (None, "hard", "no folder M5HisDoc_hard"),
    ],
)
def test_what_is_not_there_is_one_sentence(split: str, half: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        list(read_m5hisdoc(tmp_path, split, half))
