"""Weights to begin a run with: a file that a run wrote, or the folder that `tongguocr export` made of one.

Exported weights have no batch norms any more: each is folded into the convolution before it. To go on with
training, `revive_norms` puts them back so that the network computes what it did, by what it sees on some
images. A network that was exported before characters had turns gets these maps anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.files import read_bytes
from tongguocr.layout.detect import FILE
from tongguocr.training.detector.model import Convolution, Detector, DetectorSize, load_detector
from tongguocr.weights import MANIFEST


def load_start(path: Path, images: Tensor) -> Detector:
    """The network to begin with; `images` (n x 1 x height x width, 0 to 1) are such as it will see."""
    if not path.is_dir():
        return load_detector(path)
    model = restore_folded(path).to(images.device)
    revive_norms(model, images)
    return model


def restore_folded(folder: Path) -> Detector:
    """The network of an exported folder: convolutions as stored, each one's bias in its batch norm."""
    import onnx
    from onnx import numpy_helper

    path = folder / FILE
    try:
        size = DetectorSize(**_tuples(json.loads(read_bytes(folder / MANIFEST))["detector"]))
        graph = onnx.load_model_from_string(read_bytes(path)).graph
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        model = Detector(size)
        with torch.no_grad():
            for name, module in model.named_modules():
                if isinstance(module, Convolution):
                    _fill(module[0], arrays, f"{name}.0")
                    _copy(module[1].bias, arrays[f"{name}.0.bias"])
            _fill(model.head[1], arrays, "head.1")
            _copy(model.head[1].bias, arrays["head.1.bias"])
    except (KeyError, TypeError, ValueError, onnx.checker.ValidationError):
        raise InputError(f"{path}: these are not weights of the detector as it is now.") from None
    return model


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


STORED = (("_q", "_scale"), (".steps", ".scale"))
"""What the names of bytes and their scales end with: now, and in the first release."""


def _fill(convolution: nn.Module, arrays: dict[str, NDArray[np.float32]], name: str) -> None:
    """Kernels as they are, where they are small, or out of bytes."""
    whole = arrays.get(f"{name}.weight")
    for values, scale in STORED if whole is None else ():
        if f"{name}.weight{values}" in arrays:
            whole = arrays[f"{name}.weight{values}"].astype(np.float32) * arrays[f"{name}.weight{scale}"]
    if whole is None:
        raise ValueError(f"there are no weights of {name}")
    _copy(convolution.weight, whole)


def _copy(parameter: Tensor | nn.Module, values: NDArray[np.float32]) -> None:
    """The first rows of a parameter; what the values lack is as at the beginning of a run."""
    assert isinstance(parameter, Tensor)
    if values.shape[1:] != parameter.shape[1:] or len(values) > len(parameter):
        raise ValueError("another shape")
    parameter[: len(values)] = torch.from_numpy(values.astype(np.float32))


@torch.no_grad()
def revive_norms(model: Detector, images: Tensor) -> None:
    """Give every batch norm the means and variances of these images, and undo them by its scale and bias."""

    def adopt(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(norm, nn.BatchNorm2d) and norm.running_mean is not None
        assert norm.running_var is not None
        variance, mean = torch.var_mean(inputs[0].float(), (0, 2, 3), correction=0)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias.add_(mean)

    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    handles = [norm.register_forward_pre_hook(adopt) for norm in norms]
    was_training = model.training
    model.eval()
    model(images)
    model.train(was_training)
    for handle in handles:
        handle.remove()
