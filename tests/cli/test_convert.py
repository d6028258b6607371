"""`tongguocr convert`: every format from JSON, PAGE and ALTO; the image where it lies; or one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run_here
from page_strategies import example_page
from paths import EXAMPLES
from PIL import Image

from tongguocr.formats import FORMATS, read_page, write_book, write_page
from tongguocr.formats.fonts import NO_FONT
from tongguocr.formats.page_xml_write import NAMESPACE
from tongguocr.page import Page, turn_pixels

ALL = ",".join(FORMATS)
READ = [format.name for format in FORMATS.values() if format.reader and format.boxes]


def scan(page: Page) -> Image.Image:
    """A picture of the page's size, not the same in any two places."""
    rows, columns = np.mgrid[: page.height, : page.width]
    return Image.fromarray((rows // 4 + columns // 3).astype(np.uint8))


def text_in(path: Path) -> str:
    """All the text of a file, or of the files that are in it."""
    if not zipfile.is_zipfile(path):
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page file of the example page, with its image beside it."""
    write_page(example_page(), tmp_path / "p1.json")
    scan(example_page()).save(tmp_path / "page-001.png")
    return tmp_path


def test_the_program_writes_the_format_that_the_ending_says(folder: Path) -> None:
    command = [sys.executable, "-m", "tongguocr", "convert", "p1.json", "-o", "p1.tei.xml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    write_page(read_page(folder / "p1.json"), folder / "expected.tei.xml")
    texts = [
        (folder / f"{n}.tei.xml").read_text(encoding="utf-8").split("</teiHeader>")
        for n in ("p1", "expected")
    ]
    assert texts[0][1] == texts[1][1] and "天地" not in texts[0][0]


@pytest.mark.parametrize("source", READ)
def test_every_format_is_written_from_every_format_that_is_read(source: str, folder: Path) -> None:
    (folder / "in").mkdir()
    path = folder / "in" / f"p1{FORMATS[source].ending}"
    write_page(example_page(), path)
    done = run_here("convert", path, "-o", folder / "out", "--format", ALL, "--image", folder)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in (folder / "out").iterdir()} == {f"p1{f.ending}" for f in FORMATS.values()}
    assert read_page(folder / "out" / "p1.json") == example_page()
    with Image.open(folder / "out" / "p1.overlay.png") as picture:
        assert picture.width >= 600


def test_a_correction_reaches_every_format(folder: Path) -> None:
    page = json.loads((folder / "p1.json").read_text(encoding="utf-8"))
    page["lines"][0]["text"] = "大地玄"
    (folder / "p1.json").write_text(json.dumps(page), encoding="utf-8")
    done = run_here("convert", folder / "p1.json", "-o", folder / "out", "--format", ALL)
    assert done.returncode == 0, done.stderr
    for format in FORMATS.values():
        if not format.image:
            text = text_in(folder / "out" / f"p1{format.ending}")
            assert "天" not in text and ("大" in text or format.name == "csv"), format.name


def test_a_folder_is_converted_page_by_page(folder: Path) -> None:
    write_page(replace(example_page(), lines=example_page().lines[:1]), folder / "p2.page.xml")
    (folder / "mets.xml").write_text("<mets/>")
    done = run_here("convert", folder, "-o", folder / "out", "--format", "txt,md")
    assert (done.returncode, done.stderr) == (0, "")
    assert {p.name for p in (folder / "out").iterdir()} == {"p1.txt", "p1.md", "p2.txt", "p2.md"}
    assert (folder / "out" / "p2.txt").read_text(encoding="utf-8") == "天地玄\n"


def test_of_two_files_with_one_page_the_other_is_named_and_can_be_chosen(folder: Path) -> None:
    corrected = replace(example_page(), lines=(replace(example_page().lines[0], text="改"),))
    write_page(corrected, folder / "p1.page.xml")
    done = run_here("convert", folder, "-o", folder / "out", "--format", "txt")
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert f"{folder / 'p1.page.xml'}: not read, since p1.json holds the same page." in done.stderr
    assert (folder / "out" / "p1.txt").read_text(encoding="utf-8").startswith("天地玄")
    run_here("convert", folder, "-o", folder / "out", "--format", "txt", "--from", "page")
    assert (folder / "out" / "p1.txt").read_text(encoding="utf-8") == "改\n"


def test_a_bad_page_costs_no_other(folder: Path) -> None:
    (folder / "p0.json").write_text("{")
    done = run_here("convert", folder, "-o", folder / "out", "--format", "txt")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "p0.json" in done.stderr
    assert [p.name for p in (folder / "out").iterdir()] == ["p1.txt"]


def test_several_pages_become_a_book(folder: Path) -> None:
    write_page(example_page(), folder / "p2.json")
    for format in FORMATS.values():
        if not format.book:
            continue
        name = f"book{format.ending}"
        done = run_here("convert", folder / "p1.json", folder / "p2.json", "-o", folder / name)
        assert done.returncode == 0, done.stderr
    write_book([example_page()] * 2, folder / "expected.pdf")
    assert (folder / "book.pdf").read_bytes() == (folder / "expected.pdf").read_bytes()
    done = run_here("convert", folder, "-o", folder / "book.hocr")
    assert done.returncode == 2 and "a file of the format hocr holds one page." in done.stderr
    # The style counts in a book, too.
    assert "注右行" in text_in(folder / "book.epub") and "注右行" in text_in(folder / "book.md")
    for name in ("book.epub", "book.md", "book.txt"):
        command = ("convert", folder / "p1.json", folder / "p2.json", "-o", folder / name)
        assert run_here(*command, "--notes", "omit").returncode == 0
        assert "天" in text_in(folder / name) and "注右行" not in text_in(folder / name)


def test_each_page_of_a_book_has_its_own_image_wherever_it_lies(tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    stored = []
    for n, (name, quality) in enumerate((("a", 80), ("b", 90)), start=1):
        (tmp_path / name / "page").mkdir(parents=True)
        # Its page calls it otherwise; it has the name of the page's file, in the folder above.
        scan(example_page()).save(tmp_path / name / f"p{n}.jpg", quality=quality)
        write_page(example_page(), tmp_path / name / "page" / f"p{n}.xml")
        stored.append((tmp_path / name / f"p{n}.jpg").read_bytes())
    paths = [tmp_path / name / "page" / f"p{n}.xml" for n, name in enumerate("ab", start=1)]
    done = run_here("convert", *paths, "-o", tmp_path / "b.pdf")
    assert done.returncode == 0, done.stderr
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert [page.Resources.XObject["/Image"].read_raw_bytes() for page in pdf.pages] == stored


@pytest.mark.parametrize("given", ["file", "folder", "page folder"])
def test_the_image_is_found(given: str, folder: Path) -> None:
    away = folder / ("page" if given == "page folder" else "away")
    away.mkdir()
    shutil.move(folder / "p1.json", away / "p1.json")
    more = {"file": ["--image", folder / "page-001.png"], "folder": ["--image", folder], "page folder": []}
    done = run_here("convert", away / "p1.json", "-o", away / "p1.pdf", *more[given])
    assert done.returncode == 0, done.stderr
    write_page(example_page(), folder / "expected.pdf")
    assert (away / "p1.pdf").read_bytes() == (folder / "expected.pdf").read_bytes()


def test_a_jpeg_goes_into_the_pdf_as_it_is(folder: Path) -> None:
    done = run_here("convert", EXAMPLES / "page.json", "-o", folder / "page.pdf")
    assert done.returncode == 0 and (EXAMPLES / "page.jpg").read_bytes() in (folder / "page.pdf").read_bytes()


def test_a_page_of_a_file_of_several_is_told_by_its_number(folder: Path) -> None:
    page = replace(example_page(), image="book.tif")
    scans = [scan(page), scan(page).rotate(180)]
    scans[0].save(folder / "book.tif", save_all=True, append_images=scans[1:])
    for name in ("book-0002.json", "other.json"):
        write_page(page, folder / name)
    done = run_here("convert", folder / "book-0002.json", "-o", folder / "a.pdf")
    assert done.returncode == 0, done.stderr
    write_page(replace(page, image="", pixels=np.asarray(scans[1])), folder / "expected.pdf")
    assert (folder / "a.pdf").read_bytes() == (folder / "expected.pdf").read_bytes()
    done = run_here("convert", folder / "other.json", "-o", folder / "b.pdf")
    assert done.returncode == 2 and "the name does not tell which page of" in done.stderr


@pytest.mark.parametrize("format", ["pdf", "overlay"])
def test_the_image_of_a_turned_page_is_turned(format: str, folder: Path) -> None:
    upright = np.asarray(scan(example_page()))
    write_page(replace(example_page(), angle=90), folder / "t.json")
    Image.fromarray(turn_pixels(upright, 270)).save(folder / "t.png")
    ending = FORMATS[format].ending
    done = run_here("convert", folder / "t.json", "-o", folder / f"t{ending}", "--image", folder / "t.png")
    assert done.returncode == 0, done.stderr
    write_page(replace(example_page(), pixels=upright, image=""), folder / f"expected{ending}")
    assert (folder / f"t{ending}").read_bytes() == (folder / f"expected{ending}").read_bytes()


def test_a_missing_image_costs_only_what_needs_it(folder: Path) -> None:
    (folder / "page-001.png").unlink()
    done = run_here("convert", folder / "p1.json", "-o", folder / "out", "--format", "pdf,txt")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "pdf needs the page's image, and 'page-001.png' does not lie in" in done.stderr
    assert [p.name for p in (folder / "out").iterdir()] == ["p1.txt"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.json", "-o", "a.txt"], "none.json: there is no such file."),
        (["p1.json", "-o", "out/"], "out: say with --format what goes into this folder."),
        (["p1.json", "-o", "p1.json"], "p1.json: this file would be written over; choose another place."),
        ([".", "-o", ".", "--format", "txt,json"], "p1.json: this file would be written over"),
        (["p1.json", "sub/p1.json", "-o", "out", "--format", "txt"], "its files would have the same names"),
        (["sub/empty", "-o", "out", "--format", "txt"], "there is no page (.json,"),
        (["p1.json", "-o", "out", "--format", "nonsense"], "There is no format 'nonsense'"),
        (["p1.json", "-o", "a.nonsense"], "the name does not tell the format"),
        (["p1.json", "-o", "a.pdf", "--image", "none.png"], "none.png: there is no such image or folder."),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub" / "empty").mkdir(parents=True)
    shutil.copy(folder / "p1.json", folder / "sub" / "p1.json")
    before = (folder / "p1.json").read_bytes()
    monkeypatch.chdir(folder)
    done = run_here("convert", *arguments)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert (folder / "p1.json").read_bytes() == before


def test_standard_output(folder: Path) -> None:
    page, out = folder / "p1.json", ("-o", "-")
    plain = run_here("convert", page, *out)
    write_page(read_page(page), folder / "p1.txt")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout == (folder / "p1.txt").read_text(encoding="utf-8")
    several = run_here("convert", page, page, *out).stdout
    assert several.split("\f\n") == 2 * [plain.stdout]
    assert read_again(run_here("convert", page, *out, "--format", "json").stdout, folder) == read_page(page)
    old = run_here("convert", page, *out, "--for", "transkribus").stdout
    assert read_again(old, folder).lines and "2013-07-15" in old
    refused = run_here("convert", page, page, *out, "--format", "json")
    assert refused.returncode == 2 and "several need a folder" in refused.stderr and not refused.stdout
    command = [sys.executable, "-m", "tongguocr", "convert", page, *out, "--format", "pdf"]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith(b"%PDF-") and not done.stderr


def read_again(printed: str, folder: Path) -> Page:
    (folder / "printed").write_text(printed, encoding="utf-8")
    return read_page(folder / "printed")


def test_reading_into_a_finished_folder_converts(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    shutil.copy(EXAMPLES / "page.jpg", tmp_path)
    page = read_page(EXAMPLES / "page.json")
    lines = tuple(replace(line, text="某" * len(line.text)) for line in page.lines)
    write_page(replace(page, lines=lines), tmp_path / "out" / "page.json")
    done = run_here("read", tmp_path / "page.jpg", "-o", tmp_path / "out", "--format", "tei,txt,pdf")
    assert done.returncode == 0, done.stderr
    assert "Pages: 0 read (0 characters), 1 written from their JSON, 0 done before, 0 failed" in done.stdout
    text = (tmp_path / "out" / "page.txt").read_text(encoding="utf-8")
    assert set(text) == {"某", "\n"}, "what stands in the JSON, which nobody would read on the page"


@pytest.mark.parametrize(
    ("program", "schema", "name"),
    [
        ("transkribus", "2013-07-15", "page/p1.xml"),
        ("escriptorium", "2019-07-15", "p1.xml"),
        ("larex", "2019-07-15", "p1.xml"),
    ],
)
def test_page_xml_for_a_program_has_its_schema_name_and_place(
    program: str, schema: str, name: str, folder: Path
) -> None:
    done = run_here("convert", folder, "-o", folder / "out", "--for", program)
    assert done.returncode == 0, done.stderr
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    assert files == [folder / "out" / name]
    assert f'xmlns="http://schema.primaresearch.org/PAGE/gts/pagecontent/{schema}"' in files[0].read_text(
        "utf-8"
    )
    assert read_page(files[0]).text == example_page().text
    one = run_here("convert", folder / "p1.json", "-o", folder / "one.xml", "--for", program)
    assert one.returncode == 0 and f'"{NAMESPACE}{schema}"' in (folder / "one.xml").read_text("utf-8")


def test_what_comes_back_from_transkribus_is_converted(folder: Path) -> None:
    run_here("convert", folder, "-o", folder, "--for", "transkribus")
    path = folder / "page" / "p1.xml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("<Unicode>天地玄</Unicode>", "<Unicode>大地玄</Unicode>"), "utf-8")
    (folder / "page" / "metadata.xml").write_text("<trpDocMetadata/>")
    done = run_here("convert", folder / "page", "-o", folder / "out", "--format", "json,pdf")
    assert done.returncode == 0, done.stderr
    assert [char.text for char in read_page(folder / "out" / "p1.json").lines[0].chars] == list("大地玄")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="fonts lie where XDG_DATA_DIRS says")
@pytest.mark.parametrize("target", [["-o", "p1.overlay.png"], ["-o", "out", "--format", "overlay,txt"]])
def test_without_a_chinese_font_it_says_so(target: list[str], folder: Path) -> None:
    command = [sys.executable, "-m", "tongguocr", "convert", "p1.json", *target]
    empty = {"XDG_DATA_DIRS": str(folder / "none"), "HOME": str(folder / "none")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **empty})
    assert (done.returncode, done.stderr) == (0, f"tongguocr: {NO_FONT}\n")
    picture = next(folder.rglob("*.overlay.png"))
    with Image.open(picture) as image:
        assert image.width < image.height, "one view: two would be broader than high"
