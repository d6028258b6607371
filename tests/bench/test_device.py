"""The bench of devices: the processor really reads, a card that is only listed is named with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import EXAMPLES
from PIL import Image

from bench import device
from bench.device import Measured, find_images, main, share_alike, tabulate
from tongguocr.errors import InputError
from tongguocr.formats import read_page


def test_the_processor_reads_and_a_missing_card_is_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Image.open(EXAMPLES / "page.jpg") as page:
        left, _, right, _ = (round(value) for value in read_page(EXAMPLES / "page.json").lines[0].box)
        page.crop((left - 60, 0, right + 20, page.height)).save(tmp_path / "a.png")
    listed = ["directml", "cpu"]
    monkeypatch.setattr(device, "find_devices", lambda: listed)
    main([str(tmp_path), "--rounds", "1", "--threads", "1"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "pages: 1" in printed and "cpu" in printed and "100.00 %" in printed
    assert "The device directml is not there" in printed


def test_devices_stand_beside_the_cpu() -> None:
    slow, fast = Measured(10, 15, ["天地", "玄"], 1, 2), Measured(40, 30, ["天地", "黃"], 3, 4)
    table = tabulate({"cpu": slow, "cuda": fast}, 2, 4)
    cells = [list(column.cells) for column in table.columns]
    assert cells[1:5] == [["10.0", "40.0"], ["1.00", "4.00"], ["15.0", "30.0"], ["1.00", "2.00"]]
    assert share_alike(["天地", "玄"], ["天地", "玄"]) == 1.0
    assert 0.4 < share_alike(["天地", "玄"], ["天地", "黃"]) < 0.7


def test_images_are_found_in_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no images"):
        find_images([tmp_path])
    for name in ("b.jpg", "a.png", "c.json"):
        (tmp_path / name).touch()
    assert [path.name for path in find_images([tmp_path, EXAMPLES / "page.jpg"])] == [
        "a.png",
        "b.jpg",
        "page.jpg",
    ]
