"""Degradation of a batch as tensors: one `Degradation` a block comes in, a table and small shapes go out.

Everything small that is left to chance (how many holes, where a crack runs, which blocks show the other side)
is decided here, on the host, so that the device never has to be asked. Strengths mean what they mean on the
CPU; what the CPU draws with a pen (cracks, holes, spots) becomes strokes and dots for the painters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import erfc, hypot, sqrt
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from tongguocr.training.synth.composition import Mark, Stroke
from tongguocr.training.synth.degradation import Degradation, limit_for_size
from tongguocr.training.synth.gpu.fields import coarseness_of
from tongguocr.training.synth.gpu.pack import Group, mark_group, stroke_group
from tongguocr.training.synth.gpu.seals import draw_ink_seals

Extent: TypeAlias = tuple[int, int]
"""A canvas's width and height, in the order of x and y."""

SMALL = 4
"""Stains and spots are made at a quarter of the size."""
MAX_STAINS = 3
MIN_RESOLVED = 17.0
"""The camera resolves at least so many pixels a character."""


@dataclass(frozen=True, slots=True)
class DegradationBatch:
    """The degradation of every block of a batch, on the host or on a device."""

    names: tuple[str, ...]
    table: Tensor
    """names x blocks."""
    cracks: Group
    holes: Group
    foxing: Group
    """At 1 / SMALL of the size."""
    stains: Tensor
    """MAX_STAINS x 5 x blocks: x, y, radius, flatness, depth; depth 0 for none."""
    seals: Tensor
    """n x 10, see `draw_ink_seals`."""
    bleeding: Tensor
    """Which blocks show the other side."""
    coarse: Tensor
    """Which blocks the camera did not resolve."""

    def __getitem__(self, name: str) -> Tensor:
        """One number a block, shaped to scale blocks x height x width."""
        return self.table[self.names.index(name)][:, None, None]

    def flat(self, name: str) -> Tensor:
        """One number a block."""
        return self.table[self.names.index(name)]

    def to(self, device: torch.device | str) -> DegradationBatch:
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Group):
                changed[field.name] = replace(
                    value,
                    values=value.values.to(device, non_blocking=True),
                    block=value.block.to(device, non_blocking=True),
                )
            elif isinstance(value, Tensor):
                changed[field.name] = value.to(device, non_blocking=True)
        return replace(self, **changed)


def stack_degradations(
    degradations: Sequence[Degradation], ems: Sequence[float], height: int, width: int, seed: int
) -> DegradationBatch:
    """The degradation of a batch whose characters are `ems` pixels high on canvases of this size."""
    rng = np.random.default_rng([seed, 7])
    degradations = [
        limit_for_size(degradation, em, MIN_RESOLVED)
        for degradation, em in zip(degradations, ems, strict=True)
    ]
    rows = [_numbers(degradation, em, rng) for degradation, em in zip(degradations, ems, strict=True)]
    table = np.array([list(row.values()) for row in rows], np.float32).T
    pairs = list(enumerate(zip(degradations, ems, strict=True)))
    extent = (width, height)
    return DegradationBatch(
        names=tuple(rows[0]),
        table=torch.from_numpy(np.ascontiguousarray(table)),
        cracks=stroke_group(
            [(k, _crack(em, extent, rng)) for k, (w, em) in pairs for _ in range(w.cracks)], height, width
        ),
        holes=mark_group([(k, m) for k, (w, em) in pairs for m in _holes(w.wormholes, em, extent, rng)]),
        foxing=mark_group([(k, _spot(em, extent, rng)) for k, (w, em) in pairs for _ in range(w.foxing)]),
        stains=_stains(degradations, ems, extent, rng),
        seals=draw_ink_seals(degradations, ems, extent, rng),
        bleeding=_chosen([w.bleed > 0 for w in degradations]),
        coarse=_chosen([w.resolution < 1 for w in degradations]),
    )


def _chosen(flags: Sequence[bool]) -> Tensor:
    return torch.from_numpy(np.flatnonzero(flags))


def _numbers(degradation: Degradation, em: float, rng: np.random.Generator) -> dict[str, float]:
    """One block's row of the table: the strengths, and what can be worked out from them once."""
    sigma = max(
        hypot(degradation.rounding, 0.8 * max(abs(degradation.spread), degradation.touching)) * em, 0.35
    )
    base = _cut(degradation.spread * em, sigma)
    joined = _cut((degradation.spread + degradation.touching) * em, sigma)
    plain = ("roughness", "mottling", "starvation", "broken", "grain", "rule_gaps", "texture", "browning")
    flat = degradation.film == "binary"
    gain, lift = _film(degradation, rng)
    numbers: dict[str, float] = {name: getattr(degradation, name) for name in plain}
    numbers |= {f"ink{k}": v / 255 for k, v in enumerate(degradation.ink)}
    numbers |= {f"paper{k}": v / 255 for k, v in enumerate(degradation.paper)}
    numbers |= {f"phase{k}": 2 * np.pi * v for k, v in enumerate(rng.random(4))}
    return numbers | {
        "em": em,
        "sigma": sigma,
        "base": base,
        "touching": max(base - joined, 0.14) if degradation.touching else 0.0,
        "pressed": float(_is_pressed(degradation)),
        "rule_waver": degradation.rule_waver * em,
        # The noise along rules has a standard deviation of 0.85; below this value a rule is gone.
        "gap_floor": 0.85 * NormalDist().inv_cdf(min(max(degradation.rule_gaps, 1e-3), 0.9)),
        "bleed": degradation.bleed,
        "rotation": float(np.deg2rad(degradation.skew)),
        "tilt_x": degradation.perspective[0],
        "tilt_y": degradation.perspective[1],
        "curl": degradation.curl,
        "waver": degradation.waver * em,
        # A binary film is cut against the paper around, so light does not show in it.
        "binding": 0.0 if flat else degradation.binding,
        "light": 0.0 if flat else degradation.light,
        "light_angle": float(rng.random() * 2 * np.pi),
        "edge": float(rng.integers(0, 4)),
        "laid": float(rng.random() < 0.6),
        "laid_period": max(float(rng.uniform(0.06, 0.12)) * em, 2.5),
        "grey": float(degradation.grey or degradation.film != "none"),
        "gain": gain,
        "lift": lift,
        "resolution": degradation.resolution,
        "blur": degradation.blur,
        "noise": degradation.noise,
        "coarseness": coarseness_of(degradation.jpeg),
        "hole": float(
            0.09 if rng.random() < 0.3 else rng.uniform(0.78, 0.95) * np.mean(degradation.paper) / 255
        ),
    }


def _is_pressed(degradation: Degradation) -> bool:
    names = ("rounding", "spread", "touching", "roughness", "mottling", "starvation", "broken", "grain")
    return any(getattr(degradation, name) for name in names)


def _cut(shift: float, sigma: float) -> float:
    """The threshold that moves the edge of a blurred stroke outwards by `shift` pixels."""
    return float(np.clip(0.5 * erfc(shift / sigma / sqrt(2)), 0.2, 0.64))


def _film(degradation: Degradation, rng: np.random.Generator) -> tuple[float, float]:
    """The film's curve, as a straight line: how much it multiplies, what it adds."""
    weights = np.array([0.299, 0.587, 0.114]) / 255
    ink, paper = float(weights @ np.array(degradation.ink)), float(weights @ np.array(degradation.paper))
    if degradation.film == "grey":
        low, high = ink + 0.1 * (paper - ink), ink + rng.uniform(0.85, 1.0) * (paper - ink)
        gain = 0.93 / max(high - low, 0.05)
        return gain, 0.05 - low * gain
    if degradation.film == "binary":
        # Nearer to paper than to ink: hairlines are never quite black here, and a film keeps them.
        return 25.0, 0.5 - 25.0 * (ink + (0.66 + float(rng.normal(0, 0.04))) * (paper - ink))
    return 1.0, 0.0


def _crack(em: float, extent: Extent, rng: np.random.Generator) -> Stroke:
    """From edge to edge, more often across than down."""
    slope, at = float(rng.normal(0, 0.02)), float(rng.uniform(0.1, 0.9))
    thick = max(float(rng.uniform(0.03, 0.08)) * em, 1.2)
    width, height = extent
    if rng.random() < 0.7:
        return Stroke((0.0, at * height), (float(width), at * height + slope * width), thick)
    return Stroke((at * width, 0.0), (at * width + slope * height, float(height)), thick)


def _holes(count: int, em: float, extent: Extent, rng: np.random.Generator) -> list[Mark]:
    """Worms' ways: round holes and winding channels of overlapping dots, a few as wide as half a character. A
    block is a part of a page, so it gets about half of the page's."""
    dots = []
    for _ in range(int(rng.binomial(count, 0.5))):
        x, y = rng.random(2) * extent
        dots_of_one = int(rng.choice([1, 8, 20, 40], p=[0.35, 0.3, 0.25, 0.1]))
        wide = dots_of_one == 1 and rng.random() < 0.6
        radius, turn = em * rng.uniform(*((0.12, 0.25) if wide else (0.025, 0.07))), rng.random() * 6.3
        for _ in range(dots_of_one):
            dots.append(Mark((float(x), float(y)), float(radius * rng.uniform(0.75, 1.25)), "dot"))
            turn += rng.normal(0, 0.45)
            x, y = x + 1.1 * radius * np.cos(turn), y + 1.1 * radius * np.sin(turn)
    return dots


def _spot(em: float, extent: Extent, rng: np.random.Generator) -> Mark:
    x, y = rng.random(2) * extent / SMALL
    return Mark((float(x), float(y)), float(em / SMALL * rng.uniform(0.04, 0.28)), "dot")


def _stains(
    degradations: Sequence[Degradation], ems: Sequence[float], extent: Extent, rng: np.random.Generator
) -> Tensor:
    stains = np.zeros((MAX_STAINS, 5, len(degradations)), np.float32)
    stains[:, 2:4] = 1
    for k, (degradation, em) in enumerate(zip(degradations, ems, strict=True)):
        for j in range(min(degradation.stains, MAX_STAINS)):
            x = rng.choice([0.0, 1.0, rng.random()]) * extent[0]
            radius, flatness = rng.uniform(1.5, 6.0) * em, rng.uniform(0.6, 1.6)
            stains[j, :, k] = (x, rng.random() * extent[1], radius, flatness, rng.uniform(0.15, 0.5))
    return torch.from_numpy(stains[: max((w.stains for w in degradations), default=0)])
