"""The engine hf: what a full-size model writes becomes readings, however it goes wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from glm_models import write_model
from labelled_pages import CHARS
from recognise_pages import inputs_of, make_page

from tongguocr.engines import open_engine
from tongguocr.engines.glm import decoding
from tongguocr.engines.glm.decoding import Decoded
from tongguocr.engines.glm.engine import HfEngine, HfSettings
from tongguocr.engines.glm.image_settings import (
    ImageSettings,
    save_image_settings,
)
from tongguocr.engines.guard import Guarded, Limits, character_cap
from tongguocr.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("hf") / "model", CHARS + "□天")


@pytest.fixture(scope="module")
def engine(folder: Path) -> HfEngine:
    save_image_settings(ImageSettings(side=128), folder)
    return HfEngine(str(folder), device="cpu")


def saying(engine: HfEngine, *texts: str, sure: float = 0.9) -> Callable[..., list[Decoded]]:
    """Stands in for the model: writes these texts, token by token, as long as it is let."""

    def write(
        network: Any, patches: Any, grids: Sequence[Any], prompt: Any, longest: int, stop: Any, _: int
    ) -> list[Decoded]:
        written = []
        for row in range(len(grids)):
            ids = prompt.encode(texts[min(row, len(texts) - 1)])
            text = Decoded()
            for token in ids[:longest]:
                text.tokens.append(token)
                rival = prompt.encode("口")[0]
                text.candidates.append(([token, rival, prompt.end], [sure, 0.06, 0.001]))
                if stop(row, token):
                    break
            else:
                text.ended = True
            written.append(text)
        return written

    return write


def with_settings(engine: HfEngine, settings: HfSettings) -> HfEngine:
    other = HfEngine.__new__(HfEngine)
    other.__dict__ = {**engine.__dict__, "settings": settings}
    return other


def test_blocks_are_read_together_as_alone(engine: HfEngine) -> None:
    short = Limits(most=5)
    engine = with_settings(engine, HfSettings(short))
    blocks = [inputs_of(make_page(columns, size=20, seed=columns))[0] for columns in (1, 2, 1, 3)]
    together = engine.read(blocks)
    assert [len(reading.lines) for reading in together] == [1, 2, 1, 3]
    assert together == [engine.read([block])[0] for block in blocks]
    one = with_settings(engine, HfSettings(short, rows=1))
    assert one.read(blocks) == together


def test_text_goes_to_lines_with_confidence_and_alternatives(
    engine: HfEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "generate", saying(engine, "一丨<left|up>田永<down> 十\u3000乚"))
    (block,) = inputs_of(make_page(3))
    (reading,) = engine.read([block])
    assert [line.text for line in reading.lines] == ["一丨", "田永", "十\u3000乚"]
    first, strange = reading.lines[0].chars[0], reading.lines[1].chars[1]
    assert (first.confidence, first.candidates) == (0.9, (("口", 0.06),))
    assert strange.confidence == pytest.approx(0.9**3, abs=1e-3) and not strange.candidates
    assert reading.stop == "end" and reading.lines[0].status == "read"
    for line, given in zip(reading.lines, block.lines, strict=True):
        x0, y0, x1, y1 = block.crop.to_page(given.box)
        assert all(
            x0 <= c.box[0] and c.box[2] <= x1 and y0 <= c.box[1] and c.box[3] <= y1 for c in line.chars
        )
        assert [c.box[1] for c in line.chars] == sorted(c.box[1] for c in line.chars)


def test_endless_writing_is_stopped_and_read_again_in_parts(
    engine: HfEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = inputs_of(make_page(2))
    cap = character_cap(block.lines)
    rng = np.random.default_rng(0)
    free = "".join(rng.choice(list(CHARS), 4 * cap))
    for text, stop in (("一" * 900, "loop"), ("田口" * 500, "loop"), (free, "cap")):
        monkeypatch.setattr(decoding, "generate", saying(engine, text))
        (reading,) = engine.read([block])
        assert reading.stop == stop and sum(len(line.chars) for line in reading.lines) <= cap
        (guarded,) = Guarded(engine).read([block])
        assert {line.status for line in guarded.lines} == {"failed" if stop == "loop" else "capped"}
        assert len(guarded.lines) == 2
    monkeypatch.setattr(decoding, "generate", saying(engine, "□" * 9))
    assert engine.read([block])[0].stop == "end", "marks for what cannot be read stand in rows by right"


def test_without_a_watch_it_writes_until_it_ends_by_itself(
    engine: HfEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the paper reads: nothing is cut, and the lines are the model's own."""
    monkeypatch.setattr(decoding, "generate", saying(engine, "天地\n" + "人之" * 40 + "\n玄"))
    blocks = inputs_of(make_page(2))
    watched = engine.read(blocks)[0]
    monkeypatch.setattr(engine, "settings", HfSettings(longest=500))
    free = engine.read(blocks)[0]
    assert watched.stop == "loop" and len("".join(watched.transcription)) < 20
    assert free.stop == "end" and free.transcription == ("天地", "人之" * 40, "玄")
    assert "".join(line.text for line in free.lines) == "天地" + "人之" * 40 + "玄"
    monkeypatch.setattr(engine, "settings", HfSettings(longest=30))
    short = engine.read(blocks)[0]
    assert (
        short.stop == "cap"
        and len(short.written or ()) == 2
        and 20 <= len("".join(short.transcription)) <= 30
    )
    marked = Guarded(engine).read(inputs_of(make_page(1)))[0]
    assert marked.stop == "cap" and marked.written is None, "what is marked is what was cut"


def test_nothing_and_nonsense(engine: HfEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    page = make_page(2)
    assert page.pixels is not None
    blank = inputs_of(replace(page, pixels=np.full_like(page.pixels, 200)))
    monkeypatch.setattr(decoding, "generate", saying(engine, "一"))
    (reading,) = engine.read(blank)
    assert [line.status for line in reading.lines] == ["empty", "empty"], "a blank block is not read at all"
    assert engine.read([]) == []
    monkeypatch.setattr(decoding, "generate", saying(engine, ""))
    (reading,) = engine.read(inputs_of(page))
    assert [line.text for line in reading.lines] == ["", ""]


def test_too_little_memory_halves_the_batch(engine: HfEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [inputs_of(make_page(1, size=20, seed=k))[0] for k in range(4)]
    sizes: list[int] = []

    def tight(network: Any, patches: Any, grids: Sequence[Any], *rest: Any) -> list[Decoded]:
        sizes.append(len(grids))
        if len(grids) > most:
            raise torch.OutOfMemoryError("full")
        return saying(engine, "一")(network, patches, grids, *rest)

    monkeypatch.setattr(decoding, "generate", tight)
    most = 1
    assert [reading.text for reading in engine.read(blocks)] == ["一"] * 4 and sizes[0] == 4
    most = 0
    with pytest.raises(InputError, match="too little memory"):
        engine.read(blocks)


def test_the_engine_by_its_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_engine("hf", folder), Guarded)
    with pytest.raises(InputError, match=r"no config\.json"):
        open_engine("hf", tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"tongguocr\[glm\]"):
        open_engine("hf", folder)
