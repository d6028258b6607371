"""A folder of weights -> its checked contents: the manifest, the files it names, the token table.

Every file's SHA-256 is compared with the manifest before it is used; a file that is missing, cut off or
changed gives one sentence.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.tokens.codec import Codec, load_codec

FORMAT, VERSION = "tongguocr-weights", 1
MANIFEST, ENCODER, DECODER, CODEC = "manifest.json", "encoder.onnx", "decoder.onnx", "codec.json"
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


def sha256(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


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


def read_manifest(path: Path) -> dict[str, Any]:
    """What a manifest says, if it is one of ours."""
    try:
        manifest = json.loads(decode_utf8(read_bytes(path), path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is not a manifest of weights, which is JSON.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f'{path}: this is not a manifest of weights, which says "format": "{FORMAT}".')
    if manifest.get("version") != VERSION:
        raise InputError(f"{path}: the weights are not of version {VERSION}, the only one known here.")
    return manifest


def read_checked(path: Path, wanted: str) -> bytes:
    """A file whose SHA-256 is the one wanted."""
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != wanted:
        raise InputError(f"{path}: the file is not the one that {MANIFEST} names; fetch the weights again.")
    return data
