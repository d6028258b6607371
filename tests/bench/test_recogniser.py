"""The bench's own reader of development pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from recognise_pages import FakeEngine, make_page, read_as

from bench.pages import load_dev, load_folder
from bench.recogniser import main, mean, score
from tongguocr.errors import InputError
from tongguocr.reader import Reader


def write_dev(folder: Path) -> Path:
    page = make_page(2)
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(folder / "a.png")
    lines = [{"box": page.lines[0].box, "text": "天地（玄黃）"}, {"box": page.lines[1].box, "text": "宇宙"}]
    path = folder / "pages.json"
    path.write_text(json.dumps([{"image": "a.png", "lines": lines}]), encoding="utf-8")
    return path


def reader_of(texts: dict[str, str]) -> Reader:
    """One that always reads these lines."""
    return Reader(FakeEngine(lambda block: read_as(block, texts)))


def test_brackets_of_notes_are_not_on_the_page(tmp_path: Path) -> None:
    (page,) = load_dev(write_dev(tmp_path), tmp_path)
    assert [line.text for line in page.lines] == ["天地玄黃", "宇宙"]
    assert page.pixels is not None and (page.width, page.height) == (240, 280)


def test_scores_are_those_of_the_text(tmp_path: Path) -> None:
    (page,) = load_dev(write_dev(tmp_path), tmp_path)
    perfect = score(page, reader_of({"l1": "天地玄黃", "l2": "宇宙"}))
    assert (perfect.ar, perfect.cr, perfect.length, perfect.marked) == (1, 1, 1, 0)
    half = score(page, reader_of({"l1": "天地玄"}))
    assert (half.ar, half.cr, half.length, half.marked) == (0.5, 0.5, 0.5, 1)
    assert mean([perfect, half]).ar == 0.75


@pytest.mark.parametrize(
    "text", ["{", "[1]", '[{"image": "a.png"}]', '[{"image": "a.png", "lines": [{"box": [1]}]}]']
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = write_dev(tmp_path)
    path.write_text(text)
    with pytest.raises(InputError, match=r"pages\.json"):
        list(load_dev(path, tmp_path))


def test_a_page_without_its_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({}))
    with pytest.raises(InputError, match=r"x\.json"):
        list(load_folder(tmp_path))


def test_an_empty_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no pages"):
        main([str(tmp_path)])
