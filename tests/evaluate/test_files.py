"""Files and folders in, the summary out; and the command itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tongguocr.errors import InputError
from tongguocr.evaluate.files import evaluate
from tongguocr.evaluate.metrics import METRICS
from tongguocr.evaluate.protocols import PROTOCOLS
from tongguocr.formats import write_page
from tongguocr.page import Line, Page

PAGES = {
    "p1": ["學而時習之", "不亦說乎"],
    "p2": ["有朋自遠方來", "不亦樂乎", "人不知而不慍"],
    "p3": ["巧言令色鮮矣仁"],
}


def write(folder: Path, pages: dict[str, list[str]]) -> Path:
    folder.mkdir(exist_ok=True)
    for stem, lines in pages.items():
        (folder / f"{stem}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """p1 is right, p2 has a variant, p3 is lost, p9 has no reference, and pictures lie about."""
    predicted = {"p1": PAGES["p1"], "p2": ["有朋自逺方來", "不亦樂乎", "人不知而不慍"], "p9": ["子曰"]}
    prediction, reference = write(tmp_path / "pred", predicted), write(tmp_path / "ref", PAGES)
    (reference / "p1.jpg").write_bytes(b"\xff\xd8")
    (reference / ".p1.txt").write_bytes(b"\xff")
    (prediction / "notes").mkdir()
    return prediction, reference


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "eval", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_command_prints_one_json_object(folders: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "added.txt").write_text("遠\n慍\n", encoding="utf-8")
    done = run(*folders, "--json", "--fold-variants", "--added", tmp_path / "added.txt")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert (result["protocol"], result["pages"]) == ("paper", 3)
    assert list(result["per_page"]) == ["p1", "p2", "p3"]
    assert result["per_page"]["p2"]["AR"] == pytest.approx(100 * 15 / 16)
    assert result["AR"] == pytest.approx((100 + 93.75 + 0) / 3, abs=1e-4)
    assert result["RO-ED"] == pytest.approx(100 / 3, abs=1e-4)
    assert result["folded"]["AR"] == pytest.approx(200 / 3, abs=1e-4)
    for part in (result, result["folded"], *result["per_page"].values()):
        assert all(isinstance(part[key], float) for key in METRICS)
    assert (result["added"]["TP"], result["added"]["FN"], result["non_added"]["FP"]) == (1, 1, 1)
    assert result["folded"]["added"]["FN"] == 0
    assert "p3.txt: there is no prediction" in done.stderr
    assert "p9.txt: there is no reference" in done.stderr


def test_command_prints_a_table_with_the_protocol(folders: tuple[Path, Path]) -> None:
    done = run(*folders, "--protocol", "strict", "--fold-variants")
    assert done.returncode == 0, done.stderr
    assert "protocol strict, 3 pages, percent" in done.stdout
    for word in (*METRICS, "p1", "mean", "micro", "mean, folded", "over-generation", "64.58"):
        assert word in done.stdout


def test_command_tells_bad_input_in_one_sentence(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\xff\xfe\x00")
    done = run(bad, bad)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "bad.txt" in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_files(tmp_path: Path, protocol: str) -> None:
    prediction, reference = tmp_path / "ours.txt", tmp_path / "theirs.txt"
    prediction.write_text("不亦說乎\n學而時習之\n", encoding="utf-8")
    reference.write_text("學而時習之\n不亦說乎\n", encoding="utf-8")
    result = evaluate(prediction, reference, protocol)
    assert result["pages"] == 1
    assert result["per_page"].keys() == {"theirs"}
    assert result["RO-ED"] == 100
    assert ("micro" in result) == ("over_generation" in result) == (protocol == "strict")


def test_strict_weighs_characters_in_micro(folders: tuple[Path, Path]) -> None:
    result = evaluate(*folders, "strict")
    assert result["AR"] == pytest.approx((100 + 93.75) / 3, abs=1e-4)
    assert result["micro"]["AR"] == pytest.approx(100 * (9 + 15) / (9 + 16 + 7), abs=1e-4)
    assert result["lines_found"] == pytest.approx(200 / 3, abs=1e-4)
    assert result["micro"]["lines_found"] == pytest.approx(500 / 6, abs=1e-4)


def test_several_processes_give_the_same(tmp_path: Path) -> None:
    pages = {f"p{n:03}": [*PAGES["p2"], f"第{n}葉"] for n in range(90)}
    reference = write(tmp_path / "ref", pages)
    prediction = write(tmp_path / "pred", {stem: lines[::-1] for stem, lines in pages.items()})
    one, two = (evaluate(prediction, reference, "strict", workers=workers) for workers in (1, 2))
    assert one == two
    assert one["RO-ED"] > 0


def test_a_bad_page_is_named_by_whichever_process_reads_it(tmp_path: Path) -> None:
    pages = {f"p{n:03}": PAGES["p1"] for n in range(80)}
    reference, prediction = write(tmp_path / "ref", pages), write(tmp_path / "pred", pages)
    (prediction / "p077.txt").write_bytes(b"\xff\xff")
    for workers in (1, 2):
        with pytest.raises(InputError, match=r"p077\.txt"):
            evaluate(prediction, reference, workers=workers)


def test_json_comes_before_text(folders: tuple[Path, Path]) -> None:
    prediction, reference = folders
    (prediction / "p1.json").write_text("{", encoding="utf-8")
    told: list[str] = []
    with pytest.raises(InputError, match=r"p1\.json"):
        evaluate(prediction, reference, warn=told.append)
    assert any("p1.txt: not read" in sentence for sentence in told)


def test_every_format_is_read(tmp_path: Path) -> None:
    lines = tuple(
        Line(f"l{n}", (90 - 10 * n, 0, 98 - 10 * n, 60), text) for n, text in enumerate(PAGES["p2"])
    )
    page = Page("p2.png", 100, 60, lines)
    files = [tmp_path / name for name in ("p2.json", "p2.xml", "p2.alto.xml", "p2.txt")]
    for path in files:
        write_page(page, path)
    for prediction in files:
        for reference in files:
            result = evaluate(prediction, reference)
            assert (result["AR"], result["RO-ED"]) == (100, 0)


def test_the_fold_counts_unless_it_is_left_out_on_both_sides(tmp_path: Path) -> None:
    body = Line("l1", (50, 0, 60, 60), PAGES["p3"][0])
    for name, title in (("ours", "論語卷三"), ("theirs", "論語卷一")):
        page = Page("p3.png", 100, 60, (body, Line("l2", (0, 0, 9, 60), title, "fold")))
        for ending in (".json", ".xml", ".alto.xml", ".txt"):
            write_page(page, tmp_path / f"{name}{ending}")
    for ending in (".json", ".xml", ".alto.xml"):
        prediction, reference = tmp_path / f"ours{ending}", tmp_path / f"theirs{ending}"
        assert evaluate(prediction, reference)["AR"] == pytest.approx(100 * 10 / 11, abs=1e-4)
        assert evaluate(prediction, reference, fold=False)["AR"] == 100
        assert evaluate(tmp_path / "ours.txt", reference, fold=False)["AR"] == 100, "text files have none"
    done = run(tmp_path / "ours.json", tmp_path / "theirs.txt", "--no-fold", "--json")
    assert json.loads(done.stdout)["AR"] == 100


def test_our_own_alto_has_the_pages_stem(tmp_path: Path) -> None:
    prediction, reference = write(tmp_path / "pred", {}), write(tmp_path / "ref", {"p3": PAGES["p3"]})
    write_page(
        Page("p3.png", 9, 99, (Line("l1", (0, 0, 9, 99), PAGES["p3"][0]),)), prediction / "p3.alto.xml"
    )
    result = evaluate(prediction, reference)
    assert (result["AR"], list(result["per_page"])) == (100, ["p3"])


def test_nothing_to_score(folders: tuple[Path, Path], tmp_path: Path) -> None:
    prediction, reference = folders
    other = write(tmp_path / "other", {"q": ["子曰"]})
    empty = write(tmp_path / "empty", {})
    for pair in (
        (other, reference),
        (prediction, empty),
        (empty, reference),
        (prediction, reference / "p1.txt"),
    ):
        with pytest.raises(InputError):
            evaluate(*pair)
    with pytest.raises(InputError, match="no such file or folder"):
        evaluate(prediction, tmp_path / "nowhere")
    with pytest.raises(InputError, match="missing"):
        evaluate(prediction, reference, added=tmp_path / "missing.txt")
