"""`tongguocr read -o BOOK.epub` and the like: whole books, whatever becomes of pages and of the job."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from book_job import command
from iiif_server import Server, image3, png, serving, version3
from job_readers import FAULT, REFUSED, files, open_quick, write_pages
from PIL import Image

from tongguocr import cli
from tongguocr.batch.book import BEGUN, Book, left_over
from tongguocr.cli import read_here
from tongguocr.formats import FORMATS, read_page, write_book
from tongguocr.formats.unread import NOT_READ
from tongguocr.sources import open_source

ENDINGS = [format.ending for format in FORMATS.values() if format.book]
PAGE_MARKS = {
    ".txt": "\f",
    ".md": "# ",
    ".tei.xml": "<pb",
    ".epub": 'epub:type="pagebreak"',
    ".manifest.json": '"Canvas"',
}
"""What each page of a book has; in plain text, each but the last."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are read as the characters of their shades, here and in the processes of a job."""
    monkeypatch.setattr(read_here, "open_reader", open_quick)
    monkeypatch.setattr("tongguocr.reader.open_reader", open_quick)
    # Starting processes takes most of the time of so small jobs; other tests are about them.
    for module in ("batch.run", "batch.listing", "cli.read_here"):
        monkeypatch.setattr(f"tongguocr.{module}.Pool", PoolHere)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as told:
        yield told


class PoolHere:
    """In place of a `Pool`: tasks are done in this process."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]], *given: object) -> None:
        self.prepare = prepare

    def __class_getitem__(cls, kinds: object) -> type[PoolHere]:
        return cls

    def __enter__(self) -> PoolHere:
        return self

    def __exit__(self, *given: object) -> None:
        pass

    def run(self, tasks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        yield from ((task, self.prepare()(task)) for task in tasks)


def read(*arguments: object) -> int:
    return cli.main(["read", *map(str, arguments)])


def text_in(path: Path) -> str:
    """All the text of a file, or of the pages that are in it."""
    if not zipfile.is_zipfile(path):
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist() if "pages-" in name)


def character(shade: int) -> str:
    return chr(0x4E00 + shade)


def test_a_folder_becomes_one_file_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pages(tmp_path / "in", {f"p{k}": 30 + k for k in (1, 2, 10)})
    for n, ending in enumerate(ENDINGS):
        book = tmp_path / f"卷{ending}"
        assert read(folder, "-o", book) == 0
        said = capsys.readouterr()
        assert said.err == "" and f"Book: 3 pages: {book}" in said.out
        # The pages are read once, whatever is made of them.
        assert ("3 read" if n == 0 else "0 read (0 characters), 3 done before") in said.out
        if ending in PAGE_MARKS:
            text = text_in(book)
            assert re.findall("[丟-丨]", text)[:1] == [character(31)]
            order = [text.index(character(30 + k)) for k in (1, 2, 10)]
            assert order == sorted(order)
            assert text.count(PAGE_MARKS[ending]) == (2 if ending == ".txt" else 3)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "卷.pages", *(f"卷{e}" for e in ENDINGS)}
    assert set(files(tmp_path / "卷.pages")) == {BEGUN, "p1.json", "p2.json", "p10.json"}
    # What is corrected there comes into the book.
    page = json.loads((tmp_path / "卷.pages" / "p2.json").read_bytes())
    page["lines"][0]["text"] = "改"
    (tmp_path / "卷.pages" / "p2.json").write_text(json.dumps(page))
    assert read(folder, "-o", tmp_path / "卷.txt", "--quiet") == 0
    assert (tmp_path / "卷.txt").read_text("utf-8").split() == [character(31), "改", character(40)]
    assert capsys.readouterr().out == ""


def test_a_book_is_what_its_pages_make_together(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    for ending in (".tei.xml", ".epub", ".pdf"):
        assert read(folder, "-o", tmp_path / f"b{ending}") == 0
        pages = [read_page(tmp_path / "b.pages" / f"{name}.json") for name in ("p1", "p2")]
        (tmp_path / "expected").mkdir(exist_ok=True)
        write_book(pages, tmp_path / "expected" / f"b{ending}", images=folder)
        assert (tmp_path / f"b{ending}").read_bytes() == (tmp_path / "expected" / f"b{ending}").read_bytes()


def test_pages_that_fail_cost_no_book_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": FAULT, "p4": 34})
    (folder / "p3.png").write_bytes(b"junk")
    book = tmp_path / "b.md"
    assert read(folder, tmp_path / "none.pdf", "-o", book) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"tongguocr: {book}: 2 of 4 pages could not be read: in_p2, in_p3."
    assert sorted(line.split(": ")[1] for line in said[:-1]) == sorted(
        str(path) for path in (folder / "p2.png", folder / "p3.png", tmp_path / "none.pdf")
    )
    headings = [row for row in book.read_text("utf-8").split("\n") if row and row[0] in "#*"]
    unread = f"*{NOT_READ}*"
    assert headings == ["# 1: p1.png", "# 2: p2.png", unread, "# 3: p3.png", unread, "# 4: p4.png"]
    # What failed is tried again, and nothing else.
    write_pages(folder, {"p2": 32, "p3": 33})
    assert read(folder, tmp_path / "none.pdf", "-o", book) == 1
    said = capsys.readouterr()
    assert "2 read (2 characters), 2 done before, 1 failed" in said.out and said.err.count("\n") == 1
    assert NOT_READ not in book.read_text("utf-8") and character(33) in book.read_text("utf-8")


def test_an_image_that_is_gone_when_the_book_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    assert read(folder, "-o", tmp_path / "b.txt") == 0
    Image.fromarray(np.full((9, 9), 3, np.uint8)).save(folder / "p2.png")
    assert read(folder, "-o", tmp_path / "b.pdf") == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"tongguocr: {folder / 'p2.png'}: page p2 has 9 x 9 pixels now, and had 20 x 30 when it was read.",
        f"tongguocr: {tmp_path / 'b.pdf'}: 1 of 2 pages could not be read: p2.",
    ]
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert len(pdf.pages) == 2 and not pdf.check_pdf_syntax()


def test_text_that_no_book_can_hold_costs_its_page_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    assert read(folder, "-o", tmp_path / "b.txt") == 0
    path = tmp_path / "b.pages" / "p1.json"
    for damage in ('{"text": "\\u0001"', "{"):
        path.write_text(
            path.read_text("utf-8").replace('{"text": "丟"', damage)[: None if "u" in damage else 9]
        )
    assert read(folder, "-o", tmp_path / "b.txt") == 1
    assert str(path) in capsys.readouterr().err
    assert (tmp_path / "b.txt").read_text("utf-8") == f"[{NOT_READ}]\n\f\n{character(32)}\n"


def test_sources_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shades = [Image.fromarray(np.full((30, 20), shade, np.uint8)) for shade in (31, 32)]
    shades[0].save(tmp_path / "a.tif", save_all=True, append_images=shades[1:])
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for n, image in enumerate(shades):
            image.save(data := BytesIO(), "PNG")
            archive.writestr(f"{n}.png", data.getvalue())
    for name in ("a.tif", "b.zip"):
        book = tmp_path / f"from_{name}.txt"
        assert read(tmp_path / name, "-o", book) == 0
        assert book.read_text("utf-8") == f"{character(31)}\n\f\n{character(32)}\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO((tmp_path / "a.tif").read_bytes())))
    assert read("-", tmp_path / "b.zip", "--pages", "2", "-o", tmp_path / "both.txt") == 0
    assert (tmp_path / "both.txt").read_text("utf-8").split() == [character(32)] * 2


def test_a_manifest_becomes_a_pdf_and_is_fetched_once(server: Server, tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    Image.fromarray(np.full((30, 20), 33, np.uint8)).save(jpeg := BytesIO(), "JPEG", quality=100)
    images = [image3(server.put("/1.png", png(31))), image3(server.put("/2.jpg", jpeg.getvalue()))]
    manifest = server.put("/m", version3(*images))
    for ending in (".pdf", ".manifest.json"):
        assert read(manifest, "-o", tmp_path / f"b{ending}") == 0
    assert sorted(path for path in server.asked if path != "/m") == ["/1.png", "/2.jpg"]
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert pdf.pages[1].Resources.XObject["/Image"].read_raw_bytes() == jpeg.getvalue()
    made = json.loads((tmp_path / "b.manifest.json").read_bytes())
    bodies = [canvas["items"][0]["items"][0]["body"]["id"] for canvas in made["items"]]
    assert bodies == [f"{server.root}/1.png", f"{server.root}/2.jpg"], "where everybody has them"


def test_a_manifest_names_images_that_browsers_show(tmp_path: Path) -> None:
    shades = [Image.fromarray(np.full((30, 20), shade, np.uint8)) for shade in (31, 32)]
    outside = tmp_path / "scans"
    write_pages(outside, {"p1": 31, "p2": 32})
    below = tmp_path / "out"
    write_pages(below / "in", {"p3": 33})
    shades[0].save(below / "two.tif", save_all=True, append_images=shades[1:])
    book = below / "b.manifest.json"
    sources = (outside, below / "in", below / "two.tif")
    assert read(*sources, "-o", book, "--base-url", "https://example.org/x") == 0
    made = json.loads(book.read_bytes())
    bodies = [canvas["items"][0]["items"][0]["body"]["id"] for canvas in made["items"]]
    kept = ["scans_p1", "scans_p2", None, "two-0001", "two-0002"]
    assert bodies == [
        f"https://example.org/x/b.pages/{name}.png" if name else "https://example.org/x/in/p3.png"
        for name in kept
    ]
    # All lies below the manifest: our own source reads the book back.
    assert [int(page.load()[0, 0]) for page in open_source(book)] == [31, 32, 33, 31, 32]
    assert read(book, "-o", tmp_path / "again.txt") == 0
    assert (tmp_path / "again.txt").read_text("utf-8").split() == [character(s) for s in (31, 32, 33, 31, 32)]


def test_another_book_of_the_same_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (
        write_pages(tmp_path / name, {"p1": shade, "p2": shade}) for name, shade in (("a", 31), ("b", 32))
    )
    assert read(one, "-o", tmp_path / "b.txt") == 0
    assert read(two, "-o", tmp_path / "b.epub") == 2
    assert "were read from" in capsys.readouterr().err and not (tmp_path / "b.epub").exists()
    assert read(two, "-o", tmp_path / "b.epub", "--again") == 0
    assert character(32) in text_in(tmp_path / "b.epub")


def test_the_style_is_the_books_and_not_the_pages(tmp_path: Path) -> None:
    pytest.importorskip("opencc")
    folder, book = write_pages(tmp_path / "in", {"p1": 0x1F, "p2": 0x26}), tmp_path / "b.txt"
    assert read(folder, "-o", book, "--script", "simplified") == 0
    assert book.read_text("utf-8").split() == ["丢", "并"]
    assert read(folder, "-o", book) == 0
    assert book.read_text("utf-8").split() == ["丟", "並"]


@pytest.mark.parametrize("name", ["b.json", "b.alto.xml", "b.hocr", "b.overlay.png"])
def test_formats_of_one_page_refuse_several(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    assert read(folder, "-o", tmp_path / name) == 2
    assert "several pages need a folder" in capsys.readouterr().err


def test_what_cannot_be_done_is_told_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    Image.fromarray(np.full((30, 20), 31, np.uint8)).save(tmp_path / "b.pdf")
    before = (tmp_path / "b.pdf").read_bytes()
    for arguments, said in (
        ((folder, "-o", tmp_path / "none" / "b.txt"), "there is no folder"),
        ((folder, "-o", tmp_path / "b.docx"), "does not tell the format"),
        ((tmp_path / "b.pdf", "-o", tmp_path / "b.pdf"), "would be written over"),
        ((tmp_path / "none1", tmp_path / "none2", "-o", tmp_path / "c.txt"), "there is no such file"),
        ((folder, "-o", tmp_path / "c.epub", "--format", "pdf"), "its name says epub, and --format pdf;"),
        ((folder, "-o", tmp_path / "c.epub", "--ray"), "--ray reads into a folder"),
        ((folder, "-o", tmp_path / "c.manifest.json", "--base-url", "here"), "base_url"),
        ((folder, "-o", tmp_path / "c.txt", "--lines", folder / "p1.png"), "there are several pages"),
    ):
        assert read(*arguments) == 2
        sentence = capsys.readouterr().err
        assert said in sentence and sentence.count("\n") == 1, sentence
    assert {path.name for path in tmp_path.iterdir()} == {"in", "b.pdf"}
    assert (tmp_path / "b.pdf").read_bytes() == before


def test_one_page_is_written_as_ever(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31})
    assert (
        read(folder, "-o", tmp_path / "a.md") == 0 and read(folder / "p1.png", "-o", tmp_path / "b.md") == 0
    )
    assert (tmp_path / "a.md").read_bytes() == (tmp_path / "b.md").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"in", "a.md", "b.md"}


def test_pages_on_standard_output_are_those_of_the_book(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    for format in ("txt", "md", "epub"):
        assert read(folder, "-o", tmp_path / f"book{FORMATS[format].ending}", "--quiet") == 0
        assert read(folder, "-o", "-", "--format", format) == 0
        assert capfdbinary.readouterr().out == (tmp_path / f"book{FORMATS[format].ending}").read_bytes()


def test_where_no_page_was_read_there_is_no_book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_pages(tmp_path / "in", {"p1": REFUSED, "p2": REFUSED})
    assert read(folder, "-o", tmp_path / "b.txt") == 1
    assert "b.txt: no page could be read, and so there is no book." in capsys.readouterr().err
    assert not (tmp_path / "b.txt").exists()


def test_a_job_that_was_ended_before_has_pages_left(tmp_path: Path) -> None:
    pages = list(open_source(write_pages(tmp_path / "in", {"p1": 31, "p2": 32, "p3": 33})))
    book = Book(tmp_path / "b.txt")
    book.folder.mkdir()
    (book.folder / "p1.json").touch()
    (book.folder / "failed.tsv").write_text("page\tfile\treason\np3\tp3.png\tis junk\n")
    assert left_over(pages, book) == ["p2"]


def test_killed_and_started_again_it_is_the_same_book(tmp_path: Path) -> None:
    """Killed while pages are read and while the book is written, it goes on, and nothing is left behind."""
    folder = write_pages(tmp_path / "in", {f"p{k}": 30 + k for k in range(12)})
    calm, killed = (tmp_path / name / "b.epub" for name in ("calm", "killed"))
    for book in (calm, killed):
        book.parent.mkdir()
    assert read(folder, "-o", calm) == 0
    pages = killed.parent / "b.pages"
    stops: list[Callable[[], bool]] = [
        lambda: (pages / "p3.json").exists(),
        lambda: any(pages.glob(".tongguocr/*/.tongguocr-*.tmp")) and (pages / "p11.json").exists(),
    ]
    for stop in stops:
        job = subprocess.Popen(command(0.1, folder, "-o", killed, "--workers", 1))
        while job.poll() is None and not stop():
            time.sleep(0.01)
        job.kill()
        assert job.wait() == -signal.SIGKILL and not killed.exists()
    assert read(folder, "-o", killed) == 0
    assert calm.read_bytes() == killed.read_bytes()
    assert files(calm.parent) == files(killed.parent)
