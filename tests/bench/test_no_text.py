"""Pages without text and text under seals, with a detector that finds what it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tiny_fonts import make_font, many

from bench.no_text import (
    SORTS,
    count_lines,
    count_sealed,
    draw_pages,
    is_covered,
    sealed_pages,
    tabulate,
    tabulate_sealed,
)
from tongguocr.errors import InputError
from tongguocr.geometry import Box
from tongguocr.layout.detection import Detection
from tongguocr.page import Line, Page, Pixels
from tongguocr.training.synth.export import prepare
from tongguocr.training.synth.generate import Resources, SynthOptions, load_resources, make_page
from tongguocr.training.synth.text import load_text

THOUSAND = "".join(line for document in load_text(None).documents for line in document.lines)
COLUMNS: tuple[Box, ...] = ((300, 0, 340, 300), (240, 0, 280, 300), (180, 0, 220, 300))


@dataclass
class Told:
    """Finds the same lines everywhere."""

    boxes: tuple[Box, ...] = ()
    tells_kinds: bool = True
    asked: int = 0

    def detect(self, pixels: Pixels) -> Detection:
        self.asked += 1
        return Detection(tuple(Line(f"l{k}", box) for k, box in enumerate(self.boxes)))


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "tiny.ttf", many(THOUSAND))
    out = tmp_path_factory.mktemp("out")
    options = SynthOptions(folder, out, 4, 8, ("verse", "glosses"), formats=("json",))
    return load_resources(options)[0]


def test_every_sort_is_drawn_from_its_number_alone(resources: Resources, tmp_path: Path) -> None:
    drawn = list(draw_pages(len(SORTS), resources.text, resources.fonts))
    assert [name for name, _ in drawn] == list(SORTS)
    assert all(pixels.ndim == 3 and pixels.std() > 0.5 for _, pixels in drawn)
    again = next(draw_pages(1, resources.text, resources.fonts))
    assert np.array_equal(again[1], drawn[0][1])
    found = count_lines(iter(drawn[:3]), Told(COLUMNS[:2]), tmp_path / "kept")
    assert found == {"seals": [2], "speckle": [2], "rules": [2]}
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["001-seals-2.png", "002-speckle-2.png", "003-rules-2.png"]
    table = tabulate(found)
    assert [list(column.cells)[-1] for column in table.columns] == ["all", "3", "3", "6"]


def test_a_seal_has_to_lie_over_a_part_of_the_line() -> None:
    line = COLUMNS[0]
    assert is_covered(line, [(0, 0, 9, 9), (290, 200, 360, 400)])
    assert not is_covered(line, [(290, 280, 360, 400)]) and not is_covered(line, [])


def test_only_lines_under_seals_count() -> None:
    lines = tuple(Line(f"l{k}", box) for k, box in enumerate(COLUMNS))
    page = Page("", 400, 400, lines, np.full((400, 400, 3), 255, np.uint8))
    over = [(230.0, 0.0, 350.0, 200.0)]
    assert count_sealed(page, over, Told(COLUMNS)) == (2, 2)
    assert count_sealed(page, over, Told(COLUMNS[1:])) == (2, 1)
    nobody = Told(COLUMNS)
    assert count_sealed(page, [], nobody) == (0, 0) and not nobody.asked
    table = tabulate_sealed({"verse": (2, 1), "glosses": (2, 2)})
    assert [list(column.cells)[-1] for column in table.columns] == ["all", "4", "3", "0.7500"]


def test_seals_are_found_again_on_pages_that_were_drawn(resources: Resources) -> None:
    out = resources.options.out
    prepare(out, ("json",))
    for number in range(4):
        make_page(resources, number)
    pages = list(sealed_pages(out, resources))
    assert [kind for _, kind, _ in pages] == ["verse", "glosses"] * 2
    boxes = [(page, box) for page, _, seals in pages for box in seals]
    assert boxes
    for page, (x0, y0, x1, y1) in boxes:
        assert page.pixels is not None
        assert -9 < x0 < x1 < page.width + 9 and -9 < y0 < y1 < page.height + 9
    (out / "00001-verse.json").rename(out / "one.json")
    text = (out / "one.json").read_text("utf-8").replace("00001-verse.jpg", "00002-glosses.jpg")
    (out / "one.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match="no page of the benchmark"):
        list(sealed_pages(out, resources))
