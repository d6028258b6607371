"""The detector's training: its parts against things made by hand, and a tiny run that must learn."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from detector_pages import characters, column, paint
from PIL import Image
from synth_pages import empty
from tiny_fonts import write_sources

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.layout.detect import load_network
from tongguocr.layout.peaks import (
    CHANNELS,
    FIRST,
    HEAT,
    KIND,
    LAST,
    NEXT,
    SHIFT,
    SIZE,
    STRIDE,
    TYPICAL,
    find_peaks,
)
from tongguocr.page import KINDS, Kind
from tongguocr.synth.composition import ComposedLine
from tongguocr.synth.gpu.conditions import stack
from tongguocr.synth.wear import NO_WEAR, Wear
from tongguocr.train.detector.feed import Source, load_source
from tongguocr.train.detector.judge import Judge, Tally, compare, match_centres
from tongguocr.train.detector.loop import DetectorRun, load_detector
from tongguocr.train.detector.model import Detector, DetectorSize
from tongguocr.train.detector.paint import (
    Labels,
    PageStore,
    Painter,
    page_edges,
    sorted_out,
    to_device,
    toned,
)
from tongguocr.train.detector.pictures import draw_picture, illustrate, make_scenes
from tongguocr.train.detector.placing import keep_glyphs, label, merge
from tongguocr.train.detector.real_pages import (
    RealPage,
    is_held_out,
    load_pages,
    make_page,
    read_char_pages,
    save_pages,
    trace_lines,
)
from tongguocr.train.detector.stage import is_detector_stage, load_detector_stage
from tongguocr.train.detector.targets import focal_loss, heat_map, losses
from tongguocr.train.detector.windows import WindowRecipe
from tongguocr.train.journal import Progress

CPU = torch.device("cpu")
CHARS = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往"
STAGE = """
[run]
minutes = 5.0
steps = 120
learning_rate = 5e-3
warm_up = 10
judge_every = 60.0
workers = 1
[recipe]
side = 160
windows = 7
real_pages = 1
size = [18.0, 26.0]
scenes = 4
severity = 0.3
pictures = 0.05
photographed = 0.2
inverted = 0.0
[detector]
stem = 8
widths = [16, 24, 24, 24]
inner = [16, 24, 16, 16]
down = [1, 1, 1, 1]
up = [1, 1, 1]
head = 16
"""
SMALL = WindowRecipe(side=160, windows=3, real_pages=2, size=(18, 26), scenes=4)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


def write_char_pages(folder: Path, count: int = 6) -> Path:
    """Pages of three columns of dark squares, with the box of each."""
    folder.mkdir()
    entries = []
    for k in range(count):
        lines = [column(x, 40, 8, size=24, pitch=28) for x in (230, 180, 130 - k)]
        Image.fromarray(paint(lines, 280, 320)).save(folder / f"p{k}.png")
        chars = [{"box": list(box), "ch": None} for line in lines for box in line]
        entries.append({"image": f"p{k}.png", "size": [280, 320], "chars": chars})
    (folder / "pages.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faces, one of them held out, real pages, and the data of a run."""
    root = tmp_path_factory.mktemp("detector")
    sources = write_sources(root, CHARS)
    (root / "stage.toml").write_text(STAGE, encoding="utf-8")
    pages = write_char_pages(root / "pages")
    result = run("train-data", *sources, "--char-pages", pages, "--out", root / "data")
    assert result.returncode == 0, result.stderr
    assert "real pages to train the detector on" in result.stdout
    return root


@pytest.fixture(scope="module")
def source(folder: Path) -> Source:
    return load_source(folder / "data", SMALL)


def test_a_tiny_run_learns_to_find_characters(folder: Path) -> None:
    out = folder / "out"
    trained = run("train", folder / "stage.toml", "--data", folder / "data", "--out", out, "--device", "cpu")
    assert trained.returncode == 0, trained.stderr
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    figures = records[-1]
    assert figures["F1"] > 0.7 and figures["real F1"] > 0.7, records
    exported = run("export", out / "detector.pt", "-o", folder / "weights")
    assert exported.returncode == 0, exported.stderr
    lines = [column(x, 60, 9, size=24, pitch=28) for x in (240, 190, 140)]
    Image.fromarray(paint(lines, 300, 360)).save(folder / "page.png")
    arguments = ("--weights", folder / "weights", "--picture", folder / "lines.png")
    found = run("lines", folder / "page.png", "-o", folder / "lines.json", *arguments)
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
    (folder / "longer.toml").write_text(STAGE.replace("steps = 120", "steps = 125"), encoding="utf-8")
    arguments = ("--data", folder / "data", "--out", folder / "out", "--device", "cpu")
    resumed = run("train", folder / "longer.toml", *arguments)
    assert resumed.returncode == 0, resumed.stderr
    more = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert more[: len(records)] == records and more[-1]["step"] > records[-1]["step"]
    (folder / "out" / "resume.pt").write_bytes(b"junk")
    broken = run("train", folder / "longer.toml", *arguments)
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
    """Without wear of the ink but with slant: what is dark is inside a box, and every box has ink."""
    recipe = replace(SMALL, severity=0.0, photographed=0.0, covered=0.0, inverted=0.0, pictures=0.0, bare=0.0)
    source = replace(source, recipe=recipe)
    maker = source.maker(3)
    painter = Painter.load(source.data.atlas, None, source.pages, recipe, CPU)
    for work in (next(maker.batches()) for _ in range(2)):
        clean = [Wear(skew=3.0), NO_WEAR, Wear(skew=-4.0, waver=0.05)]
        work = replace(work, conditions=stack(clean, work.batch.em, 160, 160, 1))
        work = replace(work, batch=replace(work.batch, rules=work.batch.rules, frames=work.batch.frames))
        images, labels = painter.paint(to_device(work, CPU))
        for k in torch.nonzero(labels.wanted)[:, 0].tolist():
            x0, y0, x1, y1 = labels.boxes[k].round().long().tolist()
            inside = images[labels.block[k], 0, max(y0, 0) : y1, max(x0, 0) : x1]
            assert inside.min() < inside.max() - 0.2, "a character without ink"
        assert labels.wanted.sum() > 20 and images.shape == (5, 1, 160, 160)


def test_a_real_page_is_cut_where_its_labels_are() -> None:
    """A page turned and enlarged: each box still holds its dark square and nothing else."""
    lines = [column(x, 60, 6, size=24, pitch=34) for x in (200, 140, 80)]
    boxes = np.array([box for line in lines for box in line], np.float32)
    store = PageStore.load([make_page("a", paint(lines, 280, 300), boxes)], CPU)
    views = torch.tensor([[0, 1.3, 0.06, 140.0, 150.0], [0, 0.8, -0.03, 100.0, 120.0]])
    images, labels = store.show(views, 256)
    assert labels.wanted.sum() > 25
    for k in torch.nonzero(labels.wanted)[:, 0].tolist():
        x, y = ((labels.boxes[k, :2] + labels.boxes[k, 2:]) / 2).long().tolist()
        assert images[labels.block[k], 0, y, x] < 0.25
        x0, y0, x1, y1 = labels.boxes[k].long().tolist()
        if min(x0, y0) > 3 and max(x1, y1) < 252:
            beside = images[labels.block[k], 0, [y0 - 2, y1 + 2], [x0 - 2, x1 + 2]]
            assert (beside > 0.75).all()
    after = labels.following[labels.wanted]
    assert (labels.block[after[after >= 0]] == labels.block[labels.wanted][after >= 0]).all()


def labels_of(lines: list[list[tuple[float, ...]]], kinds: list[int] | None = None) -> Labels:
    """Labels of one image."""
    boxes = torch.tensor([box for line in lines for box in line])
    following = torch.arange(1, len(boxes) + 1)
    ends = np.cumsum([len(line) for line in lines]) - 1
    following[ends] = -1
    kind = torch.repeat_interleave(
        torch.tensor(kinds or [0] * len(lines)), torch.tensor([len(x) for x in lines])
    )
    yes = torch.ones(len(boxes), dtype=torch.bool)
    return Labels(torch.zeros(len(boxes), dtype=torch.long), boxes, following, kind, yes, ~yes)


def perfect_maps(labels: Labels, rows: int, columns: int) -> torch.Tensor:
    """The maps that a perfect network would give."""
    maps = torch.zeros(1, CHANNELS, rows, columns)
    heat, _ = heat_map(labels, 1, rows, columns)
    maps[:, HEAT] = torch.logit(heat.clamp(1e-4, 1 - 1e-4))
    centre, sides = (labels.boxes[:, :2] + labels.boxes[:, 2:]) / 2, labels.boxes[:, 2:] - labels.boxes[:, :2]
    for k in range(len(labels.boxes)):
        r, c = (int(v) for v in (centre[k, 1] // STRIDE, centre[k, 0] // STRIDE))
        for y in range(r - 1, r + 2):
            for x in range(c - 1, c + 2):
                maps[0, SIZE, y, x] = (sides[k] / TYPICAL).log()
                maps[0, SHIFT, y, x] = centre[k] / STRIDE - torch.tensor([x + 0.5, y + 0.5])
                after = int(labels.following[k])
                maps[0, LAST, y, x] = 9.0 if after < 0 else -9.0
                maps[0, FIRST, y, x] = -9.0 if k in labels.following else 9.0
                if after >= 0:
                    maps[0, NEXT, y, x] = (centre[after] - centre[k]) / sides[k].max()
                maps[0, KIND, y, x] = 0.0
                maps[0, KIND.start + int(labels.kinds[k]), y, x] = 9.0
    return maps


LINES = [column(200, 40, 6), column(150, 40, 6, size=20, pitch=28)]


def test_perfect_maps_cost_nothing_and_give_the_labels_back() -> None:
    labels = labels_of(LINES, [0, 1])
    maps = perfect_maps(labels, 64, 64)
    found = losses(maps, labels)
    for name in ("size", "shift", "following", "last", "first", "kind"):
        assert float(found[name]) < 0.01, name
    assert float(found["heat"]) < 0.2
    worse = losses(maps + 6 * torch.randn(maps.shape, generator=torch.Generator().manual_seed(1)), labels)
    assert all(float(worse[name]) > float(found[name]) + 0.01 for name in found)
    tally = Tally()
    compare(find_peaks(maps[0].numpy(), 0.3), labels, 0, tally)
    assert tally == Tally(found=12, linked=12, right_kind=12)
    assert set(tally.figures("").values()) == {1.0}


def test_the_judge_counts_what_is_wrong() -> None:
    labels = labels_of(LINES)
    chars = characters([[*LINES[0]], [*LINES[1][:4]], [(20.0, 20.0, 40.0, 40.0)]])
    tally = Tally()
    compare(chars, labels, 0, tally)
    assert (tally.found, tally.missed, tally.extra, tally.linked) == (10, 2, 1, 10)
    excused = replace(labels, ignored=labels.ignored | (torch.arange(12) == 11), wanted=torch.arange(12) < 11)
    tally = Tally()
    compare(characters(LINES), excused, 0, tally)
    assert (tally.found, tally.missed, tally.extra) == (11, 0, 0)
    match = match_centres(chars.centres, labels.boxes.numpy(), np.ones(12, np.bool_))
    assert match.tolist() == [*range(10), -1, -1]


def test_heat_is_one_at_centres_and_narrow_for_small_characters() -> None:
    labels = labels_of([[(80.0, 80.0, 92.0, 92.0)], [(150.0, 150.0, 230.0, 230.0)]])
    heat, counts = heat_map(labels, 1, 64, 64)
    assert heat[0, 21, 21] == 1 and heat[0, 47, 47] == 1 and int((heat == 1).sum()) == 2
    assert heat[0, 21, 23] < 0.01 < 0.4 < heat[0, 47, 49]
    assert counts.min() == 1
    ignored = replace(labels, wanted=torch.tensor([True, False]), ignored=torch.tensor([False, True]))
    heat, counts = heat_map(ignored, 1, 64, 64)
    assert int((heat == 1).sum()) == 1 and counts[0, 40:56, 40:56].max() == 0 and counts[0, 30, 30] == 1


def test_a_centre_under_a_blot_counts() -> None:
    boxes = [[(80.0, 80.0, 104.0, 104.0)], [(60.0, 60.0, 180.0, 180.0)]]
    labels = replace(
        labels_of(boxes), wanted=torch.tensor([True, False]), ignored=torch.tensor([False, True])
    )
    heat, counts = heat_map(labels, 1, 64, 64)
    assert counts[0, 23, 23] == 1 and heat[0, 23, 23] == 1 and counts[0, 23, 26] == 0


def test_a_line_ends_before_what_cannot_be_seen() -> None:
    """The third character is under a slip; the last one is off the image, and yet it is known."""
    boxes = torch.tensor(column(100, 60, 5, size=24, pitch=30))
    here = torch.tensor([True, True, False, True, True])
    block, kinds = torch.zeros(5, dtype=torch.long), torch.zeros(5, dtype=torch.long)
    labels = sorted_out(block, boxes, torch.tensor([1, 2, 3, 4, -1]), kinds, here, 170)
    assert labels.following.tolist() == [1, -1, -1, 4, -1]
    assert labels.wanted.tolist() == [True, True, False, True, False]
    assert labels.ignored.tolist() == [False, False, False, False, True]
    for size, (wanted, ignored) in {8.0: (False, True), 5.0: (False, False), 200.0: (False, False)}.items():
        one = torch.tensor(column(85, 85, 1, size=size))
        found = sorted_out(block[:1], one, block[:1] - 1, block[:1], torch.tensor([True]), 170)
        assert (bool(found.wanted), bool(found.ignored)) == (wanted, ignored)


def test_focal_loss_blames_what_is_far_from_a_centre_most() -> None:
    heat = torch.tensor([[[0.0, 0.8, 1.0]]])
    alarm = [
        float(
            focal_loss(
                torch.tensor([[[3.0 if v == k else -6.0 for v in range(3)]]]), heat, torch.ones(1, 1, 3)
            )
        )
        for k in range(3)
    ]
    assert alarm[2] < alarm[1] < alarm[0]


def test_lines_of_real_pages_are_traced() -> None:
    main, right, left = column(300, 50, 4, 30), column(310, 190, 5, 18, 20), column(290, 190, 5, 18, 20)
    fold = column(200, 60, 5, 20, 24)
    boxes = np.array([*main, *right, *left, *column(100, 50, 9, 30), *fold], np.float32)
    following, kinds = trace_lines(boxes, 400, 400)
    assert following.tolist() == [
        1,
        2,
        3,
        -1,
        5,
        6,
        7,
        8,
        -1,
        10,
        11,
        12,
        13,
        -1,
        *range(15, 23),
        -1,
        *range(24, 28),
        -1,
    ]
    names = [KINDS[k] for k in kinds]
    assert names == ["main"] * 4 + ["note"] * 10 + ["main"] * 9 + ["fold"] * 5


def test_char_pages_are_packed_whole(tmp_path: Path) -> None:
    pages = read_char_pages(write_char_pages(tmp_path / "pages"))
    save_pages(pages, tmp_path / "char_pages.npz")
    for page, again in zip(pages, load_pages(tmp_path / "char_pages.npz"), strict=True):
        assert page.name == again.name and np.array_equal(page.boxes, again.boxes)
        assert np.array_equal(page.following, again.following) and np.array_equal(page.kinds, again.kinds)
        assert np.abs(page.pixels.astype(int) - again.pixels).mean() < 3
    names = [f"page-{k}.jpg" for k in range(500)]
    assert 60 < sum(map(is_held_out, names)) < 150


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '[{"image": "p0.png"}]',
        '[{"image": "p0.png", "chars": [{"box": [1, 2, 3]}]}]',
        '[{"image": "p0.png", "chars": [{"box": [5, 2, 3, 9]}]}]',
        '[{"image": "none.png", "chars": []}]',
    ],
)
def test_other_folders_are_refused(tmp_path: Path, text: str) -> None:
    folder = write_char_pages(tmp_path / "pages", 1)
    (folder / "pages.json").write_text(text)
    with pytest.raises(InputError, match=r"pages\.json|none\.png"):
        read_char_pages(folder)
    (tmp_path / "x.npz").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"x\.npz"):
        load_pages(tmp_path / "x.npz")


def test_a_page_without_characters_is_a_page() -> None:
    page: RealPage = make_page("blank", np.full((60, 50), 200, np.uint8), np.zeros((0, 4), np.float32))
    assert len(page.following) == 0 and len(page.kinds) == 0


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


def test_a_page_ends_at_its_edge_however_it_is_turned() -> None:
    pages = torch.zeros(2, 9, 4)
    pages[:, 0] = torch.tensor([40.0, 30.0, 120.0, 130.0])
    paper = page_edges(pages, stack([NO_WEAR, Wear(skew=4.0)], [20.0, 20.0], 160, 160, 1), 160)
    assert paper[0, 30:130, 40:120].mean() > 0.99 and paper[0].sum() == pytest.approx(80 * 100, rel=0.02)
    assert paper[1].sum() == pytest.approx(80 * 100, rel=0.03)
    # Seen counter-clockwise: the upper edge falls to the left.
    assert paper[1, :, 50].nonzero()[0] > paper[1, :, 110].nonzero()[0]


def test_validation_is_the_same_every_time(source: Source) -> None:
    painter = Painter.load(source.data.atlas, None, source.pages, SMALL, CPU)
    judges = [Judge.prepare(source, painter, CPU) for _ in range(2)]
    assert torch.equal(judges[0].drawn[0].images, judges[1].drawn[0].images)
    figures = judges[0].score(
        Detector(DetectorSize(8, (8, 8, 8, 8), (8, 8, 8, 8), (1, 1, 1, 1), (1, 1, 1), 8))
    )
    assert 0 <= figures["score"] <= 0.5


def test_the_default_network_is_within_its_size() -> None:
    count = sum(p.numel() for p in Detector().parameters())
    assert count < 2_900_000, "3 MB as bytes, and half a second a page"


def test_the_rate_warms_up_stays_and_falls() -> None:
    given = DetectorRun(minutes=1, learning_rate=1.0, warm_up=10, flat=0.5)
    assert given.rate(0, 0.0) == pytest.approx(0.1) and given.rate(99, 0.4) == 1.0
    assert given.rate(99, 1.0) == pytest.approx(0.01)
    assert replace(given, steps=200).passed(Progress(step=50, minutes=0.1)) == 0.25
    assert given.passed(Progress(step=50, minutes=0.1)) == 0.1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[detector]\n[run]\nminuts = 3", "has no setting minuts"),
        ("[detector]\n[model]", "not model"),
        ("[detector]\n[run]\nworkers = 1", "is not complete"),
        ("[detector]\n[run]\nminutes = 1\n[recipe]\nside = 100", "multiple of 32"),
        ("detector = 1", "not detector"),
    ],
)
def test_stage_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    assert is_detector_stage(tmp_path / "stage.toml")
    with pytest.raises(InputError, match=said):
        load_detector_stage(tmp_path / "stage.toml")


def test_stage_files_are_told_apart(tmp_path: Path) -> None:
    import tongguocr.train

    stages = Path(tongguocr.train.__file__).parent / "stages"
    assert is_detector_stage(stages / "detector.toml") and not is_detector_stage(stages / "0.toml")
    assert load_detector_stage(stages / "detector.toml").recipe.side == 768
    (tmp_path / "x.toml").write_text("[run")
    assert not is_detector_stage(tmp_path / "x.toml")
    with pytest.raises(InputError, match="not weights of the detector"):
        load_detector(tmp_path / "x.toml")
