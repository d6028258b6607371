"""The detector's training: its parts against things made by hand, and a tiny run that must learn."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run_here
from detector_pages import column, paint, write_char_pages
from PIL import Image
from synth_pages import empty
from tiny_fonts import write_sources

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.layout.detect import load_network
from tongguocr.page import Kind
from tongguocr.training.detector.feed import Source, load_source
from tongguocr.training.detector.model import Detector, DetectorSize, load_detector
from tongguocr.training.detector.paint import (
    Painter,
    page_edges,
    to_device,
    toned,
)
from tongguocr.training.detector.pictures import draw_picture, illustrate, make_scenes, stitch
from tongguocr.training.detector.placing import keep_glyphs, label, merge
from tongguocr.training.detector.recipe import WindowRecipe
from tongguocr.training.detector.stage import DetectorStage
from tongguocr.training.detector.validation import Validator
from tongguocr.training.stage import find_stage, load_stage
from tongguocr.training.synth.composition import ComposedLine
from tongguocr.training.synth.degradation import NO_DEGRADATION, Degradation
from tongguocr.training.synth.gpu.degradation import stack_degradations
from tongguocr.training.synth.gpu.seals import press_masks
from tongguocr.training.synth.seals import MASK_SIDE, make_seals

CPU = torch.device("cpu")
CHARS = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往"
STAGE = """
[run]
steps = 120
learning_rate = 5e-3
warm_up = 10
validate_every = 60.0
workers = 1
[recipe]
side = 160
windows = 4
real_pages = 1
size = [18.0, 26.0]
scenes = 4
severity = 0.3
pictures = 0.05
photographed = 0.2
inverted = 0.0
bitonal = 0.0
behind = 0.0
turned = 0.0
cut = 0.05
[detector]
stem = 8
widths = [16, 24, 24, 24]
inner = [16, 24, 16, 16]
down = [1, 1, 1, 1]
up = [1, 1, 1]
head = 16
"""
SMALL = WindowRecipe(side=160, windows=3, real_pages=2, size=(18, 26), scenes=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faces, one of them held out, real pages, and the data of a run."""
    root = tmp_path_factory.mktemp("detector")
    sources = write_sources(root, CHARS)
    (root / "stage.toml").write_text(STAGE, encoding="utf-8")
    pages = write_char_pages(root / "pages")
    result = run_here("train-data", *sources, "--char-pages", pages, "--out", root / "data")
    assert result.returncode == 0, result.stderr
    assert "real pages to train the detector on" in result.stdout
    return root


@pytest.fixture(scope="module")
def source(folder: Path) -> Source:
    return load_source(folder / "data", SMALL)


@pytest.mark.slow
def test_a_tiny_run_learns_to_find_characters(folder: Path) -> None:
    out = folder / "out"
    trained = run_here(
        "train", folder / "stage.toml", "--data", folder / "data", "--out", out, "--device", "cpu"
    )
    assert trained.returncode == 0, trained.stderr
    assert (out / "log.png").stat().st_size > 10_000
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    figures = records[-1]
    assert figures["F1"] > 0.7 and figures["real F1"] > 0.7, records
    exported = run_here("export", out / "detector.pt", "-o", folder / "weights")
    assert exported.returncode == 0, exported.stderr
    lines = [column(x, 60, 9, size=24, pitch=28) for x in (240, 190, 140)]
    Image.fromarray(paint(lines, 300, 360)).save(folder / "page.png")
    arguments = ("--weights", folder / "weights", "--picture", folder / "lines.png")
    found = run_here("lines", folder / "page.png", "-o", folder / "lines.json", *arguments)
    assert found.returncode == 0, found.stderr
    page = read_page(folder / "lines.json")
    assert sum(len(line.chars) for line in page.lines) > 13 and (folder / "lines.png").exists()
    same_as_torch(load_detector(out / "detector.pt"), folder / "weights")
    going_on(folder, records)


def same_as_torch(model: Detector, weights: Path) -> None:
    image = torch.rand(1, 1, 96, 160)
    with torch.no_grad():
        wanted = model(image)[0].numpy()
    assert np.abs(load_network(weights, 1)(image.numpy()) - wanted).max() < 0.05 * np.abs(wanted).max()


def going_on(folder: Path, records: list[dict[str, float]]) -> None:
    """A second run goes on where the first one ended, unless what it left is damaged."""
    (folder / "longer.toml").write_text(STAGE.replace("steps = 120", "steps = 124"), encoding="utf-8")
    arguments = ("--data", folder / "data", "--out", folder / "out", "--device", "cpu")
    resumed = run_here("train", folder / "longer.toml", *arguments)
    assert resumed.returncode == 0, resumed.stderr
    more = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert more[: len(records)] == records and more[-1]["step"] > records[-1]["step"]
    (folder / "out" / "resume.pt").write_bytes(b"junk")
    broken = run_here("train", folder / "longer.toml", *arguments)
    assert broken.returncode == 2 and "resume.pt" in broken.stderr and "Traceback" not in broken.stderr


def test_windows_are_the_same_again_and_their_labels_fit(source: Source) -> None:
    first, again = (next(source.maker(5).batches()) for _ in range(2))
    assert torch.equal(first.batch.boxes, again.batch.boxes) and torch.equal(first.tones, again.tones)
    assert len(first.following) == len(first.kinds) == len(first.batch.boxes)
    linked = first.following >= 0
    after = first.following[linked]
    assert (first.batch.of_block[after] == first.batch.of_block[linked]).all()
    assert len(first.views) == SMALL.real_pages and len(first.tones) == SMALL.windows + SMALL.real_pages


def test_painted_ink_lies_in_the_labelled_boxes(source: Source) -> None:
    """Without degradation of the ink but with slant: what is dark is inside a box, and every box has ink."""
    recipe = replace(SMALL, severity=0.0, photographed=0.0, covered=0.0, inverted=0.0, pictures=0.0, bare=0.0)
    recipe = replace(recipe, cut=0.0, empty=0.0, sewn=0.0, bitonal=0.0, behind=0.0, turned=0.0)
    source = replace(source, recipe=recipe)
    maker = source.maker(3)
    painter = Painter.load(source.data.atlas, None, source.pages, recipe, CPU)
    for work in (next(maker.batches()) for _ in range(2)):
        clean = [Degradation(skew=3.0), NO_DEGRADATION, Degradation(skew=-4.0, waver=0.05)]
        work = replace(work, degradation=stack_degradations(clean, work.batch.em, 160, 160, 1))
        work = replace(work, batch=replace(work.batch, rules=work.batch.rules, frames=work.batch.frames))
        images, labels = painter.paint(to_device(work, CPU))
        for k in torch.nonzero(labels.wanted)[:, 0].tolist():
            x0, y0, x1, y1 = labels.boxes[k].round().long().tolist()
            inside = images[labels.block[k], 0, max(y0, 0) : y1, max(x0, 0) : x1]
            assert inside.min() < inside.max() - 0.2, "a character without ink"
        assert labels.wanted.sum() > 20 and images.shape == (5, 1, 160, 160)


def test_pictures_drive_text_away(source: Source) -> None:
    maker = source.maker(2)
    page = maker._page()
    rng = np.random.default_rng(0)
    drawn = [illustrate(page, rng) for _ in range(12)]
    assert all(len(new) <= len(page) and len(new.strokes) > 4 for new in drawn)
    assert min(map(len, drawn)) < len(page)
    for new in drawn:
        assert sum(line.stop - line.start for line in new.lines) == len(new)
    inked = draw_picture(page, (0.0, 0.0, 100.0, 100.0), rng)
    assert len(inked) == len(page)


def test_lines_that_lose_their_middle_are_two(source: Source) -> None:
    page = next(p for p in iter(source.maker(4)._page, None) if p.lines[0].stop > 4)
    keep = np.ones(len(page), np.bool_)
    keep[1] = False
    cut = keep_glyphs(page, keep)
    first = page.lines[0].stop
    assert [(x.start, x.stop) for x in cut.lines[:2]] == [(0, 1), (1, first - 1)]
    both = merge([cut, cut])
    following, _ = label([both])
    assert len(both) == 2 * len(cut) and following[0] == -1 and following[len(cut) - 1] == -1


def test_real_lines_run_on_where_nobody_sees_them_end() -> None:
    """Two lines below each other and a third one beside; then a note of two rows below the main text."""
    lines = [column(100, 20, 3, 24, 24), column(100, 92, 3, 24, 24), column(60, 20, 2, 24, 24)]
    lines += [column(107, 165, 2, 24, 24, across=13), column(93, 165, 2, 24, 24, across=13)]
    kinds: list[Kind] = ["main", "main", "main", "note", "note"]
    edges = np.cumsum([0, *map(len, lines)]).tolist()
    composed = tuple(ComposedLine(a, b, k) for (a, b), k in zip(pairwise(edges), kinds, strict=True))
    boxes = np.array([box for line in lines for box in line], np.float32)
    real = replace(empty(200, 240), kind="real-lines", text=("一",) * len(boxes), boxes=boxes, lines=composed)
    following, found = label([real, real])
    assert following[:12].tolist() == [1, 2, 3, 4, 5, -1, 7, -1, 9, -1, 11, -1]
    assert following[12:].tolist() == [k + 12 if k >= 0 else -1 for k in following[:12].tolist()]
    assert found[:12].tolist() == [0] * 8 + [1] * 4
    assert label([replace(real, kind="table")])[0].tolist()[:6] == [1, 2, -1, 4, 5, -1]


def test_scenes_and_tones(source: Source) -> None:
    scenes = make_scenes(6, 96, 3, source.data.atlas)
    assert (
        scenes.shape == (6, 96, 96) and scenes.dtype == np.uint8 and len({s.tobytes() for s in scenes}) == 6
    )
    images = torch.tensor([0.2, 0.9]).view(2, 1, 1, 1)
    same = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 2)
    assert torch.allclose(toned(images, same), images, atol=1e-3)
    inverted = torch.tensor([[1.0, 1.0, 0.0, 1.0]] * 2)
    assert torch.allclose(toned(images, inverted), 1 - images, atol=1e-3)


def test_a_sewn_page_has_holes_at_one_edge_and_the_same_text() -> None:
    page = empty(200, 400)
    for seed in range(8):
        sewn = stitch(page, 20.0, np.random.default_rng(seed))
        x = np.array([mark.centre[0] for mark in sewn.marks])
        assert 4 <= len(x) <= 6 and ((x < 30).all() or (x > 170).all())
        assert len(sewn) == len(page) and all(s.role == "frame" for s in sewn.strokes)


def test_a_seal_darkens_its_place_and_no_other(source: Source) -> None:
    masks = make_seals(40, 3, source.data.atlas)
    assert masks.shape == (40, MASK_SIDE, MASK_SIDE) and (masks.reshape(40, -1).max(1) > 150).all()
    assert np.array_equal(masks, make_seals(40, 3, source.data.atlas))
    images = torch.full((3, 1, 160, 160), 0.9)
    place = torch.tensor([[1.0, 4.0, 70.0, 90.0, 40.0, 0.0, 0.6, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    pressed = press_masks(images, torch.from_numpy(masks), place)
    changed = torch.nonzero(pressed != images)
    assert (changed[:, 0] == 1).all() and 50 <= changed[:, 3].min() <= changed[:, 3].max() < 90
    assert 70 <= changed[:, 2].min() <= changed[:, 2].max() < 110
    assert pressed.min() == pytest.approx(0.9 * 0.45, abs=0.1) and (pressed <= images).all()
    assert press_masks(images, torch.from_numpy(masks), place[:0]) is images


def test_a_page_ends_at_its_edge_however_it_is_turned() -> None:
    pages = torch.zeros(2, 9, 4)
    pages[:, 0] = torch.tensor([40.0, 30.0, 120.0, 130.0])
    paper = page_edges(
        pages, stack_degradations([NO_DEGRADATION, Degradation(skew=4.0)], [20.0, 20.0], 160, 160, 1), 160
    )
    assert paper[0, 30:130, 40:120].mean() > 0.99 and paper[0].sum() == pytest.approx(80 * 100, rel=0.02)
    assert paper[1].sum() == pytest.approx(80 * 100, rel=0.03)
    # Seen counter-clockwise: the upper edge falls to the left.
    assert paper[1, :, 50].nonzero()[0] > paper[1, :, 110].nonzero()[0]


def test_validation_is_the_same_every_time(source: Source) -> None:
    painter = Painter.load(source.data.atlas, None, source.pages, SMALL, CPU)
    validators = [Validator.prepare(source, painter, CPU) for _ in range(2)]
    assert torch.equal(validators[0].synthetic[0].images, validators[1].synthetic[0].images)
    figures = validators[0].validate(
        Detector(DetectorSize(8, (8, 8, 8, 8), (8, 8, 8, 8), (1, 1, 1, 1), (1, 1, 1), 8))
    )
    assert 0 <= figures["score"] <= 0.5


def test_the_default_network_is_within_its_size() -> None:
    count = sum(p.numel() for p in Detector().parameters())
    assert count < 2_900_000, "3 MB as bytes, and half a second a page"


def test_the_rate_warms_up_stays_and_falls() -> None:
    stage = load_stage(find_stage("detector"))
    assert isinstance(stage, DetectorStage)
    given = replace(stage.run, warm_up=10, flat=0.5)
    assert given.rate(0, 0.0) == pytest.approx(0.1) and given.rate(99, 0.4) == 1.0
    assert given.rate(99, 1.0) == pytest.approx(0.01)
    assert (given.matrix_rate, given.betas, given.clip) == (0.0, (0.9, 0.99), 5.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[detector]\n[run]\nminuts = 3", "has no setting minuts"),
        ("[detector]\n[model]", "not model"),
        ("[detector]\n[run]\nworkers = 1", "is not complete"),
        ("[detector]\n[run]\nminutes = 1\n[recipe]\nside = 100", "multiple of 32"),
        ("detector = 1", "detector stands outside"),
        ("[detector]\n[run]\nminutes = 1\ndense = [1.0, 1.0]", "has no setting dense"),
        ("[detector]\n[run]\nepochs = 1", "needs minutes or steps"),
    ],
)
def test_stage_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_stage(tmp_path / "stage.toml")


def test_the_shipped_stage_and_files_that_are_none(tmp_path: Path) -> None:
    stage = load_stage(find_stage("detector"))
    assert isinstance(stage, DetectorStage) and stage.recipe.side == 768
    assert not isinstance(load_stage(find_stage("0")), DetectorStage)
    (tmp_path / "x.toml").write_text("[run")
    with pytest.raises(InputError, match="not a stage file"):
        load_stage(tmp_path / "x.toml")
    with pytest.raises(InputError, match="not weights of the detector"):
        load_detector(tmp_path / "x.toml")
