"""From a page with lines to text, with an engine that says where it looked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lying_pages import Observant, scan_of
from paths import EXAMPLES
from PIL import Image

from tongguocr import cli
from tongguocr.blocks import cut_blocks
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.errors import InputError
from tongguocr.formats import LINE_ENDINGS, read_page, write_page
from tongguocr.layout import WritingMode
from tongguocr.layout.detection import Detection
from tongguocr.page import ANGLES, Char, Line, Page, Pixels, bare_page, turn_page
from tongguocr.reader import (
    DEFAULT_ENGINE,
    Reader,
    Setup,
    lines_file,
    open_lines,
    open_reader,
    take_lines,
)


class Seeing(Engine):
    """Reads each line as the shade of grey at its middle; knows nothing but pixels and boxes."""

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        return [BlockReading(tuple(self._line(block, line) for line in block.lines)) for block in blocks]

    def _line(self, block: BlockInput, line: Line) -> LineReading:
        assert line.text == "" and not line.chars, "an engine must not be told the text"
        x, y = round((line.box[0] + line.box[2]) / 2), round((line.box[1] + line.box[3]) / 2)
        char = Char(chr(0x4E00 + int(block.crop.pixels[y, x])), block.crop.to_page(line.box), 0.5)
        return LineReading((char,), "read")


def shaded_page(count: int = 24) -> Page:
    """Two registers of columns, each column its own grey; too high for the halves of a verse."""
    pixels = np.full((900, 1000), 250, np.uint8)
    lines = []
    for k in range(count):
        x, y = 900 - 70 * (k % 12), 40 + 430 * (k // 12)
        pixels[y : y + 380, x : x + 30] = 5 * k
        lines.append(Line(f"l{k}", (x, y, x + 30, y + 380), text="舊"))
    return Page("p.png", 1000, 900, tuple(lines), pixels)


def test_every_line_gets_the_text_of_its_own_place() -> None:
    page = shaded_page()
    assert len(cut_blocks(page)) > 1
    result = Reader(Seeing()).read(page)
    assert [line.id for line in result.lines] == [line.id for line in page.lines]
    assert [ord(line.text) - 0x4E00 for line in result.lines] == [5 * k for k in range(24)]
    assert all(line.confidence == 0.5 and line.chars[0].box == line.box for line in result.lines)


def test_a_page_without_lines() -> None:
    page = Page("", 50, 50, (), np.zeros((50, 50), np.uint8))
    assert Reader(Seeing()).read(page).text == ""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    page = shaded_page()
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(tmp_path / "p.png")
    write_page(page, tmp_path / "lines.json")
    return tmp_path / "p.png", tmp_path / "lines.json"


def test_the_command_writes_what_was_read(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    image, lines = files
    monkeypatch.setattr("tongguocr.reader.open_engine", lambda *_: Seeing())
    assert cli.main(["read", str(image), "--lines", str(lines)]) == 0
    assert capsys.readouterr().out.splitlines()[1] == chr(0x4E05)
    assert cli.main(["read", str(image), "--lines", str(lines), "--flow"]) == 0
    assert capsys.readouterr().out == "".join(chr(0x4E00 + 5 * k) for k in range(24)) + "\n"
    for name in ("out.json", "out.xml", "out.alto.xml", "out.txt"):
        assert cli.main(["read", str(image), "--lines", str(lines), "-o", str(image.parent / name)]) == 0
        assert read_page(image.parent / name).lines[2].text == chr(0x4E0A)


def test_the_command_leaves_the_fold_out_of_text_alone(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    image, lines = files
    page = read_page(lines)
    write_page(replace(page, lines=(replace(page.lines[0], kind="fold"), *page.lines[1:3])), lines)
    monkeypatch.setattr("tongguocr.reader.open_engine", lambda *_: Seeing())
    arguments = ["read", str(image), "--lines", str(lines)]
    for more, expected in (([], "\u4e05\n\u4e0a\n"), (["--fold"], "\u4e00\n\u4e05\n\u4e0a\n")):
        assert cli.main([*arguments, *more]) == 0
        assert capsys.readouterr().out == expected
    assert cli.main([*arguments, "-o", str(image.parent / "out.xml")]) == 0
    assert [line.kind for line in read_page(image.parent / "out.xml").lines] == ["fold", "main", "main"]


class Known:
    """A detector that finds the lines of a page that it was told, in no order."""

    tells_kinds = True

    def __init__(self, page: Page) -> None:
        self.page = page

    def detect(self, pixels: Pixels) -> Detection:
        return Detection(self.page.lines[::-1])


def test_the_whole_way_from_pixels() -> None:
    page = shaded_page()
    numbered = replace(page, lines=tuple(replace(x, id=f"l{k}") for k, x in enumerate(page.lines, start=1)))
    found = Reader(Seeing(), Known(page)).read(replace(page, lines=()))
    assert found == Reader(Seeing()).read(numbered), (
        "given lines are read as found ones are; their text is not seen"
    )


def lying(page: Page, angle: int) -> Page:
    """A page of which only its scan is known, which must be turned by an angle."""
    return bare_page(page.image, scan_of(page, angle))


@pytest.mark.parametrize("direction", [None, "vertical-rl"])
@pytest.mark.parametrize("angle", ANGLES)
def test_a_page_is_read_upright_however_it_lies(angle: int, direction: WritingMode | None) -> None:
    page = shaded_page(12)
    detector = Observant(page)
    found = Reader(Seeing(), detector, direction).read(lying(page, angle))
    assert found.angle == angle and detector.seen == ([angle, 0] if angle else [0])
    assert [ord(line.text) - 0x4E00 for line in found.lines] == [5 * k for k in range(12)]
    assert [line.box for line in found.lines] == [line.box for line in page.lines]
    assert np.array_equal(found.pixels, page.pixels), "what is drawn later is drawn on the upright page"


def test_a_page_that_must_not_be_turned() -> None:
    page = shaded_page()
    detector = Observant(page)
    for reader, turn in ((Reader(None, detector, turn=False), None), (Reader(None, detector), False)):
        found = reader.find_lines(lying(page, 90), turn=turn)
        assert (found.angle, found.width, found.height) == (0, 900, 1000) and len(found.lines) == 24
    assert detector.seen == [90, 90]
    assert Reader(None, detector, turn=False).find_lines(lying(page, 90), turn=True).angle == 90


def test_a_page_with_lines_is_not_turned() -> None:
    page = shaded_page()
    known = turn_page(page, 180)
    assert Reader(Seeing(), Observant(page)).read(replace(known, angle=0)).angle == 0


def test_lines_of_a_turned_page_turn_the_page_they_are_given_to(tmp_path: Path) -> None:
    page = shaded_page()
    for ending in LINE_ENDINGS:
        write_page(replace(page, angle=270), tmp_path / f"p{ending}")
        found = Reader(Seeing(), given=open_lines(tmp_path / f"p{ending}")).read(lying(page, 270))
        assert found.angle == 270
        assert [ord(line.text) - 0x4E00 for line in found.lines] == [5 * k for k in range(24)]
    with pytest.raises(InputError, match=r"1000 x 900 pixels, and p\.png has 900 x 1000"):
        Reader(Seeing(), given=open_lines(tmp_path / "p.json")).read(lying(page, 0))


@pytest.mark.parametrize("orientation", [1, 6])
def test_the_command_turns_pages_after_exif(
    orientation: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, exif = shaded_page(), Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(scan_of(page, 90)).save(tmp_path / "p.png", exif=exif)
    monkeypatch.setattr("tongguocr.reader.open_engine", lambda *_: Seeing())
    monkeypatch.setattr("tongguocr.reader.open_detector", lambda *_: Observant(page))
    for command in ("read", "lines"):
        arguments = [command, str(tmp_path / "p.png"), "-o", str(tmp_path / "out.json")]
        assert cli.main(arguments) == 0
        found = read_page(tmp_path / "out.json")
        assert (found.angle, found.width) == (90 if orientation == 1 else 0, 1000), "EXIF has told it already"
        assert cli.main([*arguments, "--no-turn"]) == 0
        assert read_page(tmp_path / "out.json").width == (900 if orientation == 1 else 1000)


def test_lines_that_a_page_has_are_not_looked_for() -> None:
    page = shaded_page()
    other = replace(page, lines=page.lines[:3])
    assert [line.id for line in Reader(Seeing(), Known(page)).read(other).lines] == ["l0", "l1", "l2"]
    assert len(Reader(Seeing(), Known(page)).read(replace(page, lines=())).lines) == 24


def test_without_an_engine_lines_are_found_and_not_read() -> None:
    page = shaded_page()
    found = Reader(None, Known(page)).read(replace(page, lines=()))
    assert [line.box for line in found.lines] == [line.box for line in page.lines]


def test_reading_stops_where_it_should() -> None:
    def stop() -> None:
        raise InputError("enough")

    engine = Seeing()
    with pytest.raises(InputError, match="enough"):
        Reader(engine, check=stop).read(shaded_page())


def test_a_folder_of_lines(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.reader.open_engine", lambda *_: Seeing())
    page, folder = shaded_page(), files[1].parent
    read = open_reader(Setup(lines=folder))
    assert read(replace(page, lines=()), "lines").lines[2].text == chr(0x4E0A)
    with pytest.raises(InputError, match="other"):
        read(page, "other")
    for suffix in reversed(LINE_ENDINGS):
        write_page(page, folder / f"x{suffix}")
        assert lines_file(folder, "x").name == f"x{suffix}", "the more exact form counts"


def test_two_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_engine(name: str, *rest: object) -> Seeing:
        opened.append(name)
        return Seeing()

    monkeypatch.setattr("tongguocr.reader.open_engine", open_engine)
    both = open_reader(Setup(second="rapidocr", detector=None)).read(shaded_page())
    assert opened == [DEFAULT_ENGINE, "rapidocr"]
    assert all(line.chars[0].confidence > 0.5 for line in both.lines), "they agree"
    with pytest.raises(InputError, match="second"):
        open_reader(Setup(second=DEFAULT_ENGINE))


def test_mistakes_give_one_sentence(files: tuple[Path, Path]) -> None:
    image, lines = files
    small = image.parent / "small.png"
    Image.new("L", (40, 40)).save(small)
    weights = ("--engine", "tongguocr", "--weights", image.parent)
    for arguments, said in (
        ((small, "--lines", lines), "1000 x 900"),
        ((image, "--lines", image.parent / "none.json"), "none.json"),
        ((image, "--lines", lines, "--engine", "magic"), "magic"),
        ((image, "--lines", lines, *weights), "manifest.json"),
        ((image, "--lines", lines, "--engine", "hf"), "The engine hf needs --model"),
    ):
        command = [sys.executable, "-m", "tongguocr.cli", "read", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        assert result.returncode == 2 and said in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1


def test_a_page_that_cannot_be_trusted_says_so(tmp_path: Path) -> None:
    with Image.open(EXAMPLES / "page.jpg") as image:
        image.rotate(180).save(tmp_path / "lying.png")
    command = [sys.executable, "-m", "tongguocr.cli", "read", str(tmp_path / "lying.png"), "--no-turn"]
    output = ["-o", str(tmp_path / "a.json"), "--min-confidence", "0.9"]
    result = subprocess.run([*command, *output], capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0 and result.stdout == ""
    assert result.stderr.startswith("tongguocr: page lying: its reading cannot be trusted:")
    assert result.stderr.count("\n") == 1
    page = read_page(tmp_path / "a.json")
    assert len(page.warnings) == 1 and page.warnings[0] in result.stderr and "\u3013" in page.full_text


def test_lines_that_are_given_are_read_as_they_were_found(tmp_path: Path) -> None:
    """White on black, and leaning: what the file says, and what is seen of its lines."""
    page = shaded_page()
    assert page.pixels is not None
    dark = np.where(page.pixels < 250, 250 - page.pixels, 0).astype(np.uint8)
    found = take_lines(bare_page("p.png", 255 - page.pixels), replace(page, inverted=True), "lines")
    assert found.inverted and Reader(Seeing()).read(found).full_text == Reader(Seeing()).read(page).full_text
    assert take_lines(bare_page("p.png", dark), page, "lines").inverted, "nobody has to say it"
    leaning = take_lines(bare_page("p.png", page.pixels), replace(page, skew=8.0), "lines")
    slight = take_lines(bare_page("p.png", page.pixels), replace(page, skew=1.5), "lines")
    assert (leaning.skew, slight.skew) == (8.0, 0.0)
    read = Reader(Seeing()).read(leaning)
    assert (read.skew, read.width, read.height) == (8.0, page.width, page.height)
