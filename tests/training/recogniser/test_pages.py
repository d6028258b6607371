"""Labelled pages as training samples, and samples as batches."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_pages import CELL, CODEC, SIZE, draw_page, on_disk, without_chars, write_pages
from tiny_fonts import make_font

from tongguocr.blocks import cut_blocks
from tongguocr.crops import crop_blocks
from tongguocr.engines.base import make_inputs
from tongguocr.engines.prepare import prepare
from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.geometry import centre, make_box
from tongguocr.page import DIRECTIONS, Char, Direction, Line, Page
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.loop import even_batches
from tongguocr.training.recogniser.blocks import IGNORED
from tongguocr.training.recogniser.labelled import read_pages
from tongguocr.training.recogniser.losses import losses, token_weights
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.page_feed import PageFeed, PageMaker, make_batches, stack_samples
from tongguocr.training.recogniser.pages import (
    ROUNDED,
    Granularity,
    PageRecipe,
    Sample,
    change,
    estimate_places,
    make_samples,
    place_characters,
)
from tongguocr.training.recogniser.validation import accuracy, page_accuracy
from tongguocr.training.run import Limits, LossMean, Run

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def font(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_font(tmp_path_factory.mktemp("font") / "tiny.ttf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    write_pages(root / "mine", 4)
    return root


def text_of(sample: Sample) -> list[str]:
    return [line.text for line in CODEC.decode(sample.tokens)]


def test_blocks_are_those_of_reading(font: Path, tmp_path: Path) -> None:
    page = draw_page(font, 1, columns=5, length=6)
    samples, left_out = make_samples(on_disk(page, tmp_path), PageRecipe(), CODEC, None)
    bare = without_chars(replace(page, lines=tuple(replace(line, text="") for line in page.lines)))
    blocks = cut_blocks(bare)
    assert len(samples) == len(blocks) and not left_out
    for sample, block, given_ in zip(
        samples, blocks, make_inputs(bare, crop_blocks(bare, blocks)), strict=True
    ):
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


@settings(max_examples=60)
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
        rng = np.random.default_rng(1) if shaken else None
        samples, left_out = make_samples(labelled, PageRecipe(granularity), CODEC, rng)
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


@settings(max_examples=60)
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
        found = losses(Recogniser(SIZE), said, painted, Run(Limits(epochs=1)), CODEC.bos, torch.device("cpu"))
    assert all(torch.isfinite(part) for part in found)
    assert float(found.dense) == 0 and float(found.pointer) == 0 and float(found.text) > 1


def test_epochs_are_the_same_for_the_same_seed(folder: Path) -> None:
    pages = read_pages([("folder", folder / "mine")])
    recipe = PageRecipe(batch_pixels=1)

    def epoch(seed: int, number: int, part: int = 0, count: int = 1) -> list[tuple[bytes, float]]:
        feed = PageFeed(PageMaker(pages, recipe, CODEC, seed), 0, part, count)
        return [(d.content[1][0].numpy().tobytes(), d.share) for d in feed.epoch(number)]

    assert epoch(1, 0) == epoch(1, 0) and epoch(1, 0) != epoch(1, 1) and epoch(1, 0) != epoch(2, 0)
    assert [share for _, share in epoch(1, 0)][-1] == 1.0
    whole = Counter(image for image, _ in epoch(1, 0))
    parts = Counter(image for part in (0, 1) for image, _ in epoch(1, 0, part, 2))
    assert whole == parts, "two processes have all pages between them"
    with pytest.raises(InputError, match="too few for 9 processes"):
        epoch(1, 0, 0, 9)


def test_a_process_that_is_done_waits_with_its_last_batch(folder: Path) -> None:
    class Busy(ProcessGroup):
        """Another process has two batches more."""

        left = 2

        def any(self, true: bool) -> bool:
            self.left -= not true
            return true or self.left >= 0

    feed = PageFeed(PageMaker(read_pages([("folder", folder / "mine")]), PageRecipe(), CODEC, 1), 0)
    alone = list(even_batches(feed.epoch(0), ProcessGroup(torch.device("cpu"))))
    busy = list(even_batches(feed.epoch(0), Busy(torch.device("cpu"))))
    assert len(busy) == len(alone) + 2 and busy[-1].share == 1.0
    with pytest.raises(InputError, match="no samples"):
        list(even_batches(iter(()), Busy(torch.device("cpu"))))


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


def test_what_a_token_counts() -> None:
    taught = torch.tensor([[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]).bool()
    assert token_weights(taught, "tokens").tolist() == pytest.approx([0.25] * 4)
    assert token_weights(taught, "sequences").tolist() == pytest.approx([1 / 6] * 3 + [1 / 2])
    assert token_weights(taught[2:], "sequences").tolist() == []


def test_the_small_model_s_loss_is_the_mean_of_the_samples_own_means() -> None:
    torch.manual_seed(5)
    model, cpu = Recogniser(SIZE).eval(), torch.device("cpu")
    long, short = sample(64, 64, count=4), sample(64, 64, count=1)

    def loss(samples: list[Sample], mean: LossMean) -> float:
        run = Run(Limits(epochs=1), loss_mean=mean, corrupted=0.0, jitter=0.0, smoothing=0.1)
        said, painted = stack_samples(samples, CODEC).to(cpu)
        with torch.no_grad():
            return float(losses(model, said, painted, run, CODEC.bos, cpu).text)

    alone = [loss([one], "sequences") for one in (long, short)]
    assert loss([long, short], "sequences") == pytest.approx(sum(alone) / 2, rel=1e-4)
    # Tokens and their ends: five of one, two of the other.
    assert loss([long, short], "tokens") == pytest.approx((5 * alone[0] + 2 * alone[1]) / 7, rel=1e-4)
    assert abs(alone[0] - alone[1]) > 1e-3


def test_a_validation_is_the_mean_of_its_pages() -> None:
    pairs = [("天地", "天地"), ("玄黃宇宙" * 5, "玄黃宇宙" * 5), ("洪荒", "日月盈昃"), ("日月", "日")]
    # The first two are one page, then one with more mistakes than characters, then one that is half right.
    assert page_accuracy(pairs, ["a", "a", "b", "c"]) == pytest.approx((1 - 1 + 0.5) / 3)
    assert accuracy(pairs) == pytest.approx(1 - 5 / 26)


def test_samples_know_their_page(folder: Path) -> None:
    pages = read_pages([("folder", folder / "mine")])
    maker = PageMaker(pages, PageRecipe(), CODEC, 1)
    sets = list(PageFeed(maker, 0).validation_sets(torch.device("cpu")))
    assert [page for one in sets for page in one.pages] == [str(one.image) for one in pages.validation]
