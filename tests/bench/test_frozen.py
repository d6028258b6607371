"""The benches of the recogniser on the frozen benchmark and on real lines: what they count."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from PIL import Image
from recognise_pages import make_page
from tiny_recogniser import write_tiny

from bench.frozen import Tally, count_page, count_sealed, kind_of, matches, rare_characters, tabulate_kinds
from tongguocr.alignment import MATCH
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading
from tongguocr.formats import write_page
from tongguocr.page import Char, Page
from tongguocr.training.synth.real_ink import split


def labelled(count: int = 3) -> Page:
    page = make_page(count)
    lines = []
    for k, line in enumerate(page.lines):
        x0, y0, x1, y1 = line.box
        step = (y1 - y0) / 3
        chars = tuple(
            Char(chr(0x4E00 + 3 * k + n), (x0, y0 + n * step, x1, y0 + (n + 1) * step)) for n in range(3)
        )
        lines.append(replace(line, text="".join(c.text for c in chars), chars=chars))
    return replace(page, image="page.png", lines=tuple(lines))


class Knowing(Engine):
    """Reads what a page says, but for some characters, shifted by so many pixels."""

    def __init__(self, page: Page, wrong: str = "", shift: float = 0.0) -> None:
        self.page, self.wrong, self.shift = page, wrong, shift

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        return [
            BlockReading(tuple(LineReading(tuple(map(self._read, line.chars)), "read") for line in lines))
            for lines in (block.crop.block.lines(self.page) for block in blocks)
        ]

    def _read(self, char: Char) -> Char:
        x0, y0, x1, y1 = char.box
        text = "誤" if char.text in self.wrong else char.text
        return Char(text, (x0 + self.shift, y0, x1 + self.shift, y1), 0.9)


def test_a_perfect_reading_counts_as_perfect() -> None:
    page, tally = labelled(), Tally()
    count_page(page, Knowing(page), frozenset("一丁"), tally)
    assert tally.row()[:3] == ["100.00", "100.00", "100.00"] and tally.row()[4:6] == ["100.00", "100.00"]


def test_wrong_and_misplaced_characters_are_counted() -> None:
    page, tally = labelled(), Tally()
    # Outside of the true boxes, but not so far that they would be taken out of their lines.
    count_page(page, Knowing(page, wrong="一", shift=22), frozenset("一丁"), tally)
    ar, cr, rare, _, centres, longest, _ = tally.row()
    assert (ar, cr, rare, centres, longest) == ("88.89", "88.89", "50.00", "0.00", "100.00")


def test_kinds_have_rows_of_their_own() -> None:
    names = ("00004-cut-leaf.jpg", "page.png", "a-b.png", "Fandol-Kai-1-plain.jpg")
    assert [kind_of(name) for name in names] == ["cut-leaf", "", "", "Fandol-Kai"]
    tally = Tally()
    for name, wrong in (("1-verse.png", ""), ("2-verse.png", "一"), ("3-notes.png", "一")):
        page = replace(labelled(), image=name)
        count_page(page, Knowing(page, wrong=wrong), None, tally)
    columns = [list(column.cells) for column in tabulate_kinds({"ours": tally}).columns]
    assert columns[:4] == [["notes", "verse"], ["1", "2"], ["9", "18"], ["88.89", "94.44"]]


def test_characters_under_seals_are_counted_alone() -> None:
    wanted, found = (
        [Char(c, (0, 9 * k, 9, 9 * k + 9)) for k, c in enumerate(t)] for t in ("天地玄黃", "天地玄玄黃")
    )
    seal = [(0.0, 8.0, 9.0, 28.0)]
    assert sum(count_sealed(wanted, found, seal).values()) == 3 and not count_sealed(wanted, found, ())
    assert count_sealed(wanted, wanted, seal) == {MATCH: 2}


def test_characters_that_were_read_right_are_paired() -> None:
    wanted, found = (
        [Char(c, (k, 0, k + 1, 1)) for k, c in enumerate(text)] for text in ("天地玄黃", "天玄玄黃")
    )
    assert [(a.box[0], b.box[0]) for a, b in matches(wanted, found)] == [(0, 0), (2, 2), (3, 3)]


def test_rare_is_what_the_table_has_late_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "counts.tsv"
    table.write_text("char\tcp\ttotal\n一\tU+4E00\t5\n丁\tU+4E01\t9\n", encoding="utf-8")
    monkeypatch.setattr("bench.frozen.COMMON", 1)
    rare = rare_characters(table, [labelled(1)])
    assert rare == frozenset("一丂")


def test_both_benches_run_from_files(tmp_path: Path) -> None:
    weights = write_tiny(tmp_path / "weights", False)
    page = labelled()
    assert page.pixels is not None
    (tmp_path / "pages").mkdir()
    Image.fromarray(page.pixels).save(tmp_path / "pages" / "page.png")
    write_page(page, tmp_path / "pages" / "page.json")
    name = next(n for n in (f"DVSKTT-1_x__page_{k}a_0.webp" for k in range(1000)) if split(n) == "test")
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(page.pixels[:200, :60])).save(buffer, "WEBP")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(buffer.getvalue())
        tar.addfile(info, io.BytesIO(buffer.getvalue()))
    (tmp_path / "lines.tsv").write_text(f"a.tar\t{name}\t一二三\n", encoding="utf-8")
    for bench, what, said in (
        ("bench.frozen", tmp_path / "pages", "transitions"),
        ("bench.lines", tmp_path / "lines.tsv", "1 held-out lines"),
    ):
        command = [sys.executable, "-m", bench, what, "--engine", "tongguocr", "--weights", weights]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout and "tongguocr" in done.stdout
