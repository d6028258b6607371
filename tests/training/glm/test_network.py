"""The forward pass of training: the loss, the guided heads, what is trained."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from glm_models import RARE, make_batch, make_pretrained, make_samples

from tongguocr.engines.glm.pretrained import PretrainedModel
from tongguocr.engines.glm.processor import patch_pictures
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.network import CharacterPlaces, GlmTrainingNetwork, first_head_scores
from tongguocr.training.glm.samples import GlmBatch, GlmSample, collate


@pytest.fixture(scope="module")
def pretrained() -> PretrainedModel:
    return expand(make_pretrained(), RARE)[0]


@pytest.fixture(scope="module")
def batch(pretrained: PretrainedModel) -> GlmBatch:
    return make_batch(pretrained)


def test_the_loss_is_the_library_s_over_the_answer_alone(
    pretrained: PretrainedModel, batch: GlmBatch
) -> None:
    model, prompt = pretrained.model, pretrained.prompt
    patches, grids = patch_pictures(batch.pictures, pretrained.processor)
    mask = torch.zeros_like(batch.ids)
    for row, sample in enumerate(make_samples(pretrained)):
        mask[row, : sample.tokens] = 1
        assert batch.ids[row][batch.answer[row]].tolist() == list(sample.answer)
    with torch.no_grad():
        wanted = model(
            input_ids=batch.ids,
            attention_mask=mask,
            pixel_values=patches,
            image_grid_thw=torch.tensor([(1, *grid) for grid in grids]),
            mm_token_type_ids=(batch.ids == prompt.image).int(),
            labels=torch.where(batch.answer, batch.ids, -100),
        ).loss
        for chunk in (3, 2048):
            network = GlmTrainingNetwork(model, chunk=chunk, loss_mean="tokens")
            found = network.losses(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids)
            assert found.loss.item() == pytest.approx(wanted.item(), rel=1e-5)
            assert found.dense.item() == 0


def test_the_paper_s_loss_is_the_mean_of_the_samples_own_means(pretrained: PretrainedModel) -> None:
    samples, prompt, processor = make_samples(pretrained), pretrained.prompt, pretrained.processor

    def loss(of: list[GlmSample], **settings: Any) -> float:
        batch = collate(of, prompt, processor)
        patches, grids = patch_pictures(batch.pictures, processor)
        network = GlmTrainingNetwork(pretrained.model, **settings)
        given = (batch.ids, batch.ids, batch.positions, batch.answer)
        with torch.no_grad():
            return network.losses(*given, patches, grids).loss.item()

    alone = [loss([sample]) for sample in samples]
    for chunk in (3, 2048):
        assert loss(samples, chunk=chunk) == pytest.approx(sum(alone) / len(alone), rel=1e-5)
    lengths = [len(sample.answer) for sample in samples]
    by_tokens = sum(one * count for one, count in zip(alone, lengths, strict=True)) / sum(lengths)
    assert loss(samples, loss_mean="tokens") == pytest.approx(by_tokens, rel=1e-5)
    assert abs(by_tokens - sum(alone) / len(alone)) > 1e-3, "the two differ on these samples"


def test_heads_are_asked_as_the_library_asks_them(pretrained: PretrainedModel, batch: GlmBatch) -> None:
    network = GlmTrainingNetwork(pretrained.model).eval()
    language = network.model.model.language_model
    hidden = torch.randn(2, 9, language.config.hidden_size, generator=torch.Generator().manual_seed(3))
    rotation = language.rotary_emb(hidden, position_ids=torch.arange(9).expand(3, 2, -1))
    layer = language.layers[0]
    scores = first_head_scores(layer, hidden, rotation, slice(0, 9), slice(0, 9))
    language.config._attn_implementation, before = "eager", language.config._attn_implementation
    mask = torch.full((9, 9), -torch.inf).triu(1)[None, None]
    wanted = layer.self_attn(layer.input_layernorm(hidden), rotation, attention_mask=mask)[1][:, 0]
    language.config._attn_implementation = before
    assert torch.allclose((scores + mask[0]).softmax(-1), wanted, atol=1e-6)


def test_all_parameters_learn(pretrained: PretrainedModel, batch: GlmBatch) -> None:
    network = GlmTrainingNetwork(pretrained.model, dense=True).train()
    patches, grids = patch_pictures(batch.pictures, pretrained.processor)
    places = CharacterPlaces(
        torch.tensor([[0, 1, 5, 6], [2, 2, 2, 2]]),
        torch.full((2, 4), 0.25),
        torch.tensor([7, -100]),
        (4, 24),
        30,
    )
    found = network.losses(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids, places)
    (found.loss + found.dense).backward()
    idle = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert not idle, "vision encoder, projector, language model and tables are all trained"
    network.zero_grad(set_to_none=True)


def test_checkpointing_changes_nothing(pretrained: PretrainedModel, batch: GlmBatch) -> None:
    patches, grids = patch_pictures(batch.pictures, pretrained.processor)
    network, gradients = GlmTrainingNetwork(pretrained.model).train(), []
    for way in (
        pretrained.model.gradient_checkpointing_disable,
        pretrained.model.gradient_checkpointing_enable,
    ):
        way() if not gradients else way({"use_reentrant": False})
        network.losses(batch.ids, batch.ids, batch.positions, batch.answer, patches, grids).loss.backward()
        gradients.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
        network.zero_grad(set_to_none=True)
    pretrained.model.gradient_checkpointing_disable()
    network.eval()
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))
