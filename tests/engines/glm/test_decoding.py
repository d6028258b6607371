"""Greedy decoding of many pictures together, held against the library's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from glm_models import RARE, make_batch, make_pretrained

from tongguocr.engines.glm.decoding import Decoded, DecodingState, generate
from tongguocr.engines.glm.network import GlmNetwork
from tongguocr.engines.glm.pretrained import PretrainedModel
from tongguocr.engines.glm.processor import patch_pictures
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.samples import GlmBatch


@pytest.fixture(scope="module")
def pretrained() -> PretrainedModel:
    return expand(make_pretrained(), RARE)[0]


@pytest.fixture(scope="module")
def batch(pretrained: PretrainedModel) -> GlmBatch:
    return make_batch(pretrained)


def test_greedy_reading_is_the_library_s_and_each_picture_s_own(
    pretrained: PretrainedModel, batch: GlmBatch
) -> None:
    model, prompt, processor = pretrained.model, pretrained.prompt, pretrained.processor
    network = GlmNetwork(model).eval()
    patches, grids = patch_pictures(batch.pictures, processor)
    together = generate(network, patches, grids, prompt, 12, alternatives=3)
    for row, (picture, grid) in enumerate(zip(batch.pictures, grids, strict=True)):
        own, _ = patch_pictures([picture], processor)
        ids = torch.tensor([prompt.ids(grid[0] * grid[1] // 4)])
        with torch.no_grad():
            written = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                pixel_values=own,
                image_grid_thw=torch.tensor([(1, *grid)]),
                mm_token_type_ids=(ids == prompt.image).int(),
                max_new_tokens=12,
                do_sample=False,
            )[0, ids.shape[1] :].tolist()
        ended = [k for k, token in enumerate(written) if token in prompt.ends]
        wanted = written[: ended[0]] if ended else written
        (alone,) = generate(network, own, [grid], prompt, 12, alternatives=3)
        assert together[row].tokens == wanted == alone.tokens
        assert together[row].ended is alone.ended is bool(ended)
        for (ids_a, sure_a), (ids_b, sure_b) in zip(together[row].candidates, alone.candidates, strict=True):
            assert ids_a[0] == ids_b[0] and sure_a == pytest.approx(sure_b, abs=1e-5)
            assert len(ids_a) == 4 and sure_a == sorted(sure_a, reverse=True)


def test_pictures_leave_when_they_are_told_to_stop(pretrained: PretrainedModel, batch: GlmBatch) -> None:
    processor = pretrained.processor
    patches, grids = patch_pictures(batch.pictures, processor)
    network = GlmNetwork(pretrained.model).eval()
    told: list[int] = []

    def stop(row: int, token: int) -> bool:
        told.append(row)
        return told.count(row) > row

    written = generate(network, patches, grids, pretrained.prompt, 9, stop)
    free = generate(network, patches, grids, pretrained.prompt, 9)
    for row, text in enumerate(written):
        assert len(text.tokens) == min(row + 1, len(free[row].tokens))
        assert text.tokens == free[row].tokens[: len(text.tokens)], "the others read on undisturbed"


def test_steps_that_are_played_back_write_the_same(
    pretrained: PretrainedModel, batch: GlmBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU, playing back is doing again; tensors must stay in their place for that."""
    network = GlmNetwork(pretrained.model).eval()
    patches, grids = patch_pictures(batch.pictures, pretrained.processor)

    def write() -> list[Decoded]:
        return generate(
            network,
            patches,
            grids,
            pretrained.prompt,
            12,
            lambda row, _: row == 2,
            alternatives=2,
            record=True,
        )

    def tensors(state: DecodingState) -> list[torch.Tensor]:
        kept = (part for layer in state.cache.layers.values() for part in layer)
        return [state.attended, state.position, state.cache.slot, *state.top, *kept]

    def record(state: DecodingState) -> None:
        before = tensors(state)

        def replay() -> None:
            state._step()
            assert all(a is b for a, b in zip(before, tensors(state), strict=True))
            played.append(len(state.top.ids))

        state.graph = SimpleNamespace(replay=replay)

    def fail(state: DecodingState) -> None:
        raise RuntimeError("this device cannot record")

    plain, played = write(), list[int]()
    monkeypatch.setattr("tongguocr.engines.glm.decoding.can_record", lambda device: True)
    for way in (record, fail):
        monkeypatch.setattr(DecodingState, "_record", way)
        for a, b in zip(plain, write(), strict=True):
            assert a.tokens == b.tokens and a.ended == b.ended
            for (_, sure_a), (_, sure_b) in zip(a.candidates, b.candidates, strict=True):
                assert sure_a == pytest.approx(sure_b, abs=1e-5)
    assert len(plain[2].tokens) == 1 and set(played) == {len(grids)}, "nobody leaves"
