"""Which reader opens which file, whole files or none, and one sentence for whatever is not a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from page_strategies import example_page

from tongguocr.errors import InputError
from tongguocr.files import write_bytes
from tongguocr.formats import FORMATS, read_page, write_page

SUFFIX = {
    "json": ".json",
    "page": ".xml",
    "alto": ".alto.xml",
    "text": ".txt",
    "markdown": ".md",
    "hocr": ".hocr",
    "tei": ".tei.xml",
    "doubts": ".csv",
}


@pytest.mark.parametrize("format", ["json", "page", "alto"])
@pytest.mark.parametrize("name", ["page.json", "page.xml", "page"])
def test_the_content_tells_the_format_and_not_the_name(format: str, name: str, tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / name, format)
    assert read_page(tmp_path / name).text == example_page().text


def test_every_format_has_a_suffix() -> None:
    # These two need an image; their own tests write them.
    assert set(FORMATS) == {*SUFFIX, "pdf", "overlay"}


@pytest.mark.parametrize("format", SUFFIX)
def test_the_suffix_chooses_the_format(format: str, tmp_path: Path) -> None:
    write_page(example_page(), tmp_path / f"named{SUFFIX[format]}")
    write_page(example_page(), tmp_path / "asked", format)
    named, asked = ((tmp_path / n).read_text("utf-8") for n in (f"named{SUFFIX[format]}", "asked"))
    assert named.splitlines()[8:] == asked.splitlines()[8:]  # PAGE's metadata hold the time


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
