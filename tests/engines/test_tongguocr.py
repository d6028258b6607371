"""Our engine with tiny random weights: what it must do whatever the weights are."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from paths import ROOT
from PIL import Image
from recognise_pages import column, inputs_of, make_page
from tiny_recogniser import CODEC, tiny_model, write_tiny

from tongguocr.crops import crop_blocks
from tongguocr.engines import open_engine
from tongguocr.engines.base import BlockInput, BlockReading, fill_page, make_inputs
from tongguocr.engines.guard import Limits, Watch, character_cap
from tongguocr.engines.prepare import find_peak, prepare
from tongguocr.engines.tongguocr import (
    FIRST_BREAK,
    FIRST_BYTE,
    FIRST_CHARACTER,
    DecodedBlock,
    OnnxEngine,
    OnnxSettings,
)
from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.page import Page
from tongguocr.training.recogniser.model import find_peak as find_peak_torch

NEVER = 10**9
UNGUARDED = OnnxSettings(limits=Limits(refrains=(NEVER,) * 3, stuck_repeats=NEVER, rereads=NEVER))


@pytest.fixture(scope="module", params=["fp32", "quantised"])
def weights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp(request.param), request.param == "quantised")


@pytest.fixture(scope="module")
def plain_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("plain"), False)


def blocks_of_all_sizes() -> list[BlockInput]:
    shapes = [(1, 4), (3, 7), (2, 12), (5, 3), (1, 1)]
    return [inputs_of(make_page(n, length=m, seed=n))[0] for n, m in shapes]


def tokens_of(engine: OnnxEngine, blocks: list[BlockInput]) -> list[list[int]]:
    prepared = [prepare(block) for block in blocks]
    return [
        text.watch.tokens for text in engine.decode([engine.encode(p) for p in prepared], blocks, prepared)
    ]


def torch_tokens(block: BlockInput, most: int) -> list[int]:
    """Greedy decoding by the network itself, without a cache."""
    model, tokens = tiny_model(), [CODEC.bos]
    places = torch.full((1, 1, 2), -1.0)
    with torch.no_grad():
        picture = prepare(block).picture
        encoded = model.keys_values(model.encode(torch.from_numpy(picture[None, None])))
        while len(tokens) <= most:
            states, pointed, _ = model.decode(torch.tensor([tokens]), places, encoded)
            tokens.append(int(model.score(states[:, -1]).argmax()))
            place = find_peak_torch(pointed[:, -1], picture.shape[1] // 16)
            place = (place * OnnxSettings().parts).round() / OnnxSettings().parts
            places = torch.cat([places, place[:, None]], 1)
            if tokens[-1] == CODEC.eos:
                return tokens[1:-1]
    return tokens[1:]


def test_tokens_are_those_of_the_network(plain_weights: Path) -> None:
    blocks = blocks_of_all_sizes()
    ours = tokens_of(OnnxEngine(plain_weights, UNGUARDED), blocks)
    assert sum(map(len, ours)) > 50
    for block, tokens in zip(blocks, ours, strict=True):
        theirs = torch_tokens(block, len(tokens))
        assert tokens == theirs[: len(tokens)]


def same(a: BlockReading, b: BlockReading) -> None:
    assert a.text == b.text and a.stop == b.stop
    for mine, other in zip(a.lines, b.lines, strict=True):
        for x, y in zip(mine.chars, other.chars, strict=True):
            assert x.box == pytest.approx(y.box, abs=0.01)
            assert x.confidence == pytest.approx(y.confidence, abs=1e-4)


def test_a_reading_does_not_depend_on_its_batch(weights: Path) -> None:
    engine, blocks = OnnxEngine(weights), blocks_of_all_sizes()
    alone = [engine.read([block])[0] for block in blocks]
    assert any(reading.text.strip() for reading in alone)
    for reading, other in zip(engine.read(blocks), alone, strict=True):
        same(reading, other)
    for reading, other in zip(engine.read(blocks[::-1]), alone[::-1], strict=True):
        same(reading, other)
    crowded = OnnxEngine(weights, OnnxSettings(rows=2, places=100))
    for reading, other in zip(crowded.read(blocks), alone, strict=True):
        same(reading, other)


def test_every_line_is_answered_and_no_text_is_endless(weights: Path) -> None:
    engine = open_engine("tongguocr", weights)
    for block, reading in zip(blocks_of_all_sizes(), engine.read(blocks_of_all_sizes()), strict=True):
        assert len(reading.lines) == len(block.lines)
        cap = sum(character_cap([line]) for line in block.lines)
        assert sum(len(line.chars) for line in reading.lines) <= cap
        x0, y0, x1, y1 = block.crop.region
        for char in (char for line in reading.lines for char in line.chars):
            assert (
                x0 - 1 <= char.box[0] < char.box[2] <= x1 + 1
                and y0 - 1 <= char.box[1] < char.box[3] <= y1 + 1
            )
            assert char.confidence is not None and 0 <= char.confidence <= 1.0001
            assert char.text not in {other for other, _ in char.candidates}


@pytest.mark.parametrize("case", ["one pixel", "black", "paper", "turned", "colour", "no lines"])
def test_odd_crops_have_a_defined_answer(weights: Path, case: str) -> None:
    page = make_page(3)
    assert page.pixels is not None
    if case == "one pixel":
        page = Page("", 1, 1, (column("l1", 0, 0, 1, 1),), np.zeros((1, 1), np.uint8))
    elif case in ("black", "paper"):
        page = replace(page, pixels=np.full_like(page.pixels, 0 if case == "black" else 225))
    elif case == "turned":
        page = replace(page, pixels=np.ascontiguousarray(np.rot90(page.pixels)))
    elif case == "colour":
        page = make_page(3, grey=False)
    blocks = list(inputs_of(page))
    if case == "no lines":
        blocks = [replace(blocks[0], lines=())]
    (reading,) = open_engine("tongguocr", weights).read(blocks)
    assert len(reading.lines) == len(blocks[0].lines)
    if case in ("one pixel", "black", "paper"):
        assert [line.status for line in reading.lines] == ["empty"] * len(page.lines)
        assert all(line.confidence == 0.0 for line in reading.lines)
    if case == "no lines":
        assert sum(len(part.chars) for part in reading.surplus) <= character_cap([])


def test_no_blocks_no_readings(plain_weights: Path) -> None:
    assert open_engine("tongguocr", plain_weights).read([]) == []


def test_a_page_is_filled(plain_weights: Path) -> None:
    page = make_page(4)
    from tongguocr.blocks import cut_blocks

    blocks = cut_blocks(page)
    readings = open_engine("tongguocr", plain_weights).read(make_inputs(page, crop_blocks(page, blocks)))
    filled = fill_page(page, blocks, readings)
    assert [line.id for line in filled.lines if "+" not in line.id] == ["l1", "l2", "l3", "l4"]


# Where characters lie


def test_a_character_lies_where_the_decoder_looked(plain_weights: Path) -> None:
    engine, page = OnnxEngine(plain_weights), make_page(3, size=60, length=6)
    (block,) = inputs_of(page)
    picture = prepare(block)
    text = DecodedBlock(Watch(100, 3), "end", [], [])
    centres = [((k.box[0] + k.box[2]) / 2, k.box[1] + 60 * n + 30) for k in page.lines for n in range(6)]
    for number, (x, y) in enumerate(centres):
        place = tuple((v - picture.origin[k]) * picture.scale[k] / 16 for k, v in enumerate((x, y)))
        for token in [FIRST_BREAK] * (number in (6, 12)) + [FIRST_CHARACTER + number]:
            text.watch.add(token, (0, number), starts_character=True, ends_line=False)
            text.candidates.append((np.array([token, 300]), np.array([0.75, 0.25], np.float32)))
            text.places.append(place)
    reading = engine._to_reading(block, picture, text)
    assert not reading.surplus and reading.text == "\n".join(
        "".join(CODEC.characters[k : k + 6]) for k in (0, 6, 12)
    )
    for char, at in zip((char for line in reading.lines for char in line.chars), centres, strict=True):
        x, y = (char.box[0] + char.box[2]) / 2, (char.box[1] + char.box[3]) / 2
        assert (x, y) == pytest.approx(at, abs=6)
        assert char.confidence == 0.75 and char.candidates == ((CODEC.tokens[300], 0.25),)
        assert 30 < char.box[2] - char.box[0] <= 61


@pytest.mark.parametrize("spelt", ["𪚥", "é", "\U000f0c65", "\x07", "\ufffd"])
def test_bytes_that_spell_nothing_give_way_to_the_next_reading(plain_weights: Path, spelt: str) -> None:
    engine, (block,) = OnnxEngine(plain_weights), inputs_of(make_page(1, size=60, length=1))
    text = DecodedBlock(Watch(100, 1), "end", [], [])
    for k, byte in enumerate(b"\x90" if spelt == "\ufffd" else spelt.encode()):
        token = FIRST_BYTE + byte
        text.watch.add(token, (0, 0), starts_character=k == 0, ends_line=False)
        likely = np.array([0.5, 0.2, 0.1], np.float32)
        text.candidates.append((np.array([token, FIRST_CHARACTER + 3, FIRST_CHARACTER + 4]), likely))
        text.places.append((2.0, 2.0))
    ((char,),) = [line.chars for line in engine._to_reading(block, prepare(block), text).lines]
    others = ((CODEC.characters[3], 0.2), (CODEC.characters[4], 0.1))
    if spelt in "𪚥é":
        assert (char.text, char.candidates) == (spelt, others)
    else:
        assert (char.text, char.candidates) == (others[0][0], others[1:]) and (char.confidence or 0) <= 0.2


def between(row: float, column: float, grid: tuple[int, int]) -> np.ndarray:
    """What the pointer is taught: the four features around a place, nearer ones more."""
    rows, columns = np.indices(grid)
    shares = np.maximum(1 - np.abs(rows - row), 0) * np.maximum(1 - np.abs(columns - column), 0)
    flat: np.ndarray = shares.astype(np.float32).reshape(-1)
    return flat


@given(st.floats(0, 7), st.floats(0, 8))
def test_a_place_is_the_middle_of_its_peak(row: float, column: float) -> None:
    assert find_peak(between(row, column, (8, 9)), (8, 9)) == pytest.approx(
        (column + 0.5, row + 0.5), abs=1e-3
    )
    scores = torch.from_numpy(between(row, column, (8, 9))).clamp(min=1e-30).log()[None]
    assert find_peak_torch(scores, 9)[0].tolist() == pytest.approx((column + 0.5, row + 0.5), abs=1e-3)


def test_places_of_odd_pictures() -> None:
    assert find_peak(np.ones(1, np.float32), (1, 1)) == (0.5, 0.5)
    assert find_peak(np.zeros(6, np.float32), (2, 3)) == (0.5, 0.5)
    away = between(6, 6, (12, 12)) + np.float32(0.9) * between(1, 1, (12, 12))
    assert find_peak(away, (12, 12)) == pytest.approx((6.5, 6.5)), "a second peak does not count"


# Files


def broken(folder: Path, target: Path, name: str, data: bytes | None) -> Path:
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    (target / name).unlink()
    if data is not None:
        (target / name).write_bytes(data)
    return target


@pytest.mark.parametrize("name", ["manifest.json", "encoder.onnx", "decoder.onnx", "codec.json"])
@pytest.mark.parametrize("data", [None, b"", b"{}", b"\xff\x00 junk"])
def test_damaged_weights_are_refused_in_one_sentence(
    plain_weights: Path, tmp_path: Path, name: str, data: bytes | None
) -> None:
    folder = broken(plain_weights, tmp_path / "weights", name, data)
    with pytest.raises(InputError, match=name):
        OnnxEngine(folder)


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"files": {}}, {"size": 3}, {"stride": None}, {"format": "x"}]
)
def test_odd_manifests_are_refused(plain_weights: Path, tmp_path: Path, change: dict[str, object]) -> None:
    manifest = json.loads((plain_weights / "manifest.json").read_text()) | change
    folder = broken(plain_weights, tmp_path / "w", "manifest.json", json.dumps(manifest).encode())
    with pytest.raises(InputError, match="manifest"):
        OnnxEngine(folder)


def test_a_graph_that_is_none_is_refused(plain_weights: Path, tmp_path: Path) -> None:
    import hashlib

    manifest = json.loads((plain_weights / "manifest.json").read_text())
    manifest["files"]["decoder.onnx"]["sha256"] = hashlib.sha256(b"junk").hexdigest()
    folder = broken(plain_weights, tmp_path / "w", "manifest.json", json.dumps(manifest).encode())
    (folder / "decoder.onnx").write_bytes(b"junk")
    with pytest.raises(InputError, match="ONNX Runtime cannot use this file"):
        OnnxEngine(folder)


def test_reading_needs_no_torch(plain_weights: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import tongguocr.engines.rapidocr;"
        "from tongguocr.engines.tongguocr import OnnxEngine;"
        f"OnnxEngine(Path({str(plain_weights)!r}));"
        "print([name for name in ('torch', 'onnx', 'cv2', 'rapidocr', 'lxml') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_bench_runs_from_files(plain_weights: Path, tmp_path: Path) -> None:
    page = make_page(3)
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(tmp_path / "page.png")
    write_page(
        replace(page, lines=tuple(replace(k, text="一二三") for k in page.lines)), tmp_path / "page.json"
    )
    command = [sys.executable, "-m", "bench.recogniser", str(tmp_path), "--engine", "tongguocr"]
    root = ROOT
    done = subprocess.run(
        [*command, "--weights", str(plain_weights)], capture_output=True, text=True, check=True, cwd=root
    )
    assert "page.png" in done.stdout and "chars/s" in done.stdout
