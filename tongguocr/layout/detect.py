"""Pixels -> lines in reading order: `find_lines`, with our own detector or another behind one interface.

Ours looks at the page once, with the longer side reduced to 1,024 px, and once much smaller for the large
characters of titles. If the characters it finds are too small or too large to be told surely, it looks again
at the scale they need. Then characters are linked into lines, and the lines put in order. ONNX Runtime and
numpy alone; the weights are checked by their SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tongguocr.devices import AUTO, CPU
from tongguocr.errors import InputError
from tongguocr.geometry import clip
from tongguocr.layout.columns import number_columns
from tongguocr.layout.detection import Detection, LineDetector
from tongguocr.layout.faint import drop_faint
from tongguocr.layout.frame import WritingMode
from tongguocr.layout.link import drop_strays, link_characters, make_lines
from tongguocr.layout.notes import mend_kinds
from tongguocr.layout.order import order_lines
from tongguocr.layout.peaks import Characters, Floats, concatenate, find_peaks, without_echoes
from tongguocr.layout.polarity import is_white_on_black
from tongguocr.layout.rules import find_rules
from tongguocr.layout.skew import ENOUGH, LEAST_SKEW, skew_of
from tongguocr.layout.tiling import cut_tiles, is_blank, padded, to_grey
from tongguocr.page import Line, Page, Pixels, turn_page
from tongguocr.straight import as_read, as_scanned
from tongguocr.weights import MANIFEST, SHIPPED, open_session, read_checked, read_manifest

DETECTORS = ("tongguocr", "rapidocr")
FILE = "detector.onnx"
SHIPPED_DETECTOR = SHIPPED / "detector"
"""Where the detector's weights of the package lie."""

Network: TypeAlias = Callable[[Floats], Floats]
"""1 x 1 x height x width from 0 to 1 -> CHANNELS x rows x columns (peaks.py)."""


# Lengths are pixels of what the network sees.
FIRST_SIDE = 1024
"""The longer side at first."""
WANTED_SIZE = 28.0
"""The middle character when looked at again."""
ENLARGED_SIZE = 19.0
"""The same where the page has to be enlarged beyond its own pixels for it."""
GOOD_CHANGE = (0.7, 1.45)
"""No second look if it would be enlarged by no less and no more than this."""
LEAST_SIZE = 11.0
"""No second look only if the small characters, the lowest tenth, are not below this either."""
LARGEST_SIZE = 72.0
"""The large characters, the highest tenth, are kept below this."""
COARSE = 3.5
"""How much smaller the look for large characters is."""
FROM_COARSE = 22.0
"""From which size on the look for large characters counts."""
SPARSE = 0.03
"""If characters cover less of the page than this, most of them may be too small to be seen."""
LITTLE = 12.0
"""A reduced page is looked at again if its middle shows twice as much text and so many characters more."""
MOST_ENLARGED = 2.0
"""No page is enlarged more."""
TILE = 1280
TILE_OVERLAP = 192
THRESHOLD = 0.3
"""Characters with a lower score are not looked at."""
SURE = 0.5
"""Characters with a score below this have no say in the scale, nor in the page's turn."""
FEWEST_TURNED = 8
"""Fewer characters than this do not turn a page."""
TURNED_SHARE = 0.6
"""So many of the characters must say the same of a page's turn."""
AS_MUCH = 0.95
"""A page's skew is believed if this part of its text, by its scores, is found again upright."""


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """How a page is looked at."""

    reduced: float = 0.5
    """A page that is reduced to less than this is looked at closely in its middle."""
    most: float = 40_000_000
    """Pixels of one look."""


class CharacterDetector:
    """Our detector: characters by a network, lines by their links."""

    tells_kinds = True

    def __init__(self, network: Network, settings: DetectorSettings = DetectorSettings()) -> None:
        self.network, self.settings = network, settings

    def detect(self, pixels: Pixels) -> Detection:
        chars = self.find_characters(pixels)
        chains = link_characters(chars)
        height, width = pixels.shape[:2]
        lines = make_lines(chars, drop_strays(chars, chains, width, height))
        lines = tuple(_on_page(line, width, height) for line in lines)
        return Detection(drop_faint(lines, pixels), angle_of(chars), skew_of(chars, pixels))

    def find_characters(self, pixels: Pixels) -> Characters:
        """All characters, in page pixels, from the look that sees them best."""
        factor = self._bounded(pixels, FIRST_SIDE / max(pixels.shape[:2]), 1.0)
        chars = self._looks(pixels, factor)
        finer = factor
        while _covered(chars, pixels) < SPARSE or self._misses_small(pixels, chars, finer):
            finer, before = self._bounded(pixels, 2 * finer, 1.0), finer
            if finer < 1.2 * before:
                break
            more = self._looks(pixels, finer)
            if self._worth(more) > self._worth(chars):
                factor, chars = finer, more
        change = self._change(chars, factor)
        if change != 1.0:
            # Enlarged pixels tell nothing new: then characters need not be larger than can be told surely.
            wanted = change * factor
            wanted = max(wanted * ENLARGED_SIZE / WANTED_SIZE, 1.0) if wanted > 1 else wanted
            better = self._bounded(pixels, wanted, MOST_ENLARGED)
            if abs(np.log(better / factor)) > 0.1:
                chars = self._looks(pixels, better)
        return chars

    def _misses_small(self, pixels: Pixels, chars: Characters, factor: float) -> bool:
        """Whether the middle of a much reduced page shows far more text when it is looked at closely."""
        s = self.settings
        if factor >= s.reduced:
            return False
        half = round(FIRST_SIDE / (4 * factor))
        y, x = pixels.shape[0] // 2, pixels.shape[1] // 2
        top, left = max(y - half, 0), max(x - half, 0)
        here = (np.abs(chars.centres - (x, y)) < half).all(1)
        close = self._look(pixels[top : y + half, left : x + half], 2 * factor)
        return self._worth(without_echoes(close)) > 2 * self._worth(chars[here]) + LITTLE

    def _worth(self, chars: Characters) -> float:
        """How much text was found: characters that hang together, by their scores."""
        chains = link_characters(chars)
        return float(sum(chars.scores[chain].sum() for chain in chains if len(chain) > 2))

    def _bounded(self, pixels: Pixels, factor: float, most: float) -> float:
        """The scale within what is allowed: not larger than `most`, not too many pixels."""
        return float(min(factor, most, np.sqrt(self.settings.most / (pixels.shape[0] * pixels.shape[1]))))

    def _change(self, chars: Characters, factor: float) -> float:
        """How much larger the page should be looked at; 1 if it is well as it is."""
        chars = chars[chars.scores >= SURE]
        if not len(chars):
            return 1.0
        size = np.sqrt(chars.sides.prod(1)) * factor
        low, middle, high = np.percentile(size, [10, 50, 90])
        change = max(WANTED_SIZE / middle, 1.1 * LEAST_SIZE / low)
        change = min(change, max(LARGEST_SIZE / high, WANTED_SIZE / middle))
        return 1.0 if GOOD_CHANGE[0] <= change <= GOOD_CHANGE[1] and low >= LEAST_SIZE else float(change)

    def _looks(self, pixels: Pixels, factor: float) -> Characters:
        """What is seen at this scale, and large characters at a much smaller one."""
        fine = self._look(pixels, factor)
        small = factor / COARSE
        if max(pixels.shape[:2]) * small < 2 * FROM_COARSE:
            return without_echoes(fine)
        coarse = self._look(pixels, small)
        large = coarse[coarse.units * small >= FROM_COARSE]
        return without_echoes(concatenate([fine, large]))

    def _look(self, pixels: Pixels, factor: float) -> Characters:
        """Characters at one scale, tile by tile, in page pixels."""
        grey = to_grey(pixels, factor)
        found = []
        for tile in cut_tiles(grey.shape[1], grey.shape[0], TILE, TILE_OVERLAP):
            part = grey[tile.y0 : tile.y1, tile.x0 : tile.x1]
            if is_blank(part):
                continue
            chars = find_peaks(self.network(padded(part)), THRESHOLD).moved(1.0, tile.x0, tile.y0)
            x, y = chars.centres.T
            left, top, right, bottom = tile.core
            inside = (x >= left) & (x < right) & (y >= top) & (y < bottom)
            # The padding shows the edge again, and perhaps half of a character in it.
            inside &= (x < grey.shape[1]) & (y < grey.shape[0]) & (x >= 0) & (y >= 0)
            found.append(chars[inside])
        return concatenate(found).moved(pixels.shape[1] / grey.shape[1])


def angle_of(chars: Characters) -> int:
    """How far the picture must be turned clockwise for its characters to stand upright: as most of them say.

    Where few characters are seen or they do not agree, the picture stays as it is.
    """
    sure = chars[chars.scores >= SURE]
    if len(sure) < FEWEST_TURNED:
        return 0
    shares = np.bincount(sure.turns.argmax(1), minlength=4) / len(sure)
    quarters = int(shares.argmax())
    return (360 - 90 * quarters) % 360 if shares[quarters] >= TURNED_SHARE else 0


def _covered(chars: Characters, pixels: Pixels) -> float:
    """The share of the page that lies under characters, each by its score."""
    return float((chars.sides.prod(1) * chars.scores).sum()) / float(pixels.shape[0] * pixels.shape[1])


def _on_page(line: Line, width: int, height: int) -> Line:
    """The line without what lies beyond the page's edge."""
    polygon = line.polygon and tuple((min(max(x, 0), width), min(max(y, 0), height)) for x, y in line.polygon)
    chars = tuple(replace(char, box=clip(char.box, width, height)) for char in line.chars)
    return replace(line, box=clip(line.box, width, height), polygon=polygon, chars=chars)


def find_lines(
    page: Page, detector: LineDetector, direction: WritingMode | None = None, turn: bool = True
) -> Page:
    """The page with the lines that the detector finds, in reading order, numbered in it.

    Lines that the page had before are not looked at and not kept. A page that is white on black is looked at
    with both exchanged, and the result is `inverted`. With `turn`, a page that lies on its side or upside
    down is turned first, and one that leans is looked at upright: the result's `angle` and `skew` say so.
    """
    page, lines = _detect_upright(_as_unknown(page), detector, turn)
    found = replace(as_read(page), lines=mend_kinds(lines) if detector.tells_kinds else lines)
    rules = find_rules(found.pixels) if lines and found.pixels is not None else None
    ordered = order_lines(found, direction, keep_kinds=detector.tells_kinds, rules=rules)
    numbered = tuple(replace(line, id=f"l{k}") for k, line in enumerate(ordered.lines, start=1))
    return as_scanned(number_columns(replace(ordered, lines=numbered), direction), page)


def _as_unknown(page: Page) -> Page:
    """The page as if nothing had been found on it."""
    return replace(page, lines=(), skew=0.0, inverted=False, warnings=())


def _detect_upright(page: Page, detector: LineDetector, turn: bool) -> tuple[Page, tuple[Line, ...]]:
    """The page, knowing how it is to be read, and its lines there."""
    seen = _detect(page, detector)
    if page.pixels is not None and is_white_on_black(seen.lines, page.pixels):
        page = replace(page, inverted=True)
        seen = _detect(page, detector)
    if turn and seen.angle:
        # The turned page is not asked again how it lies.
        page = turn_page(page, seen.angle)
        seen = _detect(page, detector)
    if turn and abs(seen.skew) >= LEAST_SKEW:
        page, seen = _straighten(page, seen, detector)
    return page, seen.lines


def _straighten(page: Page, seen: Detection, detector: LineDetector) -> tuple[Page, Detection]:
    """The page with the skew that it is seen to have, unless less is seen of its text once that is undone."""
    skew = seen.skew
    for _ in range(2):
        leaning = replace(page, skew=round(skew, 2))
        better = _detect(leaning, detector)
        if _worth(better.lines) < AS_MUCH * _worth(seen.lines):
            break
        page, seen, skew = leaning, better, skew + better.skew
        # Where much leans, characters are missed, and the rest tell the angle less exactly.
        if abs(better.skew) < ENOUGH:
            break
    return page, seen


def _worth(lines: Sequence[Line]) -> float:
    """How much text was found, by how sure it is."""
    return sum((line.confidence or 0.0) * max(len(line.chars), 1) for line in lines)


def _detect(page: Page, detector: LineDetector) -> Detection:
    """What the detector finds on the page as it is read."""
    pixels = as_read(page).pixels
    if pixels is None:
        raise ValueError("lines are found in a page's pixels, and this page has none")
    return detector.detect(pixels)


def check_detector(name: str) -> None:
    """Refuse a name that no detector has."""
    if name not in DETECTORS:
        raise InputError(f"There is no detector {name!r}; take one of {', '.join(DETECTORS)}.")


def open_detector(
    name: str = "tongguocr", weights: Path | None = None, threads: int = 0, device: str = AUTO
) -> LineDetector:
    """A detector by its name; `threads` 0 means as many as there are cores."""
    check_detector(name)
    if name == "rapidocr":
        from tongguocr.layout.rapidocr import RapidocrDetector

        if device not in (AUTO, CPU):
            raise InputError(f"The detector rapidocr cannot be told to compute on {device}.")
        return RapidocrDetector(threads=threads)
    return CharacterDetector(load_network(weights or SHIPPED_DETECTOR, threads, device))


def load_network(folder: Path, threads: int = 0, device: str = AUTO) -> Network:
    """The network in a folder that `tongguocr export` wrote, once its SHA-256 is right."""
    path = folder / MANIFEST
    manifest = read_manifest(path)
    try:
        wanted = str(manifest["files"][FILE]["sha256"])
    except (KeyError, TypeError):
        raise InputError(f"{path}: these are not weights of the detector; they name no {FILE}.") from None
    session = open_session(read_checked(folder / FILE, wanted), folder / FILE, threads, device)

    def run(image: Floats) -> Floats:
        maps: Floats = session.run(None, {"image": image})[0][0]
        return maps

    return run
