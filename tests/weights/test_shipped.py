"""The shipped weights: whole, small, and able to read the example page."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from paths import EXAMPLES

from tongguocr.engines.weights import FILES, load_weights
from tongguocr.evaluate.protocols import PROTOCOLS, score_lines
from tongguocr.formats import read_page
from tongguocr.page import Page
from tongguocr.reader import DEFAULT_ENGINE
from tongguocr.weights import SHIPPED


def run_read(*options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "read", EXAMPLES / "page.jpg", *options]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The example page as the command reads it with no more than it needs to be told."""
    out = tmp_path_factory.mktemp("read") / "page.json"
    done = run_read("--lines", EXAMPLES / "page.json", "-o", out)
    assert done.returncode == 0, done.stderr
    return read_page(out)


def test_the_files_are_those_of_the_manifest_and_small() -> None:
    weights = load_weights(SHIPPED)
    assert sum((SHIPPED / name).stat().st_size for name in FILES) < 26_000_000
    assert len(weights.codec) == json.loads((SHIPPED / "manifest.json").read_text())["size"]["tokens"]
    assert DEFAULT_ENGINE == "tongguocr"


def test_the_example_page_is_read(read: Page) -> None:
    wanted = read_page(EXAMPLES / "page.json")
    assert [line.id for line in read.lines] == [line.id for line in wanted.lines]
    texts = ([line.text.replace("○", "〇") for line in page.lines] for page in (read, wanted))
    score = score_lines(*texts, PROTOCOLS["strict"])
    assert score.figures["AR"] > 0.98
    assert score.figures["CR"] - score.figures["AR"] < 0.005


def test_characters_lie_where_they_are(read: Page) -> None:
    wanted = read_page(EXAMPLES / "page.json")
    inside = []
    for found, true in zip(read.lines, wanted.lines, strict=True):
        if found.text.replace("〇", "○") != true.text:
            continue
        for a, b in zip(found.chars, true.chars, strict=True):
            x, y = (a.box[0] + a.box[2]) / 2, (a.box[1] + a.box[3]) / 2
            inside.append(b.box[0] <= x <= b.box[2] and b.box[1] <= y <= b.box[3])
    assert len(inside) > 200 and sum(inside) / len(inside) > 0.97


def test_lines_may_be_found_by_another_detector() -> None:
    pytest.importorskip("rapidocr")
    done = run_read("--detector", "rapidocr")
    assert done.returncode == 0, done.stderr
    wanted = read_page(EXAMPLES / "page.json")
    score = score_lines(done.stdout.split("\n"), [line.text for line in wanted.lines], PROTOCOLS["strict"])
    assert score.figures["AR"] > 0.95


def test_the_example_page_is_read_with_nothing_but_its_name() -> None:
    done = run_read()
    assert done.returncode == 0, done.stderr
    wanted = read_page(EXAMPLES / "page.json")
    found = done.stdout.rstrip("\n").split("\n")
    score = score_lines(found, [line.text for line in wanted.lines], PROTOCOLS["strict"])
    assert len(found) == len(wanted.lines) and score.figures["AR"] > 0.97
