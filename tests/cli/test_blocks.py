"""`tongguocr blocks` as a script calls it: files in, files out, one sentence for anything wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import EXAMPLES
from PIL import Image

from bench.layouts import pages
from tongguocr.formats import write_page
from tongguocr.page import Line, Page

EXAMPLE = EXAMPLES / "page.json"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "blocks", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_example_page(tmp_path: Path) -> None:
    result = run(EXAMPLE, "-o", tmp_path / "blocks.json", "--picture", tmp_path / "blocks.png")
    assert result.returncode == 0, result.stderr
    document = json.loads((tmp_path / "blocks.json").read_text(encoding="utf-8"))
    page = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert document["format"] == "tongguocr-blocks" and document["version"] == 1
    ids = [line for block in document["blocks"] for line in block["lines"]]
    assert ids == [line["id"] for line in page["lines"]]
    for block in document["blocks"]:
        boxes = np.array([line["box"] for line in page["lines"] if line["id"] in block["lines"]])
        assert block["box"] == [*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0)]
    with Image.open(tmp_path / "blocks.png") as picture:
        assert picture.size == (page["width"], page["height"])
        assert picture.convert("RGB").getcolors(1 << 24) != Image.open(EXAMPLE.parent / "page.jpg").getcolors(
            1 << 24
        )


@pytest.mark.parametrize("suffix", ["json", "xml"])
def test_other_formats_and_no_image(tmp_path: Path, suffix: str) -> None:
    page = next(pages("three registers", 1))
    write_page(page, tmp_path / f"page.{suffix}")
    result = run(tmp_path / f"page.{suffix}", "-o", tmp_path / "b.json", "--picture", tmp_path / "b.png")
    assert result.returncode == 0, result.stderr
    blocks = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["blocks"]
    assert sum(len(block["lines"]) for block in blocks) == len(page.lines)
    assert (tmp_path / "b.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (Line("a", (10, 10, 50, 400), "天地"),),
        (Line("a", (-900, -900, -800, -700)), Line("b", (5000, 10, 6000, 20))),
        (Line("a", (10, 10, 10, 10)), Line("b", (10, 10, 10, 10)), Line("c", (10, 10, 10, 500))),
        tuple(
            Line(f"l{k}", (9 * (k % 100), 90 * (k // 100), 9 * (k % 100) + 8, 90 * (k // 100) + 80))
            for k in range(2000)
        ),
    ],
    ids=["empty", "one line", "outside the image", "zero area", "2,000 lines"],
)
def test_odd_pages_give_a_result(tmp_path: Path, lines: tuple[Line, ...]) -> None:
    write_page(Page("", 900, 1800, lines), tmp_path / "page.json")
    result = run(tmp_path / "page.json", "-o", tmp_path / "b.json", "--picture", tmp_path / "b.png")
    assert result.returncode == 0, result.stderr
    blocks = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["blocks"]
    assert [i for block in blocks for i in block["lines"]] == [line.id for line in lines]


def test_bad_input_gives_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"lines": [')
    (tmp_path / "broken.xml").write_text("<PcGts><Page>")
    (tmp_path / "plain.txt").write_text("天地玄黃", encoding="utf-8")
    (tmp_path / "bytes.json").write_bytes(bytes(range(256)))
    for name in ("broken.json", "broken.xml", "plain.txt", "bytes.json", "missing.json"):
        result = run(tmp_path / name, "-o", tmp_path / "b.json")
        assert result.returncode == 2
        assert name in result.stderr and "Traceback" not in result.stderr
        assert result.stderr.strip().count("\n") == 0


def test_a_broken_image_or_an_unwritable_place_gives_one_sentence(tmp_path: Path) -> None:
    write_page(Page("scan.png", 100, 100, (Line("a", (10, 10, 20, 90)),)), tmp_path / "page.json")
    (tmp_path / "scan.png").write_text("no image")
    result = run(tmp_path / "page.json", "-o", tmp_path / "b.json", "--picture", tmp_path / "b.png")
    assert result.returncode == 2 and "scan.png" in result.stderr
    (tmp_path / "scan.png").unlink()
    for target, picture in (("none/b.json", "b.png"), ("b.json", "none/b.png"), ("b.json", "b.qqq")):
        result = run(tmp_path / "page.json", "-o", tmp_path / target, "--picture", tmp_path / picture)
        assert result.returncode == 2, (target, picture)
        assert "Traceback" not in result.stderr and result.stderr.count("\n") == 1
