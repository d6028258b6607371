"""Labelled pages as samples and batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from glm_models import make_pretrained
from labelled_pages import CHARS, draw_page, write_pages
from PIL import Image

from tongguocr.engines.glm.processor import ProcessorConfig
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.samples import (
    GlmMaker,
    GlmSettings,
    make_glm_batches,
    make_glm_samples,
)
from tongguocr.training.recogniser.labelled import LabelledPage, read_pages
from tongguocr.training.recogniser.pages import PageRecipe

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("samples")
    write_pages(root / "mine", 12, columns=2, length=3)
    return root


def test_samples_are_pages_or_blocks_with_transitions_or_newlines(root: Path, tmp_path: Path) -> None:
    prompt = expand(make_pretrained(), CHARS)[0].prompt
    page = draw_page(root / "tiny.ttf", 3, columns=10, length=6, name="p.png")
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(tmp_path / "p.png")
    labelled = LabelledPage(replace(page, pixels=None), tmp_path / "p.png")

    def made(recipe: PageRecipe, settings: GlmSettings = GlmSettings()) -> list:  # type: ignore[type-arg]
        samples, left_out = make_glm_samples(labelled, recipe, settings, prompt, ProcessorConfig(), None)
        assert not left_out
        return samples

    (whole,) = made(PageRecipe("page", longest_side=256))
    assert whole.picture.shape[0] * whole.picture.shape[1] <= 256 * 256
    shown, true = whole.picture.shape[1] / whole.picture.shape[0], page.width / page.height
    assert shown == pytest.approx(true, rel=0.15), "a page has no padding"
    lines = prompt.decode(whole.answer)
    assert [line.text for line in lines] == [line.text for line in page.lines]
    assert all(line.transition for line in lines[:-1]) and whole.answer[-1] == prompt.end
    (plain,) = made(PageRecipe("page"), GlmSettings(transitions=False))
    assert plain.text == page.full_text and "<" not in plain.text
    blocks = made(PageRecipe("block"))
    assert len(blocks) > 1 and all(b.picture.shape[0] == b.picture.shape[1] for b in blocks), (
        "square canvases"
    )
    assert [x.text for b in blocks for x in prompt.decode(b.answer)] == [line.text for line in page.lines]
    narrow = made(PageRecipe("block"), GlmSettings(square=False))
    assert sum(b.tokens for b in narrow) < sum(b.tokens for b in blocks)
    others = made(PageRecipe("block", weights=(1.0, 40.0, 1.0)))
    assert len(others) != len(blocks), "the weights of the penalties reach the blocks"
    _, left_out = make_glm_samples(
        labelled, PageRecipe("page", longest=30), GlmSettings(), prompt, ProcessorConfig(), None
    )
    assert left_out == {"samples that are too long": 1}


def test_batches_hold_what_fits(root: Path) -> None:
    prompt = expand(make_pretrained(), CHARS)[0].prompt
    pages = read_pages([("folder", root / "mine")], say=lambda sentence: None)
    maker = GlmMaker(pages, PageRecipe("page", longest_side=128), GlmSettings(), prompt, ProcessorConfig(), 1)
    samples = [s for number in range(len(pages.train)) for s in maker.make("train", number, 0)[0]]
    for tokens in (1, 100, 10_000):
        batches = make_glm_batches(samples, tokens, np.random.default_rng(0))
        assert sorted(id(s) for b in batches for s in b) == sorted(map(id, samples))
        assert all(len(b) == 1 or len(b) * max(s.tokens for s in b) <= tokens for b in batches)
    first, other = (maker.make("train", 0, epoch)[0][0].picture for epoch in (0, 1))
    assert not np.array_equal(first, other), "another light in every epoch"
    assert np.array_equal(maker.make("train", 0, 1)[0][0].picture, other)
