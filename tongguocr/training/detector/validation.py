"""Validation: windows of faces and texts that training never sees, and whole real pages held out.

In: a network. Out: how many characters are found (F1, the centre inside the box), how many of those found are
followed by the right one, how many have the right kind, and of windows turned by quarters how many are
noticed. Peaks and links are read off the maps by the very
code that does so for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tongguocr.engines.torch_devices import is_half
from tongguocr.layout.link import link_characters
from tongguocr.layout.peaks import Characters, Flags, Floats, Ints, find_peaks, without_echoes
from tongguocr.training.detector.feed import Source
from tongguocr.training.detector.model import Detector
from tongguocr.training.detector.paint import Labels, PageStore, Painter, to_device
from tongguocr.training.detector.placing import typical_size
from tongguocr.training.detector.real_pages import RealPage
from tongguocr.training.synth.gpu.lines import LineStore

BATCHES = 2
PAGE_SIDE = 1024
PAGE_SIZE = 28.0
"""Pixels of a typical character on a real page, as when the detector reads."""
THRESHOLD = 0.3
FEWEST = 12
"""Characters that a window must have for its turn to count."""
LINE_PAGES = 40
"""So many held-out pages with lines are looked at, evenly out of all."""
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Images and the labels of their characters."""

    images: Tensor
    """n x 1 x height x width, bytes."""
    labels: Labels


@dataclass
class Tally:
    """Counts over images."""

    found: int = 0
    extra: int = 0
    missed: int = 0
    linked: int = 0
    right_kind: int = 0

    def figures(self, prefix: str) -> dict[str, float]:
        f1 = 2 * self.found / max(2 * self.found + self.extra + self.missed, 1)
        both = max(self.found, 1)
        return {
            f"{prefix}F1": round(f1, 4),
            f"{prefix}recall": round(self.found / max(self.found + self.missed, 1), 4),
            f"{prefix}links": round(self.linked / both, 4),
            f"{prefix}kinds": round(self.right_kind / both, 4),
        }


@dataclass(frozen=True, slots=True)
class Validator:
    """Finds characters on the validation sets and counts what is right."""

    synthetic: tuple[ValidationSet, ...]
    real: tuple[ValidationSet, ...]
    lines: tuple[ValidationSet, ...]
    """Pages with labelled lines."""

    @staticmethod
    def prepare(source: Source, painter: Painter, device: torch.device) -> Validator:
        """Paint the sets once, so that every validation of a run sees the same."""
        held = source.data.held_out_lines
        store = LineStore.load(held, device) if held is not None and len(held) else None
        other = replace(painter, lines=store, pages=None)
        maker = source.maker(77, held_out=True)
        maker.recipe = replace(maker.recipe, turned=0.0)
        batches = maker.batches()
        drawn = [other.paint(to_device(next(batches), device)) for _ in range(BATCHES)]
        return Validator(
            tuple(ValidationSet((images * 255).byte(), labels) for images, labels in drawn),
            real_validation_sets(source.held_out_pages, device),
            real_validation_sets(_some(source.held_out_line_pages), device),
        )

    def validate(self, model: Detector) -> dict[str, float]:
        """Figures of a model as it is now; `score` is what checkpoints are chosen by."""
        model.eval()
        figures: dict[str, float] = {}
        for prefix, sets in (("", self.synthetic), ("real ", self.real), ("lines ", self.lines)):
            tally = Tally()
            for one in sets:
                count_found(model, one, tally)
            if sets:
                figures |= tally.figures(prefix)
        figures["turns"] = round(float(np.mean([count_turns(model, one) for one in self.synthetic])), 4)
        model.train()
        chosen = [value for name, value in figures.items() if name.endswith(("F1", "links"))]
        return {"score": round(float(np.mean(chosen)), 4), **figures}


@torch.no_grad()
def real_validation_sets(pages: Sequence[RealPage], device: torch.device) -> tuple[ValidationSet, ...]:
    """Whole pages on a light ground; none where there are no pages."""
    if not pages:
        return ()
    rows = [
        (k, PAGE_SIZE / typical_size(page.boxes[~page.ignored]), 0.0, *_middle(page), 0.95)
        for k, page in enumerate(pages)
    ]
    images, labels = PageStore.load(pages, device).show(torch.tensor(rows, device=device), PAGE_SIDE)
    return (ValidationSet((images * 255).byte(), labels),)


def _some(pages: Sequence[RealPage]) -> Sequence[RealPage]:
    return pages[:: max(len(pages) // LINE_PAGES, 1)]


def _middle(page: RealPage) -> tuple[float, float]:
    return page.pixels.shape[1] / 2, page.pixels.shape[0] / 2


@torch.no_grad()
def count_turns(model: Detector, one: ValidationSet) -> float:
    """The share of windows with text whose turn most characters tell, at all four turns."""
    right, count = 0, 0
    for quarters in range(4):
        images = torch.rot90(one.images, -quarters, (2, 3))
        for start in range(0, len(images), AT_ONCE):
            maps = model(images[start : start + AT_ONCE].float() / 255).float().cpu().numpy()
            found = [find_peaks(each, THRESHOLD) for each in maps]
            told = [chars.turns.sum(0).argmax() for chars in found if len(chars) >= FEWEST]
            right, count = right + sum(int(turn == quarters) for turn in told), count + len(told)
    return right / max(count, 1)


@torch.no_grad()
def count_found(model: Detector, one: ValidationSet, tally: Tally) -> None:
    """Count what a model finds in the images of a validation set."""
    for start in range(0, len(one.images), AT_ONCE):
        images = one.images[start : start + AT_ONCE].float() / 255
        with torch.autocast(images.device.type, torch.bfloat16, enabled=is_half(images.device)):
            maps = model(images).float().cpu().numpy()
        for k, each in enumerate(maps):
            chars = without_echoes(find_peaks(each, THRESHOLD))
            compare(chars, one.labels, start + k, tally)


def compare(chars: Characters, labels: Labels, block: int, tally: Tally) -> None:
    """Count what was found in one image."""
    here = torch.nonzero(labels.block == block)[:, 0].cpu().numpy()
    if not len(here):
        tally.extra += len(chars)
        return
    boxes, after, kinds, wanted, ignored = (
        part.cpu().numpy()[here]
        for part in (labels.boxes, labels.following, labels.kinds, labels.wanted, labels.ignored)
    )
    match = match_centres(chars.centres, boxes, wanted)
    found = np.flatnonzero(match >= 0)
    spare = np.setdiff1d(np.arange(len(chars)), match[found])
    excused = _inside_any(chars.centres[spare], boxes[ignored])
    tally.found += len(found)
    tally.missed += int(wanted.sum()) - len(found)
    tally.extra += int((~excused).sum())
    next_of = np.full(len(chars) + 1, -1, np.int64)
    for chain in link_characters(chars):
        next_of[chain[:-1]] = chain[1:]
    partner = np.where(after >= 0, match[np.maximum(after - here[0], 0)], -1)
    tally.linked += int((next_of[match[found]] == partner[found]).sum())
    tally.right_kind += int((chars.kinds[match[found]].argmax(1) == kinds[found]).sum())


def match_centres(centres: Floats, boxes: Floats, wanted: Flags) -> Ints:
    """For each wanted box the character whose centre lies in it, one to one, nearest first; else -1."""
    match = np.full(len(boxes), -1, np.int64)
    if not len(centres):
        return match
    point = centres[None]
    inside = ((point >= boxes[:, None, :2]) & (point < boxes[:, None, 2:])).all(2) & wanted[:, None]
    rows, columns = np.nonzero(inside)
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    away = np.linalg.norm(middle[rows] - centres[columns], axis=1)
    taken = np.zeros(len(centres), np.bool_)
    for k in np.argsort(away, kind="stable"):
        if match[rows[k]] < 0 and not taken[columns[k]]:
            match[rows[k]] = columns[k]
            taken[columns[k]] = True
    return match


def _inside_any(points: Floats, boxes: Floats) -> Flags:
    inside = (points[:, None] >= boxes[None, :, :2]) & (points[:, None] < boxes[None, :, 2:])
    return np.asarray(np.any(np.all(inside, axis=2), axis=1))
