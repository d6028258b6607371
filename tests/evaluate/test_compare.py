"""Engines side by side, with toy engines, with a server that speaks the protocol, and by the command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chat_server import Question, Reply, completion, serve
from lying_pages import Observant, draw, scan_of
from PIL import Image
from recognise_pages import FakeEngine, read_as

from tongguocr.engines.base import BlockInput, BlockReading, Engine
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.evaluate.compare import Comparing, LabelledImage, compare, find_labelled_images
from tongguocr.evaluate.compare_table import print_comparison
from tongguocr.evaluate.metrics import METRICS
from tongguocr.formats import write_page
from tongguocr.geometry import height
from tongguocr.page import Line, Page

TEXTS = {"p1": ("學而時習之", "不亦說乎雲峯"), "p2": ("有朋自遠方來",)}


def make_folder(folder: Path, suffix: str = ".json") -> Path:
    """Two pages of columns, with a reference each."""
    folder.mkdir(exist_ok=True)
    for number, (stem, texts) in enumerate(TEXTS.items()):
        pixels = np.full((300 + number, 200), 230, np.uint8)
        lines = []
        for k, text in enumerate(texts):
            x = 140 - 60 * k
            pixels[20:260, x : x + 40] = np.random.default_rng(k).choice([20, 230], (240, 40))
            lines.append(Line(f"l{k}", (x, 20, x + 40, 260), text))
        Image.fromarray(pixels).save(folder / f"{stem}.png")
        write_page(Page(f"{stem}.png", 200, 300 + number, tuple(lines)), folder / f"{stem}{suffix}")
    return folder


def toy(name: str, *arguments: object, **named: object) -> Engine:
    """tongguocr reads all as it is, rapidocr gets the first column wrong, tesseract is not there."""
    if name == "tesseract":
        raise MissingExtraError("Tesseract", "nothing")
    wrong = {"l0": "口口口口口"} if name == "rapidocr" else {}

    def read(block: Any) -> Any:
        texts = TEXTS["p1"] if len(block.lines) == 2 else TEXTS["p2"]
        return read_as(block, {line.id: text for line, text in zip(block.lines, texts, strict=True)} | wrong)

    return FakeEngine(read)


@pytest.mark.parametrize("suffix", [".json", ".xml", ".alto"])
def test_given_lines(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.reader.open_engine", toy)
    followed: list[tuple[str, list[str]]] = []

    def follow(images: Sequence[LabelledImage], name: str) -> Iterator[LabelledImage]:
        followed.append((name, [labelled.stem for labelled in images]))
        yield from images

    result = compare(make_folder(tmp_path, suffix), Comparing(given_lines=True), follow=follow)
    assert (result["way"], result["protocol"], result["pages"]) == ("given lines", "paper", 2)
    assert list(result["engines"]) == ["tongguocr", "rapidocr"] and "detector" not in result
    assert result["absent"] == {"tesseract": str(MissingExtraError("Tesseract", "nothing"))}
    ours, theirs = result["engines"].values()
    assert ours["AR"] == 100 and ours["RO-ED"] == 0 and ours["pages_a_minute"] > 0
    assert theirs["AR"] == pytest.approx((600 / 11 - 0) / 2, abs=1e-3)
    assert list(theirs["per_page"]) == ["p1", "p2"]
    assert followed == [("tongguocr", ["p1", "p2"]), ("rapidocr", ["p1", "p2"])]


@pytest.mark.parametrize("suffix", [".json", ".xml", ".alto"])
@pytest.mark.parametrize("given_lines", [True, False])
def test_a_page_that_lies_on_its_side(
    suffix: str, given_lines: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reference, which was read upright, gives lines for the scan as it lies; end to end we turn it."""
    page = draw(Page("p2.png", 200, 301, (Line("l0", (140, 20, 180, 260), TEXTS["p2"][0]),)))
    write_page(replace(page, angle=90), tmp_path / f"p2{suffix}")
    Image.fromarray(scan_of(page, 90)).save(tmp_path / "p2.png")
    read: list[float] = []

    def open_engine(*arguments: object) -> Engine:
        def answer(block: BlockInput) -> BlockReading:
            read.append(height(block.lines[0].box))
            return read_as(block, {line.id: TEXTS["p2"][0] for line in block.lines})

        return FakeEngine(answer)

    monkeypatch.setattr("tongguocr.reader.open_engine", open_engine)
    monkeypatch.setattr("tongguocr.reader.open_detector", lambda *_: Observant(page))
    comparing = Comparing(("tongguocr",), given_lines=given_lines)
    assert compare(tmp_path, comparing)["engines"]["tongguocr"]["AR"] == 100
    compare(tmp_path, replace(comparing, turn=False))
    assert read == [240, 240 if given_lines else 40]


def test_an_engine_asked_for_by_name_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.reader.open_engine", toy)
    folder = make_folder(tmp_path)
    with pytest.raises(MissingExtraError, match="Tesseract"):
        compare(folder, Comparing(("tongguocr", "tesseract"), given_lines=True))
    with pytest.raises(InputError, match="no engine 'abbyy'"):
        compare(folder, Comparing(("abbyy",)))
    with pytest.raises(InputError, match="address of a server"):
        compare(folder, Comparing(("server",)))


def test_a_device_is_for_our_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}

    def opened(name: str, *arguments: object) -> Engine:
        told[name] = arguments[4]
        return toy(name)

    monkeypatch.setattr("tongguocr.reader.open_engine", opened)
    both = Comparing(("tongguocr", "rapidocr"), given_lines=True, device="cuda")
    compare(make_folder(tmp_path), both)
    assert told == {"tongguocr": "cuda", "rapidocr": "auto"}
    with pytest.raises(InputError, match="None of rapidocr can be told to compute on cuda"):
        compare(tmp_path, replace(both, engines=("rapidocr",)))


def test_no_engine_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str, *arguments: object, **named: object) -> Engine:
        raise InputError(f"{name} is gone.")

    monkeypatch.setattr("tongguocr.reader.open_engine", nothing)
    with pytest.raises(InputError, match=r"no engine to compare: tongguocr is gone\. rapidocr is gone"):
        compare(make_folder(tmp_path), Comparing(given_lines=True))


def test_folded_and_strict_in_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tongguocr.reader.open_engine", toy)
    comparing = Comparing(given_lines=True, protocol="strict", fold_variants=True)
    print_comparison(compare(make_folder(tmp_path), comparing))
    shown = capsys.readouterr().out
    assert "given lines, protocol strict, 2 pages, percent" in shown
    for word in (
        *METRICS,
        "lines found",
        "pages/min",
        "tongguocr, folded",
        "rapidocr",
        "27.27",
        "Absent: tesseract.",
        "tongguocr[nothing]",
    ):
        assert word in shown
    assert "…" not in shown


def test_what_lacks_its_other_half_is_told(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    (folder / "lone.txt").write_text("天\n", encoding="utf-8")
    Image.new("L", (9, 9)).save(folder / "alone.png")
    told: list[str] = []
    assert [labelled.stem for labelled in find_labelled_images(folder, told.append)] == ["p1", "p2"]
    assert [Path(sentence.split(":")[0]).name for sentence in told] == ["lone.txt", "alone.png"]


def test_folders_that_cannot_be_compared(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", Path(__file__)):
        with pytest.raises(InputError, match="no such folder"):
            compare(folder)
    with pytest.raises(InputError, match="no image here with a reference"):
        compare(tmp_path)


def test_lines_that_cannot_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.reader.open_engine", toy)
    with pytest.raises(InputError, match=r"p1\.txt: this reference does not say where its lines are"):
        compare(make_folder(tmp_path / "a", ".txt"), Comparing(given_lines=True))
    folder = make_folder(tmp_path / "b")
    Image.new("L", (77, 88)).save(folder / "p1.png")
    with pytest.raises(
        InputError, match=r"p1\.json: its lines are for an image of 200 x 300 pixels, and .* 77 x 88"
    ):
        compare(folder, Comparing(given_lines=True))


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "compare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def by_height(question: Question) -> Reply:
    """The text of whole pages, told apart by their height."""
    return completion("\n".join(TEXTS["p1" if question.picture.shape[0] == 300 else "p2"]))


def test_the_command_with_a_server_end_to_end(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, ".txt")
    with serve(by_height) as server:
        done = run(folder, "--engines", "server", "--url", server.url, "--model", "m", "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert (result["way"], result["engines"]["server"]["AR"]) == ("end to end", 100.0)
        assert len(server.questions) == 2 and server.questions[0].picture.shape == (300, 200)
    done = run(folder, "--engines", "server", "--url", "http://127.0.0.1:9", "--model", "m")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "tongguocr: http://127.0.0.1:9/v1/chat/completions: the server cannot be reached"
    )
    assert len(done.stderr.splitlines()) == 1


def test_the_command_reads_given_lines_with_our_engine(tmp_path: Path) -> None:
    done = run(make_folder(tmp_path), "--engines", "tongguocr", "--given-lines", "--protocol", "strict")
    assert done.returncode == 0, done.stderr
    assert "given lines, protocol strict, 2 pages" in done.stdout and "tongguocr" in done.stdout


class RapidOCR:
    """The columns of the pages above, from the left, as RapidOCR would tell them."""

    def __call__(self, img_content: Any, **options: Any) -> Any:
        texts = TEXTS["p1" if img_content.shape[0] == 300 else "p2"]
        boxes = [
            [(x, 20), (x + 40, 20), (x + 40, 260), (x, 260)]
            for x in (140 - 60 * k for k in range(len(texts)))
        ]
        return SimpleNamespace(txts=texts[::-1], boxes=np.array(boxes[::-1]), scores=None)


def test_end_to_end_everyone_in_their_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(name: str, *arguments: object, **named: object) -> Engine:
        assert name == "tongguocr", "a peer reads whole pages"
        return toy(name)

    monkeypatch.setattr("tongguocr.reader.open_engine", ours)
    monkeypatch.setattr("tongguocr.engines.rapidocr.open_rapidocr", lambda *a, **b: RapidOCR())
    monkeypatch.setattr("tongguocr.layout.rapidocr.open_rapidocr", lambda *a, **b: RapidOCR())
    monkeypatch.setenv("PATH", str(tmp_path))
    result = compare(make_folder(tmp_path, ".txt"), Comparing(detector="rapidocr", protocol="strict"))
    assert result["detector"] == "rapidocr" and "tesseract" in result["absent"]
    figures = {name: (figures["AR"], figures["RO-ED"]) for name, figures in result["engines"].items()}
    # Both see the same two columns; only ours starts at the right.
    assert figures["tongguocr"] == (100, 0)
    assert figures["rapidocr"][0] < 60 and figures["rapidocr"][1] == 50
