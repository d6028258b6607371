"""Which pages the weights of the block penalties recut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.lambdas import (
    GRID,
    boundaries,
    grid_table,
    measure,
    moved,
    payment_table,
    payments,
    real_pages,
    term_table,
    variant_table,
    variants,
    weighted,
    without_terms,
)
from bench.layouts import pages
from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.errors import InputError
from tongguocr.reader import without_text


def test_the_bench_cuts_as_the_reader_does() -> None:
    page = next(pages("spread", 1))
    (candidates,) = measure(iter([page]))
    stops = [block.stop for block in cut_blocks(without_text(page))]
    assert boundaries(candidates, BlockSettings()) == (0, *stops)
    assert boundaries(candidates, weighted(BlockSettings(), (2, 2, 1))) == (0, *stops)
    assert moved((0, 3, 9), (0, 4, 9)) == 2 and min(payments(candidates, BlockSettings())) >= 0


def test_every_term_and_setting_is_looked_at() -> None:
    assert len(GRID) == 6 and (4, 4, 1) in GRID
    names = [variant.name for variant in without_terms()]
    assert len(names) == 8 + 4 + 3 and len({variant.name for variant in variants()}) == len(variants())


def test_real_pages_come_from_their_boxes(tmp_path: Path) -> None:
    lines = [{"box": [90 - 20 * k, 10, 105 - 20 * k, 190], "text": "天地"} for k in range(4)]
    row = json.dumps({"image": "a.png", "size": [120, 200], "lines": lines})
    (tmp_path / "pages.jsonl").write_text(f"{row}\n{row}\n", encoding="utf-8")
    assert [len(page.lines) for page in real_pages(tmp_path, 2)] == [4]
    measured = {"real": measure(real_pages(tmp_path, 1))}
    assert grid_table(measured).row_count == len(GRID) and payment_table(measured).row_count == 1
    assert term_table(measured).row_count == 15 and variant_table(measured).row_count == len(variants())
    (tmp_path / "pages.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 1 has no size"):
        list(real_pages(tmp_path, 1))
