"""`tongguocr read` on standard input and output, in any encoding, and what it says where it cannot."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from job_readers import HANGS, open_quick, write_columns, write_pages
from PIL import Image

from tongguocr import cli
from tongguocr.cli import read_here
from tongguocr.reader import Setup

COMMAND = [sys.executable, "-m", "tongguocr", "read"]
PLAIN = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A column of the example, as images with lines."""
    return write_columns(tmp_path_factory.mktemp("small"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are read as the characters of their shades, here and in the processes of a job."""
    monkeypatch.setattr(read_here, "open_reader", open_quick)
    monkeypatch.setattr("tongguocr.reader.open_reader", open_quick)


def run_here(*arguments: object) -> int:
    return cli.main(["read", *map(str, arguments)])


@pytest.mark.parametrize("encoding", ["gbk", "cp1252", "ascii:strict"])
def test_any_terminal_gets_utf8(small: Path, tmp_path: Path, encoding: str) -> None:
    image = tmp_path / "大學𠀀.png"
    image.write_bytes((small / "in" / "p1.png").read_bytes())
    lines = small / "lines" / "p1.json"
    environment = {**PLAIN, "PYTHONIOENCODING": encoding}
    # One that is read and one that is not there: text and a sentence.
    command = [*COMMAND, image, tmp_path / "無.png", "--lines", lines.parent]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert b"Traceback" not in done.stderr and done.returncode == 1
    assert "大學𠀀" in done.stderr.decode("utf-8") and "無.png: there is no such file" in done.stderr.decode()
    done = subprocess.run([*COMMAND, image, "--lines", lines], capture_output=True, env=environment)
    assert done.stdout.decode("utf-8").startswith("大學") and not done.stderr and done.returncode == 0
    job = [*COMMAND, image, "--lines", lines, "-o", tmp_path / "出"]
    done = subprocess.run(job, capture_output=True, env=environment)
    assert done.returncode == 0 and f"1 done before, 0 failed: {tmp_path / '出'}" not in done.stdout.decode()
    assert str(tmp_path / "出") in done.stdout.decode("utf-8") and not done.stderr


def test_standard_input_and_output(small: Path, tmp_path: Path) -> None:
    lines, data = small / "lines" / "p1.json", (small / "in" / "p1.png").read_bytes()
    for format, start in (("txt", "大學".encode()), ("pdf", b"%PDF-"), ("json", b"{")):
        command = [*COMMAND, "-", "--lines", lines, "-o", "-", "--format", format]
        done = subprocess.run(command, input=data, capture_output=True, cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr and done.stdout.startswith(start)
    assert json.loads(done.stdout)["lines"][0]["text"].startswith("大學"), "nothing else was written there"
    assert not list(tmp_path.iterdir())


def test_a_closed_pipe_ends_quietly(small: Path) -> None:
    inside, outside = os.pipe()
    os.close(inside)
    image, lines = small / "in" / "p1.png", small / "lines" / "p1.json"
    for command in ([*COMMAND, image, "--lines", lines], [*COMMAND, "--help"]):
        done = subprocess.run(command, stdout=outside, stderr=subprocess.PIPE, text=True)
        assert (done.returncode, done.stderr) == (141 if "--help" not in command else 0, "")
    os.close(outside)


def test_a_summary_that_nobody_reads_fails_no_job(small: Path, tmp_path: Path) -> None:
    inside, outside = os.pipe()
    os.close(inside)
    image, lines = small / "in" / "p1.png", small / "lines" / "p1.json"
    command = [*COMMAND, image, "--lines", lines, "-o", tmp_path / "out"]
    done = subprocess.run(command, stdout=outside, stderr=subprocess.PIPE, text=True)
    os.close(outside)
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "out" / "p1.txt").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such device")
def test_a_full_disk_behind_standard_output(small: Path) -> None:
    command = [*COMMAND, small / "in" / "p1.png", "--lines", small / "lines" / "p1.json", "-o", "-"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "standard output: " in done.stderr and "no space left" in done.stderr


@pytest.mark.usefixtures("quick")
def test_a_whole_source_on_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 1, "p2": 2})
    (folder / "bad.png").write_bytes(b"junk")
    assert run_here(folder, "-o", "-") == 1
    said = capfdbinary.readouterr()
    assert said.out.decode().split() == ["丁", "丂"] and said.err.count(b"\n") == 1 and b"bad.png" in said.err
    assert run_here(folder, "-o", "-", "--format", "pdf") == 1
    pdf = capfdbinary.readouterr().out
    assert pdf.startswith(b"%PDF-") and pdf.count(b"/Type /Page /Parent") == 2
    assert run_here(folder, "-o", "-", "--format", "json") == 2
    assert b"standard output: the format json holds one page" in capfdbinary.readouterr().err
    shades = [Image.fromarray(np.full((30, 20), shade, np.uint8)) for shade in (3, 4)]
    book = io.BytesIO()
    shades[0].save(book, "TIFF", save_all=True, append_images=shades[1:])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(book.getvalue())))
    assert run_here("-", "--pages", "2", "-o", tmp_path / "stdin.json") == 0
    assert json.loads((tmp_path / "stdin.json").read_bytes())["lines"][0]["text"] == chr(0x4E00 + 4)
    for empty in (b"", b"junk"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(empty)))
        assert run_here("-") == 2
        assert capfdbinary.readouterr().err.startswith(b"tongguocr: standard input: ")


@pytest.mark.usefixtures("quick")
def test_what_is_passed_over_is_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 1})
    for name in ("p1.txt", "p1.alto.xml", ".hidden", "a.pdf", "b.docx", "sub/p2.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    told = f"tongguocr: Not read, as no images: {folder}/a.pdf, {folder}/b.docx, {folder}/sub/"
    assert run_here(folder) == 0
    assert capsys.readouterr().err == f"{told} (--recursive reads subfolders).\n"
    assert run_here(folder, "--quiet") == 0
    assert capsys.readouterr().err == ""
    for number in range(9):
        (folder / f"c{number}.doc").touch()
    assert run_here(folder) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "c0.doc, " in said and " and 7 more (" in said and "c3.doc" not in said
    # A job says so, too, when everything else is said.
    monkeypatch.setattr("tongguocr.batch.run_with_progress", lambda *given: print("Pages: done") or 0)
    assert run_here(folder, "-o", tmp_path / "out") == 0
    assert "Not read, as no images" in capsys.readouterr().err


@pytest.mark.usefixtures("quick")
def test_a_password_opens_a_pdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    Image.fromarray(np.full((40, 30), 7, np.uint8)).save(tmp_path / "plain.pdf")
    with pikepdf.open(tmp_path / "plain.pdf") as pdf:
        pdf.save(tmp_path / "a.pdf", encryption=pikepdf.Encryption(owner="o", user="secret"))
    assert run_here(tmp_path / "a.pdf", "--password", "secret") == 0
    assert len(capsys.readouterr().out.strip()) == 1
    for words, said in (((), "needs a password"), (("--password", "no"), "has another password")):
        assert run_here(tmp_path / "a.pdf", *words) == 2
        sentence = capsys.readouterr().err
        assert said in sentence and sentence.count("\n") == 1


@pytest.mark.usefixtures("quick")
def test_jpegs_go_into_a_pdf_as_they_are_wherever_it_lies(tmp_path: Path) -> None:
    pikepdf = pytest.importorskip("pikepdf")
    scans = tmp_path / "scans"
    scans.mkdir()
    Image.fromarray(np.full((300, 200), 7, np.uint8)).save(scans / "p1.jpg", quality=60)
    jpeg = (scans / "p1.jpg").read_bytes()
    with zipfile.ZipFile(tmp_path / "book.zip", "w") as book:
        book.writestr("p1.jpg", jpeg)
    assert run_here(scans / "p1.jpg", tmp_path / "book.zip", "-o", tmp_path / "out", "--format", "pdf") == 0
    assert run_here(scans / "p1.jpg", "-o", tmp_path / "one.pdf") == 0
    # The PDF that was just written is a source, too.
    assert run_here(tmp_path / "one.pdf", "-o", tmp_path / "again.pdf") == 0
    for name in ("out/p1.pdf", "out/book_p1.pdf", "one.pdf", "again.pdf"):
        with pikepdf.open(tmp_path / name) as pdf:
            stored = pdf.pages[0].Resources.XObject["/Image"]
            assert stored.Filter == "/DCTDecode" and stored.read_raw_bytes() == jpeg, name


def test_what_cannot_be_written_is_told_before_reading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(setup: Setup) -> None:
        raise AssertionError("nothing is opened")

    monkeypatch.setattr(read_here, "open_reader", refuse)
    image = write_pages(tmp_path / "in", {"p1": 1}) / "p1.png"
    for output, said in (
        (tmp_path / "none" / "p1.json", "there is no folder"),
        (image / "p1.json", "there is no folder"),
        (tmp_path / "p1.docx", "does not tell the format"),
    ):
        assert run_here(image, "-o", output) == 2
        sentence = capsys.readouterr().err
        assert said in sentence and str(output) in sentence and sentence.count("\n") == 1


@pytest.mark.usefixtures("quick")
def test_a_limit_of_time_without_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_pages(tmp_path / "in", {"p1": 1, "p2": HANGS, "p3": 3})
    assert run_here(folder / "p2.png", "--time-limit", 3, "-o", tmp_path / "p2.json") == 2
    assert "p2.png: page p2 took longer than 3 seconds" in capsys.readouterr().err
    assert not (tmp_path / "p2.json").exists()
    assert run_here(folder, "--time-limit", 3) == 1
    said = capsys.readouterr()
    assert said.out.split() == [chr(0x4E01), chr(0x4E03)] and said.err.count("\n") == 1


def test_stopped_by_the_keyboard(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(setup: Setup) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(read_here, "open_reader", stop)
    assert run_here(write_pages(tmp_path / "in", {"p1": 1})) == 130
    assert capsys.readouterr().err == "tongguocr: stopped.\n"
