"""A network to go on from: a folder of exported weights, or a run's model.pt, in; the network and codec out.

An exported folder is read by the maps that its graphs carry (quantise.py). From fp32 graphs the network comes
back exactly; from 8-bit ones as it reads: exporting it once more gives the same bytes in the tables. Only an
exported folder needs onnx, which a machine that does nothing but train may lack.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from tongguocr.engines.weights import CODEC, load_weights
from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec, load_codec
from tongguocr.training.checkpoint import RESUME, write_whole
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.weights import MANIFEST, SHIPPED

if TYPE_CHECKING:
    from tongguocr.training.recogniser.quantise import StoredParameter

MODEL = "model.pt"
"""The file of a run that has its best weights."""
Arrays = dict[str, NDArray[Any]]


def save_model(model: Recogniser, path: Path) -> None:
    """The weights in half precision, whole or not at all."""
    state = {name: value.half().cpu() for name, value in model.state_dict().items()}
    write_whole({"size": asdict(model.size), "state": state}, path)


def load_model(path: Path) -> tuple[ModelSize, dict[str, torch.Tensor]]:
    """What `save_model` wrote, in single precision again."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        return ModelSize(**saved["size"]), {name: value.float() for name, value in saved["state"].items()}
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: these are not weights of the recogniser ({error}).") from None


def find_start(given: Path | None, out: Path) -> Path:
    """What a run on pages begins with: what is given, what an earlier run left there, what is shipped."""
    if given is not None:
        return given
    if (out / RESUME).exists() and (out / MODEL).exists():
        return out / MODEL
    if not (SHIPPED / MANIFEST).exists():
        raise InputError(f"{SHIPPED}: no weights are shipped yet; say with --start which ones to begin with.")
    return SHIPPED


def open_model(path: Path, codec_path: Path | None = None) -> tuple[Recogniser, Codec]:
    """The network of an exported folder, or of a file that a run wrote, with its codec or the one beside."""
    if path.is_dir():
        return restore(path)
    size, state = load_model(path)
    codec = load_codec(codec_path) if codec_path else load_codec_beside(path)
    if len(codec) != size.tokens:
        raise InputError(f"{path}: the model has {size.tokens} tokens and its codec {len(codec)}.")
    return _fill(size, state, path), codec


def load_start(model: Recogniser, path: Path, codec: Codec) -> None:
    """Give a network the parameters of another one of its size, whose tokens mean the same."""
    state = restore(path)[0].state_dict() if path.is_dir() else load_model(path)[1]
    known = (path if path.is_dir() else path.parent) / CODEC
    if known.exists() and load_codec(known) != codec:
        raise InputError(f"{path}: its tokens are not those of the data that is trained on.")
    if model.size.backbone and not any(name.startswith("join.") for name in state):
        state = without_stem(state, model)
    try:
        model.load_state_dict(state)
    except RuntimeError:
        raise InputError(f"{path}: its parameters are not those of the network that is trained.") from None


def without_stem(state: dict[str, torch.Tensor], model: Recogniser) -> dict[str, torch.Tensor]:
    """Parameters of a network with another stem, for one with a backbone: this one's own stem, and as many of
    the other's last encoder layers as this one has; the first ones did what the backbone does."""
    kept = {name: value for name, value in model.state_dict().items() if name.startswith(("stem.", "join."))}
    numbers = {int(name.split(".")[1]) for name in state if name.startswith("encoder.")}
    surplus = len(numbers) - model.size.encoder_layers
    for name, value in state.items():
        if name.startswith("encoder."):
            _, number, rest = name.split(".", 2)
            if int(number) >= surplus:
                kept[f"encoder.{int(number) - surplus}.{rest}"] = value
        elif not name.startswith("stem."):
            kept[name] = value
    return kept


def load_codec_beside(model: Path) -> Codec:
    """The codec that a run left beside its weights."""
    path = model.with_name(CODEC)
    if not path.exists():
        raise InputError(f"{model}: there is no {CODEC} beside it, which says what its tokens mean.")
    return load_codec(path)


def restore(folder: Path) -> tuple[Recogniser, Codec]:
    """The network whose export the folder is, in single precision."""
    import onnx
    from onnx import numpy_helper

    from tongguocr.training.recogniser.quantise import missing, read_parameter_map

    weights = load_weights(folder)
    size, shapes = _shapes(weights.size, folder / MANIFEST)
    if len(weights.codec) != size.tokens:
        raise InputError(f"{folder}: the model has {size.tokens} tokens and its codec {len(weights.codec)}.")
    graphs = [onnx.load_model_from_string(data) for data in (weights.encoder, weights.decoder)]
    notes = [read_parameter_map(graph) for graph in graphs]
    if missing(shapes, notes):
        raise InputError(f"{folder}: these weights do not say where their parameters lie; export them again.")
    state: dict[str, torch.Tensor] = {}
    for graph, note in zip(graphs, notes, strict=True):
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.graph.initializer}
        for name in note.keys() & shapes.keys():
            state[name] = torch.from_numpy(_values(arrays, note[name], shapes[name], folder))
    return _fill(size, state, folder), weights.codec


def _shapes(table: dict[str, Any], path: Path) -> tuple[ModelSize, dict[str, tuple[int, ...]]]:
    """The network's size, and the shape of each of its parameters."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    try:
        size = ModelSize(**values)
        with torch.device("meta"):
            return size, {name: tuple(value.shape) for name, value in Recogniser(size).state_dict().items()}
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{path}: its sizes are not those of the network as it is now.") from None


def _values(
    arrays: Arrays, stored: StoredParameter, shape: tuple[int, ...], folder: Path
) -> NDArray[np.float32]:
    """One parameter, out of the form that it lies in."""
    from tongguocr.training.recogniser.quantise import restore_rows

    lying = shape[::-1] if stored.transposed else shape
    try:
        if stored.form == "plain":
            values = arrays[stored.initialiser]
        else:
            table, scale = (arrays[f"{stored.initialiser}_{part}"] for part in ("q", "scale"))
            values = restore_rows(table, scale, lying[1]) if stored.form == "rows" else table * scale
        values = values.reshape(lying).astype(np.float32)
    except (KeyError, ValueError, IndexError):
        raise InputError(f"{folder}: its graphs do not hold what they say they hold.") from None
    return np.ascontiguousarray(values.T if stored.transposed else values)


def _fill(size: ModelSize, state: dict[str, torch.Tensor], path: Path) -> Recogniser:
    model = Recogniser(size)
    try:
        model.load_state_dict(state)
    except RuntimeError:
        raise InputError(f"{path}: its parameters are not those of the network as it is now.") from None
    return model
