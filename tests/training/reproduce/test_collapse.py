"""What a row reads: whole pages without a guard, so that a collapse shows; blocks beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from labelled_pages import write_pages

from tongguocr.engines.align_by_length import align_by_length
from tongguocr.engines.base import BlockInput, BlockReading, Engine
from tongguocr.engines.guard import Guarded
from tongguocr.errors import InputError
from tongguocr.page import Char, Line
from tongguocr.training.reproduce.reading import Manner, read_all, read_whole
from tongguocr.training.reproduce.score import score
from tongguocr.training.reproduce.scored_pages import Layout, list_pages
from tongguocr.training.reproduce.tables import DEFAULT

NOWHERE = (0.0, 0.0, 0.0, 0.0)


class Looping(Engine):
    """Reads what stands in a picture rightly; of more than three lines it never comes to an end."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts, self.read_blocks = texts, 0

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        self.read_blocks += len(blocks)
        return [self._read(block) for block in blocks]

    def _read(self, block: BlockInput) -> BlockReading:
        texts = [self.texts[line.id] for line in block.lines]
        if len(block.lines) > 3:
            texts = [*texts, "天地" * 50]
        lines = [[Char(char, NOWHERE) for char in text] for text in texts]
        return BlockReading(align_by_length(lines, block), (), "end", tuple(texts))


def quiet(_: str) -> None:
    pass


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """One page of eight columns, far enough apart for blocks of their own."""
    (page,) = write_pages(tmp_path / "mine", 1, columns=8, length=4)
    return tmp_path / "mine", {line.id: line.text for line in page.lines}


def ar(folder: Path, engine: Engine, read: str, out: Path) -> float:
    tested = list_pages([("folder", folder)], quiet)
    manner = Manner("page" if read == "page" else "block", DEFAULT)
    read_all(tested, lambda: engine, manner, Layout(None), out, quiet)
    return score(tested, out, "paper", ()).figures["AR"]


def test_a_collapse_shows_on_pages_and_not_on_blocks(
    pages: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongguocr.page import Block
    from tongguocr.training.reproduce import reading

    folder, texts = pages

    def pairs(page: object, settings: object) -> tuple[Block, ...]:
        lines: Sequence[Line] = page.lines  # type: ignore[attr-defined]
        return tuple(Block(k, k + 2, lines[k].box) for k in range(0, len(lines), 2))

    monkeypatch.setattr(reading, "cut_blocks", pairs)
    assert ar(folder, Looping(texts), "block", tmp_path / "blocks") == 100
    assert ar(folder, Looping(texts), "page", tmp_path / "page") < -200
    assert ar(folder, Guarded(Looping(texts)), "page", tmp_path / "guarded") == 100, "a guard hides it"


def test_a_page_without_lines_is_read_whole_all_the_same(tmp_path: Path) -> None:
    (page,) = write_pages(tmp_path / "mine", 1)
    from tongguocr.formats import write_page

    write_page(replace(page, lines=(), pixels=None), tmp_path / "mine" / "p0.json")
    engine = Looping({"page": "天"})
    assert ar(tmp_path / "mine", engine, "page", tmp_path / "out") == 0, (
        "there is nothing that could be right"
    )
    assert engine.read_blocks == 1


def test_a_reader_s_fault_costs_its_page_and_no_other(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 3)
    tested = list_pages([("folder", tmp_path / "mine")], quiet)

    def read(page: object) -> list[str]:
        if page.image == "p1.png":  # type: ignore[attr-defined]
            raise InputError("p1.png: cannot be read.")
        return [line.text for line in page.lines]  # type: ignore[attr-defined]

    said: list[str] = []
    read_whole(tested, read, tmp_path / "out", said.append)
    found = score(tested, tmp_path / "out", "paper", ())
    assert found.lost == 1 and said == ["0-00001-p1 counts as lost: p1.png: cannot be read."]
    assert found.figures["AR"] == pytest.approx(200 / 3, abs=1e-3)
    assert found.figures["NED"] == pytest.approx(100 / 3, abs=1e-3)
