"""Greedy reading of pictures, many together: patches in, tokens with their likeliest rivals out (paper 4.3).

Prompts are filled up on the left and the filling is masked, so that a picture's answer is the same, up to
rounding, whatever it is read with. Keys and values of what was written are kept; pictures whose answers have
ended leave the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tongguocr.glm.network import GlmNetwork
from tongguocr.glm.processor import positions
from tongguocr.glm.sizes import MERGE
from tongguocr.glm.wording import Wording

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
    grids: Sequence[tuple[int, int]],
    wording: Wording,
    longest: int,
    stop: Stop | None = None,
    rivals: int = 0,
) -> list[Written]:
    """The answers about pictures, each of at most `longest` tokens."""
    from transformers import DynamicCache

    model, device = network.model, patches.device
    language = model.model.language_model
    ids, places, mask, following = _prompts(grids, wording, device)
    cache: Any = DynamicCache(config=model.config.text_config)
    texts = [Written() for _ in grids]
    rows = list(range(len(grids)))
    embedded = network.embed(ids, network.look(patches, grids))
    for step in range(longest):
        states = language(
            inputs_embeds=embedded,
            position_ids=places,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
        likely = model.lm_head(states[:, -1]).float().softmax(-1).topk(1 + rivals, -1)
        chosen, sure = likely.indices.tolist(), likely.values.tolist()
        keep = [
            n
            for n, row in enumerate(rows)
            if not _take(texts[row], chosen[n], sure[n], wording) and not (stop and stop(row, chosen[n][0]))
        ]
        if not keep:
            break
        if len(keep) < len(rows):
            chosen_rows = torch.tensor(keep, device=device)
            cache.batch_select_indices(chosen_rows)
            mask = None if mask is None else mask[chosen_rows]
            following = following[chosen_rows]
            rows = [rows[n] for n in keep]
        tokens = torch.tensor([[chosen[n][0]] for n in keep], device=device)
        embedded = model.get_input_embeddings()(tokens)
        places = (following + step)[None, :, None].expand(3, -1, 1)
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], 1)
    return texts


def _take(text: Written, ids: list[int], likely: list[float], wording: Wording) -> bool:
    """One more token of an answer; whether it ended."""
    if ids[0] in wording.ends:
        text.ended = True
        return True
    text.tokens.append(ids[0])
    text.candidates.append((ids, likely))
    return False


def _prompts(
    grids: Sequence[tuple[int, int]], wording: Wording, device: torch.device
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Ids, positions and mask of prompts filled up on the left, and the position that follows each.

    Where nothing was filled up there is no mask: attention has faster ways without one.
    """
    prompts = [wording.prompt(rows * columns // MERGE**2) for rows, columns in grids]
    longest = max(map(len, prompts))
    ids = torch.full((len(prompts), longest), wording.pad)
    places = torch.zeros(3, len(prompts), longest, dtype=torch.long)
    mask = torch.zeros(len(prompts), longest, dtype=torch.long)
    for row, (prompt, grid) in enumerate(zip(prompts, grids, strict=True)):
        start = longest - len(prompt)
        ids[row, start:] = torch.tensor(prompt)
        places[:, row, start:] = torch.from_numpy(positions(len(wording.before), grid, len(wording.after)))
        mask[row, start:] = 1
    following = places[0, :, -1] + 1
    shown = None if bool(mask.all()) else mask.to(device)
    return ids.to(device), places.to(device), shown, following.to(device)
