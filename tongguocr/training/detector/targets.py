"""Labels -> what the maps should be, and how far they are from it: the losses.

The heat map is 1 where a character's centre is and falls off around it, the faster the smaller the character;
its loss is the penalty-reduced focal loss of CenterNet. Everything else is learned at the cells around each
centre, nearer ones counting more, so that a peak one cell astray still says the right thing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.layout.peaks import FIRST, HEAT, KIND, LAST, NEXT, SHIFT, SIZE, STRIDE, TURN, TYPICAL
from tongguocr.training.detector.paint import DOUBTFUL, Labels

SPREAD = 0.1
"""The heat's standard deviation, as a share of the character's size."""
NARROW, WIDE = 0.55, 2.5
"""The bounds of that deviation, in cells."""
REACH = 7
"""Cells each way in which a character warms the map: three times WIDE."""
RARE = (1.0, 1.0, 3.0, 3.0)
"""How much the kinds count: head notes and the fold are seldom seen."""
BLOT = int(DOUBTFUL[1] / STRIDE / 2) + 2
"""Cells each way in which a character that does not count blots the map out."""


@dataclass(frozen=True, slots=True)
class LossWeights:
    """How much each loss counts."""

    heat: float = 1.0
    size: float = 1.0
    shift: float = 0.5
    following: float = 1.0
    last: float = 1.0
    first: float = 1.0
    kind: float = 0.5
    turn: float = 0.3


def heat_map(labels: Labels, blocks: int, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """blocks x rows x columns twice: the heat, and 0 where it does not count, 1 elsewhere."""
    device = labels.boxes.device
    heat = torch.zeros(blocks * rows * columns, device=device)
    boxes, block = labels.boxes[labels.wanted] / STRIDE, labels.block[labels.wanted]
    x, y, cells, inside = _cells_around(boxes, block, rows, columns, REACH)
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    apart = (x - centre[:, 0, None].floor()) ** 2 + (y - centre[:, 1, None].floor()) ** 2
    warm = torch.exp(-apart / (2 * spread(boxes)[:, None] ** 2)) * inside
    heat.scatter_reduce_(0, cells.reshape(-1), warm.reshape(-1), "amax")
    counts = torch.ones(blocks * rows * columns, device=device)
    boxes, block = labels.boxes[labels.ignored] / STRIDE, labels.block[labels.ignored]
    x, y, cells, inside = _cells_around(boxes, block, rows, columns, BLOT)
    x0, y0, x1, y1 = (v[:, None] for v in boxes.unbind(1))
    under = (x + 0.5 > x0) & (x + 0.5 < x1) & (y + 0.5 > y0) & (y + 0.5 < y1) & inside
    counts.scatter_reduce_(0, cells.reshape(-1), (~under).float().reshape(-1), "amin")
    # A centre counts whatever lies over it.
    counts = torch.maximum(counts, (heat == 1).float())
    return heat.view(blocks, rows, columns), counts.view(blocks, rows, columns)


def spread(boxes: Tensor) -> Tensor:
    """The heat's standard deviation for boxes in cells."""
    size = (boxes[:, 2:] - boxes[:, :2]).prod(1).clamp(min=0).sqrt()
    return (SPREAD * size).clamp(NARROW, WIDE)


def _cells_around(
    boxes: Tensor, block: Tensor, rows: int, columns: int, reach: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """n x (2 reach + 1)^2: column, row and flat number of the cells around each box's middle; in the map?"""
    at = torch.arange(-reach, reach + 1, device=boxes.device)
    middle = ((boxes[:, :2] + boxes[:, 2:]) / 2).floor().long()
    x = (middle[:, 0, None, None] + at[None, None, :]).expand(-1, len(at), -1).flatten(1)
    y = (middle[:, 1, None, None] + at[None, :, None]).expand(-1, -1, len(at)).flatten(1)
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    flat = (block[:, None] * rows + y.clamp(0, rows - 1)) * columns + x.clamp(0, columns - 1)
    return x, y, flat, inside


def losses(maps: Tensor, labels: Labels, weights: LossWeights = LossWeights()) -> dict[str, Tensor]:
    """The losses of a batch of maps by name; `loss` is their weighted sum."""
    maps = maps.float()
    blocks, _, rows, columns = maps.shape
    heat, counts = heat_map(labels, blocks, rows, columns)
    found = {"heat": focal_loss(maps[:, HEAT], heat, counts)}
    boxes, block = labels.boxes[labels.wanted] / STRIDE, labels.block[labels.wanted]
    x, y, cells, inside = _cells_around(boxes, block, rows, columns, 1)
    said = maps.movedim(1, -1).reshape(-1, maps.shape[1])[cells]
    centre, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    shift = centre[:, None] - torch.stack([x, y], -1) - 0.5
    share = torch.exp(-(shift**2).sum(-1) / (2 * spread(boxes)[:, None] ** 2)) * inside
    # A turned page has only to be noticed: its lines are found once it stands upright.
    upright = share * (labels.turns[labels.wanted] == 0)[:, None]
    found["size"] = _mean(_apart(said[..., SIZE], (sides * (STRIDE / TYPICAL)).log()[:, None]), share)
    found["shift"] = _mean(_apart(said[..., SHIFT], shift), share)
    after = labels.following[labels.wanted]
    all_boxes = labels.boxes[after.clamp(min=0)] / STRIDE
    way = (all_boxes[:, :2] + all_boxes[:, 2:]) / 2 - centre
    way = way / sides.amax(1, keepdim=True)
    going_on = upright * (after >= 0)[:, None]
    found["following"] = _mean(_apart(said[..., NEXT], way[:, None]), going_on)
    led_to = torch.zeros_like(labels.wanted)
    led_to[labels.following[labels.following >= 0]] = True
    found["last"] = _mean(_doubt(said[..., LAST], after < 0), upright)
    found["first"] = _mean(_doubt(said[..., FIRST], ~led_to[labels.wanted]), upright)
    rare = torch.tensor(RARE, device=maps.device)
    found["kind"] = _mean(_mistaken(said[..., KIND], labels.kinds[labels.wanted], rare), upright)
    found["turn"] = _mean(_mistaken(said[..., TURN], labels.turns[labels.wanted]), share)
    total = sum((getattr(weights, name) * value for name, value in found.items()), maps.new_zeros(()))
    return {"loss": total, **found}


def focal_loss(logits: Tensor, heat: Tensor, counts: Tensor) -> Tensor:
    """Centres against all other cells; those near a centre are blamed less, easy ones hardly at all."""
    yes, no = F.logsigmoid(logits), F.logsigmoid(-logits)
    centres = heat == 1
    right = -((1 - yes.exp()) ** 2) * yes
    wrong = -(yes.exp() ** 2) * no * (1 - heat) ** 4
    return (torch.where(centres, right, wrong) * counts).sum() / centres.sum().clamp(min=1)


def _apart(said: Tensor, wanted: Tensor) -> Tensor:
    """How far two pairs of numbers are apart: quadratic when near, straight when far."""
    return F.smooth_l1_loss(said, wanted.expand_as(said), beta=0.1, reduction="none").sum(-1)


def _doubt(said: Tensor, wanted: Tensor) -> Tensor:
    """How wrong yes or no is, around each character."""
    return F.binary_cross_entropy_with_logits(said, wanted.float()[:, None].expand_as(said), reduction="none")


def _mistaken(said: Tensor, wanted: Tensor, weights: Tensor | None = None) -> Tensor:
    """How wrong a choice among classes is, around each character."""
    classes = wanted[:, None].expand(-1, said.shape[1])
    return F.cross_entropy(said.movedim(-1, 1), classes, weights, reduction="none")


def _mean(values: Tensor, share: Tensor) -> Tensor:
    return (values * share).sum() / share.sum().clamp(min=1)
