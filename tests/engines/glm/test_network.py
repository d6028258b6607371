"""The forward pass of training and greedy reading, held against the library's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from glm_models import RARE, SIZE, make_foundation, write_model
from labelled_pages import write_pages

from bench import full_size, full_size_read
from tongguocr.engines.glm.decoding import Desk
from tongguocr.engines.glm.generate import Written, generate
from tongguocr.engines.glm.image_settings import Manner, write_manner
from tongguocr.engines.glm.network import GlmNetwork, Spots, glance
from tongguocr.engines.glm.pretrained import Foundation
from tongguocr.engines.glm.processor import grids_of, image_tokens, patch_pictures
from tongguocr.engines.glm.prompt import SPECIALS
from tongguocr.engines.glm.sizes import PUBLISHED, GlmSize, make_config, size_of
from tongguocr.training.glm.estimate import count_parameters
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.samples import GlmBatch, GlmSample, stack_glm

SHAPES = [(112, 140), (140, 112), (112, 140), (112, 112)]
TEXTS = ["天地<left>𤣥", "人", "㫖㫖<down>䟽䟽䟽天", "永"]


@pytest.fixture(scope="module")
def foundation() -> Foundation:
    return expand(make_foundation(), RARE)[0]


@pytest.fixture(scope="module")
def batch(foundation: Foundation) -> GlmBatch:
    return stack_glm(make_samples(foundation), foundation.wording, foundation.vision)


def make_samples(foundation: Foundation) -> list[GlmSample]:
    dice, wording = np.random.default_rng(1), foundation.wording
    samples = []
    for (high, wide), text in zip(SHAPES, TEXTS, strict=True):
        picture = dice.integers(0, 256, (high, wide, 3)).astype(np.uint8)
        answer = (*wording.encode(text), wording.end)
        prompt = wording.prompt(image_tokens(high, wide, foundation.vision))
        samples.append(GlmSample(picture, text, answer, len(prompt) + len(answer)))
    return samples


def test_the_published_sizes_are_the_published_model() -> None:
    from transformers import GlmOcrForConditionalGeneration

    count = count_parameters(PUBLISHED)
    assert round(count.total / 1e6) == 1107 and round(count.vision / 1e6) == 434
    assert PUBLISHED.sections == (16, 24, 24)
    ids = {token: k for k, token in enumerate(SPECIALS)}
    for size in (
        SIZE,
        replace(SIZE, tied=True, rows=500),
        replace(PUBLISHED, vision_layers=2, text_layers=1),
    ):
        with torch.device("meta"):
            model = GlmOcrForConditionalGeneration(make_config(size, ids))
        assert sum(p.numel() for p in model.parameters()) == count_parameters(size).total
        assert size_of(model.config) == size
    with pytest.raises(ValueError, match="multiple of 16"):
        GlmSize(head=40)


def test_the_loss_is_the_library_s_over_the_answer_alone(foundation: Foundation, batch: GlmBatch) -> None:
    model, wording = foundation.model, foundation.wording
    patches, grids = (
        patch_pictures(batch.pictures, foundation.vision),
        grids_of(batch.pictures, foundation.vision),
    )
    mask = torch.zeros_like(batch.ids)
    for row, sample in enumerate(make_samples(foundation)):
        mask[row, : sample.tokens] = 1
        assert batch.ids[row][batch.answer[row]].tolist() == list(sample.answer)
    with torch.no_grad():
        wanted = model(
            input_ids=batch.ids,
            attention_mask=mask,
            pixel_values=patches,
            image_grid_thw=torch.tensor([(1, *grid) for grid in grids]),
            mm_token_type_ids=(batch.ids == wording.image).int(),
            labels=torch.where(batch.answer, batch.ids, -100),
        ).loss
        for chunk in (3, 2048):
            network = GlmNetwork(model, chunk=chunk)
            found = network.study(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids)
            assert found.loss.item() == pytest.approx(wanted.item(), rel=1e-5)
            assert found.dense.item() == 0


@pytest.mark.parametrize("shapes", [[(112, 140)] * 3, [(112, 140), (140, 112), (140, 112), (112, 112)]])
def test_image_tokens_are_the_library_s(foundation: Foundation, shapes: list[tuple[int, int]]) -> None:
    dice = torch.Generator().manual_seed(2)
    pictures = [torch.randint(0, 256, (*shape, 3), generator=dice, dtype=torch.uint8) for shape in shapes]
    patches, grids = patch_pictures(pictures, foundation.vision), grids_of(pictures, foundation.vision)
    fresh = make_foundation().model
    network = GlmNetwork(make_foundation().model)
    with torch.no_grad():
        grid = torch.tensor([(1, *sides) for sides in grids])
        wanted = fresh.model.visual(patches, grid_thw=grid).pooler_output
        assert torch.allclose(network.look(patches, grids), wanted, atol=1e-5)


def test_heads_are_asked_as_the_library_asks_them(foundation: Foundation, batch: GlmBatch) -> None:
    network = GlmNetwork(foundation.model).eval()
    language = network.model.model.language_model
    hidden = torch.randn(2, 9, language.config.hidden_size, generator=torch.Generator().manual_seed(3))
    rotation = language.rotary_emb(hidden, position_ids=torch.arange(9).expand(3, 2, -1))
    layer = language.layers[0]
    scores = glance(layer, hidden, rotation, slice(0, 9), slice(0, 9))
    language.config._attn_implementation, before = "eager", language.config._attn_implementation
    mask = torch.full((9, 9), -torch.inf).triu(1)[None, None]
    wanted = layer.self_attn(layer.input_layernorm(hidden), rotation, attention_mask=mask)[1][:, 0]
    language.config._attn_implementation = before
    assert torch.allclose((scores + mask[0]).softmax(-1), wanted, atol=1e-6)


def test_all_parameters_learn(foundation: Foundation, batch: GlmBatch) -> None:
    network = GlmNetwork(foundation.model, dense=True).train()
    patches, grids = (
        patch_pictures(batch.pictures, foundation.vision),
        grids_of(batch.pictures, foundation.vision),
    )
    spots = Spots(
        torch.tensor([[0, 1, 5, 6], [2, 2, 2, 2]]),
        torch.full((2, 4), 0.25),
        torch.tensor([7, -100]),
        (4, 24),
        30,
    )
    found = network.study(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids, spots)
    (found.loss + found.dense).backward()
    idle = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert not idle, "vision encoder, projector, language model and tables are all trained"
    network.zero_grad(set_to_none=True)


def test_checkpointing_changes_nothing(foundation: Foundation, batch: GlmBatch) -> None:
    patches, grids = (
        patch_pictures(batch.pictures, foundation.vision),
        grids_of(batch.pictures, foundation.vision),
    )
    network, gradients = GlmNetwork(foundation.model).train(), []
    for way in (
        foundation.model.gradient_checkpointing_disable,
        foundation.model.gradient_checkpointing_enable,
    ):
        way() if not gradients else way({"use_reentrant": False})
        network.study(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids).loss.backward()
        gradients.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
        network.zero_grad(set_to_none=True)
    foundation.model.gradient_checkpointing_disable()
    network.eval()
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))


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


def test_the_benches_run_on_a_toy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full_size.main(["--tiny", "--side", "112", "--answer", "9", "--batch", "1", "--repeats", "1"])
    told = capsys.readouterr().out
    assert "tokens/s" in told and "8 such GPUs" in told
    write_pages(tmp_path / "pages", 2, columns=1, length=2)
    write_manner(Manner(side=112), write_model(tmp_path / "model"))
    full_size_read.main([str(tmp_path / "pages"), str(tmp_path / "model"), "--rows", "2"])
    assert "2 pages, 4 characters" in capsys.readouterr().out
