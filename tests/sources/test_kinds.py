"""Files that are not what their names say: read by their content, or one sentence that says what they are."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from job_readers import open_quick
from PIL import Image, features

import tongguocr
from tongguocr import cli
from tongguocr.cli import read_here
from tongguocr.errors import InputError
from tongguocr.proofread.book import open_book
from tongguocr.sources import MemoryFile, is_one_image, open_source

SHADES = (7, 9)
IMAGES = ["JPEG", "PNG", "TIFF", "GIF", "WEBP", "JPEG2000", "AVIF"]


def written(format: str, pages: int = 1) -> bytes:
    """A file of so many pages of one shade each."""
    images = [Image.fromarray(np.full((40, 30), shade, np.uint8)) for shade in SHADES[:pages]]
    more = {"save_all": True, "append_images": images[1:]} if pages > 1 else {}
    images[0].save(data := io.BytesIO(), format, **more)
    return data.getvalue()


def shades(source: Path | MemoryFile) -> list[int]:
    return [round(float(page.load().mean())) for page in open_source(source)]


def run_here(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


@pytest.mark.parametrize("format", IMAGES)
@pytest.mark.parametrize("name", ["scan.pdf", "scan.zip", "scan.json", "scan.djvu", "scan"])
def test_an_image_is_read_whatever_it_is_called(tmp_path: Path, format: str, name: str) -> None:
    part = {"JPEG2000": "jpg_2000", "AVIF": "avif"}.get(format)
    if part and not features.check(part):
        pytest.skip("this Pillow was built without it")
    (tmp_path / name).write_bytes(written(format))
    (shade,) = shades(tmp_path / name)
    assert abs(shade - SHADES[0]) <= 3 and is_one_image(tmp_path / name)


def test_files_of_several_pages_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    for format, name in (("PDF", "book.jpg"), ("PDF", "book.tif"), ("TIFF", "book.pdf")):
        (tmp_path / name).write_bytes(written(format, 2))
        assert shades(tmp_path / name) == list(SHADES) and not is_one_image(tmp_path / name)
    assert shades(MemoryFile("stdin", "stdin", written("PDF", 2))) == list(SHADES)


def test_the_command_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(read_here, "open_reader", open_quick)
    monkeypatch.setattr("tongguocr.reader.open_reader", open_quick)
    (tmp_path / "scan.pdf").write_bytes(written("PNG"))
    (tmp_path / "book.jpg").write_bytes(written("PDF", 2))
    texts = [chr(0x4E00 + shade) for shade in SHADES]
    assert run_here("read", tmp_path / "scan.pdf") == 0
    assert capsys.readouterr().out.split() == texts[:1]
    assert run_here("read", tmp_path / "book.jpg", "-o", tmp_path / "b.txt", "--quiet") == 0
    assert (tmp_path / "b.txt").read_text("utf-8").split() == texts
    # A page of its PDF is shown by no browser.
    assert run_here("read", tmp_path / "book.jpg", "-o", tmp_path / "b.manifest.json", "--quiet") == 0
    assert "b.pages/book-0001" in (tmp_path / "b.manifest.json").read_text("utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "named"), [("PDF", "a PDF"), ("ZIP", "a ZIP archive")])
def test_what_is_no_image_among_images_is_named(
    tmp_path: Path, name: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        archive.writestr("a.txt", "x")
    data = written("PDF") if name == "PDF" else made.getvalue()
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "p1.jpg"
    path.write_bytes(data)
    with zipfile.ZipFile(tmp_path / "book.zip", "w") as archive:
        archive.write(path, "p1.jpg")
    for source in (tmp_path / "in", tmp_path / "book.zip"):
        (page,) = open_source(source)
        with pytest.raises(InputError, match=f"p1.jpg: this is {named}, not an image."):
            page.load()
    with pytest.raises(InputError, match=f"this is {named}, not an image."):
        tongguocr.read(path)
    assert run_here("lines", path, "-o", tmp_path / "lines.json") == 2
    assert capsys.readouterr().err == f"tongguocr: {path}: this is {named}, not an image.\n"


def test_a_pdf_with_the_name_of_an_image_is_proofread(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "book.jpg").write_bytes(written("PDF"))
    (page,) = open_book(str(tmp_path / "book.jpg")).pages
    assert page.source is not None
    for _ in range(2):
        assert abs(float(page.source.load().mean()) - SHADES[0]) <= 3
