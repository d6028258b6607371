"""GLM-OCR in training: a batch in, the loss over its answers out (paper 3.3: the autoregressive objective).

The class's own parts are called one by one: what the vision side says of the pictures takes the place of the
image tokens, the language model reads the sequence, and only tokens of answers are scored, a few thousand at
a time. A model that begins from nothing may be taught by the dense loss too: each character's place in the
picture must say which token it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tongguocr.glm.processor import patch_places

IGNORED = -100


class Found(NamedTuple):
    """What a batch says of the network."""

    loss: Tensor
    accuracy: Tensor
    """The share of an answer's tokens that were right."""
    dense: Tensor


class Spots(NamedTuple):
    """Where characters lie: the four image tokens around each, what each of them counts; and its token."""

    around: Tensor
    share: Tensor
    wanted: Tensor


class GlmNetwork(nn.Module):
    """A model of GLM-OCR's class and, while it is trained from nothing, its dense head."""

    def __init__(self, model: Any, dense: bool = False, chunk: int = 2048) -> None:
        super().__init__()
        self.model = model
        self.chunk = chunk
        width = model.config.text_config.hidden_size
        self.dense = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width, bias=False)) if dense else None
        )
        join_pictures(model)

    def look(self, patches: Tensor, grids: Sequence[tuple[int, int]]) -> Tensor:
        """The image tokens of pictures, one after another; a grid is a picture's rows and columns."""
        places = torch.from_numpy(patch_places(grids)).to(patches.device, non_blocking=True)
        lengths = torch.tensor([0, *(rows * columns for rows, columns in grids)], dtype=torch.int32)
        # The lengths stay on the host: a look at them would make it wait for the device in every layer.
        told = {"position_ids": places, "cu_seqlens": lengths.cumsum(0, dtype=torch.int32)}
        grid = torch.tensor([(1, *sides) for sides in grids])
        seen: Tensor = self.model.model.visual(patches, grid_thw=grid, **told).pooler_output
        return seen

    def embed(self, ids: Tensor, seen: Tensor) -> Tensor:
        """Tokens as the language model takes them, pictures in the place of image tokens."""
        embedded: Tensor = self.model.get_input_embeddings()(ids)
        where = (ids == self.model.config.image_token_id)[..., None]
        return embedded.masked_scatter(where, seen.to(embedded.dtype))

    def forward(self, work: Callable[..., Any], *given: Any) -> Any:
        """Do some of this network's work: all of it goes through here, where parameters are gathered and
        gradients shared if several processes train it together."""
        return work(*given)

    def study(
        self,
        given: Tensor,
        ids: Tensor,
        positions: Tensor,
        answer: Tensor,
        patches: Tensor,
        grids: Sequence[tuple[int, int]],
        spots: Spots | None = None,
    ) -> Found:
        """The losses of a batch; `given` are the input tokens, which may be wrong on purpose."""
        seen = self.look(patches, grids)
        language = self.model.model.language_model
        states = language(
            inputs_embeds=self.embed(given, seen), position_ids=positions, use_cache=False
        ).last_hidden_state
        taught = answer[:, 1:]
        loss, accuracy = self._scored(states[:, :-1][taught], ids[:, 1:][taught])
        dense = loss.new_zeros(())
        if spots is not None and self.dense is not None:
            at = sum(
                (seen[spots.around[:, k]] * spots.share[:, k, None] for k in range(4)),
                start=seen.new_zeros(()),
            )
            dense = self._scored(self.dense(at), spots.wanted)[0]
        return Found(loss, accuracy, dense)

    def _scored(self, states: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss and share of right ones, in parts whose scores are not kept."""
        sums = states.new_zeros(2, dtype=torch.float32)
        for part, target in zip(
            torch.split(states, self.chunk), torch.split(wanted, self.chunk), strict=True
        ):
            sums = sums + checkpoint(self._score, part, target, use_reentrant=False)
        loss, right = sums / (wanted != IGNORED).sum().clamp(min=1)
        return loss, right.detach()

    def _score(self, states: Tensor, wanted: Tensor) -> Tensor:
        scores = self.model.lm_head(states).float()
        loss = F.cross_entropy(scores, wanted, ignore_index=IGNORED, reduction="sum")
        return torch.stack([loss, (scores.argmax(-1) == wanted).sum().float()])


def join_pictures(model: Any) -> None:
    """Let pictures of one size attend in one call each layer; the library makes one call a picture."""
    for block in model.model.visual.blocks:
        block.attn.forward = MethodType(_attend, block.attn)


# Lengths that only the data know are more than the compiler can take.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _attend(
    self: Any, hidden_states: Tensor, cu_seqlens: Tensor, position_embeddings: Any, **_: Any
) -> Tensor:
    from transformers.models.glm_ocr.modeling_glm_ocr import apply_rotary_pos_emb_vision

    total = len(hidden_states)
    parts = self.qkv(hidden_states).reshape(total, 3, self.num_heads, -1).unbind(1)
    query, key = apply_rotary_pos_emb_vision(
        self.q_norm(parts[0]), self.k_norm(parts[1]), *position_embeddings
    )
    attended = []
    start = 0
    for length, count in _runs(cu_seqlens.diff().tolist()):
        stop = start + length * count
        run = (
            part[start:stop].unflatten(0, (count, length)).transpose(1, 2) for part in (query, key, parts[2])
        )
        attended.append(F.scaled_dot_product_attention(*run).transpose(1, 2).flatten(0, 1))
        start = stop
    out: Tensor = self.proj(torch.cat(attended).flatten(1))
    return out


def _runs(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours of one length, and how many there are."""
    runs: list[tuple[int, int]] = []
    for length in lengths:
        if runs and runs[-1][0] == length:
            runs[-1] = (length, runs[-1][1] + 1)
        else:
            runs.append((length, 1))
    return runs
