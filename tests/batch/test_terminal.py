"""A job on the terminal, and the command that runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from job_readers import (
    DOUBTFUL,
    FAULT,
    files,
    open_on_full_disk,
    open_shades,
    pages_of,
    write_columns,
    write_pages,
)

from tongguocr import cli
from tongguocr.batch import FAILED, WARNINGS, Job, run_with_progress
from tongguocr.errors import InputError


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "read", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_what_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1, "p2": 2, "p3[bold]": FAULT}))
    job = Job(tmp_path / "out", ("txt",))
    assert run_with_progress(pages[:1], open_shades, job) == 0
    said = capsys.readouterr()
    assert (
        said.err == "" and said.out == f"Pages: 1 read (1 characters), 0 done before, 0 failed: {job.out}\n"
    )
    assert run_with_progress(pages, open_shades, job, [("x.pdf", "x.pdf: no.")]) == 1
    said = capsys.readouterr()
    assert "1 read (1 characters), 1 done before, 2 failed" in said.out and FAILED in said.out
    first, second = said.err.splitlines()
    assert first == "tongguocr: x.pdf: no." and "p3[bold].png: ZeroDivisionError" in second
    assert run_with_progress(pages, open_shades, job, quiet=True) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1, "what failed is told even so"


def test_pages_that_cannot_be_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {"p1": 1, "p2": DOUBTFUL}))
    job = Job(tmp_path / "out", ("txt", "json"))
    for _ in range(2):
        assert run_with_progress(pages, open_shades, job, quiet=True) == 0, "it was read, after all"
        table = (job.out / WARNINGS).read_text(encoding="utf-8").splitlines()
        assert len(table) == 2 and table[1].split("\t")[0::2] == ["p2", "shade 20 is hard to read."]
    assert capsys.readouterr().err == "tongguocr: page p2: shade 20 is hard to read.\n", "once, not again"
    assert json.loads((job.out / "p2.json").read_bytes())["warnings"] == ["shade 20 is hard to read."]
    run_with_progress(pages, open_shades, replace(job, again=True))
    assert f"1 not to be trusted: {job.out}; {job.out / WARNINGS} names them" in capsys.readouterr().out


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A column of the example, as a folder of images with a folder of lines."""
    return write_columns(tmp_path_factory.mktemp("small"))


def test_the_command_reads_a_folder_with_a_folder_of_lines(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(small / "in", "--lines", small / "lines", "-o", out, "--format", "txt,tei", "--workers", 1)
    assert done.returncode == 1 and "Pages: 2 read (" in done.stdout and "1 failed" in done.stdout
    assert done.stderr.count("\n") == 1 and "no lines for the page p3" in done.stderr
    text = (out / "p1.txt").read_text(encoding="utf-8")
    assert text.startswith("大學") and (out / "p2.txt").read_text(encoding="utf-8") == text
    assert set(files(out)) == {"p1.txt", "p2.txt", "p1.tei.xml", "p2.tei.xml", FAILED}
    again = run(small / "in", "--lines", small / "lines", "-o", out, "--format", "txt", "--pages", "1-2")
    assert again.returncode == 0 and "2 done before" in again.stdout and not (out / FAILED).exists()


def test_pages_on_standard_output_go_on_after_one_that_fails(small: Path) -> None:
    first, third = (small / "in" / f"{name}.png" for name in ("p1", "p3"))
    done = run(third, first, small / "none.png", "--lines", small / "lines")
    assert done.returncode == 1 and done.stdout.startswith("大學") and done.stderr.count("\n") == 2
    assert "none.png" in done.stderr and "no lines for the page p3" in done.stderr


def test_mistakes_give_one_sentence(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image, lines = small / "in" / "p1.png", small / "lines" / "p1.json"
    for arguments, said in (
        ((small / "in", "--lines", lines, "-o", tmp_path / "out"), "several pages"),
        ((small / "in", "--lines", small / "lines", "-o", tmp_path / "out.hocr"), "need a folder"),
        ((image, "--lines", lines, "--format", "txt"), "-o"),
        ((image, "--lines", lines, "-o", tmp_path / "out", "--format", "docx"), "docx"),
        ((image, "--lines", lines, "-o", tmp_path / "out", "--engine", "magic"), "magic"),
        ((image, "--lines", lines, "-o", tmp_path / "out", "--workers", 0), "--workers"),
        ((image, "--lines", lines, "-o", tmp_path / "out", "--time-limit", "nan"), "--time-limit"),
        ((image, "--lines", lines, "--second", "tongguocr"), "another engine"),
        ((image, "--lines", lines, "--engine", "server"), "server"),
        ((image, "--lines", lines, "--doubtful", "omit"), "--min-confidence"),
    ):
        assert cli.main(["read", *map(str, arguments)]) == 2
        sentence = capsys.readouterr().err
        assert said in sentence and sentence.count("\n") == 1, sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no such terminals")
def test_a_bar_on_a_terminal(small: Path, tmp_path: Path) -> None:
    arguments = [small / "in", "--lines", small / "lines", "-o", tmp_path / "out", "--pages", "1-2"]
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "tongguocr.cli", "read", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    seen, end = b"", time.monotonic() + 600
    while time.monotonic() < end:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert job.wait() == 0
    assert b"0/2" in seen and b"2/2" in seen and b"characters" in seen and b"a minute" in seen


@pytest.mark.parametrize(
    ("means", "wanted"), [((), None), (("--engine", "hf"), 1), (("--engine", "hf", "--workers", "3"), 3)]
)
def test_a_full_size_model_is_opened_once_unless_more_is_asked_for(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    means: tuple[str, ...],
    wanted: int | None,
) -> None:
    asked: list[int | None] = []

    def share(tasks: int, workers: int | None, threads: int | None) -> tuple[int, int]:
        asked.append(workers)
        raise InputError("enough")

    monkeypatch.setattr("tongguocr.batch.share_cores", share)
    model = ("--model", "somewhere") if means else ()
    assert cli.main(["read", str(small / "in"), "-o", str(tmp_path / "out"), *means, *model]) == 2
    assert asked == [wanted]


def test_a_full_disk_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = pages_of(write_pages(tmp_path / "in", {f"p{k}": 30 + k for k in range(20)}))
    job = Job(tmp_path / "out", ("txt",), workers=2)
    assert run_with_progress(pages, partial(open_on_full_disk, tmp_path / "log", 3), job) == 1
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "the disk is full; " in said.err and "pages are left" in said.err
    left = int(said.err.split("; ")[1].split()[0])
    assert left == 20 - len(list((tmp_path / "out").glob("*.txt"))) and FAILED in said.out


def test_the_command_records_its_settings(small: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "out", ("--lines", small / "lines")
    (tmp_path / "vol2").mkdir()
    shutil.copy(small / "in" / "p1.png", tmp_path / "vol2")
    assert run(small / "in", *lines, "-o", out, "--pages", "1", "--format", "txt").returncode == 0
    for arguments, said in (
        ((tmp_path / "vol2",), "vol2"),
        ((small / "in", "--pages", "1", "--notes", "inline"), "notes as ever, not inline"),
    ):
        done = run(*arguments, *lines, "-o", out, "--format", "txt")
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
        assert done.stdout == ""
