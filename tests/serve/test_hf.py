"""A full-size model served by a real process reads as it does here: the engines server and hf agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recognise_pages import inputs_of, make_page
from serve_models import SPOKEN, as_process, ask, form, png, question, write_speaking_model

from tongguocr.engines import open_engine
from tongguocr.engines.base import BlockInput, Engine
from tongguocr.engines.glm.decoding import Decoded
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.engines.glm.image_settings import ImageSettings
from tongguocr.formats.page_json import render_json
from tongguocr.reader import Reader
from tongguocr.serve.models import open_models, reply_of_model, whole_block
from tongguocr.serve.queue import StatusError
from tongguocr.tokens.transitions import TRANSITIONS

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_speaking_model(tmp_path_factory.mktemp("serve") / "toy")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with as_process("--engine", "hf", "--model", str(folder), "--threads", "1") as (_, url):
        yield url


@pytest.fixture(scope="module")
def full_model(folder: Path) -> HfEngine:
    return HfEngine(str(folder), device="cpu")


def blocks() -> list[BlockInput]:
    shapes = enumerate((1, 2, 1, 3, 2, 4, 1, 3))
    return [inputs_of(make_page(columns, size=20, seed=seed))[0] for seed, columns in shapes]


def test_the_served_model_reads_as_it_does_here(url: str, folder: Path) -> None:
    here: Engine = open_engine("hf", model=str(folder))
    there = open_engine("server", url=url, model="toy")
    direct, served = here.read(blocks()), there.read(blocks())
    assert [reading.text for reading in served] == [reading.text for reading in direct]
    texts = {reading.text for reading in direct}
    assert len(texts) >= 4 and any("𤣥" in text for text in texts), "the picture decides"
    for one, other in zip(direct, served, strict=True):
        for here_line, there_line in zip(one.lines, other.lines, strict=True):
            assert here_line.status == there_line.status
            assert there_line.confidence == pytest.approx(here_line.confidence, abs=1e-3)
    page = make_page(4, size=20, seed=5)
    assert Reader(there).read(page).text == Reader(here).read(page).text


def test_the_raw_answer_has_transitions_and_probabilities(url: str) -> None:
    pixels = blocks()[3].crop.pixels
    asked = question(pixels, model="toy", logprobs=True, top_logprobs=3)
    status, data = ask(f"{url}/v1/chat/completions", asked)
    answer = json.loads(data)
    (choice,) = answer["choices"]
    text = choice["message"]["content"]
    assert status == 200 and text and SPOKEN.endswith(text) and choice["finish_reason"] == "stop"
    assert sum(text.count(transition) for transition in TRANSITIONS) >= 2
    tokens = choice["logprobs"]["content"]
    assert b"".join(bytes(token["bytes"]) for token in tokens).decode() == text
    assert all(len(token["top_logprobs"]) == 3 and token["logprob"] <= 0 for token in tokens)
    assert all(token["top_logprobs"][0]["token"] == token["token"] for token in tokens)
    used = answer["usage"]
    assert used["completion_tokens"] == len(tokens) and used["prompt_tokens"] > 20
    status, data = ask(f"{url}/v1/chat/completions", question(pixels, max_tokens=2))
    (choice,) = json.loads(data)["choices"]
    assert choice["finish_reason"] == "length" and text.startswith(choice["message"]["content"])


def test_pages_are_read_too(url: str, folder: Path) -> None:
    page = make_page(3, size=20, seed=3)
    assert page.pixels is not None
    parts = [
        ("image", "p.png", png(page.pixels)),
        ("lines", None, render_json(page)),
        ("format", None, b"txt"),
    ]
    status, data = ask(f"{url}/v1/read", *form(parts))
    assert status == 200
    assert data.decode().split() == Reader(open_engine("hf", model=str(folder))).read(page).text.split()


def test_a_picture_is_shown_as_a_crop_is(full_model: HfEngine) -> None:
    (block,) = inputs_of(make_page(1, size=40, seed=3))
    whole = whole_block(block.crop.pixels)
    for side in (128, 1024):
        square = ImageSettings(side=side)
        assert (
            square.picture_of(whole, full_model.processor) == square.picture_of(block, full_model.processor)
        ).all()
    narrow = ImageSettings(square=False).picture_of(whole, full_model.processor)
    assert narrow.shape[0] > 2 * narrow.shape[1], "the canvas's padding is not shown to who wants none"


def test_blank_pictures_are_not_read_and_circles_are_left(
    full_model: HfEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = full_model.prompt.encode("一")[0]

    def circling(
        network: Any, patches: Any, grids: Any, prompt: Any, longest: int, stop: Any, alternatives: int
    ) -> list[Decoded]:
        text = Decoded()
        while len(text.tokens) < longest:
            text.tokens.append(one)
            text.candidates.append(([one, *prompt.ends[:alternatives]], [0.9, 0.1, 0.0][: 1 + alternatives]))
            if stop(0, one):
                break
        return [text]

    monkeypatch.setattr("tongguocr.engines.glm.decoding.generate", circling)
    blank = reply_of_model(full_model, whole_block(np.full((60, 60), 200, np.uint8)), 99, 0)
    assert (blank.text, blank.tokens, blank.truncated) == ("", (), False) and blank.prompt_tokens > 10
    reply = reply_of_model(full_model, blocks()[0], 400, 2)
    assert reply.truncated and reply.text == "一" * len(reply.tokens) and 5 < len(reply.tokens) < 20
    assert [one[:2] for one in reply.tokens[0].alternatives] == [
        ("<|endoftext|>", b""),
        ("<|user|>", b""),
    ]
    assert len(reply_of_model(full_model, blocks()[0], 4, 0).tokens) == 4


def test_too_little_memory_is_a_sentence(full_model: HfEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr("tongguocr.engines.glm.decoding.generate", full)
    with pytest.raises(StatusError, match="too little memory") as caught:
        reply_of_model(full_model, blocks()[0], 9, 0)
    assert caught.value.status == 503


def test_a_model_at_work_can_be_stopped(folder: Path) -> None:
    steps: list[int] = []

    def check() -> None:
        steps.append(1)
        if len(steps) > 2:
            raise StatusError(504, "Enough.")

    models = open_models("hf", str(folder), threads=1, check=check)
    assert models.name == "toy" and models.full_model is not None
    block = blocks()[3]
    with pytest.raises(StatusError, match="Enough"):
        models.reply(block.crop.pixels, 50, 0)
    steps.clear()
    page = make_page(3, size=20, seed=3)
    with pytest.raises(StatusError, match="Enough"):
        models.read(replace(page, lines=()), page)
