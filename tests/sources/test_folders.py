"""LabelFolders: the order of their images, what is passed over, and names that never clash."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.sources import open_source, passed_over


def make(path: Path, value: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (3, 2), value).save(path)


def names(folder: Path, pages: str | None = None, recursive: bool = False) -> list[str]:
    return [page.name for page in open_source(folder, pages, recursive)]


def test_natural_order_and_what_is_passed_over(tmp_path: Path) -> None:
    for name in ("page10.png", "page2.PNG", "page.png", "Page1.jpg", ".hidden.png", "sub/page3.png"):
        make(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "folder.png").mkdir()
    assert names(tmp_path) == ["page", "Page1", "page2", "page10"]
    assert names(tmp_path, "2-3") == ["Page1", "page2"]
    assert names(tmp_path, recursive=True) == ["page", "Page1", "page2", "page10", "sub_page3"]


def test_a_link_round_and_round(tmp_path: Path) -> None:
    make(tmp_path / "sub" / "a.png")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "sub" / ".git").mkdir()
    make(tmp_path / "sub" / ".git" / "b.png")
    assert names(tmp_path, recursive=True) == ["sub_a"]


def test_names_never_clash(tmp_path: Path) -> None:
    for name, value in (("a.jpg", 0), ("a.png", 90), ("b-0001.png", 180), ("c.png", 9), ("C.jpg", 9)):
        make(tmp_path / name, value)
    first, second = Image.new("L", (3, 2), 30), Image.new("L", (3, 2), 60)
    first.save(tmp_path / "b.tif", save_all=True, append_images=[second])
    found = {page.name: int(page.load().flat[0]) for page in open_source(tmp_path)}
    assert found.pop("c.png") == 9 and found.pop("C.jpg") in (8, 9, 10)
    assert found == {"a.jpg": 0, "a.png": 90, "b-0001": 30, "b-0002": 60, "b-0001_2": 180}


def test_numbers_count_through_the_folder(tmp_path: Path) -> None:
    make(tmp_path / "a.png")
    Image.new("L", (3, 2)).save(tmp_path / "b.tif", save_all=True, append_images=[Image.new("L", (3, 2))])
    make(tmp_path / "c.png")
    assert [(p.number, p.name) for p in open_source(tmp_path, "2,4")] == [(2, "b-0001"), (4, "c")]


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    make(tmp_path / "a.png", 7)
    (tmp_path / "b.tif").write_bytes(b"II*\0 junk")
    (tmp_path / "c.jpg").touch()
    (tmp_path / "d.jpg").symlink_to(tmp_path / "gone.jpg")
    make(tmp_path / "e.png", 8)
    said = []
    for page in open_source(tmp_path):
        try:
            said.append(str(page.load().max()))
        except InputError as error:
            said.append(str(error).split(": ")[0])
    assert said == ["7", *(str(tmp_path / name) for name in ("b.tif", "c.jpg", "d.jpg")), "8"]


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path.name}: there is no image"):
        open_source(tmp_path)


def test_what_is_passed_over_is_known(tmp_path: Path) -> None:
    for name in ("a.png", "book10.pdf", "book2.pdf", ".hidden.pdf", "sub/b.png", "sub/c.docx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert passed_over(tmp_path) == ["book2.pdf", "book10.pdf", "sub/"]
    assert passed_over(tmp_path, recursive=True) == ["book2.pdf", "book10.pdf", "sub/c.docx"]
    assert passed_over(tmp_path / "none") == passed_over("https://example.org/m.json") == []
