"""Greedy reading of pictures, many together: patches in, tokens with their likeliest rivals out (paper 4.3).

Prompts are filled up on the left and the filling is masked, so that a picture's answer is the same, up to
rounding, whatever it is read with. Pictures whose answers have ended leave the batch where that saves time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tongguocr.engines.glm.decoding import Desk, make_prompts
from tongguocr.engines.glm.network import GlmNetwork, Grid
from tongguocr.engines.glm.prompt import Wording

Stop = Callable[[int, int], bool]
"""Told the number of a picture and its next token; whether to stop there. End tokens are not told."""


@dataclass(slots=True)
class Written:
    """One picture's answer."""

    tokens: list[int] = field(default_factory=list)
    """Without the end token."""
    candidates: list[tuple[list[int], list[float]]] = field(default_factory=list)
    """For each the likeliest tokens, itself first, and their probabilities."""
    ended: bool = False
    """Whether the model ended it by itself."""


@torch.no_grad()
def generate(
    network: GlmNetwork,
    patches: Tensor,
    grids: Sequence[Grid],
    wording: Wording,
    longest: int,
    stop: Stop | None = None,
    rivals: int = 0,
    record: bool = True,
) -> list[Written]:
    """The answers about pictures, each of at most `longest` tokens; `record` is for GPUs (desk.py)."""
    prompts = make_prompts(grids, wording, patches.device)
    desk = Desk.begin(network, prompts, network.encode_images(patches, grids), longest, rivals, record)
    texts = [Written() for _ in grids]
    rows, going = list(range(len(grids))), set(range(len(grids)))
    likely = desk.likely
    for step in range(longest):
        chosen, sure = likely.ids.tolist(), likely.sure.tolist()
        for n, row in enumerate(rows):
            if row in going and (
                _take(texts[row], chosen[n], sure[n], wording) or (stop and stop(row, chosen[n][0]))
            ):
                going.remove(row)
        if not going or step == longest - 1:
            break
        if len(going) < len(rows) and not desk.recorded:
            desk.keep([n for n, row in enumerate(rows) if row in going])
            rows = [row for row in rows if row in going]
        likely = desk.step()
    return texts


def _take(text: Written, ids: list[int], likely: list[float], wording: Wording) -> bool:
    """One more token of an answer; whether it ended."""
    if ids[0] in wording.ends:
        text.ended = True
        return True
    text.tokens.append(ids[0])
    text.candidates.append((ids, likely))
    return False
