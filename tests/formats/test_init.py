"""Which reader opens which file, whole files or none, and one sentence for whatever is not a page."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_strategies import example_page

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.formats import (
    ENDINGS,
    FORMATS,
    LINE_ENDINGS,
    READ_ENDINGS,
    Format,
    find_format,
    page_stem,
    read_page,
    write_book,
    write_page,
)

WITH_IMAGE = replace(
    example_page(), pixels=np.full((example_page().height, example_page().width), 9, np.uint8)
)


@pytest.mark.parametrize("format", ["json", "page", "alto"])
@pytest.mark.parametrize("name", ["page.json", "page.xml", "page"])
def test_the_content_tells_the_format_and_not_the_name(format: str, name: str, tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / name, format)
    assert read_page(tmp_path / name).full_text == example_page().full_text


def test_what_the_names_of_files_tell() -> None:
    assert set(FORMATS) >= {
        "txt",
        "json",
        "page",
        "alto",
        "tei",
        "hocr",
        "md",
        "pdf",
        "csv",
        "overlay",
        "epub",
        "iiif",
    }
    assert len(ENDINGS) == sum(len(format.endings) for format in FORMATS.values()), "no ending twice"
    assert READ_ENDINGS == (".json", ".page.xml", ".xml", ".alto.xml", ".alto", ".txt")
    assert READ_ENDINGS[:-1] == LINE_ENDINGS
    names = ("p1.alto.xml", "p1.page.xml", "p1.XML", "p1.tar.gz", "p1.v2.json", "p1", "p1.manifest.json")
    assert [page_stem(Path(name)) for name in names] == ["p1", "p1", "p1", "p1.tar", "p1.v2", "p1", "p1"]


def test_names_of_earlier_versions_are_known() -> None:
    old = {"text": "txt", "markdown": "md", "doubts": "csv"}
    assert {name: find_format(name).name for name in old} == old


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_ending_chooses_the_format(ending: str, tmp_path: Path) -> None:
    write_page(WITH_IMAGE, tmp_path / f"named{ending}")
    for name in (ENDINGS[ending].name, *ENDINGS[ending].aliases):
        write_page(WITH_IMAGE, tmp_path / "named", name)
        named, asked = ((tmp_path / n).read_bytes() for n in (f"named{ending}", "named"))
        assert named.splitlines()[8:] == asked.splitlines()[8:]  # PAGE's metadata hold the time


@pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))
def test_what_a_format_needs_is_what_the_table_says(format: Format, tmp_path: Path) -> None:
    path = tmp_path / f"a{format.ending}"
    if format.image:
        with pytest.raises(InputError, match=r"a\..*: .*image.*\.$"):
            write_page(example_page(), path)
        assert not path.exists()
    if format.book:
        write_book([WITH_IMAGE, WITH_IMAGE], path)
        assert path.stat().st_size > 0
    else:
        with pytest.raises(InputError, match="holds one page"):
            write_book([WITH_IMAGE], path)
    if format.reader:
        write_page(example_page(), path)
        page = read_page(path)
        assert [line.text for line in page.lines] == [
            t for t in example_page().full_text.split("\n") if t or format.boxes
        ]
        assert any(any(line.box) for line in page.lines) == format.boxes


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", b""),
        ("a.xml", b"  \n"),
        ("a.xml", b"\x89PNG\r\n"),
        ("a.xml", b"<PcGts"),
        ("a.xml", b"<html/>"),
        ("a.xml", b"<PcGts/>"),
        ("a.xml", b"<alto/>"),
        ("a.json", b"<PcGts/>"),
        ("a.json", b"[1]"),
        ("a.pdf", b"%PDF-1.4"),
        ("a", b"\xff\xfe\x00\x00junk"),
        ("a.xml", b'<?xml version="1.0" encoding="klingon"?><alto/>'),
    ],
)
def test_what_is_no_page_is_one_sentence_with_the_files_name(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        read_page(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ") and message.endswith(".") and "\n" not in message


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_page(tmp_path / "none.json")
    for name in ("folder.json", "folder.txt"):
        (tmp_path / name).mkdir()
        with pytest.raises(InputError, match="a folder, not a file"):
            read_page(tmp_path / name)


def test_xml_in_utf_16_opens(tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / "a.xml")
    text = (tmp_path / "a.xml").read_text("utf-8").replace("UTF-8", "UTF-16")
    (tmp_path / "a.xml").write_bytes(text.encode("utf-16"))
    assert read_page(tmp_path / "a.xml").text == example_page().text


def test_unknown_formats_and_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no format 'docx'"):
        write_page(example_page(), tmp_path / "a.json", "docx")
    with pytest.raises(InputError, match="does not tell the format"):
        write_page(example_page(), tmp_path / "a.doc")


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_page(example_page(), tmp_path / "none" / "a.json")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(example_page(), tmp_path, "json")


def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="no space left on device"):
        write_bytes(b"new", path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_rights_are_those_of_any_new_file_or_of_the_old_one(tmp_path: Path) -> None:
    new, plain = tmp_path / "new", tmp_path / "plain"
    write_bytes(b"x", new)
    plain.write_bytes(b"x")
    assert new.stat().st_mode == plain.stat().st_mode
    new.chmod(0o640)
    write_bytes(b"y", new)
    assert new.stat().st_mode & 0o777 == 0o640


def test_the_command_prints_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(
        '{"format": "tongguocr-page", "version": 1, "width": 1, "height": 1, "lines": [{"id": 1}]}'
    )
    command = [sys.executable, "-m", "tongguocr.cli", "blocks", str(broken), "-o", str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"tongguocr: {broken}: lines[0].box must be four numbers.\n"
