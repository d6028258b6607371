"""Degradation: what the block, time and the camera did to one page, as plain numbers.

A random generator comes in, a frozen `Degradation` goes out; both renderers read the same fields. Lengths are
shares of a character's em unless a field says otherwise, so that one `Degradation` means the same at every
resolution. Most pages are good library scans; few are in a bad state, and all stay legible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from tongguocr.training.synth.warp import Warp

Colour: TypeAlias = tuple[int, int, int]
Ground: TypeAlias = Literal["none", "black", "felt", "wood", "cloth"]
Film: TypeAlias = Literal["none", "grey", "binary"]


@dataclass(frozen=True, slots=True)
class Degradation:
    """How one page is degraded. The defaults are a perfect black impression on white paper."""

    # The block and its ink.
    spread: float = 0.0
    """How far ink runs beyond the cut edge, in em; negative for a thin, dry impression."""
    rounding: float = 0.0
    """Radius of worn corners, in em: the blur before the threshold that makes ink hard again."""
    roughness: float = 0.0
    """0 to 1: how ragged the edges of strokes are."""
    mottling: float = 0.0
    """0 to 1: how uneven the ink lies inside a stroke."""
    starvation: float = 0.0
    """0 to 1: how pale the ill-inked areas are, centimetres across."""
    broken: float = 0.0
    """0 to 1: nicks and gaps in strokes."""
    touching: float = 0.0
    """Extra spread in the heavily inked areas, in em: neighbours run together there."""
    grain: float = 0.0
    """0 to 1: the wood's grain showing through ink."""
    carving: float = 0.0
    """How far the knife strayed from the drawn stroke, in em: no two cuts of a character are alike."""
    cracks: int = 0
    """Straight cracks through the block: thin wavering lines without ink."""
    rule_waver: float = 0.0
    """How far rules and frame wander from straight, in em."""
    rule_gaps: float = 0.0
    """0 to 1: the share of the rules' length that did not print."""
    ink: Colour = (0, 0, 0)

    # The paper and its life.
    paper: Colour = (255, 255, 255)
    texture: float = 0.0
    """0 to 1: fibres, laid lines and mottling."""
    browning: float = 0.0
    """0 to 1: darker, yellower edges."""
    folds: int = 0
    """Creases where the leaf was once folded."""
    foxing: int = 0
    """Small brown spots."""
    stains: int = 0
    """Water stains with tide lines."""
    wormholes: int = 0
    """Winding holes that show the leaf behind or the dark."""
    bleed: float = 0.0
    """0 to 1: how strongly the other side's ink shows through."""
    seals: int = 0
    """Red seals, often over text."""
    large_seals: int = 0
    """A library's seals, of up to half of the page (clutter.py)."""
    seal_ink: Colour = (176, 42, 34)
    """Of the large seals."""
    stitched: int = 0
    """Sewn at the left edge, -1, or at the right one, 1."""
    slips: int = 0
    """Bar codes, shelf marks and colour charts that lie on the page, beside its text."""
    shadow: float = 0.0
    """0 to 1: depth of a shadow that falls on the page from one side."""

    # The camera.
    skew: float = 0.0
    """Degrees, counter-clockwise as seen."""
    perspective: tuple[float, float] = (0.0, 0.0)
    """How much larger the right and the lower edge look, as shares; see `Warp`."""
    curl: float = 0.0
    """Bend towards the binding, as a share of the page's height; positive at the right edge."""
    waver: float = 0.0
    """Cockled paper: shift in em."""
    binding: float = 0.0
    """-1 to 1: depth of the gutter's shadow, at the left edge if negative."""
    light: float = 0.0
    """0 to 1: how uneven the light is."""
    ground: Ground = "none"
    """What lies around the page in the photograph; none: the page fills the image."""
    facing: bool = False
    """A strip of the facing page beyond the binding (photographs only)."""
    ruler: bool = False
    chart: bool = False
    label: bool = False
    film: Film = "none"
    """Microfilm: grey and contrasty, or binarised."""
    grey: bool = False
    """A scan without colour."""
    resolution: float = 1.0
    """Share of the pixels' number each way that the camera really resolved."""
    blur: float = 0.0
    """Standard deviation in pixels."""
    noise: float = 0.0
    """Standard deviation in shares of full white."""
    jpeg: int = 0
    """Quality; 0 for none."""

    def warp(self, width: int, height: int, em: float, rng: np.random.Generator) -> Warp:
        """The camera's geometry over a page of this size, before any surroundings."""
        return Warp(
            width,
            height,
            rotation=float(np.deg2rad(self.skew)),
            perspective=self.perspective,
            curl=self.curl,
            waver=self.waver * em,
            phases=tuple(float(p) for p in rng.random(4)),
        )

    @property
    def cluttered(self) -> bool:
        """Whether anything lies on the page that clutter.py draws."""
        return bool(self.large_seals or self.stitched or self.slips or self.shadow)


NO_DEGRADATION = Degradation()

ROBUST_EM = 40.0
"""Characters of this many pixels bear any degradation that is sampled."""
LEAST_EM = 20.0
"""No camera resolves fewer pixels a character than this, unless the page has fewer."""

PAPERS: tuple[Colour, ...] = (
    (236, 232, 222),
    (228, 221, 203),
    (222, 212, 190),
    (214, 200, 168),
    (202, 186, 150),
    (196, 178, 140),
    (226, 214, 198),
    (240, 238, 234),
    (219, 216, 208),
)
"""Bamboo and mulberry papers as cameras see them, from fresh to brown."""
INKS: tuple[Colour, ...] = (
    (28, 26, 25),
    (38, 34, 31),
    (20, 20, 22),
    (52, 45, 40),
    (34, 36, 40),
    (66, 58, 52),
)
"""Soot inks: near black, warm or cool, some washed out."""


def sample_degradation(
    rng: np.random.Generator, severity: float = 1.0, photographed: bool = True
) -> Degradation:
    """A random page's degradation. `severity` scales all damage; not `photographed`: no surroundings."""
    state = float(rng.choice([0.25, 0.6, 1.0], p=[0.4, 0.42, 0.18])) * severity
    degradation = _impression(rng, state)
    degradation = _paper(rng, degradation, state)
    return _camera(rng, degradation, state, photographed)


def limit_for_size(degradation: Degradation, em: float, least_em: float = LEAST_EM) -> Degradation:
    """What characters of `em` pixels can bear and stay legible: small ones less than large ones.

    The camera resolves at least `least_em` pixels a character, if there are as many.
    """
    share = min(em / ROBUST_EM, 1.0)
    return replace(
        degradation,
        starvation=degradation.starvation * share,
        broken=degradation.broken * share,
        mottling=degradation.mottling * share,
        grain=degradation.grain * share,
        spread=max(degradation.spread, -0.012 * share**2),
        resolution=max(degradation.resolution, min(least_em / em, 1.0)),
        blur=min(degradation.blur, 0.03 * em),
    )


def _impression(rng: np.random.Generator, state: float) -> Degradation:
    def upto(limit: float) -> float:
        return float(rng.random() * limit * state)

    def sometimes(share: float, limit: float) -> float:
        return upto(limit) if rng.random() < share else 0.0

    return Degradation(
        spread=float(np.clip(rng.normal(0.006, 0.009), -0.01, 0.026)),
        rounding=0.006 + upto(0.016),
        roughness=0.15 + upto(0.6),
        mottling=0.08 + upto(0.6),
        starvation=sometimes(0.5, 0.7),
        broken=sometimes(0.5, 0.7),
        touching=sometimes(0.3, 0.03),
        grain=sometimes(0.3, 0.6),
        carving=0.004 + upto(0.014),
        cracks=int(rng.random() < 0.22 * state) * int(rng.integers(1, 3)),
        rule_waver=0.01 + upto(0.05),
        rule_gaps=sometimes(0.7, 0.4),
        ink=_pick(rng, INKS, 6),
    )


def _paper(rng: np.random.Generator, degradation: Degradation, state: float) -> Degradation:
    def count(share: float, most: int) -> int:
        return int(rng.integers(1, most + 1)) if rng.random() < share * state else 0

    bleeds = rng.random() < 0.35
    aged = min(state * 4, 1.0)
    return replace(
        degradation,
        paper=_pick(rng, PAPERS, 7),
        texture=0.25 + float(rng.random()) * 0.5,
        browning=float(rng.random()) * (0.25 * aged + 0.75 * state) if rng.random() < 0.7 else 0.0,
        folds=count(0.5, 2),
        foxing=count(0.25, 30),
        stains=count(0.28, 3),
        wormholes=count(0.3, 7),
        bleed=float(rng.random()) * 0.5 * state if bleeds else 0.0,
        seals=int(rng.choice([1, 2, 3], p=[0.7, 0.22, 0.08])) if rng.random() < 0.2 else 0,
    )


def _camera(
    rng: np.random.Generator, degradation: Degradation, state: float, photographed: bool
) -> Degradation:
    grounds: tuple[Ground, ...] = ("black", "felt", "wood", "cloth")
    photo = photographed and rng.random() < 0.3
    ground: Ground = grounds[rng.choice(4, p=[0.4, 0.35, 0.12, 0.13])] if photo else "none"
    film: Film = "binary" if rng.random() < 0.14 else "grey" if rng.random() < 0.1 else "none"
    if film != "none" and ground != "none":
        ground = "black"
    side = float(rng.choice([-1.0, 1.0]))
    bound = rng.random() < 0.4
    curled = rng.random() < 0.25
    tilt = rng.normal(0, 0.008 * state, 2) if photo else (0.0, 0.0)
    low = rng.random() < 0.2
    return replace(
        degradation,
        skew=float(np.clip(rng.normal(0, 0.7), -2.5, 2.5)),
        perspective=(float(np.clip(tilt[0], -0.03, 0.03)), float(np.clip(tilt[1], -0.03, 0.03))),
        curl=side * float(rng.random()) * 0.018 * state if curled else 0.0,
        waver=float(rng.random()) * 0.06 * state,
        binding=side * float(rng.random()) * 0.7 if bound else 0.0,
        light=float(rng.random()) * 0.5 if rng.random() < 0.6 else 0.0,
        ground=ground,
        facing=photo and bound and bool(rng.random() < 0.5),
        ruler=photo and film == "none" and bool(rng.random() < 0.3),
        chart=photo and film == "none" and bool(rng.random() < 0.25),
        label=photo and bool(rng.random() < 0.2),
        film=film,
        grey=bool(rng.random() < 0.15),
        resolution=float(rng.uniform(0.55, 0.9)) if low else 1.0,
        blur=float(abs(rng.normal(0, 0.55))),
        noise=float(rng.random()) ** 2 * 0.03,
        jpeg=int(rng.integers(45, 96)) if rng.random() < 0.7 else 0,
    )


def _pick(rng: np.random.Generator, colours: Sequence[Colour], sway: float) -> Colour:
    """One of the colours, a little off."""
    base = np.array(colours[int(rng.integers(len(colours)))], np.float64)
    r, g, b = np.clip(base + rng.normal(0, sway) + rng.normal(0, sway / 4, 3), 0, 255).round().tolist()
    return (int(r), int(g), int(b))
