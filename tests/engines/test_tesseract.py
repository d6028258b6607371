"""Tesseract behind our interface, with a stand-in for the program where it is not to be relied on."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paths import EXAMPLES
from recognise_pages import column, inputs_of, make_page

from tongguocr.engines import open_engine
from tongguocr.engines.tesseract import (
    MissingProgramError,
    TesseractEngine,
    check_languages,
    parse_hocr,
)
from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.page import Page
from tongguocr.reader import Reader
from tongguocr.sources import load_pixels

EXAMPLE = EXAMPLES / "page.json"

HOCR = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><body>
 <div class='ocr_page' title='image "a.png"; bbox 0 0 200 40; ppageno 0'>
  <span class='ocrx_word' title='bbox 0 0 80 40; x_wconf 92'>
   <span class='ocrx_cinfo' title='x_bboxes 0 0 40 40; x_conf 99.5'>天</span>
   <span class='ocrx_cinfo' title='x_bboxes 40 0 80 40; x_conf 50'>地</span>
  </span>
 </div>
 <div class='ocr_page' title='image "b.png"; bbox 0 0 200 40; ppageno 1'></div>
</body></html>"""

PROGRAM = """#!{python}
import sys
from pathlib import Path
arguments = sys.argv[1:]
if arguments == ["--list-langs"]:
    print("List of available languages in x (2):", *{languages!r}, sep="\\n")
    raise SystemExit
Path({seen!r}).open("a").write(" ".join(arguments) + "\\n")
{action}
"""

ECHO = """
from PIL import Image
print("<html xmlns='http://www.w3.org/1999/xhtml'><body>")
for name in Path(arguments[0]).read_text().split():
    width, height = Image.open(name).size
    print(f"<div class='ocr_page' title='bbox 0 0 {width} {height}'>")
    for k, char in enumerate("甲乙丙丁戊"[: width // 40]):
        place = f"x_bboxes {40 * k} 0 {40 * k + 40} 40"
        print(f"<span class='ocrx_cinfo' title='{place}; x_conf 80'>{char}</span>")
    print("</div>")
print("</body></html>")
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, action: str, *languages: str) -> Path:
    """A program `tesseract` that does this; the file in which it notes how it was called."""
    program, seen = folder / "tesseract", folder / "seen.txt"
    known = list(languages or ("chi_tra_vert", "chi_tra"))
    program.write_text(
        PROGRAM.format(python=sys.executable, languages=known, seen=str(seen), action=action),
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    return seen


posix = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script with a shebang")


@posix
def test_all_columns_go_to_one_call_and_lie_where_they_were_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = install(tmp_path, monkeypatch, ECHO)
    page = make_page(3)
    engine = TesseractEngine()
    (reading,) = engine.read(inputs_of(page))
    assert [line.text for line in reading.lines] == ["甲乙丙丁戊"] * 3
    (call,) = seen.read_text().splitlines()
    assert call.startswith("list.txt stdout -l chi_tra_vert --psm 13 ")
    for line, given in zip(reading.lines, page.lines, strict=True):
        for k, char in enumerate(line.chars):
            assert char.box == pytest.approx((given.box[0], 40 + 40 * k, given.box[2], 80 + 40 * k))
            assert char.confidence == 0.8
    assert engine.read([]) == []


@posix
def test_rows_have_their_own_language_and_those_from_the_right_are_turned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = install(tmp_path, monkeypatch, ECHO)
    row = replace(column("h", 10, 10, 200, 40), direction="left-to-right")
    lines = (
        row,
        replace(row, direction="right-to-left"),
        column("v", 250, 10, 40, 80),
        column("thin", 5, 5, 2, 90),
    )
    page = Page("", 300, 120, lines, np.zeros((120, 300), np.uint8))
    (reading,) = TesseractEngine().read(inputs_of(page))
    assert [line.text for line in reading.lines] == ["甲乙丙丁戊", "戊丁丙乙甲", "甲乙", ""]
    assert [line.status for line in reading.lines] == ["read", "read", "read", "empty"]
    assert reading.lines[1].chars[0].box == reading.lines[0].chars[-1].box
    assert [call.split()[3] for call in seen.read_text().splitlines()] == ["chi_tra_vert", "chi_tra"]


@posix
@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("print('junk')", "not hOCR"),
        ("print('<html/>')", "answered for 0 pictures of 1"),
        ("print('''<html><div class='ocr_page' title='bbox 0'/></html>''')", "has no bbox"),
        ("print('gone', file=sys.stderr); raise SystemExit(3)", r"ended with 3 \(gone\)"),
        ("raise SystemExit(1)", r"ended with 1 \(it says nothing\)"),
        ("import time; time.sleep(300)", "did not end within 1 seconds"),
    ],
)
def test_a_program_that_fails(
    action: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, action)
    with pytest.raises(InputError, match=f"^tesseract: .*{sentence}"):
        TesseractEngine(timeout=1 if "sleep" in action else 300).read(inputs_of(make_page(1)))


@posix
def test_missing_languages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, ECHO, "eng")
    with pytest.raises(
        MissingProgramError, match=r"chi_tra_vert is not installed.*tesseract-ocr-chi-tra-vert\.$"
    ):
        open_engine("tesseract")
    check_languages(["eng"])


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgramError, match=r"^tesseract: the program is not installed"):
        open_engine("tesseract")


@posix
def test_whole_pages_come_in_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = install(tmp_path, monkeypatch, "print(' 天 地\\n\\n玄黃 \\n\\x0c')")
    assert TesseractEngine().read_whole(np.zeros((20, 30), np.uint8)) == ["天地", "玄黃"]
    assert "--psm 5" in seen.read_text()


def test_hocr_with_characters() -> None:
    first, second = parse_hocr(HOCR.encode(), 2)
    assert [(g.text, g.at, g.confidence) for g in first] == [("天", 0.1, 0.995), ("地", 0.3, 0.5)]
    assert second == []
    without = HOCR.replace("; x_conf 50", "")
    assert parse_hocr(without.encode(), 2)[0][1].confidence == 0.0


def test_entities_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("祕", encoding="utf-8")
    evil = f"<!DOCTYPE html [<!ENTITY e SYSTEM '{(tmp_path / 'secret.txt').as_uri()}'>]>"
    body = HOCR.split("?>", 1)[1].replace("天", "&e;")
    with pytest.raises(InputError, match="not hOCR"):
        parse_hocr((evil + body).encode(), 2)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="the program is not installed")
def test_the_real_program_on_the_example_page() -> None:
    try:
        engine = open_engine("tesseract")
    except MissingProgramError as error:
        pytest.skip(str(error))
    page = replace(read_page(EXAMPLE), pixels=load_pixels(EXAMPLE.with_suffix(".jpg")))
    page = replace(page, lines=page.lines[:3])
    result = Reader(engine).read(page)
    right = sum(
        a == b
        for line, wanted in zip(result.lines, page.lines, strict=True)
        for a, b in zip(line.text, wanted.text, strict=False)
    )
    assert right > 3 and all(line.text for line in result.lines)
