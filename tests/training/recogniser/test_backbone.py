"""PP-OCRv6 as a stem: folded parameters compute the same, and networks with it go on from others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tiny_recogniser import CODEC, SIZE, tiny_model
from torch import Tensor

from tongguocr.engines.weights import CODEC as CODEC_FILE
from tongguocr.errors import InputError
from tongguocr.training.recogniser.backbone import PREFIX, STAGES, TINY, Backbone, fold, load_backbone
from tongguocr.training.recogniser.export import export
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.restore import MODEL, load_start, restore, save_model

WITH_BACKBONE = replace(SIZE, backbone=True)


def made_up_state() -> dict[str, Tensor]:
    """Random parameters under the names of PP-OCRv6's file."""
    torch.manual_seed(3)
    state: dict[str, Tensor] = {}

    def normed(name: str, *shape: int) -> None:
        state[f"{name}.convolution.weight"] = torch.randn(shape) * 0.1
        for part in ("weight", "running_var"):
            state[f"{name}.normalization.{part}"] = torch.rand(shape[0]) + 0.5
        for part in ("bias", "running_mean"):
            state[f"{name}.normalization.{part}"] = torch.randn(shape[0]) * 0.1

    def plain(name: str, *shape: int) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = torch.randn(shape) * 0.1, torch.randn(shape[0]) * 0.1

    shapes = {
        "1": (48, 3, 3, 3),
        "2a": (24, 48, 2, 2),
        "2b": (48, 24, 2, 2),
        "3": (48, 96, 3, 3),
        "4": (96, 48, 1, 1),
    }
    for name, shape in shapes.items():
        normed(f"{PREFIX}convolution.stem{name}", *shape)
    for k, stage in enumerate(STAGES):
        for j, (inner, outer, stride, gated) in enumerate(stage):
            name = f"{PREFIX}blocks.{k}.blocks.{j}"
            residual = inner == outer and stride == 1
            (plain if residual else normed)(f"{name}.token_conv", inner, 1, 3, 3)
            normed(f"{name}.channel_conv1", 2 * inner, inner, 1, 1)
            normed(f"{name}.channel_conv2", outer, 2 * inner, 1, 1)
            if gated:
                plain(f"{name}.token_squeeze_excitation.convolutions.0", inner // 4, inner, 1, 1)
                plain(f"{name}.token_squeeze_excitation.convolutions.2", inner, inner // 4, 1, 1)
    return state


def test_a_folded_convolution_does_what_it_did_with_its_normalisation() -> None:
    state, name = made_up_state(), f"{PREFIX}convolution.stem1"
    folded = fold(state)
    grey = torch.rand(1, 1, 9, 7)
    norm = {
        part: state[f"{name}.normalization.{part}"]
        for part in ("running_mean", "running_var", "weight", "bias")
    }
    colour = F.conv2d(grey.expand(-1, 3, -1, -1), state[f"{name}.convolution.weight"], None, 2, 1)
    wanted = F.batch_norm(colour, *norm.values(), eps=TINY)
    found = F.conv2d(grey, folded["entry.first.weight"], folded["entry.first.bias"], 2, 1)
    assert torch.allclose(wanted, found, atol=1e-5)


def test_the_file_fills_the_whole_backbone(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file(made_up_state(), tmp_path / "pp.safetensors")
    network = Backbone()
    load_backbone(network, tmp_path / "pp.safetensors")
    features = network(torch.randn(2, 1, 96, 48))
    assert features.shape == (2, 384, 24, 3) and bool(features.isfinite().all())


def test_what_is_not_the_backbone_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "pp.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"pp\.safetensors: this is not the recogniser"):
        load_backbone(Backbone(), tmp_path / "pp.safetensors")
    with pytest.raises(InputError, match="another stem"):
        load_backbone(tiny_model().stem, tmp_path / "pp.safetensors")


def test_a_network_with_a_backbone_begins_with_the_rest_of_another(tmp_path: Path) -> None:
    torch.manual_seed(1)
    start = Recogniser(replace(SIZE, encoder_layers=3))
    save_model(start, tmp_path / MODEL)
    CODEC.save(tmp_path / CODEC_FILE)
    model = Recogniser(WITH_BACKBONE)
    own = model.stem.state_dict()["entry.first.weight"].clone()
    load_start(model, tmp_path / MODEL, CODEC)
    assert torch.equal(model.stem.state_dict()["entry.first.weight"], own)
    last, first = start.encoder[2].state_dict(), model.encoder[0].state_dict()
    assert all(torch.equal(last[name].half().float(), first[name]) for name in last)
    assert torch.equal(model.embedding.weight, start.embedding.weight.half().float())


def test_it_is_exported_and_comes_back(tmp_path: Path) -> None:
    torch.manual_seed(2)
    model = Recogniser(WITH_BACKBONE).eval()
    export(model, CODEC, tmp_path, quantised=False)
    again, _ = restore(tmp_path)
    assert again.size == WITH_BACKBONE
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
