"""What the windows of a detector's run are like: the table [recipe] of its stage file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowRecipe:
    """What the windows of a run are like; shares are of windows unless they say otherwise."""

    side: int = 768
    """A multiple of 32."""
    windows: int = 28
    """Painted windows of a batch."""
    real_pages: int = 4
    """Windows of a batch that are cut from real pages, where there are any."""
    size: tuple[float, float] = (14.0, 48.0)
    """Height of a typical character, in pixels."""
    real_lines: float = 0.15
    pictures: float = 0.1
    photographed: float = 0.4
    """Pages on a table; the others fill the image."""
    bare: float = 0.04
    """A table without any page."""
    covered: float = 0.06
    """A slip lies on the page."""
    slanting: float = 0.35
    """Windows that slant by up to `slant`; the others slant by less than 2.5 degrees."""
    slant: float = 4.5
    """Degrees either way."""
    inverted: float = 0.04
    """White on black, like rubbings and negatives."""
    apart: float = 0.2
    """Share of pages that are sure to have head notes or a fold, besides the usual share."""
    drawn_text: float = 0.15
    """Share of pages of characters drawn at random."""
    fresh: float = 0.3
    """Share of pages that are composed anew; the others have been in another window before."""
    sealed: float = 0.4
    """Windows that get one to three seals, besides those that degradation brings."""
    seals: int = 512
    """How many different seals there are."""
    scenes: int = 96
    """How many different tables there are, on which pages lie."""
    coarse: float = 0.2
    """Cut coarsely and scanned small (recogniser/recipe.py)."""
    cut: float = 0.1
    """The picture ends in the fold or the facing leaf (synth/cut_leaf.py)."""
    empty: float = 0.05
    """Share of pages without any text: paper, frame and rules alone."""
    sewn: float = 0.08
    """Share of pages that are sewn at an edge."""
    bitonal: float = 0.2
    """Scanned in black and white."""
    behind: float = 0.15
    """The other side's ink shows through."""
    turned: float = 0.1
    """On their side or upside down."""
    severity: float = 1.0
    """How badly windows are degraded: 1 is as in the benchmark."""
