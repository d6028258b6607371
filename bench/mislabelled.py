"""Which labels of line images are not what the image shows: lines and a peer's readings in, numbers out.

Three signs, none of which looks at what the measured engine reads:

- `unread`: the label has a question mark. Whoever wrote it could not read that character.
- `shape`: the image is longer or shorter by more than `MISFIT` characters than its label asks for, at the
  pitch of its page's lines. Circles that labels leave out are counted in.
- `swapped`: the label belongs to another line. A peer reads at least `LEAST` characters that share next to
  nothing with the label (`STRANGE`), and they resemble another label of the same page (`ALIKE`); or the page
  has at least `PROVEN` such lines, so that its labels are strewn, and the line's own may not be in the table.

A peer that merely reads badly proves nothing: short notes of which it gets no character right are kept. Signs
are told apart: a line counts under the first that it shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from rapidfuzz import fuzz

from tongguocr.page import Pixels
from tongguocr.training.synth.real_ink import characters, make_line, page_of

LabelledLine: TypeAlias = tuple[str, str, Pixels]
"""File name, text and grey image."""

MISFIT = 4.0
"""More than any right label misses by: lines with a gap of three characters are among them."""
LEAST = 4
STRANGE = 0.3
ALIKE = 0.5
PROVEN = 3
SIGNS = ("unread", "shape", "swapped")


def find_mislabelled(
    lines: Sequence[LabelledLine], peer: Sequence[str], labels: Mapping[str, str]
) -> dict[str, set[int]]:
    """For each sign the numbers of its lines; `labels` has the texts by file name, of more lines perhaps."""
    found = {"unread": find_unread(lines), "shape": find_misfits(lines)}
    found["swapped"] = find_swapped(lines, peer, labels)
    seen = set[int]()
    for sign in SIGNS:
        found[sign] -= seen
        seen |= found[sign]
    return found


def find_unread(lines: Sequence[LabelledLine]) -> set[int]:
    return {k for k, (_, text, _) in enumerate(lines) if "?" in text}


def find_misfits(lines: Sequence[LabelledLine]) -> set[int]:
    """Lines whose length does not fit the number of their characters."""
    counts = [len(characters(make_line(*line).text)) for line in lines]
    lengths = [max(pixels.shape) for _, _, pixels in lines]
    pages = defaultdict[str, list[int]](list)
    for k, (name, _, _) in enumerate(lines):
        pages[page_of(name)].append(k)
    found = set[int]()
    for page in pages.values():
        pitch = typical_pitch([lengths[k] for k in page], [counts[k] for k in page])
        found |= {k for k in page if abs(lengths[k] / pitch - counts[k]) > MISFIT}
    return found


def typical_pitch(lengths: Sequence[int], counts: Sequence[int]) -> float:
    """Pixels a character: the median over lines, long ones weighing more, since margins spoil short ones."""
    pitches = np.array(lengths) / np.array(counts)
    order = np.argsort(pitches)
    reach = np.cumsum(np.array(lengths)[order])
    return float(pitches[order][np.searchsorted(reach, reach[-1] / 2)])


def find_swapped(lines: Sequence[LabelledLine], peer: Sequence[str], labels: Mapping[str, str]) -> set[int]:
    """Lines whose labels belong to others."""
    others = defaultdict[str, dict[str, str]](dict)
    for name, text in labels.items():
        others[page_of(name)][name] = text
    strange, proven = set[int](), set[int]()
    for k, ((name, text, _), read) in enumerate(zip(lines, peer, strict=True)):
        if len(read) < LEAST or alike(read, text) >= STRANGE:
            continue
        strange.add(k)
        if any(alike(read, t) >= ALIKE for other, t in others[page_of(name)].items() if other != name):
            proven.add(k)
    strewn = Counter(page_of(lines[k][0]) for k in proven)
    return proven | {k for k in strange if strewn[page_of(lines[k][0])] >= PROVEN}


def alike(a: str, b: str) -> float:
    """1 for the same text, 0 where no character is shared."""
    return fuzz.ratio(a, b) / 100
