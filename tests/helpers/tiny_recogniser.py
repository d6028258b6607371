"""A tiny network with lively random weights, exported once for all tests that read with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import onnx
import torch
from shared import make_once

from tongguocr.engines.weights import DECODER, ENCODER
from tongguocr.tokens.codec import FIXED, Codec
from tongguocr.training.recogniser.export import export_graphs, write_weights
from tongguocr.training.recogniser.model import ModelSize, Recogniser

CHARACTERS = (*(chr(0x4E00 + k) for k in range(200)), "□")
CODEC = Codec(CHARACTERS)
SIZE = ModelSize(
    len(FIXED) + len(CHARACTERS),
    width=64,
    heads=2,
    encoder_layers=1,
    decoder_layers=2,
    feed_forward=64,
    stem=(8, 16),
    stem_blocks=1,
)


@cache
def tiny_model() -> Recogniser:
    torch.manual_seed(5)
    model = Recogniser(SIZE).eval()
    with torch.no_grad():
        # Tied embeddings make a fresh network repeat its input: a random sign a channel breaks that.
        model.after_decoder.scale.copy_(torch.randn(SIZE.width))
        model.embedding.weight.mul_(20)
    return model


@cache
def tiny_graphs() -> dict[str, onnx.ModelProto]:
    folder = make_once("tiny_recogniser", write_graphs)
    return {name: onnx.load(folder / name) for name in (ENCODER, DECODER)}


def write_graphs(folder: Path) -> None:
    for name, graph in export_graphs(tiny_model()).items():
        onnx.save(graph, folder / name)


def write_tiny(folder: Path, quantised: bool) -> Path:
    write_weights(tiny_graphs(), tiny_model(), CODEC, folder, quantised)
    return folder
