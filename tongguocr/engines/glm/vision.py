"""Pictures -> image tokens: the vision side of GLM-OCR's class, its own parts called one by one.

The library asks its convolutions to do what a matrix product does, and attends picture by picture; here
patches are multiplied, and pictures of one size attend together. What comes out is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from types import MethodType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.engines.glm.processor import patch_places
from tongguocr.engines.glm.sizes import MERGE

Grid = tuple[int, int]
"""A picture's rows and columns of patches."""


def see(visual: Any, patches: Tensor, grids: Sequence[Grid]) -> Tensor:
    """The image tokens of pictures, one after another."""
    places = torch.from_numpy(patch_places(grids)).to(patches.device, non_blocking=True)
    first = visual.patch_embed.proj
    hidden = F.linear(patches.to(first.weight.dtype), first.weight.flatten(1), first.bias)
    rotation = visual.rotary_pos_emb(hidden, places)
    lengths = [0, *(rows * columns for rows, columns in grids)]
    # The lengths stay on the host: a look at them would make it wait for the device in every layer.
    bounds: Tensor | None = torch.tensor(lengths, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    if len(set(lengths[1:])) == 1:
        # One shape says all, and the compiler can leave it open.
        bounds = None
        rotation = tuple(part.unflatten(0, (len(grids), lengths[1])) for part in rotation)
    for block in visual.blocks:
        hidden = block(hidden, cu_seqlens=bounds, position_embeddings=rotation)
    hidden = visual.post_layernorm(hidden)
    merge = visual.downsample
    squares = hidden.unflatten(0, (-1, MERGE**2)).transpose(1, 2).flatten(1)
    merged: Tensor = visual.merger(F.linear(squares, merge.weight.flatten(1), merge.bias))
    return merged


def join_pictures(visual: Any) -> None:
    """Let pictures of one size attend in one call each layer; the library makes one call a picture."""
    for block in visual.blocks:
        block.attn.forward = MethodType(_attend, block.attn)


def _attend(
    self: Any, hidden_states: Tensor, cu_seqlens: Tensor, position_embeddings: Any, **_: Any
) -> Tensor:
    from transformers.models.glm_ocr.modeling_glm_ocr import apply_rotary_pos_emb_vision

    cos, sin = (part.flatten(0, -2) for part in position_embeddings)
    parts = self.qkv(hidden_states).unflatten(-1, (3, self.num_heads, -1)).unbind(1)
    query, key = apply_rotary_pos_emb_vision(self.q_norm(parts[0]), self.k_norm(parts[1]), cos, sin)
    if position_embeddings[0].ndim == 3:
        attended = _together(query, key, parts[2], *position_embeddings[0].shape[:2])
    else:
        attended = _in_runs(query, key, parts[2], cu_seqlens)
    out: Tensor = self.proj(attended.flatten(1))
    return out


def _together(query: Tensor, key: Tensor, value: Tensor, count: int, length: int) -> Tensor:
    """So many pictures of one length."""
    query, key, value = (
        part.reshape(count, length, *part.shape[1:]).transpose(1, 2) for part in (query, key, value)
    )
    return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(0, 1)


# Lengths that only the data know are more than the compiler can take.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _in_runs(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor) -> Tensor:
    attended, start = [], 0
    for length, count in _runs(bounds.diff().tolist()):
        stop = start + length * count
        attended.append(_together(query[start:stop], key[start:stop], value[start:stop], count, length))
        start = stop
    return torch.cat(attended)


def _runs(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours of one length, and how many there are."""
    return [(length, len(list(alike))) for length, alike in groupby(lengths)]
