"""Greedy decoding of many pictures together, held against the library's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from glm_models import RARE, make_batch, make_foundation

from tongguocr.engines.glm.decoding import Desk
from tongguocr.engines.glm.generate import Written, generate
from tongguocr.engines.glm.network import GlmNetwork
from tongguocr.engines.glm.pretrained import Foundation
from tongguocr.engines.glm.processor import grids_of, patch_pictures
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.samples import GlmBatch


@pytest.fixture(scope="module")
def foundation() -> Foundation:
    return expand(make_foundation(), RARE)[0]


@pytest.fixture(scope="module")
def batch(foundation: Foundation) -> GlmBatch:
    return make_batch(foundation)


def test_greedy_reading_is_the_library_s_and_each_picture_s_own(
    foundation: Foundation, batch: GlmBatch
) -> None:
    model, wording, vision = foundation.model, foundation.wording, foundation.vision
    network = GlmNetwork(model).eval()
    patches, grids = patch_pictures(batch.pictures, vision), grids_of(batch.pictures, vision)
    together = generate(network, patches, grids, wording, 12, rivals=3)
    for row, (picture, grid) in enumerate(zip(batch.pictures, grids, strict=True)):
        own = patch_pictures([picture], vision)
        ids = torch.tensor([wording.prompt(grid[0] * grid[1] // 4)])
        with torch.no_grad():
            written = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                pixel_values=own,
                image_grid_thw=torch.tensor([(1, *grid)]),
                mm_token_type_ids=(ids == wording.image).int(),
                max_new_tokens=12,
                do_sample=False,
            )[0, ids.shape[1] :].tolist()
        ended = [k for k, token in enumerate(written) if token in wording.ends]
        wanted = written[: ended[0]] if ended else written
        (alone,) = generate(network, own, [grid], wording, 12, rivals=3)
        assert together[row].tokens == wanted == alone.tokens
        assert together[row].ended is alone.ended is bool(ended)
        for (ids_a, sure_a), (ids_b, sure_b) in zip(together[row].candidates, alone.candidates, strict=True):
            assert ids_a[0] == ids_b[0] and sure_a == pytest.approx(sure_b, abs=1e-5)
            assert len(ids_a) == 4 and sure_a == sorted(sure_a, reverse=True)


def test_pictures_leave_when_they_are_told_to_stop(foundation: Foundation, batch: GlmBatch) -> None:
    vision = foundation.vision
    patches, grids = patch_pictures(batch.pictures, vision), grids_of(batch.pictures, vision)
    network = GlmNetwork(foundation.model).eval()
    told: list[int] = []

    def stop(row: int, token: int) -> bool:
        told.append(row)
        return told.count(row) > row

    written = generate(network, patches, grids, foundation.wording, 9, stop)
    free = generate(network, patches, grids, foundation.wording, 9)
    for row, text in enumerate(written):
        assert len(text.tokens) == min(row + 1, len(free[row].tokens))
        assert text.tokens == free[row].tokens[: len(text.tokens)], "the others read on undisturbed"


def test_steps_that_are_played_back_write_the_same(
    foundation: Foundation, batch: GlmBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU, playing back is doing again; tensors must stay in their place for that."""
    network = GlmNetwork(foundation.model).eval()
    patches = patch_pictures(batch.pictures, foundation.vision)
    grids = grids_of(batch.pictures, foundation.vision)

    def write() -> list[Written]:
        return generate(
            network, patches, grids, foundation.wording, 12, lambda row, _: row == 2, rivals=2, record=True
        )

    def tensors(desk: Desk) -> list[torch.Tensor]:
        kept = (part for layer in desk.memory.held.values() for part in layer)
        return [desk.seen, desk.following, desk.memory.place, *desk.likely, *kept]

    def record(desk: Desk) -> None:
        before = tensors(desk)

        def replay() -> None:
            desk._write()
            assert all(a is b for a, b in zip(before, tensors(desk), strict=True))
            played.append(len(desk.likely.ids))

        desk.graph = SimpleNamespace(replay=replay)

    def fail(desk: Desk) -> None:
        raise RuntimeError("this device cannot record")

    plain, played = write(), list[int]()
    monkeypatch.setattr("tongguocr.engines.glm.decoding.can_record", lambda device: True)
    for way in (record, fail):
        monkeypatch.setattr(Desk, "_record", way)
        for a, b in zip(plain, write(), strict=True):
            assert a.tokens == b.tokens and a.ended == b.ended
            for (_, sure_a), (_, sure_b) in zip(a.candidates, b.candidates, strict=True):
                assert sure_a == pytest.approx(sure_b, abs=1e-5)
    assert len(plain[2].tokens) == 1 and set(played) == {len(grids)}, "nobody leaves"
