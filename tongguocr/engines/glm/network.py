"""The forward pass of GLM-OCR's class, its own parts called one by one: patches -> image tokens -> states.

In: a `GlmOcrForConditionalGeneration`, patches of pictures, token ids, positions. Out: hidden states of the
language model. The library asks its convolutions to do what a matrix product does, and attends picture by
picture; here patches are multiplied, and pictures of one size attend together. What comes out is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from types import MethodType
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tongguocr.engines.glm.config import MERGE
from tongguocr.engines.glm.processor import Grid, patch_places

Rotation: TypeAlias = tuple[Tensor, Tensor]
"""Cosines and sines by which positions turn queries and keys."""


class GlmNetwork(nn.Module):
    """A model of GLM-OCR's class."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        attend_together(model.model.visual)

    def encode_images(self, patches: Tensor, grids: Sequence[Grid]) -> Tensor:
        """The image tokens of pictures, one picture after another."""
        return encode_images(self.model.model.visual, patches, grids)

    def embed(self, ids: Tensor, images: Tensor) -> Tensor:
        """Embeddings of tokens, with those of pictures (`encode_images`) in the place of image tokens."""
        embedded: Tensor = self.model.get_input_embeddings()(ids)
        where = (ids == self.model.config.image_token_id)[..., None]
        return embedded.masked_scatter(where, images.to(embedded.dtype))

    def hidden_states(
        self,
        hidden: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: Any = None,
        before_layer: Callable[[int, Any, Tensor, Rotation], None] | None = None,
    ) -> Tensor:
        """The language model's last states of embedded tokens; without a mask each sees all before it.

        `before_layer` is shown every layer's number, the layer, its input, and the rotation of positions.
        """
        language = self.model.model.language_model
        rotation = language.rotary_emb(hidden, position_ids=positions)
        for number, layer in enumerate(language.layers):
            if before_layer is not None:
                before_layer(number, layer, hidden, rotation)
            hidden = layer(hidden, attention_mask=mask, past_key_values=cache, position_embeddings=rotation)
        states: Tensor = language.norm(hidden)
        return states


def encode_images(visual: Any, patches: Tensor, grids: Sequence[Grid]) -> Tensor:
    """The image tokens that a vision encoder, changed by `attend_together`, makes of pictures' patches."""
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


def attend_together(visual: Any) -> None:
    """Let pictures of one size attend in one call each layer; the library makes one call a picture."""
    for block in visual.blocks:
        block.attn.forward = MethodType(_vision_attention, block.attn)


def _vision_attention(
    self: Any, hidden_states: Tensor, cu_seqlens: Tensor, position_embeddings: Any, **_: Any
) -> Tensor:
    from transformers.models.glm_ocr.modeling_glm_ocr import apply_rotary_pos_emb_vision

    cos, sin = (part.flatten(0, -2) for part in position_embeddings)
    parts = self.qkv(hidden_states).unflatten(-1, (3, self.num_heads, -1)).unbind(1)
    query, key = apply_rotary_pos_emb_vision(self.q_norm(parts[0]), self.k_norm(parts[1]), cos, sin)
    if position_embeddings[0].ndim == 3:
        attended = _attend(query, key, parts[2], *position_embeddings[0].shape[:2])
    else:
        attended = _attend_in_runs(query, key, parts[2], cu_seqlens)
    out: Tensor = self.proj(attended.flatten(1))
    return out


def _attend(query: Tensor, key: Tensor, value: Tensor, count: int, length: int) -> Tensor:
    """Attention within each of `count` pictures of one length, which lie one after another."""
    query, key, value = (
        part.reshape(count, length, *part.shape[1:]).transpose(1, 2) for part in (query, key, value)
    )
    return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(0, 1)


# Lengths that only the data know are more than the compiler can take.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _attend_in_runs(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor) -> Tensor:
    """Attention within each picture, neighbours of one length in one call; `bounds` are cumulated lengths."""
    attended, start = [], 0
    for length, alike in groupby(bounds.diff().tolist()):
        count = len(list(alike))
        stop = start + length * count
        attended.append(_attend(query[start:stop], key[start:stop], value[start:stop], count, length))
        start = stop
    return torch.cat(attended)
