"""The searchable PDF: the picture untouched, the text in order, each character's mark on its ink."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from page_strategies import any_text, example_page, floats, pages
from paths import EXAMPLES, GOLDEN
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.formats import read_page, write_page
from tongguocr.formats.pdf import (
    DPI,
    render_pdf,
    write_pdf,
)
from tongguocr.formats.pdf.file import MAX_CODES, glyphless_font, to_unicode
from tongguocr.formats.pdf.text import text_layer
from tongguocr.formats.txt import characters
from tongguocr.geometry import Box, centre, width
from tongguocr.page import ANGLES, Char, Direction, Kind, Line, Page, turn_page, turn_pixels
from tongguocr.sources import load_pixels, open_source
from tongguocr.straight import as_scanned, straight_size

pikepdf = pytest.importorskip("pikepdf")
pdfium = pytest.importorskip("pypdfium2")

TEXT = GOLDEN / "page.pdf-text.txt"
SCALE = 72 / DPI
WHITE = np.full((800, 600), 255, np.uint8)


def with_pixels(lines: tuple[Line, ...]) -> Page:
    return Page("", 600, 800, lines, WHITE)


def column(name: str, text: str, x: float, y: float = 100, size: float = 40) -> Line:
    chars = tuple(
        Char(c, (x, y + n * size + 3, x + size, y + n * size + size - 3))
        for n, c in enumerate(characters(text))
    )
    return Line(name, (x, y, x + size, y + size * len(chars)), text, chars=chars)


def lines_of(text: str) -> list[str]:
    """The lines that a program found, without the space that it may put before one."""
    return [row.strip() for row in text.replace("\r", "\n").split("\n") if row.strip()]


def text_by_pdfium(data: bytes, page: int = 0) -> list[str]:
    return lines_of(pdfium.PdfDocument(data)[page].get_textpage().get_text_range())


def text_by_poppler(data: bytes, *options: str) -> list[str]:
    command = ["pdftotext", *options, "-enc", "UTF-8", "-", "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    return lines_of(done.stdout.decode().replace("\f", ""))


def check_poppler(data: bytes, page: Page) -> None:
    """Both as the file has it and as poppler sorts it, where poppler is installed."""
    if shutil.which("pdftotext"):
        assert text_by_poppler(data) == text_by_poppler(data, "-raw") == texts(page)


def texts(page: Page) -> list[str]:
    return [line.text for line in page.lines if line.text]


def marks(data: bytes, page: Page) -> Iterator[tuple[Char, Box]]:
    """Each character and the rectangle that PDFium marks when it is selected, in pixels of the page."""
    found = pdfium.PdfDocument(data)[0]
    text, height, n = found.get_textpage(), found.get_height(), 0
    for char in (char for line in page.lines for char in line.chars):
        while text.get_text_range(n, 1) != char.text[0]:
            n += 1
            assert n < text.count_chars(), char
        left, bottom, right, top = text.get_charbox(n)
        yield char, tuple(v / SCALE for v in (left, height - top, right, height - bottom))  # type: ignore[misc]
        n += 1


@pytest.fixture(scope="module")
def example() -> tuple[Page, bytes]:
    page = read_page(EXAMPLES / "page.json")
    return page, render_pdf(page, EXAMPLES / "page.pdf")


def test_the_text_operators_are_written_as_they_were() -> None:
    layer = text_layer(example_page(), SCALE)
    codes = [f"{text!r} {width:.3f}" for text, width in zip(layer.texts, layer.widths, strict=True)]
    written = "\n".join((layer.content, *layer.forms, *codes, ""))
    if os.environ.get("TONGGUOCR_UPDATE_GOLDEN"):
        TEXT.write_bytes(written.encode())
    assert TEXT.read_bytes().decode() == written


def test_the_file_has_no_faults_and_holds_the_jpeg_as_it_is(example: tuple[Page, bytes]) -> None:
    with pikepdf.open(io.BytesIO(example[1])) as pdf:
        assert pdf.check_pdf_syntax() == []
        assert (
            pdf.pages[0].Resources.XObject["/Image"].read_raw_bytes() == (EXAMPLES / "page.jpg").read_bytes()
        )
        assert float(pdf.pages[0].mediabox[2]) == pytest.approx(1031 * SCALE)


def test_the_example_reads_back_in_pdfium(example: tuple[Page, bytes]) -> None:
    assert text_by_pdfium(example[1]) == texts(example[0])


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not installed")
def test_the_example_reads_back_in_poppler(example: tuple[Page, bytes]) -> None:
    check_poppler(example[1], example[0])


def test_a_characters_mark_covers_its_ink_and_little_more(example: tuple[Page, bytes]) -> None:
    for char, mark in marks(example[1], example[0]):
        box = char.box
        # Where the boxes of neighbours overlap, each may lose a little to the other.
        outside = max(mark[0] - box[0], mark[1] - box[1], box[2] - mark[2], box[3] - mark[3])
        assert outside < 0.05 * (box[3] - box[1]) + 1.5, char
        assert mark[3] - mark[1] < 1.5 * (box[3] - box[1]) + 20, char
        assert mark[2] - mark[0] < 2.5 * (box[2] - box[0]), char


DIFFICULT = {
    "rare characters and selectors": (column("a", "天𠀀葛\U000e0100𫝀", 500), column("b", "﨑\ue000地", 400)),
    "columns that begin at one height": tuple(column(f"l{n}", "天地", 500 - 50 * n) for n in range(6)),
    "columns of one character": tuple(column(f"l{n}", c, 500 - 50 * n) for n, c in enumerate("天地玄黃")),
    "a note of two characters": (
        column("a", "天", 500),
        column("b", "地", 520, 140, 20),
        column("c", "玄", 500, 140, 20),
        column("d", "黃宇", 500, 160),
    ),
    "the next column begins at the foot of this": (column("a", "天地", 500), column("b", "玄黃", 450, 180)),
    "no characters": (Line("a", (500, 100, 550, 300), "天地玄黃"), Line("b", (400, 100, 450, 300), "宇宙")),
    "a head note before the text": (
        replace(column("a", "眉批", 300, 20, 30), kind="margin"),
        column("b", "天地玄黃", 500),
        column("c", "宇宙", 450),
    ),
    "a title from right to left": (
        Line("a", (200, 20, 500, 70), "千字文", direction="right-to-left"),
        column("b", "天地玄黃", 500),
        column("c", "宇宙", 450),
    ),
    "two registers": (
        *(column(f"u{n}", text, 500 - 50 * n) for n, text in enumerate(("天地", "玄黃", "宇宙"))),
        *(column(f"l{n}", text, 500 - 50 * n, 400) for n, text in enumerate(("洪荒", "日月", "盈昃"))),
    ),
    "columns of two breadths, one at the page's edge": (
        column("a", "天地玄黃", 60, 100, 60),
        column("b", "宇宙洪荒", 0, 100, 40),
    ),
    "columns that share no height": (column("a", "天地", 500, 500), column("b", "玄黃", 450, 100)),
    "a column of notes": (
        replace(column("a", "天地玄黃", 520, 100, 20), kind="note"),
        replace(column("b", "宇宙", 500, 100, 20), kind="note"),
        column("c", "洪荒日月", 450),
    ),
    "an empty line": (column("a", "天地", 500), Line("b", (400, 100, 450, 300)), column("c", "玄", 300)),
}


@pytest.mark.parametrize("lines", DIFFICULT.values(), ids=DIFFICULT.keys())
def test_difficult_lines_read_back(lines: tuple[Line, ...]) -> None:
    page = with_pixels(lines)
    data = render_pdf(page, Path("a.pdf"))
    assert text_by_pdfium(data) == texts(page)
    check_poppler(data, page)


@pytest.mark.parametrize("lines", DIFFICULT.values(), ids=DIFFICULT.keys())
def test_a_text_says_exactly_what_stands_behind_it(lines: tuple[Line, ...]) -> None:
    """MuPDF and others compare the two; and all that is shown, in its order, is the transcription."""
    layer = text_layer(with_pixels(lines), SCALE)
    marked = [
        bytes.fromhex(text).decode("utf-16") for text in re.findall(r"/ActualText <(\w+)>", layer.content)
    ]
    shown = [_meaning(form, layer.texts) for form in layer.forms]
    assert marked == shown
    assert lines_of("".join(layer.texts)) == texts(with_pixels(lines))


def _meaning(operators: str, meanings: tuple[str, ...]) -> str:
    codes = re.findall(r"<((?:[0-9A-F]{4})+)>", operators)
    return "".join(meanings[int(code, 16) - 1] for row in codes for code in re.findall("....", row))


def made_up_page(seed: int, note: Kind = "note") -> Page:
    """Columns of main text and double-row notes in any order, each pair of rows as it comes."""
    rng, lines, x = random.Random(seed), list[Line](), 540

    def put(count: int, x: float, y: float, size: float) -> None:
        text = "".join(chr(rng.randint(0x4E00, 0x9000)) for _ in range(count))
        line = column(f"l{len(lines)}", text, x, y, size)
        lines.append(line if size == 40 else replace(line, kind=note))

    while x > 30:
        y = 100
        while y < 700 and rng.random() > 0.1:
            count = rng.randint(1, 6)
            if rng.random() < 0.5:
                put(min(count, (780 - y) // 40), x, y, 40)
                y += 40 * count
            else:
                put(min(count, (780 - y) // 20), x + 20, y, 20)
                put(max(1, min(count, (780 - y) // 20) - rng.randint(0, 1)), x, y, 20)
                y += 20 * count
        x -= rng.choice([42, 50])
    return with_pixels(tuple(lines))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("note", ["note", "main"])
def test_made_up_pages_read_back(seed: int, note: Kind) -> None:
    """Also where the rows of notes are not known as such."""
    page = made_up_page(seed, note)
    data = render_pdf(page, Path("a.pdf"))
    assert len(page.lines) > 10 and text_by_pdfium(data) == texts(page)
    check_poppler(data, page)


@pytest.mark.parametrize("direction", ["left-to-right", "right-to-left", "bottom-to-top"])
def test_other_directions_read_back_and_lie_right(direction: Direction) -> None:
    order = {"left-to-right": (0, 1, 2), "right-to-left": (2, 1, 0), "bottom-to-top": (2, 1, 0)}[direction]
    tall = direction == "bottom-to-top"
    boxes = [
        (200, 300 + 40 * n, 240, 340 + 40 * n) if tall else (200 + 40 * n, 300, 240 + 40 * n, 340)
        for n in order
    ]
    chars = tuple(Char(c, box) for c, box in zip("天地玄", boxes, strict=True))
    line = Line(
        "a", (200, 300, 240, 420) if tall else (200, 300, 320, 340), "天地玄", "main", direction, chars=chars
    )
    page = with_pixels((line, column("b", "黃宇", 100)))
    data = render_pdf(page, Path("a.pdf"))
    assert text_by_pdfium(data) == ["天地玄", "黃宇"]
    check_poppler(data, page)
    for char, mark in list(marks(data, page))[:3]:
        assert mark == pytest.approx(char.box, abs=1)


def test_pixels_are_kept_without_loss() -> None:
    grey = np.random.default_rng(1).integers(0, 256, (40, 30), np.uint8)
    for pixels in (grey, np.stack([grey, grey[::-1], grey[:, ::-1]], axis=2)):
        data = render_pdf(Page("", 30, 40, (), pixels), Path("a.pdf"))
        with pikepdf.open(io.BytesIO(data)) as pdf:
            kept = pikepdf.PdfImage(pdf.pages[0].Resources.XObject["/Image"]).as_pil_image()
            assert (np.asarray(kept) == pixels).all()


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_jpeg_stands_upright(orientation: int, angle: int, tmp_path: Path) -> None:
    """EXIF first, then the angle that the page was read at."""
    image = Image.new("RGB", (64, 32), "white")
    image.paste("red", (0, 0, 32, 16))
    image.paste("blue", (32, 16, 64, 32))
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.save(tmp_path / "a.jpg", exif=exif, quality=95)
    upright = turn_pixels(load_pixels(tmp_path / "a.jpg"), angle)
    page = Page("a.jpg", upright.shape[1], upright.shape[0], angle=angle)
    drawn = pdfium.PdfDocument(render_pdf(page, tmp_path / "a.pdf"))[0].render(scale=1 / SCALE)
    difference = np.asarray(drawn.to_pil().convert("RGB")).astype(int) - upright
    assert np.abs(difference[4:-4, 4:-4]).mean() < 20


def test_text_lies_on_the_ink_of_a_jpeg_that_lies_on_its_side(
    example: tuple[Page, bytes], tmp_path: Path
) -> None:
    page, upright = example
    scan = Image.fromarray(turn_pixels(load_pixels(EXAMPLES / "page.jpg"), 270))
    scan.save(tmp_path / page.image, quality=95)
    lying = render_pdf(replace(page, angle=90), tmp_path / "a.pdf")
    assert list(marks(lying, page)) == list(marks(upright, page))
    pictures = [
        pdfium.PdfDocument(data)[0].render(scale=1).to_pil().convert("L") for data in (lying, upright)
    ]
    assert pictures[0].size == pictures[1].size
    assert np.abs(np.subtract(*(np.asarray(picture, int) for picture in pictures))).mean() < 5


@pytest.mark.parametrize("skew", [-15.0, 8.0])
def test_text_lies_on_the_ink_of_a_page_that_leans(example: tuple[Page, bytes], skew: float) -> None:
    """Marks are the characters' own, leaning as they do: their middles are where the boxes' middles are."""
    upright, _ = example
    leaning = replace(upright, skew=skew, lines=())
    size = straight_size(leaning)
    dx, dy = (size[0] - upright.width) / 2, (size[1] - upright.height) / 2
    lines = tuple(_moved(line, dx, dy) for line in upright.lines)
    page = as_scanned(replace(upright, width=size[0], height=size[1], lines=lines), leaning)
    data = render_pdf(replace(page, pixels=load_pixels(EXAMPLES / upright.image)), Path("a.pdf"))
    for char, mark in marks(data, page):
        if char.box[0] > 0 and char.box[2] < page.width and char.box[1] > 0 and char.box[3] < page.height:
            assert centre(mark) == pytest.approx(centre(char.box), abs=0.2 * width(char.box))


def _moved(line: Line, dx: float, dy: float) -> Line:
    def move(box: Box) -> Box:
        return (box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy)

    chars = tuple(replace(char, box=move(char.box)) for char in line.chars)
    outline = line.polygon and tuple((x + dx, y + dy) for x, y in line.polygon)
    return replace(line, box=move(line.box), polygon=outline, chars=chars)


def test_text_draws_nothing() -> None:
    data = render_pdf(with_pixels((column("a", "天地玄", 300),)), Path("a.pdf"))
    assert np.asarray(pdfium.PdfDocument(data)[0].render(scale=2).to_pil().convert("L")).min() == 255


def test_memory_does_not_grow_with_the_book(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def book(length: int) -> Iterator[Page]:
        for _ in range(length):
            yield Page("", 400, 500, (column("a", "天地", 300),), rng.integers(0, 256, (500, 400), np.uint8))

    def peak(length: int) -> int:
        tracemalloc.start()
        write_pdf(book(length), tmp_path / "a.pdf")
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(30) < 1.2 * peak(3)
    found = pdfium.PdfDocument(tmp_path / "a.pdf")
    assert len(found) == 3
    assert text_by_pdfium((tmp_path / "a.pdf").read_bytes(), 2) == ["天地"]


def test_bad_input_is_one_sentence_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"old")
    (tmp_path / "junk.jpg").write_bytes(b"\xff\xd8junk")
    Image.new("L", (10, 10)).save(tmp_path / "small.jpg")
    many = Line("a", (0, 0, 9, 9), "天" * (MAX_CODES + 1))
    wrong = {
        "does not lie in": [replace(example_page(), image="none.jpg")],
        "not an image": [replace(example_page(), image="junk.jpg")],
        "10 x 10 pixels, and the page": [replace(example_page(), image="small.jpg")],
        "at least one page": [],
        "more than 65535": [with_pixels((many,))],
        "surrogate": [with_pixels((Line("a", (0, 0, 9, 9), "\ud800"),))],
    }
    for sentence, book in wrong.items():
        with pytest.raises(InputError, match=sentence) as error:
            write_pdf(book, path)
        assert str(error.value).startswith(str(tmp_path)) and "\n" not in str(error.value)
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 3


@settings(max_examples=40)
@given(pages(any_text, floats))
def test_any_page_makes_a_file_without_faults(page: Page) -> None:
    page = replace(page, image="", width=60, height=80, pixels=WHITE[::10, ::10])
    with pikepdf.open(io.BytesIO(render_pdf(page, Path("a.pdf")))) as pdf:
        assert pdf.check_pdf_syntax() == []
        pikepdf.parse_content_stream(pdf.pages[0])


def test_codes_mean_any_text() -> None:
    rows = to_unicode(["天", "𠀀", "葛\U000e0100"] * 40).splitlines()
    assert {"<0001> <5929>", "<0002> <D840DC00>", "<0003> <845BDB40DD00>"} < set(rows)
    assert [row for row in rows if row.endswith("beginbfchar")] == ["100 beginbfchar", "20 beginbfchar"]


def test_the_font_is_sound() -> None:
    font_tools = pytest.importorskip("fontTools.ttLib")
    font = font_tools.TTFont(io.BytesIO(glyphless_font()), checkChecksums=2, recalcBBoxes=False)
    glyph = font["glyf"][font.getGlyphName(0)]
    assert (glyph.xMax, glyph.yMax, glyph.numberOfContours) == (0, 1000, 1)
    assert [tuple(point) for point in glyph.coordinates] == [(0, 0), (0, 1000)]
    assert font["hhea"].ascent == font["head"].unitsPerEm == 1000
    assert struct.unpack(">I", glyphless_font()[:4]) == (0x10000,)


def test_write_page_goes_by_the_name(tmp_path: Path) -> None:
    page = with_pixels((column("a", "天地", 300),))
    write_page(page, tmp_path / "a.pdf")
    assert text_by_pdfium((tmp_path / "a.pdf").read_bytes()) == ["天地"]


def test_the_command_writes_a_pdf(tmp_path: Path) -> None:
    whole = read_page(EXAMPLES / "page.json")
    write_page(replace(whole, lines=whole.lines[:2]), tmp_path / "lines.json")
    shutil.copy(EXAMPLES / "page.jpg", tmp_path)
    read = [sys.executable, "-m", "tongguocr.cli", "read", str(tmp_path / "page.jpg")]
    for name in ("out.pdf", "out.txt"):
        subprocess.run(
            [*read, "--lines", str(tmp_path / "lines.json"), "-o", str(tmp_path / name)], check=True
        )
    assert text_by_pdfium((tmp_path / "out.pdf").read_bytes()) == lines_of(
        (tmp_path / "out.txt").read_text("utf-8")
    )


def test_the_command_says_what_is_wrong_in_one_sentence(tmp_path: Path) -> None:
    whole = read_page(EXAMPLES / "page.json")
    write_page(replace(whole, lines=whole.lines[:1]), tmp_path / "lines.json")
    (tmp_path / "page.jpg").write_bytes((EXAMPLES / "page.jpg").read_bytes())
    command = [sys.executable, "-m", "tongguocr.cli", "read", str(tmp_path / "page.jpg")]
    command += ["--lines", str(tmp_path / "lines.json"), "-o", str(tmp_path / "none" / "out.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tongguocr: {tmp_path}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_jpeg_page_is_embedded_as_it_is_wherever_the_pdf_lies(tmp_path: Path, mode: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    image = tmp_path / "in" / "p1.jpg"
    Image.effect_noise((300, 400), 80).convert(mode).save(image, quality=75)
    # Another book's page of the same name and size lies where the PDF is to be.
    Image.new(mode, (300, 400)).save(tmp_path / "out" / "p1.jpg")
    (source,) = open_source(image)
    page = turn_page(replace(source.load_page(), lines=(column("a", "天地", 100),)), 90)
    write_pdf([page], tmp_path / "out" / "p1.pdf")
    with pikepdf.open(tmp_path / "out" / "p1.pdf") as pdf:
        stored = pdf.pages[0].Resources.XObject["/Image"]
        assert stored.Filter == "/DCTDecode" and stored.read_raw_bytes() == image.read_bytes()
    assert (tmp_path / "out" / "p1.pdf").stat().st_size < image.stat().st_size + 20_000
    # A folder of images that is named counts first.
    write_pdf([replace(page, angle=0, width=300, height=400)], tmp_path / "b.pdf", tmp_path / "out")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        other = pdf.pages[0].Resources.XObject["/Image"].read_raw_bytes()
    assert other == (tmp_path / "out" / "p1.jpg").read_bytes()
