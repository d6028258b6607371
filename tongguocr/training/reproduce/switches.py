"""Both readings of what the paper leaves open, as one dataclass; docs/reproduce.md gives the reasons.

The first value named is the default: the one that the paper's words are nearer to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from tongguocr.evaluate.protocols import PROTOCOLS


@dataclass(frozen=True, slots=True)
class Switches:
    """How the paper is read where it can be read in two ways."""

    chain: Literal["last", "all"] = "last"
    """Tables 5 to 8 are trained by stage 3 alone, or by all three stages without HisDoc1B."""
    lambdas: Literal["both", "reading"] = "both"
    """Table 6 cuts pages by a row's weights in training and in reading, or in reading alone."""
    canvas: Literal["square", "trained"] = "square"
    """Blocks are read on the square canvas of section 3.1.3 by every model, or as the model was trained."""
    side: Literal["same", "trained"] = "same"
    """All rows read at the last stage's resolution, or each at that of its own last stage."""
    lines: Literal["found", "given"] = "found"
    """Lines of test pages are found by the layout module, as in the paper, or the annotated ones."""
    guard: Literal["off", "on"] = "off"
    """A model writes until it ends by itself, or is stopped at a circle and read again in parts (ours)."""
    protocol: str = "paper"
    """How figures are computed (docs/metrics.md)."""

    def __post_init__(self) -> None:
        for name, choices in choices_of(Switches).items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {' or '.join(choices)}")
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol is one of {', '.join(PROTOCOLS)}")

    def differing(self) -> str:
        """Those that are not as by default, in words."""
        usual = Switches()
        named = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{name} {value}" for name, value in named if value != getattr(usual, name))


def choices_of(cls: type[Any]) -> dict[str, tuple[str, ...]]:
    """The switches that have a few values, and which."""
    return {name: get_args(hint) for name, hint in get_type_hints(cls).items() if get_args(hint)}
