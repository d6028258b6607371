"""Labelled pages as training samples, and a tiny network that learns from them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_pages import CELL, CHARS, draw_page, without_chars, write_pages
from PIL import Image
from test_data_hisdoc1b import add_book
from test_data_m5hisdoc import LINE, add_page
from tiny_fonts import make_font

from tongguocr.blocks import cut_blocks
from tongguocr.cli import main
from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.geometry import centre, make_box
from tongguocr.page import DIRECTIONS, Char, Direction, Line, Page
from tongguocr.recognise import SHIPPED, make_inputs
from tongguocr.recognise.prepare import prepare
from tongguocr.tokens.codec import Codec
from tongguocr.train.blocks import IGNORED
from tongguocr.train.epochs import together, train_pages
from tongguocr.train.journal import save
from tongguocr.train.labelled import Labelled, LabelledPage, parse_source, read_pages
from tongguocr.train.losses import losses
from tongguocr.train.model import ModelSize, Recogniser
from tongguocr.train.page_feed import PageFeed, PageMaker, make_batches, stack_samples
from tongguocr.train.pages import (
    ROUNDED,
    Granularity,
    PageRecipe,
    Sample,
    change,
    estimate_places,
    make_samples,
    place_characters,
)
from tongguocr.train.run import Run
from tongguocr.train.stage import SHIPPED_STAGES, find_stage, load_page_stage
from tongguocr.train.team import Team, pick_device

pytestmark = pytest.mark.usefixtures("one_thread")

CODEC = Codec(tuple(CHARS))
SIZE = ModelSize(
    len(CODEC), width=64, heads=2, encoder_layers=1, decoder_layers=2, feed_forward=64, stem=(16, 32)
)
STAGE = """
[run]
epochs = {epochs}
learning_rate = 3e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
warm_up = 0.1
flat = 0.1
corrupted = 0.0
smoothing = 0.0
workers = {workers}
compile = false
[pages]
batch_pixels = 60_000
"""


@pytest.fixture(scope="module")
def font(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_font(tmp_path_factory.mktemp("font") / "tiny.ttf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    write_pages(root / "mine", 4)
    return root


def on_disk(page: Page, folder: Path) -> LabelledPage:
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(folder / page.image)
    return LabelledPage(replace(page, pixels=None), folder / page.image)


def text_of(sample: Sample) -> list[str]:
    return [line.text for line in CODEC.decode(sample.tokens)]


def test_blocks_are_those_of_reading(font: Path, tmp_path: Path) -> None:
    page = draw_page(font, 1, columns=5, length=6)
    samples, left_out = make_samples(on_disk(page, tmp_path), PageRecipe(), CODEC, None)
    bare = without_chars(replace(page, lines=tuple(replace(line, text="") for line in page.lines)))
    blocks = cut_blocks(bare)
    assert len(samples) == len(blocks) and not left_out
    for sample, block, given_ in zip(samples, blocks, make_inputs(bare, blocks), strict=True):
        lines, prepared = block.lines(page), prepare(given_)
        high, wide = prepared.picture.shape
        assert np.abs(sample.picture[:high, :wide] / 255 - prepared.picture).max() < 1e-6
        assert not any(side % ROUNDED for side in sample.picture.shape)
        assert (sample.picture[high:] == sample.paper).all() and 220 < sample.paper < 230
        assert text_of(sample) == [line.text for line in lines]
        assert sample.tokens[-1] == CODEC.eos and len(sample.places) == len(sample.tokens) - 1
        chars = [char for line in lines for char in line.chars]
        for point, char in zip(sample.points, chars, strict=True):
            assert prepared.to_page(tuple(point)) == pytest.approx(centre(char.box), abs=0.01)
        for token, place in zip(sample.tokens, sample.places, strict=False):
            name = CODEC.tokens[token]
            assert name == chars[place].text or (name.startswith("<") and place % 6 == 0 and place)


def test_a_whole_page_is_one_sample_within_the_resolution(font: Path, tmp_path: Path) -> None:
    page = draw_page(font, 2, columns=6, length=8)
    recipe = PageRecipe("page", longest_side=256)
    (sample,), _ = make_samples(on_disk(page, tmp_path), recipe, CODEC, None)
    assert max(sample.picture.shape) <= 256
    assert text_of(sample) == [line.text for line in page.lines]
    scale = 256 / max(page.width, page.height)
    true = [centre(char.box) for line in page.lines for char in line.chars]
    assert np.abs(sample.points - np.array(true) * scale).max() < 1


@pytest.mark.parametrize("direction", ["top-to-bottom", "bottom-to-top", "left-to-right", "right-to-left"])
def test_places_without_boxes_are_found_in_the_ink(font: Path, direction: str) -> None:
    page = draw_page(font, 3, columns=1, length=7)
    line, grey = page.lines[0], page.pixels
    assert grey is not None
    x0, y0, x1, y1 = line.box
    true = [centre(char.box) for char in line.chars]
    if direction in ("left-to-right", "right-to-left"):
        grey, line = grey.T, replace(line, box=(y0, x0, y1, x1))
        true = [(y, x) for x, y in true]
    if direction in ("bottom-to-top", "right-to-left"):
        true.reverse()
    bare = replace(line, chars=(), direction=direction)
    found = [at for _, at in place_characters(bare, np.ascontiguousarray(grey))]
    assert np.abs(np.array(found) - true).max() < 0.3 * CELL


def test_leaning_columns_and_tiny_boxes() -> None:
    leaning = Line("a", (0, 0, 30, 100), "天" * 4, polygon=((0, 0), (10, 0), (30, 100), (20, 100)))
    places = estimate_places(leaning, 4, np.full((120, 40), 200, np.uint8))
    assert [x for x, _ in places] == pytest.approx([5 + 0.2 * y for _, y in places])
    assert estimate_places(Line("b", (5, 5, 6, 7)), 4, np.zeros((9, 9), np.uint8))[0] == (5.5, 5.25)
    outside = estimate_places(Line("c", (50, 50, 60, 90)), 2, np.zeros((9, 9), np.uint8))
    assert outside == [(55, 60), (55, 80)]


def test_white_space_and_marks_have_the_place_of_their_character() -> None:
    chars = (Char("天", (0, 0, 10, 10)), Char("地\ufe00", (0, 10, 10, 20)))
    line = Line("a", (0, 0, 10, 20), "天\u3000地\ufe00", chars=chars)
    grey = np.zeros((20, 10), np.uint8)
    assert place_characters(line, grey) == [("天", (5, 5)), ("\u3000", (5, 5)), ("地\ufe00", (5, 15))]
    other = replace(line, chars=chars[:1])
    assert len(place_characters(other, grey)) == 3, "boxes that do not spell the text do not count"


def test_what_is_left_out_is_counted(font: Path, tmp_path: Path) -> None:
    page = draw_page(font, 1, columns=5, length=6)
    good = on_disk(page, tmp_path)
    lines = (replace(page.lines[0], text=" ", chars=()), *page.lines[1:])
    bad = {
        "samples with lines without text": replace(good, page=replace(good.page, lines=lines)),
        "pages without lines": replace(good, page=replace(good.page, lines=())),
        "pages whose image has another size": replace(good, page=replace(good.page, width=9)),
        "pages without a readable image": replace(good, image=tmp_path / "none.png"),
    }
    for reason, labelled in bad.items():
        samples, left_out = make_samples(labelled, PageRecipe("page"), CODEC, None)
        assert not samples and left_out == {reason: 1}
    _, left_out = make_samples(good, PageRecipe("page", longest=10), CODEC, None)
    assert left_out == {"samples that are too long": 1}
    _, left_out = make_samples(
        on_disk(replace(page, pixels=np.full_like(page.pixels, 200), image="blank.png"), tmp_path),
        PageRecipe("page"),
        CODEC,
        None,
    )
    assert left_out == {"samples without ink": 1}


numbers = st.floats(-50, 250, width=32) | st.integers(-50, 250)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(numbers, numbers, numbers, numbers, st.sampled_from(DIRECTIONS)), max_size=6),
    st.sampled_from(["page", "block"]),
    st.booleans(),
)
def test_odd_boxes_do_no_harm(
    lines: list[tuple[float, float, float, float, Direction]], granularity: Granularity, shaken: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        noise = np.random.default_rng(0).integers(0, 256, (160, 200), np.uint8)
        odd = tuple(
            Line(f"l{k}", make_box(*sides), "一丨x\u3000\U00020000", direction=direction)
            for k, (*sides, direction) in enumerate(lines)
        )
        labelled = on_disk(Page("odd.png", 200, 160, odd, noise), Path(name))
        dice = np.random.default_rng(1) if shaken else None
        samples, left_out = make_samples(labelled, PageRecipe(granularity), CODEC, dice)
    assert samples or left_out
    for one in samples:
        assert max(one.picture.shape) <= 1024 and np.isfinite(one.points).all()
        assert len(one.points) == len(one.characters) and max(one.places) == len(one.points) - 1


def test_changes_are_mild_and_come_from_the_dice(font: Path, tmp_path: Path) -> None:
    labelled, recipe = on_disk(draw_page(font, 1), tmp_path), PageRecipe()
    (plain,), _ = make_samples(labelled, recipe, CODEC, None)
    papers, sides = set(), set()
    for seed in range(12):
        (one,), _ = make_samples(labelled, recipe, CODEC, np.random.default_rng(seed))
        (two,), _ = make_samples(labelled, recipe, CODEC, np.random.default_rng(seed))
        assert np.array_equal(one.picture, two.picture) and one.tokens == plain.tokens
        assert 0.88 < one.points[-1, 1] / plain.points[-1, 1] < 1.12
        papers.add(one.paper)
        sides.add(float(one.points[-1, 1]))
        lit = change(plain, recipe, np.random.default_rng(seed)).picture.astype(float)
        assert 0 < np.abs(lit - plain.picture).mean() < 50
    assert len(papers) > 3 and len(sides) > 6


def sample(high: int, wide: int, paper: int = 200, count: int = 2) -> Sample:
    return Sample(
        np.full((high, wide), paper, np.uint8),
        paper,
        (*range(3, 3 + count), CODEC.eos),
        tuple(range(count)),
        tuple(range(3, 3 + count)),
        np.full((count, 2), 5, np.float32),
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=40), st.integers(4, 60))
def test_batches_hold_every_sample_once_and_little_filling(shapes: list[tuple[int, int]], most: int) -> None:
    samples = [sample(h * ROUNDED, w * ROUNDED) for h, w in shapes]
    batches = make_batches(samples, most * ROUNDED**2, np.random.default_rng(0))
    assert Counter(id(s) for batch in batches for s in batch) == Counter(map(id, samples))
    for batch in batches:
        area = stack_samples(batch, CODEC).images.numel()
        assert area <= 1.15 * sum(s.picture.size for s in batch)
        assert area <= most * ROUNDED**2 or len(batch) == 1


def test_a_batch_fills_up_with_paper_and_counts_on() -> None:
    batch = stack_samples([sample(64, 64, 100, 3), sample(128, 64, 180, 2)], CODEC)
    assert batch.images.shape == (2, 1, 128, 64) and (batch.images[0] == 100).all()
    assert batch.said.places.tolist() == [[0, 1, 2, -1], [3, 4, -1, -1]]
    assert batch.said.tokens.tolist() == [[3, 4, 5, CODEC.eos], [3, 4, CODEC.eos, CODEC.pad]]
    assert batch.of_block.tolist() == [0, 0, 0, 1, 1] and len(batch.points) == 5


def test_a_batch_without_known_characters_has_losses() -> None:
    strange = replace(sample(64, 64), characters=(IGNORED, IGNORED))
    said, painted = stack_samples([strange], CODEC).to(torch.device("cpu"))
    painted = (painted[0], painted[1] + 1000, painted[2])
    with torch.no_grad():
        found = losses(Recogniser(SIZE), said, painted, Run(epochs=1), CODEC.bos, torch.device("cpu"))
    assert all(torch.isfinite(part) for part in found)
    assert float(found.dense) == 0 and float(found.pointer) == 0 and float(found.text) > 1


def test_epochs_are_the_same_for_the_same_seed(folder: Path) -> None:
    pages = read_pages([("folder", folder / "mine")])
    recipe = PageRecipe(batch_pixels=1)

    def epoch(seed: int, number: int, part: int = 0, count: int = 1) -> list[tuple[bytes, float]]:
        feed = PageFeed(PageMaker(pages, recipe, CODEC, seed), 0, part, count)
        return [(d.batch.images.numpy().tobytes(), d.share) for d in feed.epoch(number)]

    assert epoch(1, 0) == epoch(1, 0) and epoch(1, 0) != epoch(1, 1) and epoch(1, 0) != epoch(2, 0)
    assert [share for _, share in epoch(1, 0)][-1] == 1.0
    whole = Counter(image for image, _ in epoch(1, 0))
    parts = Counter(image for part in (0, 1) for image, _ in epoch(1, 0, part, 2))
    assert whole == parts, "two processes have all pages between them"
    with pytest.raises(InputError, match="too few for 9 processes"):
        epoch(1, 0, 0, 9)


def test_a_process_that_is_done_waits_with_its_last_batch(folder: Path) -> None:
    class Busy(Team):
        """Another process has two batches more."""

        left = 2

        def any(self, true: bool) -> bool:
            self.left -= not true
            return true or self.left >= 0

    feed = PageFeed(PageMaker(read_pages([("folder", folder / "mine")]), PageRecipe(), CODEC, 1), 0)
    alone = list(together(feed.epoch(0), Team(torch.device("cpu"))))
    busy = list(together(feed.epoch(0), Busy(torch.device("cpu"))))
    assert len(busy) == len(alone) + 2 and busy[-1].share == 1.0
    with pytest.raises(InputError, match="no samples"):
        list(together(iter(()), Busy(torch.device("cpu"))))


def test_every_tenth_page_is_for_validation_where_nothing_is_said(tmp_path: Path) -> None:
    write_pages(tmp_path / "many", 12, columns=1, length=1)
    pages = read_pages([("folder", tmp_path / "many")])
    names = [labelled.image.name for labelled in pages.validation]
    assert names == ["p0.png", "p8.png"] and len(pages.train) == 10, "by name, p10 is the third"
    said: list[str] = []
    write_pages(tmp_path / "one", 1)
    pages = read_pages([("folder", tmp_path / "one")], say=said.append)
    assert len(pages.train) == len(pages.validation) == 1 and "trained on" in said[0]


def test_official_splits_are_kept_and_choose(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        add_page(tmp_path, "regular", name, LINE.format("天"))
    for split, names in (("train", "a\nb"), ("val", "c"), ("test", "d")):
        (tmp_path / f"split_{split}.txt").write_text(names)
    write_pages(tmp_path / "mine", 3)
    sources = [("m5hisdoc", tmp_path), ("folder", tmp_path / "mine")]
    pages = read_pages(sources, judged=("m5hisdoc",))
    assert [labelled.image.stem for labelled in pages.train] == ["a", "b", "p1", "p2"]
    assert [labelled.image.stem for labelled in pages.validation] == ["c"]
    assert [p.image.stem for p in read_pages(sources).validation] == ["c", "p0"]
    assert [p.image.stem for p in read_pages(sources[1:], judged=("m5hisdoc",)).validation] == ["p0"]
    said: list[str] = []
    read_pages(sources[:1], kinds=("mthv2", "m5hisdoc"), say=said.append)
    assert said == ["This stage also trains on mthv2, which is not given."]
    with pytest.raises(InputError, match="mine: this stage trains on m5hisdoc, not on folder"):
        read_pages(sources, kinds=("m5hisdoc",))


def test_books_have_their_pages_as_images(tmp_path: Path) -> None:
    line = {"text": "天", "box": [0, 0, 10, 20]}
    add_book(tmp_path, "v.1", {"pages": [{"lines": [line]}, {"lines": [line]}]}, "v.1.pdf")
    said: list[str] = []
    with pytest.raises(InputError, match="no page to train on"):
        read_pages([("hisdoc1b", tmp_path)], say=said.append)
    assert said == [f"2 pages of {tmp_path} have no image. The first one: v.1.pdf#page=1."]
    (tmp_path / "images" / "v.1").mkdir(parents=True)
    Image.new("L", (10, 20)).save(tmp_path / "images" / "v.1" / "page-002.png")
    pages = read_pages([("hisdoc1b", tmp_path)], say=said.append)
    assert [labelled.image.name for labelled in pages.train] == ["page-002.png"]


def test_pages_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 3)
    (tmp_path / "mine" / "p1.json").write_text("{")
    said: list[str] = []
    pages = read_pages([("folder", tmp_path / "mine")], say=said.append)
    assert len(pages.train) == len(pages.validation) == 1
    assert said[0].startswith("1 pages of") and "p1.json" in said[0]
    for name in ("p0", "p2"):
        (tmp_path / "mine" / f"{name}.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"p0\.json"):
        read_pages([("folder", tmp_path / "mine")])


@pytest.mark.parametrize("written", ["mine", "folder=", "parquet=mine", "=mine", ""])
def test_sources_with_mistakes(written: str) -> None:
    with pytest.raises(InputError, match="KIND=DIR"):
        parse_source(written)


def test_devices_with_mistakes() -> None:
    assert pick_device("cpu").type == "cpu"
    for name in ("gpu", "meta", ""):
        with pytest.raises(InputError, match="no device"):
            pick_device(name)


@pytest.mark.parametrize(
    ("name", "granularity", "side", "tokens", "rate", "epochs"),
    [
        ("1", "page", 768, 6144, 3e-5, 3),
        ("2", "page", 1024, 8192, 1e-5, 10),
        ("3", "block", 1024, 8192, 1e-5, 15),
        ("tune", "block", 1024, 8192, 1e-4, 8),
    ],
)
def test_stages_are_the_papers(
    name: str, granularity: str, side: int, tokens: int, rate: float, epochs: int
) -> None:
    stage = load_page_stage(find_stage(name))
    run, pages = stage.run, stage.pages
    assert (pages.granularity, pages.longest_side, pages.longest) == (granularity, side, tokens)
    assert (run.learning_rate, run.matrix_rate, run.epochs) == (rate, 0, epochs)
    assert (run.betas, run.clip, run.warm_up) == ((0.9, 0.999), 1.0, 0.1)
    assert run.rate(5, 0.05) == pytest.approx(0.5) and run.rate(5, 0.1) == 1 and run.rate(5, 1) < 0.03


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\nminutes = 3.0\n[pages]", "needs epochs"),
        ("[run]\nepochs = 3\nminutes = 3.0\n[pages]", "either minutes or epochs"),
        ("[run]\nepochs = 0.5\n[pages]", "wrong value for epochs"),
        ("[run]\nepochs = 3\nbetas = [0.9]\n[pages]", "wrong value for betas"),
        ("[run]\nepochs = 3\nclip = true\n[pages]", "wrong value for clip"),
        ('[run]\nepochs = 3\n[pages]\ngranularity = "line"', "page or block"),
        ("[run]\nepochs = 3\n[pages]\nlongest_side = 100", "a multiple of 64"),
        ("[run]\nepochs = 3\n[pages]\nkinds = 3", "wrong value for kinds"),
        ("[run]\nepochs = 3\n[pages]\n[model]", "not model"),
        ("epochs = 3\n[pages]", "outside of any table"),
    ],
)
def test_page_stages_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    with pytest.raises(InputError, match=rf"stage\.toml: .*{said}"):
        load_page_stage(tmp_path / "stage.toml")


def test_stages_have_names_or_are_files(tmp_path: Path) -> None:
    assert find_stage("3").parent == SHIPPED_STAGES and find_stage("0").is_file()
    assert find_stage("mine.toml") == Path("mine.toml") and find_stage("../3") == Path("../3")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", *map(str, arguments)]
    # So small a network is no faster on two cores, and many times slower if others use them.
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env)


def records(out: Path) -> list[dict[str, float]]:
    return [json.loads(row) for row in (out / "log.jsonl").read_text().splitlines()]


def test_fine_tuning_by_the_commands_a_user_types(folder: Path) -> None:
    torch.manual_seed(0)
    start, out, stage = folder / "start", folder / "run", folder / "stage.toml"
    start.mkdir()
    save(Recogniser(SIZE), SIZE, start / "model.pt")
    CODEC.save(start / "codec.json")
    stage.write_text(STAGE.format(epochs=16, workers=1))
    common = ("--pages", f"folder={folder / 'mine'}", "--out", out, "--device", "cpu")
    result = run("train", stage, *common, "--start", start / "model.pt")
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert said[1] == "3 samples an epoch; left out: nothing left out." and "Epoch 16 of 16" in said[-1]
    first = records(out)
    assert first[0]["AR"] < 0.5, "it cannot read yet"
    losses_ = [record["loss"] for record in first if "loss" in record]
    assert losses_[-1] < 0.5 * losses_[0]
    assert [record["epoch"] for record in first if "AR" in record] == list(range(17))
    assert {"dense", "pointer", "accuracy", "rate"} <= first[1].keys()
    with Image.open(out / "log.png") as plot:
        assert plot.width > 800

    stage.write_text(STAGE.format(epochs=18, workers=0))
    resumed = run("train", stage, *common)
    assert resumed.returncode == 0, resumed.stderr
    more = records(out)
    assert more[: len(first)] == first
    assert [record["epoch"] for record in more[len(first) :] if "AR" in record] == [17, 18]

    exported = run("export", out / "model.pt", "-o", folder / "weights")
    assert exported.returncode == 0, exported.stderr
    read = run(
        *("read", folder / "mine" / "p0.png", "--lines", folder / "mine" / "p0.json"),
        *("--engine", "tongguocr", "--weights", folder / "weights"),
    )
    assert read.returncode == 0, read.stderr
    stage.write_text(STAGE.format(epochs=1, workers=0))
    again = run(
        *("train", stage, "--pages", f"folder={folder / 'mine'}", "--out", folder / "again"),
        *("--device", "cpu", "--start", folder / "weights"),
    )
    assert again.returncode == 0, again.stderr
    best = max(record["AR"] for record in more if "AR" in record)
    assert records(folder / "again")[0]["AR"] == pytest.approx(best, abs=0.2), "eight bits read about as well"


def test_the_run_is_reproducible(folder: Path) -> None:
    pages = read_pages([("folder", folder / "mine")])
    logs = []
    for name in ("first", "second"):
        torch.manual_seed(3)
        train_pages(
            pages,
            PageRecipe(batch_pixels=60_000),
            Run(epochs=2, workers=0, compile=False, matrix_rate=0.0, warm_up=0.1),
            Recogniser(SIZE),
            CODEC,
            folder / name,
            torch.device("cpu"),
            lambda sentence: None,
        )
        logs.append([{k: v for k, v in r.items() if k != "minutes"} for r in records(folder / name)])
    assert logs[0] == logs[1]


def test_an_interrupted_epoch_goes_on_at_its_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.train.page_feed.WINDOW", 1)
    feed = PageFeed(PageMaker(read_pages([("folder", folder / "mine")]), PageRecipe(), CODEC, 1), 0)
    whole = list(feed.epoch(0))
    rest = list(feed.epoch(0, first=1))
    assert [d.window for d in whole] == [0, 1, 2]
    assert [d.share for d in rest] == [d.share for d in whole[1:]]
    assert all(torch.equal(a.batch.images, b.batch.images) for a, b in zip(rest, whole[1:], strict=True))


def test_nothing_to_learn_from_gives_one_sentence(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 3)
    pages = read_pages([("folder", tmp_path / "mine")])
    settings_ = (PageRecipe(longest=2), Run(epochs=1, workers=0, compile=False), Recogniser(SIZE), CODEC)
    with pytest.raises(
        InputError, match=r"p0\.png: no validation page gives a sample: 1 samples that are too"
    ):
        train_pages(pages, *settings_, tmp_path / "out", torch.device("cpu"))
    good = on_disk(draw_page(tmp_path / "tiny.ttf", 9, columns=1, length=1, name="short.png"), tmp_path)
    some = Labelled(pages.train, [good])
    with pytest.raises(InputError, match="out: no page gives a sample: 2 samples that are too long"):
        train_pages(some, *settings_, tmp_path / "out", torch.device("cpu"), lambda sentence: None)


def test_commands_with_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = ("--pages", f"folder={folder / 'mine'}")
    mistakes = {
        ("tune", "--data", folder): "needs labelled pages",
        ("0", *pages): "needs what train-data made",
        ("tune", *pages, "--start", tmp_path / "none.pt"): "none.pt: these are not weights",
        ("nothing", *pages): "nothing: there is no such file",
        ("3", *pages): "not on folder",
        ("tune", "--pages", f"folder={tmp_path / 'none'}"): "no such folder",
    }
    if not SHIPPED.exists():
        mistakes["tune", *pages] = "--start"
    for arguments, said in mistakes.items():
        assert main(["train", *map(str, arguments), "--out", str(tmp_path / "out"), "--device", "cpu"]) == 2
        printed = capsys.readouterr().err
        assert said in printed and printed.count("\n") == 1


def test_pages_in_every_format_train(folder: Path, tmp_path: Path) -> None:
    """PAGE and ALTO as well as our own."""
    page = draw_page(make_font(tmp_path / "tiny.ttf"), 5)
    for name in ("a.xml", "b.alto.xml"):
        image = f"{name.partition('.')[0]}.png"
        on_disk(replace(page, image=image), tmp_path)
        write_page(replace(page, image=image), tmp_path / name)
    pages = read_pages([("folder", tmp_path)])
    for labelled in (*pages.train, *pages.validation):
        (one,), left_out = make_samples(labelled, PageRecipe("page"), CODEC, None)
        assert not left_out and text_of(one) == [line.text for line in page.lines]
