"""The recogniser's folder of weights -> its checked contents: encoder, decoder, token table, sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec, load_codec
from tongguocr.weights import MANIFEST, read_checked, read_manifest

ENCODER, DECODER, CODEC = "encoder.onnx", "decoder.onnx", "codec.json"
FILES = (ENCODER, DECODER, CODEC)


@dataclass(frozen=True)
class Weights:
    """What a reader needs of a model."""

    encoder: bytes
    decoder: bytes
    codec: Codec
    stride: int
    heads: int
    head: int
    """Channels of one head."""
    layers: int
    """Layers of the decoder."""
    size: dict[str, Any] = field(default_factory=dict)
    """All sizes of the network, for those who train it further."""


def load_weights(folder: Path) -> Weights:
    """The weights in a folder that `tongguocr.training.recogniser.export` wrote."""
    path = folder / MANIFEST
    manifest = read_manifest(path)
    try:
        size = manifest["size"]
        width, heads, layers = (int(size[key]) for key in ("width", "heads", "decoder_layers"))
        stride, wanted = (
            int(manifest["stride"]),
            {name: str(manifest["files"][name]["sha256"]) for name in FILES},
        )
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path}: the manifest of the weights is not complete.") from None
    data = {name: read_checked(folder / name, wanted[name]) for name in FILES}
    codec = load_codec(folder / CODEC)
    return Weights(data[ENCODER], data[DECODER], codec, stride, heads, width // max(heads, 1), layers, size)
