"""HisDoc1B on small files of its shape, whatever its fields are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_files import add_book

from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Page
from tongguocr.training.datasets import Mapping, read_dataset, read_hisdoc1b


def test_a_book_with_the_default_names(tmp_path: Path) -> None:
    chars = [{"text": "天", "box": [0, 0, 10, 10]}, {"text": "地", "box": [0, 10, 10, 20]}]
    first = {"text": "天地", "box": [10, 20, 0, 0], "chars": chars, "order": 2}
    second = {"text": "玄", "box": [[20, 0], [30, 0], [30, 10], [20, 10]], "order": 1}
    pages = [{"width": 100, "height": 50, "lines": [first, second]}, {"page": 7, "lines": []}]
    add_book(tmp_path, "a", {"pages": pages}, "a.djvu")
    found = list(read_dataset("hisdoc1b", tmp_path))
    polygon = ((20, 0), (30, 0), (30, 10), (20, 10))
    attached = (Char("天", (0, 0, 10, 10)), Char("地", (0, 10, 10, 20)))
    lines = (
        Line("l1", (20, 0, 30, 10), "玄", polygon=polygon),
        Line("l2", (0, 0, 10, 20), "天地", chars=attached),
    )
    assert found == [Page("a.djvu#page=1", 100, 50, lines), Page("a.djvu#page=7", 0, 0)]


def test_other_names_and_a_file_that_is_a_list(tmp_path: Path) -> None:
    add_book(tmp_path, "b", [{"rows": [{"t": "天", "b": [0, 0, 10, 20, 10, 0, 0, 20]}]}], "b.pdf")
    mapping = Mapping(pages="", lines="rows", box="b", text="t")
    page = next(read_dataset("hisdoc1b", tmp_path, mapping=mapping))
    assert (page.image, page.width, page.height) == ("b.pdf#page=1", 10, 20)
    assert page.lines[0].polygon == ((0, 0), (10, 0), (10, 20), (0, 20))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"sheets": []}, "has no key 'pages'"),
        ({"pages": {}}, "the pages must be a list"),
        ({"pages": [{}]}, "page 1 has no key 'lines'"),
        ({"pages": [{"lines": [{"text": "a"}]}]}, "page 1, line 1 has no key 'box'"),
        ({"pages": [{"lines": [{"box": [0, 0, 1, 1]}]}]}, "page 1, line 1 has no key 'text'"),
        ({"pages": [{"lines": [{"box": [0, 0, 1], "text": ""}]}]}, "the box must be four numbers"),
        ({"pages": [{"lines": [{"box": "x", "text": ""}]}]}, "the box must be four numbers"),
        ({"pages": [{"lines": [{"box": [0, 0, 1, 1], "text": "a\nb"}]}]}, "'text' must hold no line break"),
        ({"pages": [{"lines": [{"box": [0, 0, 1, 1], "text": None}]}]}, "'text' must be a text"),
        ({"pages": [{"lines": [{"box": [0, 0, 1, 1], "text": "", "chars": [{}]}]}]}, "has no key 'text'"),
        ({"pages": [3]}, "page 1 has no key 'lines'"),
    ],
)
def test_errors_name_the_key_and_the_next_book_follows(data: object, sentence: str, tmp_path: Path) -> None:
    add_book(tmp_path, "a", data)
    add_book(tmp_path, "b", {"pages": [{"lines": []}]})
    with pytest.raises(InputError, match=sentence):
        list(read_hisdoc1b(tmp_path))
    errors: list[InputError] = []
    assert [page.image for page in read_hisdoc1b(tmp_path, on_error=errors.append)] == ["b#page=1"]
    assert len(errors) == 1 and str(errors[0]).startswith(f"{tmp_path / 'annos' / 'a.json'}")


def test_a_bad_page_does_not_lose_its_book(tmp_path: Path) -> None:
    add_book(tmp_path, "a", {"pages": [{"lines": []}, {}, {"lines": []}]})
    errors: list[InputError] = []
    assert [page.image for page in read_hisdoc1b(tmp_path, on_error=errors.append)] == [
        "a#page=1",
        "a#page=3",
    ]
    assert "page 2 has no key 'lines'" in str(errors[0])


def test_no_annotations_and_no_splits(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no annos/NAME\.json"):
        list(read_hisdoc1b(tmp_path))
    with pytest.raises(InputError, match="has no splits"):
        read_dataset("hisdoc1b", tmp_path, "train")
