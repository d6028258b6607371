"""A folder of page files, and the dispatcher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_strategies import example_page
from PIL import Image
from proofread_books import request, typed, write_book

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.proofread.book import open_book
from tongguocr.proofread.output import write_files
from tongguocr.proofread.store import Store
from tongguocr.training.datasets import read_dataset, read_folder
from tongguocr.training.recogniser.labelled import read_pages


def test_every_format_by_name_without_what_is_no_page(tmp_path: Path) -> None:
    for name in ("c.alto.xml", "a.json", "b.xml"):
        write_page(replace(example_page(), image=name), tmp_path / name)
    for name in ("METS.xml", "metadata.xml", ".hidden.json", "notes.txt", "a.png.bak"):
        (tmp_path / name).write_text("<mets/>")
    (tmp_path / "folder.xml").mkdir()
    assert [page.image for page in read_dataset("folder", tmp_path)] == ["a.json", "b.xml", "c.alto.xml"]


@pytest.mark.parametrize("name", ["p.1.json", "p.1.xml", "p.1.alto.xml"])
def test_images_beside_the_pages(name: str, tmp_path: Path) -> None:
    for image in ("p.1.png", "other.png"):
        Image.new("L", (6, 8)).save(tmp_path / image)
    expected = {"other.png": "other.png", "gone.png": "p.1.png", "": "p.1.png"}
    for given, found in expected.items():
        write_page(replace(example_page(), image=given), tmp_path / name)
        assert next(read_folder(tmp_path)).image == found


def test_an_image_that_is_nowhere_keeps_its_name(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "p.json")
    assert next(read_folder(tmp_path)) == example_page()


def test_a_broken_file_is_an_error_and_the_next_follows(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<broken")
    write_page(example_page(), tmp_path / "b.json")
    errors: list[InputError] = []
    assert len(list(read_folder(tmp_path, errors.append))) == 1
    assert "a.xml" in str(errors[0])
    with pytest.raises(InputError, match=r"a\.xml"):
        list(read_folder(tmp_path))


def test_a_page_in_several_formats_is_one_page(tmp_path: Path) -> None:
    for name in ("a.xml", "a.json", "b.alto.xml", "b.xml"):
        write_page(replace(example_page(), image=name), tmp_path / name)
    (tmp_path / "c.json").write_text('{"shapes": []}')
    write_page(replace(example_page(), image="c.xml"), tmp_path / "c.xml")
    assert [page.image for page in read_folder(tmp_path)] == ["a.json", "b.xml", "c.xml"]


def test_of_a_book_the_proofread_pages(tmp_path: Path) -> None:
    book = write_book(tmp_path / "book", pages=4)
    store = Store(open_book(str(book)))
    store.edit(1, request(0, typed("l1", 0, "夫")))
    with pytest.raises(InputError, match="no page of this book is marked"):
        list(read_folder(book))
    store.edit(3, request(0, typed("l1", 0, "元")))
    for number, mark in ((1, True), (3, True), (4, True), (4, False)):
        state = store.mark(number, mark, "")
        write_files(store.book, state.book_page, state.page, state.machine)
    assert [page.text[:2] for page in read_folder(book)] == ["夫地", "元地"]
    # What trains finds their images, too.
    found = read_pages([("folder", book)], say=lambda sentence: None)
    assert [page.image.name for page in found.train + found.validation] == ["p3.png", "p1.png"]


def test_empty_and_missing_folders_and_unknown_kinds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no page files"):
        list(read_folder(tmp_path))
    with pytest.raises(InputError, match="no such folder"):
        list(read_folder(tmp_path / "none"))
    with pytest.raises(InputError, match="no data set kind 'coco'"):
        read_dataset("coco", tmp_path)
