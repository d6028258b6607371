"""A trained `Recogniser` -> the folder of ONNX files that `tongguocr.engines.tongguocr` reads without torch.

Two graphs. `encoder.onnx` takes one image of any size and gives what the decoder attends to: each layer's
keys and values, the pointer's keys and what it reads. `decoder.onnx` takes a run of tokens and their places a
block, for a batch of blocks, with the keys and values of the tokens before; it gives the candidates that
follow each token and, for every place, how surely the pointer points there. A run of one is a step of
decoding; a longer one checks a draft at once.
Blocks with fewer places are padded and masked. `seen` are features of the dense head that are to be named,
for drafts: they go through the very product that scores tokens, behind them, and come out as more rows of
candidates. Keys come transposed, so that no step has to turn them. `codec.json` is the token table, and
`manifest.json` names every file with its SHA-256 and size. Each graph notes where it keeps the network's
parameters (quantise.py), so that `restore.py` can make the network from the folder again.
"""

from __future__ import annotations

import copy
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import MethodType
from typing import Any, cast

import onnx
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tongguocr.engines.weights import CODEC, DECODER, ENCODER
from tongguocr.errors import InputError
from tongguocr.files import make_folder, write_bytes
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.backbone import ALONG, BRIGHTNESS, CONTRAST, Backbone
from tongguocr.training.recogniser.model import (
    POINTER,
    STRIDE,
    Attention,
    DecoderLayer,
    EncoderLayer,
    Recogniser,
    line_rotation,
    rotate,
)
from tongguocr.training.recogniser.quantise import find_parameters, missing, quantise, write_parameter_map
from tongguocr.weights import FORMAT, MANIFEST, VERSION, sha256

OPSET = 20
"""The first that has Gelu: written out, it takes four times as long."""
CANDIDATES = 5
"""How many readings of a step come out with their probabilities, the chosen one included."""
HIDDEN = -1e9
"""Added to the scores of tokens that come later: their weight becomes 0, exactly."""


class EncoderGraph(nn.Module):
    """The encoder's graph."""

    def __init__(self, model: Recogniser) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """1 x 1 x height x width -> what EncodedImage holds: read features, then keys, then values."""
        encoded = self.model.keys_values(self.model.encode(image))
        keys = [key.transpose(2, 3) for key, _ in encoded.layers]
        return encoded.dense, encoded.pointer.transpose(1, 2), *keys, *(value for _, value in encoded.layers)


class DecoderGraph(nn.Module):
    """The decoder's graph: a run of tokens for a batch of blocks."""

    def __init__(self, model: Recogniser) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        place: Tensor,
        seen: Tensor,
        mask: Tensor,
        dense: Tensor,
        pointer: Tensor,
        keys: list[Tensor],
        values: list[Tensor],
        past_keys: list[Tensor],
        past_values: list[Tensor],
    ) -> tuple[Tensor, ...]:
        """As many tokens a block; `mask` (batch x places) is 0 on places of the block, very low on padding.

        Scores and candidates are those after each token of each block, then those of each row of `seen`.
        """
        size, model = self.model.size, self.model
        before = past_keys[0].shape[3]
        at = torch.arange(before, before + tokens.shape[1])
        later = torch.arange(before + tokens.shape[1])[None] > at[:, None]
        unseen = later.to(mask.dtype) * HIDDEN
        rotation = line_rotation(at, size.width // size.heads)
        # Rows and products of plain matrices are what the quantised graph looks up and multiplies.
        x = model.embed(tokens.flatten(), place.flatten(0, 1)).reshape(*tokens.shape, size.width)
        pointed = mask
        all_keys, all_values = [], []
        for number, module in enumerate(model.decoder):
            layer = cast(DecoderLayer, module)
            inner = layer.before_self(x)
            key, value = layer.own.keys_values(inner)
            all_keys.append(torch.cat([past_keys[number], rotate(key, rotation).transpose(2, 3)], 3))
            all_values.append(torch.cat([past_values[number], value], 2))
            query = rotate(layer.own.queries(inner), rotation)
            x = x + _mix(layer.own, query, all_keys[-1], all_values[-1], unseen)
            query = layer.cross.queries(layer.before_cross(x))
            x = x + _mix(layer.cross, query, keys[number], values[number], mask[:, None, None])
            x = x + layer.feed(layer.before_feed(x))
            if number == model.points_after:
                scores = model.pointer(x, pointer.transpose(1, 2))
                pointed = (scores + mask[:, None]).softmax(-1)
                x = x + pointed @ dense
        scores = model.score(torch.cat([model.after_decoder(x).flatten(0, 1), seen]))
        best = scores.softmax(-1).topk(min(CANDIDATES, size.tokens))
        return scores, best.values, best.indices, pointed, *all_keys, *all_values


def _mix(attention: Attention, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attention written out, for keys that come transposed."""
    weights = (query @ keys * (query.shape[-1] ** -0.5) + mask).softmax(-1)
    return attention.out((weights @ values).transpose(1, 2).flatten(2))


@contextmanager
def _fused_attention(model: Recogniser) -> Iterator[None]:
    """While the encoder is traced, its attention is ONNX Runtime's own operator.

    Written out, the weights of all pairs of places of a 1,024-px block would take 1.9 GB; fused, 0.4.
    """
    modules = [cast(EncoderLayer, layer).attention for layer in model.encoder]
    for attention in modules:
        attention.attend = MethodType(_attend_fused, attention)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for attention in modules:
            del attention.attend


@contextmanager
def _joined_lying(model: Recogniser) -> Iterator[None]:
    """While the encoder is traced, features of a backbone are joined before they are turned back.

    They are four times fewer then, and those that are joined lie beside each other.
    """
    if not model.size.backbone:
        yield
        return
    join = cast(nn.Conv2d, model.join)
    upright = join.weight
    # The very bytes of the kernel, which is one feature wide, so that it is found in the graph.
    join.weight = nn.Parameter(upright.detach().reshape(*upright.shape[:2], 1, ALONG))
    model.stem.forward = MethodType(_stem_lying, model.stem)
    join.forward = MethodType(_join_lying, join)  # type: ignore[method-assign]
    try:
        yield
    finally:
        join.weight = upright
        del model.stem.forward, join.forward


def _stem_lying(self: Backbone, image: Tensor) -> Tensor:
    return self.stages(self.entry((image * CONTRAST + BRIGHTNESS).flip(3).transpose(2, 3)))


def _join_lying(self: nn.Conv2d, x: Tensor) -> Tensor:
    return F.conv2d(x, self.weight, self.bias, (1, ALONG)).transpose(2, 3).flip(3)


def _attend_fused(self: Attention, q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    # With keys and values as batch x heads x places x head it would take a slower path.
    flat = [part.transpose(1, 2).flatten(2) for part in (q, k, v)]
    mixed = torch.onnx.ops.symbolic(
        "com.microsoft::MultiHeadAttention",
        flat,
        {"num_heads": self.heads},
        dtype=q.dtype,
        shape=flat[0].shape,
        version=1,
    )
    return self.out(mixed)


def export(model: Recogniser, codec: Codec, folder: Path, quantised: bool = True, fast: bool = False) -> None:
    """Write the files into a folder, which is made if need be; fp32 without `quantised`.

    With `fast`, the encoder's products are made as quickly as processors can (quantise.py), and nowhere else.
    """
    write_weights(export_graphs(model), model, codec, folder, quantised, fast)


def export_graphs(model: Recogniser) -> dict[str, onnx.ModelProto]:
    """The fp32 graphs under their files' names; the model itself may be on any device and stays there."""
    model = copy.deepcopy(model).cpu().float().eval()
    graphs = {ENCODER: export_encoder(model), DECODER: export_decoder(model)}
    parameters = {name: value.numpy() for name, value in model.state_dict().items()}
    notes = {name: find_parameters(graph.graph, parameters) for name, graph in graphs.items()}
    if lost := missing(parameters, notes.values()):
        raise RuntimeError(f"the graphs do not hold {', '.join(lost)} as it was")
    for name, graph in graphs.items():
        write_parameter_map(graph, notes[name])
    return graphs


def write_weights(
    graphs: dict[str, onnx.ModelProto],
    model: Recogniser,
    codec: Codec,
    folder: Path,
    quantised: bool,
    fast: bool = False,
) -> None:
    """The folder of a model's graphs, as they are or quantised."""
    if len(codec) != model.size.tokens:
        raise InputError(f"{folder}: the model has {model.size.tokens} tokens and its codec {len(codec)}.")
    make_folder(folder)
    for name, graph in graphs.items():
        # The encoder takes pictures one by one; what the decoder says must not depend on its batch.
        graph = quantise(graph, single=fast and name == ENCODER) if quantised else graph
        onnx.checker.check_model(graph)
        write_bytes(graph.SerializeToString(), folder / name)
    codec.save(folder / CODEC)
    _write_manifest(model, folder, quantised)


def _write_manifest(model: Recogniser, folder: Path, quantised: bool) -> None:
    files = {
        name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size}
        for name in (ENCODER, DECODER, CODEC)
    }
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "stride": STRIDE,
        "quantised": quantised,
        "size": asdict(model.size),
        "files": files,
    }
    write_bytes((json.dumps(manifest, indent=2) + "\n").encode(), folder / MANIFEST)


def export_encoder(model: Recogniser) -> onnx.ModelProto:
    rows, columns = (STRIDE * torch.export.Dim(name, min=2, max=4096) for name in ("rows", "columns"))
    layers = range(model.size.decoder_layers)
    outputs = ["dense", "pointer", *(f"{part}_{n}" for part in ("keys", "values") for n in layers)]
    image = torch.zeros(1, 1, 4 * STRIDE, 6 * STRIDE)
    with _fused_attention(model), _joined_lying(model):
        return to_graph(EncoderGraph(model), (image,), {"image": {2: rows, 3: columns}}, ["image"], outputs)


def export_decoder(model: Recogniser) -> onnx.ModelProto:
    size = model.size
    batch, places, past, length, seen, head = 3, 5, 4, 7, 11, size.width // size.heads
    layers = range(size.decoder_layers)
    shapes = {
        "keys": (batch, size.heads, head, places),
        "values": (batch, size.heads, places, head),
        "past_keys": (batch, size.heads, head, past),
        "past_values": (batch, size.heads, past, head),
    }
    example = (
        torch.zeros(batch, length, dtype=torch.int64),
        torch.zeros(batch, length, 2),
        torch.zeros(seen, size.width),
        torch.zeros(batch, places),
        torch.zeros(batch, places, size.width),
        torch.zeros(batch, POINTER, places),
        *([torch.zeros(shape) for _ in layers] for shape in shapes.values()),
    )
    dims = {name: torch.export.Dim(name) for name in ("batch", "places", "past", "length", "seen")}
    along = {
        "keys": (3, "places"),
        "values": (2, "places"),
        "past_keys": (3, "past"),
        "past_values": (2, "past"),
    }
    dynamic: dict[str, Any] = {
        "tokens": {0: dims["batch"], 1: dims["length"]},
        "place": {0: dims["batch"], 1: dims["length"]},
        "seen": {0: dims["seen"]},
        "mask": {0: dims["batch"], 1: dims["places"]},
        "dense": {0: dims["batch"], 1: dims["places"]},
        "pointer": {0: dims["batch"], 2: dims["places"]},
    }
    for name, (axis, dim) in along.items():
        dynamic[name] = [{0: dims["batch"], axis: dims[dim]} for _ in layers]
    inputs = ["tokens", "place", "seen", "mask", "dense", "pointer"]
    inputs += [f"{name}_{n}" for name in along for n in layers]
    outputs = ["scores", "probabilities", "candidates", "pointed"]
    outputs += [f"{name}_{n}" for name in ("new_keys", "new_values") for n in layers]
    return to_graph(DecoderGraph(model), example, dynamic, inputs, outputs)


def to_graph(
    module: nn.Module, example: tuple[Any, ...], dynamic: Any, inputs: list[str], outputs: list[str]
) -> onnx.ModelProto:
    """One module as an ONNX graph, weights inside."""
    with tempfile.TemporaryDirectory() as folder, _quietly():
        program = torch.onnx.export(
            module.eval(),
            example,
            dynamo=True,
            opset_version=OPSET,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=dynamic,
            verbose=False,
        )
        if program is None:
            raise RuntimeError("torch.onnx.export gave no program")
        path = Path(folder) / "graph.onnx"
        program.save(str(path))
        graph = onnx.load(str(path))
    # The exporter notes source lines of the machine it ran on; they are nobody's business and 100 kB.
    for node in graph.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    graph.graph.ClearField("value_info")
    return graph


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporter warns of its own deprecated calls and of operators of libraries that are not there."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
