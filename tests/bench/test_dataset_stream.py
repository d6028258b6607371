"""The made-up data set that memory is measured with is one that training reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import dataset_stream
from bench.dataset_stream import COLUMNS, ROWS, memory, write_set
from tongguocr.training.recogniser.labelled import read_pages


def test_the_set_is_of_the_size_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_stream, "A_BOOK", 2)
    written = write_set(tmp_path, 5, "天地玄黃")
    assert written == sum(file.stat().st_size for file in (tmp_path / "annos").iterdir())
    pages = read_pages([("hisdoc1b", tmp_path)], validated_on=("hisdoc1b",))
    found = [*pages.validation, *pages.train]
    assert sorted(one.page.image for one in found) == [
        *(f"b00000.pdf#page={n}" for n in (1, 2)),
        *(f"b00001.pdf#page={n}" for n in (1, 2)),
        "b00002.pdf#page=1",
    ]
    for one in found:
        assert sum(len(line.chars) for line in one.page.lines) == COLUMNS * ROWS
        assert one.image.is_file() and len(one.page.lines) == COLUMNS


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is asked of Linux")
def test_memory_is_that_of_this_process_at_least() -> None:
    assert 10e6 < memory() < 100e9
