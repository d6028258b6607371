"""A trained `Detector` -> the folder that `tongguocr.layout.detect` reads: one ONNX file and a manifest.

Batch norms are folded into the convolutions before them. Kernels are stored in 8 bits (quantise.py) and
become floats again when the file is loaded: a quarter as large, it computes in single precision as before.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from typing import cast

import onnx
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from tongguocr.files import make_folder, write_bytes
from tongguocr.layout.detect import FILE
from tongguocr.layout.peaks import STRIDE
from tongguocr.training.detector.model import DEEPEST, Convolution, Detector
from tongguocr.training.recogniser.export import to_graph
from tongguocr.training.recogniser.quantise import quantise
from tongguocr.weights import FORMAT, MANIFEST, VERSION, sha256


def export_detector(model: Detector, folder: Path) -> None:
    """Write the files into a folder, which is made if need be."""
    graph = quantise(make_graph(model))
    onnx.checker.check_model(graph)
    make_folder(folder)
    write_bytes(graph.SerializeToString(), folder / FILE)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "stride": STRIDE,
        "detector": asdict(model.size),
        "files": {FILE: {"sha256": sha256(folder / FILE), "bytes": (folder / FILE).stat().st_size}},
    }
    write_bytes((json.dumps(manifest, indent=2) + "\n").encode(), folder / MANIFEST)


def make_graph(model: Detector) -> onnx.ModelProto:
    """The network for one image of any size, in single precision."""
    model = folded(model)
    rows, columns = (DEEPEST * torch.export.Dim(name, min=1, max=4096) for name in ("rows", "columns"))
    image = torch.zeros(1, 1, 3 * DEEPEST, 4 * DEEPEST)
    return to_graph(model, (image,), {"image": {2: rows, 3: columns}}, ["image"], ["maps"])


def folded(model: Detector) -> Detector:
    """A copy without batch norms: each is part of the convolution before it."""
    model = copy.deepcopy(model).cpu().float().eval()
    for module in model.modules():
        if isinstance(module, Convolution):
            module[0] = fuse_conv_bn_eval(cast(nn.Conv2d, module[0]), cast(nn.BatchNorm2d, module[1]))
            module[1] = nn.Identity()
    return model
