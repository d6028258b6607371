"""Drafts decide how long reading takes, never what is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recognise_pages import inputs_of, make_page
from tiny_recogniser import CODEC, write_tiny

from tongguocr.engines.base import BlockInput
from tongguocr.engines.drafting import (
    LONGEST_RUN,
    SHORTEST_RUN,
    Follower,
    Read,
    features_at,
    join_lines,
    line_places,
    on_grid,
)
from tongguocr.engines.guard import Limits
from tongguocr.engines.prepare import prepare
from tongguocr.engines.tongguocr import FIRST_BREAK, DecodedBlock, OnnxEngine, OnnxSettings
from tongguocr.page import Char

NEVER = 10**9
LONG = Limits(refrains=(NEVER,) * 3, stuck_repeats=NEVER, rereads=NEVER)


@pytest.fixture(scope="module", params=["fp32", "quantised"])
def weights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp(request.param), request.param == "quantised")


def blocks_of_all_sizes() -> list[BlockInput]:
    return [inputs_of(make_page(n, length=m, seed=n))[0] for n, m in [(1, 4), (3, 7), (2, 12), (1, 1)]]


def decode(engine: OnnxEngine, block: BlockInput, draft: list[Read] | None = None) -> DecodedBlock:
    picture = prepare(block)
    if draft is not None:
        engine.draft = lambda *_: draft  # type: ignore[method-assign]
    return engine.decode([engine.encode(picture)], [block], [picture])[0]


def same(a: DecodedBlock, b: DecodedBlock) -> None:
    assert a.watch.tokens == b.watch.tokens and a.stop == b.stop
    np.testing.assert_allclose(a.places, b.places, atol=1e-3)
    for (ids, likely), (others, theirs) in zip(a.candidates, b.candidates, strict=True):
        assert ids[0] == others[0]
        np.testing.assert_allclose(likely, theirs, atol=1e-4)


def drafts(text: DecodedBlock) -> dict[str, list[Read]]:
    parts = OnnxSettings().parts
    right = [Read(k, on_grid(p, parts)) for k, p in zip(text.watch.tokens, text.places, strict=False)]
    rng = np.random.default_rng(1)
    return {
        "right": right,
        "none": [],
        "too long": right + right[::-1] * 3,
        "one missing": right[: len(right) // 2] + right[len(right) // 2 + 1 :],
        "one more": right[:3] + right[1:],
        "shifted": [replace(read, place=(read.place[0] + 1, read.place[1])) for read in right],
        "misread": [replace(read, token=300 if k % 5 == 2 else read.token) for k, read in enumerate(right)],
        "ends at once": [Read(CODEC.eos, (0.0, 0.0))] * 9,
        "anything": [
            Read(int(token), (float(x), float(y)))
            for token, x, y in zip(rng.integers(0, 400, 50), rng.random(50), rng.random(50), strict=True)
        ],
    }


@pytest.mark.parametrize("limits", [Limits(), LONG], ids=["guarded", "long"])
def test_no_draft_changes_what_is_read(weights: Path, limits: Limits) -> None:
    slow = OnnxEngine(weights, OnnxSettings(limits, draft=False))
    for block in blocks_of_all_sizes():
        text = decode(slow, block)
        assert text.passes == len(text.places)
        same(decode(OnnxEngine(weights, OnnxSettings(limits)), block), text)
        for name, draft in drafts(text).items():
            found = decode(OnnxEngine(weights, OnnxSettings(limits)), block, draft)
            same(found, text)
            assert found.passes <= text.passes
            if name == "right":
                assert found.passes <= 2 + len(draft) // (SHORTEST_RUN + 1)


def test_a_right_draft_takes_few_passes() -> None:
    truth = [Read(300 + k % 7, (2.0, 2.5 * k)) for k in range(200)]
    follower = Follower(truth[:-1], 2.5)
    assert follow(follower, truth) == truth and follower.passes <= 5


def follow(follower: Follower, truth: list[Read]) -> list[Read]:
    """A decoder that knows the text, and says nothing of worth after anything else."""
    certain: list[Read] = []
    while len(certain) < len(truth):
        fed = follower.run()
        assert len(fed) < LONGEST_RUN
        right = True
        given = [truth[len(certain)]]
        for k, read in enumerate(fed):
            right = right and len(certain) + k + 1 < len(truth) and read == truth[len(certain) + k]
            given.append(truth[len(certain) + k + 1] if right else Read(0, (0.0, 0.0)))
        certain += given[: follower.settle(given)]
    return certain


reads = st.lists(st.builds(Read, st.integers(1, 5), st.tuples(st.just(1.0), st.integers(0, 9).map(float))))


@given(reads.filter(len), reads)
@settings(max_examples=200)
def test_what_is_certain_is_what_the_decoder_says(truth: list[Read], draft: list[Read]) -> None:
    found = follow(Follower(draft, 2.5), truth)
    assert found[: len(truth)] == truth


def test_a_draft_has_a_place_for_each_character() -> None:
    block = inputs_of(make_page(3, size=60, length=6))[0]
    picture = prepare(block)
    lines = line_places(block, picture, 16)
    assert len(lines) == 3 and all(5 <= len(line) <= 7 for line in lines)
    draft = join_lines(lines, range(300, 400), (40, 40), 4)
    assert sum(FIRST_BREAK <= read.token < FIRST_BREAK + 24 for read in draft) == 2
    assert len(draft) == 2 + sum(map(len, lines))
    seen = Char("", (10.0, 20.0, 50.0, 60.0))
    known = replace(block, lines=(replace(block.lines[0], chars=(seen,)), *block.lines[1:]))
    assert [len(line) for line in line_places(known, picture, 16)] == [1, *map(len, lines[1:])]


def test_a_line_without_ink_or_breadth_has_no_place() -> None:
    block = inputs_of(make_page(1))[0]
    flat = replace(block, lines=(replace(block.lines[0], box=(3.0, 3.0, 3.0, 3.0)),))
    assert line_places(flat, prepare(block), 16) == [[]]
    assert line_places(replace(block, lines=()), prepare(block), 16) == []


@given(st.floats(-2, 9), st.floats(-2, 9))
def test_features_between_four_others(x: float, y: float) -> None:
    rows, columns = np.indices((6, 7)).astype(np.float32)
    dense = np.stack([columns + 0.5, rows + 0.5], -1).reshape(-1, 2)
    wanted = (min(max(x, 0.5), 6.5), min(max(y, 0.5), 5.5))
    assert features_at(dense, [(x, y)], (6, 7))[0].tolist() == pytest.approx(wanted, abs=1e-4)
