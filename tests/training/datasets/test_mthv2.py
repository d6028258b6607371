"""MTHv2 on small files of its shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.page import Char
from tongguocr.training.datasets import read_dataset, read_mthv2
from tongguocr.training.datasets.labels import clockwise, page_name


def add_page(
    root: Path, part: str, name: str, lines: str, chars: str | None = None, image: str | None = ".jpg"
) -> None:
    for folder in ("img", "label_textline", "label_char"):
        (root / part / folder).mkdir(parents=True, exist_ok=True)
    (root / part / "label_textline" / f"{name}.txt").write_bytes(lines.encode())
    if chars is not None:
        (root / part / "label_char" / f"{name}.txt").write_bytes(chars.encode())
    if image is not None:
        Image.new("L", (300, 400)).save(root / part / "img" / f"{name}{image}")


def test_a_page_with_its_characters(tmp_path: Path) -> None:
    lines = "\ufeff天地,120,10,100,10,100,50,120,50\r\n\r\n玄,黃,80,51.5,60,50,60,10,80,10\r\n"
    chars = "天 100 10 120 30\r\n地 100 30 120 50\n玄,60,10,80,23\n,,60,23,80,36\n黃,60,36,80,50\n\n"
    add_page(tmp_path, "TKH", "V1.P2", lines, chars)
    page = next(read_mthv2(tmp_path))
    assert (page.image, page.width, page.height) == ("TKH/img/V1.P2.jpg", 300, 400)
    assert page.text == "天地\n玄,黃"
    assert page.lines[0].polygon == ((100, 10), (120, 10), (120, 50), (100, 50))
    assert page.lines[1].polygon == ((60, 10), (80, 10), (80, 51.5), (60, 50))
    assert page.lines[1].box == (60, 10, 80, 51.5)
    assert page.lines[0].chars == (Char("天", (100, 10, 120, 30)), Char("地", (100, 30, 120, 50)))
    assert [c.text for c in page.lines[1].chars] == ["玄", ",", "黃"]
    assert [line.id for line in page.lines] == ["l1", "l2"]


def test_directions_are_guessed(tmp_path: Path) -> None:
    add_page(tmp_path, "TKH", "a", "天地,0,0,90,0,90,9,0,9\n天地,0,0,9,0,9,90,0,90\n")
    assert [x.direction for x in next(read_mthv2(tmp_path)).lines] == ["left-to-right", "top-to-bottom"]


def test_without_image_and_characters(tmp_path: Path) -> None:
    add_page(tmp_path, "MTH1000", "a", "天,-5,10,20,10,20,50.5,-5,50", image=None)
    page = next(read_mthv2(tmp_path))
    assert (page.image, page.width, page.height) == ("MTH1000/img/a", 20, 51)
    assert page.lines[0].chars == ()


def test_a_page_without_lines(tmp_path: Path) -> None:
    add_page(tmp_path, "MTH1000", "a", "", "", image=None)
    page = next(read_mthv2(tmp_path))
    assert (page.width, page.height, page.lines) == (0, 0, ())


@pytest.mark.parametrize("image", [".jpg", ".png", ".PNG"])
def test_splits_follow_the_official_lists(tmp_path: Path, image: str) -> None:
    for part, name in (("MTH1000", "a"), ("MTH1200", "b"), ("TKH", "c"), ("TKH", "a")):
        add_page(tmp_path, part, name, f"{part}{name},0,0,1,0,1,1,0,1", image=image)
    (tmp_path / "train.txt").write_text(f"\ufeffb{image}\r\n\r\nTKH/img/a{image}\nc\n", encoding="utf-8")
    (tmp_path / "test.txt").write_text("MTH1000\\a.txt\n")
    assert [page.text for page in read_dataset("mthv2", tmp_path, "train")] == ["MTH1200b", "TKHa", "TKHc"]
    assert [page.text for page in read_mthv2(tmp_path, "test")] == ["MTH1000a"]
    assert [page.text for page in read_mthv2(tmp_path)] == ["MTH1000a", "MTH1200b", "TKHa", "TKHc"]


@pytest.mark.parametrize(
    ("lines", "chars", "sentence"),
    [
        (
            "天,0,0,1,0,1,1,0,1\n\n地,0,0,1\n",
            None,
            r"label_textline/a\.txt: row 3 is not a label: '地,0,0,1'\.$",
        ),
        ("天,0,0,1,0,1,1,0,x", None, r"label_textline/a\.txt: row 1: 'x' is not a number\.$"),
        ("天,0,0,1,0,1,1,0,nan", None, r"label_textline/a\.txt: row 1: 'nan' is not a number\.$"),
        ("天,0,0,1,0,1,1,0,1", "天 0 0 1\n", r"label_char/a\.txt: row 1 is not a label: '天 0 0 1'\.$"),
        ("天,0,0,1,0,1,1,0,1", "天 0 0 1 1e99\n", r"label_char/a\.txt: row 1: '1e99' is too large\.$"),
    ],
)
def test_a_bad_row_names_file_and_row_and_the_rest_goes_on(
    lines: str, chars: str | None, sentence: str, tmp_path: Path
) -> None:
    add_page(tmp_path, "TKH", "a", lines, chars)
    add_page(tmp_path, "TKH", "b", "好,0,0,1,0,1,1,0,1")
    with pytest.raises(InputError, match=sentence):
        list(read_mthv2(tmp_path))
    errors: list[InputError] = []
    assert [page.text for page in read_mthv2(tmp_path, on_error=errors.append)] == ["好"]
    assert len(errors) == 1


def test_other_encodings_and_broken_images_are_errors_of_their_page(tmp_path: Path) -> None:
    add_page(tmp_path, "TKH", "a", "天,0,0,1,0,1,1,0,1")
    add_page(tmp_path, "TKH", "b", "天,0,0,1,0,1,1,0,1")
    (tmp_path / "TKH" / "label_textline" / "a.txt").write_bytes("天地,1".encode("gb18030"))
    (tmp_path / "TKH" / "img" / "b.jpg").write_bytes(b"junk")
    errors: list[InputError] = []
    assert list(read_mthv2(tmp_path, on_error=errors.append)) == []
    assert "not UTF-8" in str(errors[0]) and "image cannot be read" in str(errors[1])


def test_names_in_a_list_that_mean_no_page_or_two(tmp_path: Path) -> None:
    add_page(tmp_path, "TKH", "a", "天,0,0,1,0,1,1,0,1")
    add_page(tmp_path, "MTH1000", "a", "天,0,0,1,0,1,1,0,1")
    (tmp_path / "train.txt").write_text("a\ngone\nTKH/gone\n")
    errors: list[InputError] = []
    assert list(read_mthv2(tmp_path, "train", errors.append)) == []
    assert [str(e).split(": ", 1)[1] for e in errors] == [
        "the page 'a' is in MTH1000 and TKH.",
        "the page 'gone' has no line labels.",
        "there is no such file.",
    ]


def test_what_is_missing_altogether_is_raised_in_any_case(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the folders MTH1000, MTH1200, TKH"):
        list(read_mthv2(tmp_path, on_error=lambda error: None))
    add_page(tmp_path, "TKH", "a", "天,0,0,1,0,1,1,0,1")
    with pytest.raises(InputError, match=r"train\.txt: there is no such file"):
        list(read_mthv2(tmp_path, "train", on_error=lambda error: None))
    with pytest.raises(InputError, match="no split 'val'"):
        list(read_mthv2(tmp_path, "val"))


def test_names_keep_their_dots() -> None:
    names = ["a/b/V1.P2.jpg", "V1.P2", "x.TXT", "x.jpeg", "x.y.z"]
    assert [page_name(name) for name in names] == ["V1.P2", "V1.P2", "x", "x", "x.y.z"]


@given(st.permutations([(10, 20), (30, 21), (31, 90), (9, 88)]))
def test_corners_in_any_order_become_clockwise_from_the_top_left(corners: list[tuple[float, float]]) -> None:
    assert clockwise(corners) == ((10, 20), (30, 21), (31, 90), (9, 88))


@given(st.permutations([(3, 0), (10, 6), (7, 10), (0, 4)]))
def test_a_slanted_line_starts_at_the_corner_nearest_the_top_left(corners: list[tuple[float, float]]) -> None:
    assert clockwise(corners) == ((3, 0), (10, 6), (7, 10), (0, 4))
