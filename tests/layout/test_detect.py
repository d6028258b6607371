"""Pixels to lines: tiles, scales, the peer, and the command, with a network that finds dark squares."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from detector_pages import characters, column, paint, square_network
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.picture import draw_lines
from tongguocr.geometry import centre
from tongguocr.layout.detect import (
    CharacterDetector,
    DetectorSettings,
    angle_of,
    find_lines,
    load_network,
    open_detector,
)
from tongguocr.layout.peaks import (
    CHANNELS,
    HEAT,
    STRIDE,
    concatenate,
    find_peaks,
    near_pairs,
    nothing,
    without_echoes,
)
from tongguocr.layout.rapidocr import RapidocrDetector
from tongguocr.layout.tiling import cut_tiles, padded, to_grey
from tongguocr.page import Page, Pixels

LINES = [column(600, 100, 12), column(540, 100, 12), column(480, 168, 10)]


def page_of(pixels: Pixels) -> Page:
    return Page("page.png", pixels.shape[1], pixels.shape[0], pixels=pixels)


def test_lines_come_out_in_reading_order_with_their_characters() -> None:
    page = find_lines(page_of(paint(LINES, 700, 560)), CharacterDetector(square_network()))
    assert [line.id for line in page.lines] == ["l1", "l2", "l3"]
    assert [len(line.chars) for line in page.lines] == [12, 12, 10]
    for line, wanted in zip(page.lines, LINES, strict=True):
        assert centre(line.box)[0] == pytest.approx(centre(wanted[0])[0], abs=1.5)
        assert line.box[1] == pytest.approx(wanted[0][1], abs=3) and line.direction == "top-to-bottom"
    turned = find_lines(page_of(paint(LINES, 700, 560)), CharacterDetector(square_network()), "vertical-lr")
    assert [centre(line.box)[0] for line in turned.lines] == [centre(x.box)[0] for x in page.lines[::-1]]


def test_colour_and_grey_give_the_same() -> None:
    grey = paint(LINES, 700, 560)
    detector = CharacterDetector(square_network())
    assert detector.detect(np.repeat(grey[..., None], 3, 2)) == detector.detect(grey)


def scaled_lines(factor: float) -> list[list[tuple[float, ...]]]:
    return [[tuple(v * factor for v in box) for box in line] for line in LINES]


@pytest.mark.parametrize("factor", [0.6, 2.5, 6.0])
def test_pages_of_any_resolution(factor: float) -> None:
    """A network that sees characters of 22 to 60 px only is shown them in that size."""
    pixels = paint(scaled_lines(factor), round(700 * factor), round(560 * factor))
    detector = CharacterDetector(square_network(smallest=11, largest=60))
    page = find_lines(page_of(pixels), detector)
    assert [len(line.chars) for line in page.lines] == [12, 12, 10]
    wide = np.median([char.box[2] - char.box[0] for line in page.lines for char in line.chars])
    assert wide == pytest.approx(30 * factor, rel=0.12)


def test_small_characters_of_a_large_page_are_looked_at_again() -> None:
    """At first they are 8 px, which the network does not see at all: it must look closer."""
    pixels = np.full((3000, 3600), 230, np.uint8)
    pixels[1000:1560, 1000:1700] = paint(LINES, 700, 560)
    calls: list[tuple[int, ...]] = []
    page = find_lines(page_of(pixels), CharacterDetector(square_network(12, 60, calls)))
    assert [len(line.chars) for line in page.lines] == [12, 12, 10]
    assert max(max(shape) for shape in calls) <= 1280 + 32, "tiles stay small"


def test_a_closer_look_that_shows_less_is_forgotten() -> None:
    """Little text on a large page: in twice the size this network sees none of it."""
    pixels = paint([column(1200, 1000, 5, size=60, pitch=68)], 2400, 2400)
    calls: list[tuple[int, ...]] = []
    page = find_lines(page_of(pixels), CharacterDetector(square_network(12, 40, calls)))
    assert [len(line.chars) for line in page.lines] == [5] and len(calls) > 3


def test_small_characters_are_looked_at_in_a_larger_size() -> None:
    """At first they are 12 px: seen, but not well."""
    lines = [column(x, 60, 60, size=24, pitch=27.2) for x in range(200, 1900, 40)]
    calls: list[tuple[int, ...]] = []
    page = find_lines(page_of(paint(lines, 2048, 1800)), CharacterDetector(square_network(8, 60, calls)))
    assert len(page.lines) == len(lines) and all(len(line.chars) == 60 for line in page.lines)
    assert sum(shape[2] * shape[3] for shape in calls) > 2048 * 1800, "about as large as it is, and more"


def test_large_text_over_small_text_does_not_hide_it() -> None:
    """At first only a few large squares are seen; the middle, looked at closely, is full of small ones."""
    small = [column(x, 1000, 20, size=24, pitch=27) for x in range(900, 1500, 40)]
    large = [column(400, 300, 9, size=180, pitch=204), column(2300, 300, 9, size=180, pitch=204)]
    pixels = paint([*small, *large], 2600, 2400)
    page = find_lines(page_of(pixels), CharacterDetector(square_network(14, 90)))
    sizes = np.array([char.box[2] - char.box[0] for line in page.lines for char in line.chars])
    assert (sizes < 40).sum() == 300 and (sizes > 150).sum() == 18


def test_large_characters_of_a_title_come_from_the_coarse_look() -> None:
    title = column(300, 200, 3, size=180, pitch=200)
    pixels = paint([title, column(540, 100, 12), column(60, 100, 12)], 700, 700)
    page = find_lines(page_of(pixels), CharacterDetector(square_network(10, 100)))
    sizes = sorted(round(char.box[2] - char.box[0]) for line in page.lines for char in line.chars)
    assert len(sizes) == 27 and all(165 < size < 195 for size in sizes[-3:])


@pytest.mark.parametrize("shape", [(1, 1), (60, 40), (3, 900), (500, 400)])
def test_blank_and_tiny_images_have_no_lines(shape: tuple[int, int]) -> None:
    detector = CharacterDetector(square_network())
    for value in (0, 128, 255):
        assert find_lines(page_of(np.full(shape, value, np.uint8)), detector).lines == ()


def test_noise_gives_no_crash_and_no_lines() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (300, 260, 3), np.uint8)

    def doubtful(image: np.ndarray) -> np.ndarray:
        maps = rng.normal(0, 1, (CHANNELS, image.shape[2] // STRIDE, image.shape[3] // STRIDE))
        maps[HEAT] = -9
        maps[HEAT, 3, 3] = -0.4
        return maps.astype(np.float32)

    assert find_lines(page_of(noise), CharacterDetector(doubtful)).lines == ()


def test_what_lies_in_the_padding_is_not_there() -> None:
    def everywhere(image: np.ndarray) -> np.ndarray:
        maps = np.zeros((CHANNELS, image.shape[2] // STRIDE, image.shape[3] // STRIDE), np.float32)
        maps[HEAT] = -9
        maps[HEAT, -1, -1] = 5
        return maps

    pixels = np.full((40, 40), 200, np.uint8)
    pixels[5:9, 5:9] = 0
    assert len(CharacterDetector(everywhere).find_characters(pixels)) == 0


@settings(max_examples=80)
@given(st.integers(1, 9000), st.integers(1, 5000), st.integers(200, 1400), st.integers(0, 150))
def test_tiles_cover_the_page_and_their_cores_every_point_once(
    width: int, height: int, side: int, overlap: int
) -> None:
    tiles = list(cut_tiles(width, height, side, overlap))
    rng = np.random.default_rng(width)
    for x, y in rng.random((8, 2)) * (width, height):
        owners = [t for t in tiles if t.core[0] <= x < t.core[2] and t.core[1] <= y < t.core[3]]
        assert len(owners) == 1
        (t,) = owners
        assert t.x0 <= x <= t.x1 and t.y0 <= y <= t.y1
        # Away from the picture's own edge the point has half of the overlap around it.
        assert t.x0 == 0 or x - t.x0 >= overlap / 2 - 1
        assert t.x1 == width or t.x1 - x >= overlap / 2 - 1
    assert all(t.x1 - t.x0 <= side and t.y1 - t.y0 <= side for t in tiles)


def test_grey_is_made_in_strips_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 255, (301, 200, 3), np.uint8)
    whole = {factor: to_grey(pixels, factor) for factor in (1.0, 0.5, 0.21, 1.7)}
    assert [grey.shape for grey in whole.values()] == [(301, 200), (150, 100), (63, 42), (512, 340)]
    monkeypatch.setattr("tongguocr.layout.tiling.STRIP", 3000)
    for factor, grey in whole.items():
        assert np.abs(to_grey(pixels, factor).astype(int) - grey).max() <= 1
    assert padded(whole[0.5]).shape == (1, 1, 160, 128) and padded(whole[0.5]).max() <= 1


def test_peaks_say_what_the_maps_say() -> None:
    pixels = paint(LINES, 704, 576)
    found = find_peaks(square_network()(padded(pixels)), 0.3)
    wanted = characters(LINES)
    assert len(found) == len(wanted)
    order = np.lexsort((found.centres[:, 1].round(), -found.centres[:, 0].round()))
    assert np.abs(found[order].centres - wanted.centres).max() < 1
    assert np.abs(found[order].sides - 30).max() < 2.5
    assert found.scores == pytest.approx(1 / (1 + np.exp(-3)))
    assert len(find_peaks(square_network()(padded(pixels)), 0.99)) == 0


def test_of_equal_neighbours_one_is_the_peak() -> None:
    maps = np.zeros((CHANNELS, 8, 8), np.float32)
    maps[HEAT] = -9
    maps[HEAT, 3:5, 3:6] = 2
    assert len(find_peaks(maps, 0.3)) == 1


def test_echoes_and_parts() -> None:
    text = characters([column(500, 100, 5)])
    echo = replace(text[np.array([2])].moved(1.0, 4, 3), scores=np.array([0.5], np.float32))
    assert len(without_echoes(concatenate([text, echo]))) == 5
    whole = characters([column(500, 300, 1, size=150)])
    part = characters([column(480, 290, 1)], score=0.6)
    assert without_echoes(concatenate([whole, part])).sides.max() == 150, "a part of a large character"
    notes = characters([column(480, 290, 2), column(520, 290, 2)])
    assert len(without_echoes(concatenate([replace(whole, scores=whole.scores - 0.4), notes]))) == 4
    assert len(without_echoes(nothing())) == 0


def test_near_pairs_miss_none() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0, 100, (50, 2)).astype(np.float32), rng.uniform(0, 100, (60, 2)).astype(np.float32)
    pairs = {(int(i), int(j)) for x, y in near_pairs(a, b, 7.0) for i, j in zip(x, y, strict=True)}
    close = np.argwhere(np.linalg.norm(a[:, None] - b[None], axis=2) < 7)
    assert {(int(i), int(j)) for i, j in close} <= pairs


def test_the_peer_gives_lines_without_kinds() -> None:
    seen = []

    def finder(image: Pixels, **options: bool) -> SimpleNamespace:
        seen.append((image.shape, options))
        boxes = np.array(
            [[[10, 10], [40, 12], [40, 200], [10, 198]], [[60, 10], [60, 10], [60, 10], [60, 10]]]
        )
        return SimpleNamespace(boxes=boxes, scores=[0.8, 0.1])

    detector = RapidocrDetector(finder)
    page = find_lines(page_of(np.zeros((300, 200), np.uint8)), detector)
    (line,) = page.lines
    assert line.box == (10, 10, 40, 200) and line.confidence == 0.8 and not detector.tells_kinds
    assert seen == [((300, 200, 3), {"use_det": True, "use_cls": False, "use_rec": False})]
    nothing_found = RapidocrDetector(lambda image, **options: SimpleNamespace(boxes=None, scores=None))
    assert find_lines(page_of(np.zeros((9, 9), np.uint8)), nothing_found).lines == ()


def test_the_picture_shows_every_line() -> None:
    page = find_lines(page_of(paint(LINES, 700, 560)), CharacterDetector(square_network()))
    plain, drawn = (np.asarray(draw_lines(replace(page, lines=lines))) for lines in ((), page.lines))
    changed = (plain != drawn).any(2)
    for line in page.lines:
        x, y = (int(v) for v in centre(line.box))
        assert changed[y - 3 : y + 3, x - 3 : x + 3].any()
    assert drawn.shape == (560, 700, 3)


def test_settings_bound_the_pixels_of_a_look() -> None:
    calls: list[tuple[int, ...]] = []
    settings_ = DetectorSettings(most=90_000, reduced=0.0)
    pixels = paint(LINES, 700, 560)
    CharacterDetector(square_network(4, 90, calls), settings_).detect(pixels)
    assert calls and max(shape[2] * shape[3] for shape in calls) < 110_000


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "lines", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def test_the_command_says_what_brings_lines(tmp_path: Path) -> None:
    Image.new("L", (80, 80), 255).save(tmp_path / "page.png")
    for weights in ((), ("--weights", tmp_path)):
        done = run(tmp_path / "page.png", "-o", tmp_path / "out.json", *weights)
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr
    assert "manifest.json" in done.stderr
    done = run(tmp_path / "page.png", "-o", tmp_path / "out.json", "--detector", "other")
    assert done.returncode == 2 and "rapidocr" in done.stderr
    done = run(tmp_path / "none.png", "-o", tmp_path / "out.json")
    assert done.returncode == 2 and "none.png" in done.stderr


def test_missing_weights_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.layout.detect.SHIPPED_DETECTOR", tmp_path / "none")
    with pytest.raises(InputError, match=r"none.manifest\.json: there is no such file\.$"):
        open_detector()


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{", "JSON"),
        (
            json.dumps({"format": "tongguocr-weights", "version": 1, "files": {}}),
            "not weights of the detector",
        ),
        (
            json.dumps({"format": "tongguocr-weights", "version": 1, "files": {"detector.onnx": 3}}),
            "detector",
        ),
        (
            json.dumps(
                {"format": "tongguocr-weights", "version": 1, "files": {"detector.onnx": {"sha256": "0"}}}
            ),
            r"detector\.onnx: the file is not the one",
        ),
    ],
)
def test_bad_weights(tmp_path: Path, manifest: str, said: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    (tmp_path / "detector.onnx").write_bytes(b"junk")
    with pytest.raises(InputError, match=said):
        load_network(tmp_path)


def test_lines_survive_their_file(tmp_path: Path) -> None:
    from tongguocr.formats import write_page

    page = find_lines(page_of(paint(LINES, 700, 560)), CharacterDetector(square_network()))
    for name in ("a.json", "a.xml"):
        write_page(page, tmp_path / name)
        again = read_page(tmp_path / name)
        assert [(x.id, x.kind, x.direction, len(x.chars)) for x in again.lines] == [
            (x.id, x.kind, x.direction, len(x.chars)) for x in page.lines
        ]


@pytest.mark.parametrize("quarters", range(4))
def test_most_characters_say_how_a_page_lies(quarters: int) -> None:
    chars = characters([column(100, 40, 12)])
    turns = np.eye(4, dtype=np.float32)[[quarters] * 9 + [0, 1, 2]]
    angle = angle_of(replace(chars, turns=turns))
    assert (90 * quarters + angle) % 360 == 0


def test_few_or_divided_characters_turn_nothing() -> None:
    upside_down = np.eye(4, dtype=np.float32)[[2] * 12]
    chars = replace(characters([column(100, 40, 12)]), turns=upside_down)
    assert angle_of(chars) == 180
    assert angle_of(chars[np.arange(7)]) == 0, "seven characters"
    assert angle_of(replace(chars, scores=np.full(12, 0.4, np.float32))) == 0, "none of them sure"
    divided = np.eye(4, dtype=np.float32)[[2] * 6 + [0] * 6]
    assert angle_of(replace(chars, turns=divided)) == 0
    assert angle_of(nothing()) == 0


def test_maps_of_earlier_networks_tell_no_turn() -> None:
    maps = np.zeros((CHANNELS, 8, 8), np.float32)
    maps[HEAT] = -9.0
    maps[HEAT, 3, 3], maps[15, 3, 3] = 3.0, 5.0
    assert find_peaks(maps, 0.3).turns.argmax(1).tolist() == [2]
    assert find_peaks(maps[:13], 0.3).turns.argmax(1).tolist() == [0]
