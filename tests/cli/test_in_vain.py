"""Options that nothing would obey: one sentence and exit code 2, before anything is read or written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run_here
from job_readers import open_quick, write_pages
from page_strategies import example_page
from PIL import Image

from tongguocr.cli import read_here
from tongguocr.formats import write_page
from tongguocr.reader import Setup


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two images, a PDF and a page that was read, in the folder that we are in."""
    write_pages(tmp_path / "in", {"p1": 31, "p2": 32})
    Image.fromarray(np.full((40, 30), 7, np.uint8)).save(tmp_path / "a.pdf")
    write_page(example_page(), tmp_path / "page.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("-o a.tei.xml --notes inline", "--notes is for txt, md, epub, and what is to be written is tei."),
        (
            "-o out --format json,alto --flow",
            "--flow is for txt, md, epub, and what is to be written is json",
        ),
        ("-o - --format pdf --fold", "--fold is for txt, md, epub, and what is to be written is pdf."),
        ("--base-url https://example.org/", "--base-url is for iiif, and what is to be written is txt."),
        ("--doubtful omit", "--doubtful is for characters that --min-confidence says are not sure"),
        ("--password word", "--password is for PDFs, and in/p1.png is none."),
        ("in/p2.png -o out --password word", "--password is for PDFs, and none of the sources is one."),
        ("--workers 2", "--workers is for a folder or a book"),
        ("-o a.txt --workers 2", "--workers is for a folder or a book"),
        ("--lines page.json --direction horizontal", "--direction is for lines that are looked for"),
        ("--lines page.json --detector rapidocr", "--detector is for lines that are looked for"),
        ("--lines page.json --detector-weights in", "--detector-weights is for lines that are looked for"),
        ("--lines page.json --no-turn", "--no-turn is for lines that are looked for"),
        ("--detector rapidocr --detector-weights in", "--detector-weights is for our own detector"),
        ("--engine rapidocr --weights in", "--weights is for an engine that takes it (tongguocr, hf)"),
        ("--url http://127.0.0.1:9", "--url is for an engine that takes it (server), and not for tongguocr."),
        ("--second tesseract --model m", "(server, hf), and not for tongguocr and tesseract."),
        ("--engine hf --weights in --model m", "--weights and --model both say"),
        ("--engine rapidocr --language-model in", "--language-model is heard by the engine tongguocr alone"),
        ("--engine rapidocr --reread", "--reread is for the engine tongguocr alone, and not for rapidocr"),
        ("--second rapidocr --reread", "--reread is for the engine tongguocr alone"),
        ("--second tesseract --language-model in", "not with tongguocr and tesseract."),
    ],
)
def test_read(command: str, sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(setup: Setup) -> None:
        raise AssertionError("nothing is opened")

    for place in ("tongguocr.reader", "tongguocr.cli.read_here"):
        monkeypatch.setattr(f"{place}.open_reader", refuse)
    check("read in/p1.png " + command, sentence, folder)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("convert page.json -o a.tei.xml --notes omit", "--notes is for txt, md, epub"),
        ("convert page.json -o - --format page --flow", "what is to be written is page."),
        ("convert page.json -o out --format txt,md --base-url http://a.b/", "--base-url is for iiif"),
        ("convert page.json -o a.txt --image in", "--image is for pdf, overlay, and what is to be written"),
        ("convert page.json -o a.txt --for larex", "--for is for page, and what is to be written is txt."),
        ("convert page.json -o - --format tei --for transkribus", "--for is for page"),
        ("convert page.json -o a.txt --from json", "--from is for folders"),
        ("convert page.json -o a.txt --format tei", "its name says txt, and --format tei; end the name"),
        ("convert page.json -o a.txt --format txt,tei", "its name says txt, and --format txt,tei;"),
        ("convert page.json -o a.txt --doubtful omit", "--min-confidence"),
        ("lines in/p1.png -o a.txt", "a.txt: lines have no text yet"),
        ("lines in/p1.png -o a.json --detector rapidocr --weights in", "--weights is for our own detector"),
        ("proofread in --no-read --engine rapidocr", "--engine says how pages are read, and with --no-read"),
        ("proofread in --no-read --no-turn", "--no-turn says how pages are read"),
        ("proofread in --no-read --device cpu", "--device says how pages are read"),
        ("proofread in --url http://127.0.0.1:9", "--url is for an engine that takes it (server)"),
        ("proofread in --detector magic", "There is no detector 'magic'"),
        ("serve --engine rapidocr --language-model in", "--language-model is heard by the engine tongguocr"),
    ],
)
def test_other_commands(command: str, sentence: str, folder: Path) -> None:
    check(command, sentence, folder)


def check(command: str, sentence: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = run_here(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr and done.stderr.count("\n") == 1 and done.stderr.endswith(".\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        "read in/p1.png -o out --format tei,txt --notes inline --workers 1",
        "read in -o b.txt --workers 1",
        "read in --password word",
        "read in/p1.png a.pdf --password word",
        "read in/p1.png --again --recursive --quiet",
        "read in/p1.png -o a.txt --format txt",
        "convert page.json -o out --format txt,pdf --image in/page-001.png --notes omit",
        "convert . -o out --format txt,page --from json --for larex",
        "convert page.json -o a.txt --format txt",
    ],
)
def test_what_something_obeys_or_nothing_needs_is_taken(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(read_here, "open_reader", open_quick)
    monkeypatch.setattr("tongguocr.reader.open_reader", open_quick)
    Image.new("L", (example_page().width, example_page().height)).save(folder / "in" / "page-001.png")
    done = run_here(*command.split())
    assert (done.returncode, done.stderr) == (0, "")
