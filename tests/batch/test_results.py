"""Results: whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongguocr.batch import results
from tongguocr.batch.locks import Failure
from tongguocr.batch.results import (
    FAILED,
    WARNINGS,
    missing,
    one_line,
    parse_formats,
    record_warning,
    result_paths,
    write_failures,
    write_results,
)
from tongguocr.errors import InputError
from tongguocr.formats import FORMATS
from tongguocr.page import Line, Page

PAGE = Page("p.png", 20, 30, (Line("l1", (0, 0, 20, 30), "天"),), np.full((30, 20), 9, np.uint8))


def test_formats_as_they_are_typed() -> None:
    assert parse_formats("txt, json,txt") == ("txt", "json")
    assert parse_formats("text,txt,doubts") == ("txt", "csv")
    with pytest.raises(InputError, match="docx"):
        parse_formats("txt,docx")


def test_every_format_takes_its_place(tmp_path: Path) -> None:
    unfinished, out = tmp_path / "unfinished", tmp_path / "out"
    unfinished.mkdir()
    out.mkdir()
    paths = result_paths("p", out, tuple(FORMATS))
    assert missing(paths) == paths
    write_results(PAGE, paths, unfinished)
    assert missing(paths) == () and not list(unfinished.iterdir())
    assert (out / "p.txt").read_text(encoding="utf-8") == "天\n"


def test_nothing_has_its_name_before_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    flushed: list[str] = []

    def flush(path: Path) -> None:
        assert missing(paths) == paths
        flushed.append(path.name)

    paths = result_paths("p", tmp_path, ("txt", "json"))
    monkeypatch.setattr(results, "flush", flush)
    write_results(PAGE, paths, unfinished)
    assert flushed == ["p.txt", "p.json"], "all are on the disk first"
    twice = Page("p.png", 20, 30, PAGE.lines * 2)
    with pytest.raises(InputError, match="l1") as caught:
        write_results(twice, result_paths("q", tmp_path, ("json",)), unfinished)
    assert str(caught.value).startswith(str(tmp_path / "q.json")), "the sentence names the file as it will be"


@given(st.text())
def test_any_name_fits_on_one_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and len(line) == len(text)
    assert all(a == b for a, b in zip(text, line, strict=True) if a.isprintable())


def test_the_table_of_failures(tmp_path: Path) -> None:
    write_failures([Failure("p1", "a\tb\n.png", "not read: \udcff\x1b[31m")], tmp_path)
    rows = (tmp_path / FAILED).read_text(encoding="utf-8").splitlines()
    assert rows == ["page\tfile\treason", "p1\ta b .png\tnot read: ??[31m"]
    write_failures([], tmp_path)
    assert not (tmp_path / FAILED).exists()


def test_the_table_of_warnings_keeps_pages_of_earlier_runs(tmp_path: Path) -> None:
    record_warning("p2", "b.png", "not\tsure.", tmp_path)
    record_warning("p1", "a.png", "noise.", tmp_path)
    record_warning("p3", "c.png", "", tmp_path)
    rows = (tmp_path / WARNINGS).read_text(encoding="utf-8").splitlines()
    assert rows == ["page\tfile\twarning", "p1\ta.png\tnoise.", "p2\tb.png\tnot sure."]
    record_warning("p1", "a.png", "worse.", tmp_path)
    assert (tmp_path / WARNINGS).read_text(encoding="utf-8").splitlines()[1] == "p1\ta.png\tworse."
    record_warning("p1", "a.png", "", tmp_path)
    record_warning("p2", "b.png", "", tmp_path)
    assert not (tmp_path / WARNINGS).exists(), "the pages were read again, and well"
