"""A convolutional stem that has seen real ink: the backbone of PP-OCRv6 small, upright over whole blocks.

Image in, features at a stride of 16 across columns and 4 along them out. PP-OCRv6 (Apache-2.0) reads lines
that run from left to right, 48 px high; a column is such a line turned by a quarter, so the block is turned,
and its features are turned back. Normalisations are folded into the convolutions, and the three colours of
the first one into grey. The recogniser fine-tunes it with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tongguocr.errors import InputError

CHANNELS = (48, 96, 192, 384)
"""After the first convolution, and of the stages at strides of 4, 8 and 16 across a column."""
STAGES = (
    ((96, 96, 1, True),),
    ((96, 96, 1, False), (96, 96, 1, False)),
    ((96, 192, 2, False), *((192, 192, 1, k % 2 == 0) for k in range(6))),
    ((192, 384, 2, False), (384, 384, 1, True), (384, 384, 1, False)),
)
"""The blocks of each stage: channels in and out, stride across a column, whether gated."""
ALONG = 4
"""Features along a column that are joined into one."""
CONTRAST, BRIGHTNESS = 0.5, 0.4
"""From standardised grey to what PP-OCRv6 was trained on: paper at about 0.65, ink at -0.6."""
TINY = 1e-5
"""What its normalisations add to a variance."""
PREFIX = "model.backbone.encoder."


class Gate(nn.Module):
    """Channels weighted by what the whole picture has of them (squeeze and excitation)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.squeeze, self.excite = nn.Conv2d(width, width // 4, 1), nn.Conv2d(width // 4, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean((2, 3), keepdim=True)
        return x * F.hardsigmoid(self.excite(F.relu(self.squeeze(mean))))


class BackboneBlock(nn.Module):
    """A depthwise filter, perhaps gated, and a mix of channels."""

    def __init__(self, inner: int, outer: int, stride: int, gated: bool) -> None:
        super().__init__()
        self.spread = nn.Conv2d(inner, inner, 3, (stride, 1), 1, groups=inner)
        self.gate: nn.Module = Gate(inner) if gated else nn.Identity()
        self.up, self.down = nn.Conv2d(inner, 2 * inner, 1), nn.Conv2d(2 * inner, outer, 1)
        self.residual = inner == outer and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        x = self.gate(self.spread(x))
        mixed = self.down(F.gelu(self.up(x)))
        return x + mixed if self.residual else mixed


class Entry(nn.Module):
    """From pixels to a stride of 4, with a branch that keeps the darkest of neighbours."""

    def __init__(self) -> None:
        super().__init__()
        first, second = CHANNELS[:2]
        self.first = nn.Conv2d(1, first, 3, 2, 1)
        self.narrow, self.widen = nn.Conv2d(first, first // 2, 2), nn.Conv2d(first // 2, first, 2)
        self.merge, self.out = nn.Conv2d(2 * first, first, 3, 2, 1), nn.Conv2d(first, second, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(F.relu(self.first(x)), (0, 1, 0, 1))
        branch = F.relu(self.widen(F.pad(F.relu(self.narrow(x)), (0, 1, 0, 1))))
        x = torch.cat([F.max_pool2d(x, 2, 1), branch], 1)
        return F.relu(self.out(F.relu(self.merge(x))))


class Backbone(nn.Module):
    """Standardised grey, batch x 1 x height x width -> batch x 384 x height / 4 x width / 16, upright."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = Entry()
        self.stages = nn.Sequential(*(BackboneBlock(*shape) for stage in STAGES for shape in stage))

    def forward(self, image: Tensor) -> Tensor:
        lying = (image * CONTRAST + BRIGHTNESS).flip(3).transpose(2, 3)
        return self.stages(self.entry(lying)).transpose(2, 3).flip(3)


def load_backbone(network: nn.Module, path: Path) -> None:
    """Fill the backbone from PP-OCRv6 small's recogniser in safetensors."""
    from safetensors.torch import load_file

    if not isinstance(network, Backbone):
        raise InputError(f"{path}: the network that is trained has another stem: [model] backbone = true.")

    try:
        network.load_state_dict(fold(load_file(path)))
    except Exception as error:  # a damaged file fails in the library in any way it likes
        raise InputError(f"{path}: this is not the recogniser of PP-OCRv6 small ({error}).") from None


def fold(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """PP-OCRv6's parameters as those of `Backbone`: normalisations folded, colours taken together."""
    folded: dict[str, Tensor] = {}

    def take(ours: str, theirs: str) -> None:
        name = PREFIX + theirs
        if f"{name}.weight" in state:
            weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
        else:
            norm = f"{name}.normalization."
            scale = state[norm + "weight"] / (state[norm + "running_var"] + TINY).sqrt()
            weight = state[f"{name}.convolution.weight"] * scale[:, None, None, None]
            bias = state[norm + "bias"] - state[norm + "running_mean"] * scale
        folded[f"{ours}.weight"], folded[f"{ours}.bias"] = weight, bias

    names = ("first", "narrow", "widen", "merge", "out")
    for ours, theirs in zip(names, ("stem1", "stem2a", "stem2b", "stem3", "stem4"), strict=True):
        take(f"entry.{ours}", f"convolution.{theirs}")
    folded["entry.first.weight"] = folded["entry.first.weight"].sum(1, keepdim=True)
    number = 0
    for k, stage in enumerate(STAGES):
        for j, (_, _, _, gated) in enumerate(stage):
            ours, theirs = f"stages.{number}", f"blocks.{k}.blocks.{j}"
            take(f"{ours}.spread", f"{theirs}.token_conv")
            take(f"{ours}.up", f"{theirs}.channel_conv1")
            take(f"{ours}.down", f"{theirs}.channel_conv2")
            if gated:
                for part, at in (("squeeze", 0), ("excite", 2)):
                    take(f"{ours}.gate.{part}", f"{theirs}.token_squeeze_excitation.convolutions.{at}")
            number += 1
    return folded
