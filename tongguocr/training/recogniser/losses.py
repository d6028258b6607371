"""What a batch says of the model: three losses.

The paper's next-token loss over the target; a dense one that classifies the features at each character's
place; and one that teaches the pointer where the next character lies. Some input tokens and places are wrong
on purpose, so that the decoder trusts the page and not its own memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.engines.torch_devices import is_half
from tongguocr.training.recogniser.block_feed import Painted
from tongguocr.training.recogniser.blocks import IGNORED, NO_PLACE, Targets
from tongguocr.training.recogniser.model import NOWHERE, STRIDE, EncodedImage, Recogniser
from tongguocr.training.run import LossMean, Run


class Losses(NamedTuple):
    """What a batch says of the model."""

    text: Tensor
    dense: Tensor
    pointer: Tensor
    right: Tensor
    """The share of tokens that were right."""


Forward: TypeAlias = Callable[[Tensor, Tensor, Tensor], tuple[EncodedImage, Tensor, Tensor]]
"""The model, or what calls it where several processes train it together."""


def losses(
    model: Recogniser,
    work: Targets,
    painted: Painted,
    run: Run,
    bos: int,
    device: torch.device,
    forward: Forward | None = None,
) -> Losses:
    """The losses of one batch, and how much was right; `forward` stands in for calling the model."""
    images, points, of_block = painted
    grid = images.shape[-2] // STRIDE, images.shape[-1] // STRIDE
    tokens, points = work.tokens, points / STRIDE
    given = torch.cat([torch.full_like(tokens[:, :1], bos), tokens[:, :-1]], 1)
    given = corrupt(given, run.corrupted, model.size.tokens)
    told = input_places(points, work.places, grid, run)
    with torch.autocast(device.type, torch.bfloat16, enabled=run.half or is_half(device)):
        images = images.contiguous(memory_format=torch.channels_last)
        encoded, states, pointed = (forward or model)(images, given, told)
        wanted = tokens != 0
        scores = model.score(states[wanted]).float()
        dense_scores = model.score(at_places(encoded.dense, points, of_block, grid)).float()
    targets = torch.where(within(points, grid), work.characters, IGNORED)
    each = F.cross_entropy(scores, tokens[wanted], label_smoothing=run.smoothing, reduction="none")
    text = (each * token_weights(wanted, run.loss_mean)).sum()
    # A page of characters without tokens of their own has no dense targets at all: then the loss is 0.
    count = (targets != IGNORED).sum().clamp(min=1)
    dense = F.cross_entropy(dense_scores, targets, ignore_index=IGNORED, reduction="sum") / count
    right = (scores.argmax(-1) == tokens[wanted]).float().mean()
    return Losses(text, dense, pointer_loss(pointed, points, work.places, grid), right)


def token_weights(taught: Tensor, mean: LossMean) -> Tensor:
    """What each token that is taught (sequences x tokens, some of them) counts in the loss; together 1."""
    per_sequence = taught.sum(1, keepdim=True)
    if mean == "tokens":
        return taught[taught] / per_sequence.sum().clamp(min=1)
    return (taught / per_sequence.clamp(min=1) / (per_sequence > 0).sum().clamp(min=1))[taught]


def total(found: Losses, run: Run, passed: float) -> Tensor:
    """What is trained on after this share of a run."""
    return found.text + run.dense[int(passed >= 0.5)] * found.dense + run.pointer * found.pointer


def input_places(points: Tensor, places: Tensor, grid: tuple[int, int], run: Run) -> Tensor:
    """Where the token before each was read, a little wrong: what the decoder is told when it reads alone."""
    # A batch of nothing but paper has no points; then all places are nowhere.
    at = points[places.clamp(min=0)] if len(points) else points.new_zeros(*places.shape, 2)
    stray = torch.rand_like(at[..., :1]) < run.corrupted
    at = at + torch.randn_like(at) * torch.where(stray, 2.0, run.jitter)
    at = torch.minimum(at.clamp(min=0), at.new_tensor([grid[1], grid[0]]))
    at = torch.where((places == NO_PLACE)[..., None], NOWHERE, at)
    return torch.cat([torch.full_like(at[:, :1], NOWHERE), at[:, :-1]], 1)


def pointer_loss(pointed: Tensor, points: Tensor, places: Tensor, grid: tuple[int, int]) -> Tensor:
    """How far the pointer is from the four features around each character's place, nearer ones more."""
    if not len(points):
        return pointed.sum() * 0
    taught = (places != NO_PLACE) & within(points, grid)[places.clamp(min=0)]
    index, share = neighbours(points[places[taught]], grid)
    sure = pointed[taught].log_softmax(-1).gather(-1, index)
    return -(sure * share).sum() / max(len(sure), 1)


def corrupt(tokens: Tensor, share: float, count: int) -> Tensor:
    """Some tokens replaced by any others; the first one, bos, stays."""
    chosen = torch.rand(tokens.shape, device=tokens.device) < share
    chosen[:, 0] = False
    return torch.where(chosen, torch.randint_like(tokens, count), tokens)


def within(points: Tensor, grid: tuple[int, int]) -> Tensor:
    """Which points (x and y in features) the page's bend has not taken out of the picture."""
    return ((points > 0) & (points < points.new_tensor([grid[1], grid[0]]))).all(-1)


def neighbours(points: Tensor, grid: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The four features around each point (x and y in features), and what each of them counts."""
    (rows, columns), (x, y) = grid, (points - 0.5).unbind(-1)
    index, share = [], []
    for dx in (0, 1):
        for dy in (0, 1):
            column, row = x.floor() + dx, y.floor() + dy
            share.append((1 - (x - column).abs()) * (1 - (y - row).abs()))
            index.append(row.clamp(0, rows - 1) * columns + column.clamp(0, columns - 1))
    return torch.stack(index, -1).long(), torch.stack(share, -1)


def at_places(features: Tensor, points: Tensor, of_block: Tensor, grid: tuple[int, int]) -> Tensor:
    """The features at these points, between four neighbours."""
    index, share = neighbours(points, grid)
    flat = features.flatten(0, 1)
    index = index + (of_block * features.shape[1])[:, None]
    return sum(
        (flat[index[:, k]] * share[:, k, None].to(flat.dtype) for k in range(1, 4)),
        start=flat[index[:, 0]] * share[:, :1].to(flat.dtype),
    )
