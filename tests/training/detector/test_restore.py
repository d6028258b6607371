"""Exported weights become a network that can be trained on, and computes what it did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tongguocr.errors import InputError
from tongguocr.layout.detect import load_network
from tongguocr.training.detector.export import export_detector
from tongguocr.training.detector.model import Detector, DetectorSize, save_detector
from tongguocr.training.detector.restore import load_start

TINY = DetectorSize(8, (16, 24, 24, 24), (16, 24, 16, 16), (1, 1, 1, 1), (1, 1, 1), 16)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported network whose batch norms are not those of the beginning."""
    torch.manual_seed(2)
    model = Detector(TINY)
    for norm in (module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)):
        torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
        torch.nn.init.uniform_(norm.bias, -0.2, 0.2)
    for _ in range(4):
        model(torch.rand(4, 1, 96, 96))
    folder = tmp_path_factory.mktemp("weights")
    export_detector(model.eval(), folder)
    save_detector(model, folder / "detector.pt")
    return folder


def test_it_computes_what_the_export_does(weights: Path) -> None:
    images = torch.rand(3, 1, 96, 96, generator=torch.Generator().manual_seed(5))
    model = load_start(weights, images).eval()
    run = load_network(weights)
    wanted = np.stack([run(image[None].numpy()) for image in images])
    with torch.no_grad():
        assert np.allclose(model(images).numpy(), wanted, atol=2e-3)
        # In training the norms take the batch's own figures, which are those that they were given.
        assert np.allclose(model.train()(images).numpy(), wanted, atol=5e-2)


def test_a_runs_own_file_is_taken_as_it_is(weights: Path) -> None:
    model = load_start(weights / "detector.pt", torch.rand(1, 1, 96, 96))
    saved = torch.load(weights / "detector.pt", weights_only=True)["state"]
    assert all(torch.equal(value, saved[name]) for name, value in model.state_dict().items())


def test_other_folders_are_refused(weights: Path, tmp_path: Path) -> None:
    for name in ("detector.onnx", "manifest.json"):
        (tmp_path / name).write_bytes((weights / name).read_bytes())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["detector"]["widths"] = [32, 24, 24, 24]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"detector\.onnx"):
        load_start(tmp_path, torch.rand(1, 1, 96, 96))
