"""Jobs: every page by itself, once, and whole."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.jobs import OUTPUTS, Outcome, list_pages, parse_formats, run_job
from tongguocr.page import Line, Page

EXAMPLES = Path(__file__).parents[1] / "examples"


class Shades:
    """Reads each page as its shade, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, page: Page) -> Page:
        assert page.pixels is not None
        self.asked.append(page.image)
        shade = int(page.pixels[0, 0])
        if shade == 13:
            raise ZeroDivisionError("a fault of ours")
        return replace(page, lines=(Line("l1", (0, 0, 20, 30), chr(0x4E00 + shade)),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "in"
    source.mkdir()
    for name, shade in (("p1", 1), ("p2", 2), ("p10", 10)):
        Image.fromarray(np.full((30, 20), shade, np.uint8)).save(source / f"{name}.png")
    return source


def states(outcomes: list[Outcome]) -> dict[str, str]:
    return {outcome.name: outcome.state for outcome in outcomes}


def test_every_page_in_every_format(folder: Path, tmp_path: Path) -> None:
    read, out = Shades(), tmp_path / "out" / "deep"
    done = list(run_job(list_pages([str(folder)]), read, out, tuple(OUTPUTS)))
    assert [(d.name, d.state, d.characters) for d in done] == [(n, "read", 1) for n in ("p1", "p2", "p10")]
    assert {p.name for p in out.iterdir()} == {n + s for n in ("p1", "p2", "p10") for s in OUTPUTS.values()}
    assert (out / "p10.txt").read_text(encoding="utf-8").strip() == chr(0x4E0A)


def test_what_is_done_is_not_done_again(folder: Path, tmp_path: Path) -> None:
    read, out = Shades(), tmp_path / "out"
    list(run_job(list_pages([str(folder)], "1-2"), read, out, ("txt",)))
    before = (out / "p1.txt").stat().st_mtime_ns
    (out / "p2.txt").unlink()
    again = list(run_job(list_pages([str(folder)]), read, out, ("txt",)))
    assert states(again) == {"p1": "done", "p2": "read", "p10": "read"}
    assert read.asked == ["p1.png", "p2.png", "p2.png", "p10.png"]
    assert (out / "p1.txt").stat().st_mtime_ns == before
    more = list(run_job(list_pages([str(folder)]), read, out, ("txt", "json")))
    assert states(more) == dict.fromkeys(("p1", "p2", "p10"), "read"), "a new format is new work"


def test_a_page_or_source_that_fails_costs_only_itself(folder: Path, tmp_path: Path) -> None:
    (folder / "p3.png").write_bytes(b"junk")
    Image.fromarray(np.full((30, 20), 13, np.uint8)).save(folder / "p4.png")
    sources = [str(tmp_path / "none.pdf"), str(folder), str(folder / "p1.png")]
    done = list(run_job(list_pages(sources), Shades(), tmp_path / "out", ("txt",)))
    assert [(d.name, d.state) for d in done] == [
        ("none", "failed"),
        ("p1", "read"),
        ("p2", "read"),
        ("p3", "failed"),
        ("p4", "failed"),
        ("p10", "read"),
        ("p1", "failed"),
    ]
    reasons = [d.reason for d in done if d.reason]
    assert all("\n" not in reason for reason in reasons)
    named = zip(reasons, ("none.pdf", "p3.png", "ZeroDivisionError", "same name"), strict=True)
    assert all(part in reason for reason, part in named)


def test_formats_as_they_are_typed() -> None:
    assert parse_formats("txt, json,txt") == ("txt", "json")
    with pytest.raises(InputError, match="docx"):
        parse_formats("txt,docx")


def test_a_folder_for_results_that_cannot_be_made(folder: Path) -> None:
    with pytest.raises(InputError, match="cannot be made"):
        list(run_job(list_pages([str(folder)]), Shades(), folder / "p1.png" / "out", ("txt",)))


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "read", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_the_command_reads_into_a_folder(tmp_path: Path) -> None:
    page, lines = EXAMPLES / "page.jpg", EXAMPLES / "page.json"
    done = run(page, "--lines", lines, "-o", tmp_path / "out", "--format", "txt,tei")
    assert done.returncode == 0, done.stderr
    assert "Pages: 1 read (" in done.stdout
    text = (tmp_path / "out" / "page.txt").read_text(encoding="utf-8")
    assert text.startswith("大學之道") and (tmp_path / "out" / "page.tei.xml").exists()
    again = run(page, "--lines", lines, "-o", tmp_path / "out", "--format", "txt,tei")
    assert again.returncode == 0 and "1 done before" in again.stdout
    failed = run(tmp_path / "none.jpg", "--lines", lines, "-o", f"{tmp_path / 'new'}/")
    assert failed.returncode == 1 and "none.jpg" in failed.stderr and "1 failed" in failed.stdout
    several = run(page, page, "--lines", lines, "-o", tmp_path / "out")
    assert several.returncode == 2 and several.stderr.count("\n") == 1 and "one page" in several.stderr
