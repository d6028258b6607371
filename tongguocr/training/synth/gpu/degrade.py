"""From clean ink to degraded images, for a batch of blocks on the GPU, and where the characters went.

The steps and their strengths are those of the CPU: the block's impression, the warp, paper and its life,
seals, light, then the camera. Three things differ. Noise has one scale for all blocks, that of characters of
about 36 pixels; a block has no surroundings, since it is cut out of its page; and a seal shows ink of another
block instead of a collector's name. JPEG is the real thing, rounded cosine coefficients, without subsampled
chroma.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from tongguocr.training.synth.gpu.degradation import SMALL, DegradationBatch
from tongguocr.training.synth.gpu.fields import (
    along_axes,
    blur,
    blurring,
    both_ways,
    coarsening,
    enlarge,
    jpeg,
    smooth_noise,
    step,
    working_type,
)
from tongguocr.training.synth.gpu.seals import press_ink
from tongguocr.training.synth.gpu.shapes import paint_marks, paint_strokes
from tongguocr.training.synth.gpu.warp import target, warp_layers

KEPT = 0.3
"""Share of the unblurred ink in what meets the threshold: hairlines survive the rounding."""
LUMA = (0.299, 0.587, 0.114)
BROWN = (0.16, 0.27, 0.45)
"""What age takes from red, green and blue."""
CINNABAR = (0.70, 0.21, 0.16)
_TO_YCC = ((0.299, 0.587, 0.114), (-0.1687, -0.3313, 0.5), (0.5, -0.4187, -0.0813))
_FROM_YCC = ((1.0, 0.0, 1.402), (1.0, -0.34414, -0.71414), (1.0, 1.772, 0.0))


@dataclass(frozen=True, slots=True)
class Ink:
    """What a batch prints, each blocks x height x width, from 0 to 1."""

    black: Tensor
    """Glyphs, real lines, frames, patches and printed marks."""
    rules: Tensor
    """Rules between columns: they vanish on their own."""
    red: Tensor

    @property
    def all_black(self) -> Tensor:
        return torch.maximum(self.black, self.rules)


@dataclass(frozen=True, slots=True)
class Rendered:
    """Degraded blocks and where their characters are."""

    images: Tensor
    """blocks x 1 or 3 x height x width, bytes."""
    points: Tensor
    """n x 2: the middle of every character of the batch after the warp, x and y in pixels."""
    of_block: Tensor
    """n: the block of each."""


def degrade(
    ink: Ink,
    middles: Tensor,
    of_block: Tensor,
    degradation: DegradationBatch,
    seed: int,
    colour: bool = False,
) -> Rendered:
    """Everything that time and the camera do; `middles` are the characters' on the flat blocks."""
    device, (height, width) = ink.black.device, ink.black.shape[-2:]
    generator = torch.Generator(device).manual_seed(seed)
    density = press(ink, degradation, generator)
    red = ink.red
    if len(degradation.seals) and len(middles):
        red = press_ink(red, degradation.seals, density, middles, of_block)
    seen = warp_layers(torch.stack([density.float(), red], 1), degradation).to(working_type(device))
    images = _on_paper(seen[:, 0], seen[:, 1], degradation, colour, generator)
    images = _photograph(images, degradation, generator)
    return Rendered(
        (images.clamp(0, 1) * 255).round().to(torch.uint8),
        target(middles, of_block, degradation, height, width),
        of_block,
    )


def press(ink: Ink, degradation: DegradationBatch, generator: torch.Generator) -> Tensor:
    """The density of printed ink: worn edges by a blur and a varying threshold, uneven tone inside."""
    c = _Strengths(degradation, working_type(ink.black.device))
    blocks, height, width = shape = ink.black.shape
    clean = torch.maximum(ink.black.to(c.dtype), ink.rules.to(c.dtype) * _rule_strength(c, shape, generator))
    soft = blur(clean, degradation.flat("sigma"))
    soft = soft * (1 - KEPT) + clean * KEPT
    fine = smooth_noise(blocks, height, width, 1.6, generator)
    pale = smooth_noise(blocks, height // 8, width // 8, sqrt(height * width) / 8 * 0.35, generator)
    starved = step(pale, 0.1, 1.6) * c["starvation"]
    level = c["base"] - c["touching"] * step(-pale, 0.2, 1.4) + 0.13 * starved
    level = enlarge(level, height, width, cubic=False)
    level += enlarge(0.14 * c["roughness"] + 0.2 * starved, height, width, cubic=False) * fine
    nicks = smooth_noise(blocks, height, width, 4.0, generator)
    rare = 2.3 - 0.8 * c["broken"]
    level += step(nicks, rare, rare + 0.8) * ((c["broken"] > 0).to(c.dtype) * 0.8)
    tone = _tone(c, soft, fine, step(pale, 0.0, 1.7), generator)
    level = level.clamp(min=0.12)
    # About one pixel from paper to ink, however wide the blur; but where there is no ink, none may print.
    gain = torch.maximum((c["sigma"] / 0.42).clamp(1.2, 6), 0.52 / level)
    printed = ((soft - level) * gain + 0.5).clamp(0, 1) * tone
    density = torch.where(c["pressed"] > 0, printed, clean)
    if len(degradation.cracks):
        gap = torch.zeros_like(ink.black)
        paint_strokes(gap, degradation.cracks, waver=degradation.flat("em") * 0.08)
        density = density * (1 - gap.to(c.dtype) * step(fine + 1.5, 0.0, 1.0))
    return density


class _Strengths:
    """DegradationBatch in the working type, shaped to scale blocks x height x width."""

    def __init__(self, degradation: DegradationBatch, dtype: torch.dtype) -> None:
        self.dtype, self._names = dtype, degradation.names
        self._table = degradation.table.to(dtype)

    def __getitem__(self, name: str) -> Tensor:
        return self._table[self._names.index(name)][:, None, None]


def _rule_strength(c: _Strengths, shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Ink along rules: uneven throughout, none in about `rule_gaps` of them."""
    gaps = c["rule_gaps"]
    blocks, height, width = shape
    level = smooth_noise(blocks, height, width, 18.0, generator)
    level += smooth_noise(blocks, height, width, 5.0, generator) * 0.6
    floor = c["gap_floor"]
    strength = ((level - floor) * 0.9 + 0.35).clamp(0, 1) * (level >= floor)
    return torch.where(gaps > 0, strength, torch.ones_like(gaps))


def _tone(c: _Strengths, soft: Tensor, fine: Tensor, pale: Tensor, generator: torch.Generator) -> Tensor:
    """How dark the ink is where there is any: blotches, starved centres, pale areas, the wood's grain."""
    blocks, height, width = soft.shape
    tone = smooth_noise(blocks, height, width, 8.0, generator) * 0.17
    tone += fine * 0.13
    tone += step(soft, 0.75, 1.0) * 0.18
    tone = (tone + 0.12) * c["mottling"]
    tone += enlarge(pale * c["starvation"] * 0.42, height, width, cubic=False)
    streaks = smooth_noise(blocks, height, width, (2.0, 60.0), generator)
    tone += step(streaks, 0.4, 2.0) * (0.55 * c["grain"])
    return (1 - tone).clamp(0.12, 1)


def _on_paper(
    density: Tensor, red: Tensor, degradation: DegradationBatch, colour: bool, generator: torch.Generator
) -> Tensor:
    """Ink on the aged sheet, perhaps on film, under uneven light: blocks x 1 or 3 x height x width."""
    c, shape = _Strengths(degradation, density.dtype), density.shape
    density = _with_other_side(density, degradation)
    texture, brown = _texture(c, shape, generator), _brown(degradation, c, shape, generator)
    light = _light(c, shape)
    holes = torch.zeros_like(density, dtype=torch.float32)
    paint_marks(holes, degradation.holes)
    holes = holes.to(c.dtype)
    planes = []
    for paper, ink, taken, cinnabar in zip(
        *(_channels(v, colour) for v in (_three(c, "paper"), _three(c, "ink"), BROWN, CINNABAR)), strict=True
    ):
        sheet = texture * (1 - brown * taken) * paper
        plane = (sheet + (ink - sheet) * density) * (1 - red * (1 - cinnabar))
        plane = plane + (c["hole"] - plane) * holes
        planes.append((plane * c["gain"] + c["lift"]).clamp(0, 1) * light)
    return torch.stack(planes, 1)


def _three(c: _Strengths, name: str) -> tuple[Tensor, ...]:
    return tuple(c[f"{name}{k}"] for k in range(3))


def _channels(values: tuple[Tensor, ...] | tuple[float, ...], colour: bool) -> list[Tensor | float]:
    """Red, green and blue, or their brightness alone."""
    if colour:
        return list(values)
    return [LUMA[0] * values[0] + LUMA[1] * values[1] + LUMA[2] * values[2]]


def _with_other_side(density: Tensor, degradation: DegradationBatch) -> Tensor:
    """The ink of another block, mirrored, blurred and faint, where this one has none."""
    if not len(degradation.bleeding):
        return density
    which = degradation.bleeding
    verso = density.roll(1, 0)[which].flip(-1).roll((17, -29), (-2, -1))
    sigma = (degradation.flat("em")[which] * 0.05).clamp(min=0.8)
    faint = blur(verso, sigma) * (0.55 * degradation["bleed"][which]).to(density.dtype)
    return density.index_copy(0, which, torch.maximum(density[which], faint))


def _texture(c: _Strengths, shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Light from the sheet's surface, about 1: clouds, pulp, laid lines."""
    blocks, height, width = shape
    light = smooth_noise(blocks, height, width, 58.0, generator) * 0.011
    light += smooth_noise(blocks, height, width, (3.6, 9.0), generator) * 0.014
    light += smooth_noise(blocks, height, width, 1.5, generator) * 0.018
    at = torch.arange(height, device=light.device)[None, :, None]
    laid = torch.sin(at * (6.2832 / c["laid_period"].float()) + c["phase0"].float()).to(c.dtype)
    light += laid * (c["laid"] * 0.008)
    return light * c["texture"] + 1


def _brown(
    degradation: DegradationBatch, c: _Strengths, shape: torch.Size, generator: torch.Generator
) -> Tensor:
    """How brown the sheet is: one browned edge, stains with their tide lines, foxing."""
    blocks, height, width = shape
    rows, columns = height // SMALL, width // SMALL
    y, x = _positions(rows, columns, c["edge"])
    edge, side = c["edge"], sqrt(rows * columns)
    away = torch.where(edge < 3, columns - x, rows - y)
    away = torch.where(edge < 1, x, torch.where(edge < 2, y, away)) / side
    cloud = smooth_noise(blocks, rows, columns, side / 6, generator)
    brown = (torch.exp(-away * 9) * (0.6 + 0.24 * cloud) + 0.12 * cloud + 0.1).clamp(0, 1) * c["browning"]
    for stain in degradation.stains.unbind(0):
        brown = torch.maximum(brown, _stain(stain, cloud, generator))
    if len(degradation.foxing):
        spots = torch.zeros(blocks, rows, columns, device=generator.device)
        paint_marks(spots, degradation.foxing)
        brown = brown + 0.4 * spots.to(c.dtype)
    return enlarge(brown.clamp(0, 1.2), height, width, cubic=False)


def _positions(rows: int, columns: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """The middles of pixels, 1 x rows x 1 and 1 x 1 x columns."""
    down, across = (torch.arange(n, device=like.device, dtype=like.dtype) + 0.5 for n in (rows, columns))
    return down[None, :, None], across[None, None, :]


def _stain(stain: Tensor, cloud: Tensor, generator: torch.Generator) -> Tensor:
    """A water stain in each block: faintly brown inside, darker at its ragged edge."""
    x, y, radius, flatness, depth = (v[:, None, None] for v in stain.unbind(0))
    blocks, rows, columns = cloud.shape
    down, across = _positions(rows, columns, stain)
    away = torch.hypot(across * SMALL - x, (down * SMALL - y) * flatness) / radius
    rough = smooth_noise(blocks, rows, columns, sqrt(rows * columns) / 40, generator)
    away = away.clamp(max=9).to(cloud.dtype) + 0.13 * cloud + 0.03 * rough
    tide = torch.exp(-(((away - 0.95).clamp(-0.4, 0.4) / 0.05) ** 2))
    return (step(-away, -1.0, -0.85) * 0.7 + tide) * depth.to(cloud.dtype)


def _light(c: _Strengths, shape: torch.Size) -> Tensor:
    """A slope in the lamp's direction, and the shadow of the binding."""
    _, height, width = shape
    rows, columns = height // 8, width // 8
    y, x = _positions(rows, columns, c["light"])
    y, x = y * (2 / rows) - 1, x * (2 / columns) - 1
    slope = (x * torch.cos(c["light_angle"]) + y * torch.sin(c["light_angle"])) / 1.4
    binding = c["binding"]
    away = (1 - torch.sign(binding) * x) * (width / 2) / c["em"]
    shadow = (0.6 * torch.exp(-away / 0.9) + 0.25 * torch.exp(-away / 3)) * binding.abs()
    return enlarge((1 - 0.225 * c["light"] * (1 - slope)) * (1 - shadow), height, width)


def _photograph(images: Tensor, degradation: DegradationBatch, generator: torch.Generator) -> Tensor:
    """Resolution, blur, noise, JPEG."""
    blocks, channels, height, width = images.shape
    c = _Strengths(degradation, images.dtype)
    images = both_ways(
        *along_axes(lambda size: _lens(degradation, size, images.dtype), height, width), images
    )
    grain = torch.randn(
        blocks, 1, height, width, generator=generator, device=generator.device, dtype=images.dtype
    )
    images = (images + grain * c["noise"][:, None]).clamp(0, 1)
    if channels == 1:
        return jpeg(images, degradation.flat("coarseness"))
    planes = _mixed(images, _TO_YCC)
    planes = torch.cat([planes[:, :1], planes[:, 1:] * (1 - c["grey"][:, None]) + 0.5], 1)
    planes = jpeg(planes, degradation.flat("coarseness"))
    return _mixed(torch.cat([planes[:, :1], planes[:, 1:] - 0.5], 1), _FROM_YCC)


def _lens(degradation: DegradationBatch, size: int, dtype: torch.dtype) -> Tensor:
    """Matrices (blocks x size x size): blur, then what the sensor resolved along one axis."""
    lens = blurring(degradation.flat("blur"), size, dtype)
    if not len(degradation.coarse):
        return lens
    which = degradation.coarse
    sensor = coarsening(degradation.flat("resolution")[which], size, dtype)
    return lens.index_copy(0, which, sensor @ lens[which])


def _mixed(images: Tensor, rows: tuple[tuple[float, float, float], ...]) -> Tensor:
    planes = images.unbind(1)
    return torch.stack([planes[0] * a + planes[1] * b + planes[2] * c for a, b, c in rows], 1)
