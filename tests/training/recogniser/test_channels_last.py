"""Mixes of channels as matrix products: the same numbers, and 8 bits that come close."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tiny_recogniser import SIZE

from tongguocr.training.recogniser.channels_last import put_channels_last
from tongguocr.training.recogniser.export import EncoderGraph, export_encoder
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.quantise import quantise

pytestmark = pytest.mark.slow


@cache
def model() -> Recogniser:
    torch.manual_seed(3)
    return Recogniser(replace(SIZE, backbone=True)).eval()


@cache
def graph() -> onnx.ModelProto:
    return export_encoder(model())


def run(model: onnx.ModelProto, image: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {"image": image}))


def picture(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape[0]).random((1, 1, *shape), dtype=np.float32)


def moved() -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(graph())
    put_channels_last(result.graph)
    return result


@pytest.mark.parametrize("shape", [(32, 32), (96, 48), (64, 160)])
def test_features_joined_before_they_are_turned_are_the_networks_own(shape: tuple[int, int]) -> None:
    image = picture(*shape)
    with torch.no_grad():
        wanted = EncoderGraph(model())(torch.from_numpy(image))
    for ours, theirs in zip(run(graph(), image), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-3)
    assert tuple(model().join.weight.shape[2:]) == (4, 1), "the network is left as it was"


@pytest.mark.parametrize("shape", [(32, 48), (96, 64)])
def test_the_layout_changes_no_number(shape: tuple[int, int]) -> None:
    image = picture(*shape)
    for ours, theirs in zip(run(moved(), image), run(graph(), image), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_only_gates_and_kernels_that_see_neighbours_stay_convolutions() -> None:
    shapes = {tensor.name: tuple(tensor.dims) for tensor in moved().graph.initializer}
    kept = [node.input[1] for node in moved().graph.node if node.op_type == "Conv"]
    wide = [name for name in kept if shapes[name][2:] == (1, 1) and shapes[name][1] >= 96]
    assert wide and all(".gate." in name for name in wide)


def test_eight_bits_come_close_and_are_the_same_each_time() -> None:
    image, fast = picture(96, 64), quantise(graph(), single=True)
    assert fast.SerializeToString() == quantise(graph(), single=True).SerializeToString()
    assert sum(node.op_type == "DynamicQuantizeMatMul" for node in fast.graph.node) > 2 * 13
    # A product and its bias are one.
    assert not any(name.endswith("_product") for node in fast.graph.node for name in node.input)
    for ours, theirs in zip(run(fast, image), run(graph(), image), strict=True):
        assert np.abs(ours - theirs).mean() < 0.1 * theirs.std()
