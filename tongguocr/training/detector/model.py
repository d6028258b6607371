"""The detector's network: grey pixels in, seventeen maps at a quarter of the resolution out.

A U of plain residual blocks: down to a thirty-second, where a character of 28 px and the columns beside it
are neighbours, and up again. Every convolution is followed by a batch norm, which export folds away; nothing
depends on the size of the image. `layout/peaks.py` says what the maps mean.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tongguocr.errors import InputError
from tongguocr.layout.peaks import CHANNELS, HEAT, STRIDE
from tongguocr.training.checkpoint import write_whole

FILE = "detector.pt"
"""The file of a run that has its best weights."""
DEEPEST = 8 * STRIDE
"""Sides of an image are multiples of this many pixels."""
RARE = -4.0
"""The heat before training: few cells hold a centre."""


@dataclass(frozen=True, slots=True)
class DetectorSize:
    """About 2.6 M parameters and 23,000 multiplications a pixel."""

    stem: int = 16
    """Channels at half the resolution."""
    widths: tuple[int, ...] = (48, 96, 160, 224)
    """Channels at a quarter, an eighth, a sixteenth and a thirty-second of the resolution."""
    inner: tuple[int, ...] = (48, 96, 48, 48)
    """Channels inside the blocks there."""
    down: tuple[int, ...] = (2, 2, 3, 4)
    """Blocks on the way down, at each resolution."""
    up: tuple[int, ...] = (1, 1, 2)
    """Blocks on the way up, at each resolution."""
    head: int = 64


class Convolution(nn.Sequential):
    """Convolution, batch norm and, unless a sum follows, a ReLU."""

    def __init__(self, inputs: int, outputs: int, side: int = 3, step: int = 1, active: bool = True) -> None:
        layers: list[nn.Module] = [
            nn.Conv2d(inputs, outputs, side, step, side // 2, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        super().__init__(*layers, *([nn.ReLU(inplace=True)] if active else []))


class Block(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first = Convolution(width, inner)
        self.second = Convolution(inner, width, active=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.second(self.first(x)))


def _blocks(count: int, width: int, inner: int) -> nn.Sequential:
    return nn.Sequential(*(Block(width, inner) for _ in range(count)))


class Detector(nn.Module):
    def __init__(self, size: DetectorSize = DetectorSize()) -> None:
        super().__init__()
        self.size = size
        widths, pairs = size.widths, list(zip(size.widths, size.widths[1:], strict=False))
        self.stem = nn.Sequential(
            Convolution(1, size.stem, step=2), Convolution(size.stem, widths[0], step=2)
        )
        self.down = nn.ModuleList(map(_blocks, size.down, widths, size.inner))
        self.shrink = nn.ModuleList(Convolution(a, b, step=2) for a, b in pairs)
        self.lift = nn.ModuleList(Convolution(b, a, side=1, active=False) for a, b in pairs)
        self.up = nn.ModuleList(map(_blocks, size.up, widths, size.inner))
        self.head = nn.Sequential(Convolution(widths[0], size.head), nn.Conv2d(size.head, CHANNELS, 1))
        bias = self.head[1].bias
        assert isinstance(bias, Tensor)
        with torch.no_grad():
            bias.zero_()
            bias[HEAT] = RARE

    def forward(self, image: Tensor) -> Tensor:
        """n x 1 x height x width from 0 to 1, sides multiples of DEEPEST -> n x CHANNELS x rows x columns."""
        x = self.stem(image * 2 - 1)
        seen: list[Tensor] = []
        for number, blocks in enumerate(self.down):
            x = blocks(self.shrink[number - 1](x) if number else x)
            seen.append(x)
        for number in reversed(range(len(self.up))):
            larger = F.interpolate(self.lift[number](x), scale_factor=2.0, mode="nearest")
            x = self.up[number](F.relu(larger + seen[number]))
        return self.head(x)


def save_detector(model: Detector, path: Path) -> None:
    """The weights and the sizes that they belong to, whole or not at all."""
    state = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    write_whole({"detector": asdict(model.size), "state": state}, path)


def is_detector(path: Path) -> bool:
    """Whether a file holds the detector's weights; what cannot be read holds nobody's."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        return isinstance(saved, dict) and "detector" in saved
    except Exception:  # a damaged file fails in the unpickler in any way it likes
        return False


def load_detector(path: Path) -> Detector:
    """What `save_detector` wrote, ready to find characters."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        model = Detector(DetectorSize(**saved["detector"]))
        model.load_state_dict(saved["state"])
    except Exception as error:  # a damaged file fails in the unpickler in any way it likes
        raise InputError(f"{path}: these are not weights of the detector ({error}).") from None
    return model.eval()
