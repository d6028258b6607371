"""GLM-OCR in training: a batch in, the loss over its answers out (paper 3.3: the autoregressive objective).

The class's own parts are called one by one: what the vision side says of the pictures takes the place of the
image tokens, the language model reads the sequence, and only tokens of answers are scored, a few thousand at
a time. A model that begins from nothing may be taught by two more losses: each character's place in the
picture must say which token it is, and two heads are shown where to look: from each character back to the
one before it, and from the text written so far to the place to be read next. The second finds its place by
what the first has seen, which a network takes long to find out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tongguocr.engines.glm.vision import Grid, join_pictures, see

IGNORED = -100


class Found(NamedTuple):
    """What a batch says of the network."""

    loss: Tensor
    accuracy: Tensor
    """The share of an answer's tokens that were right."""
    dense: Tensor
    glances: Any = None


class Glances(NamedTuple):
    """How much the guided heads like image tokens: blocks x who asks x image tokens."""

    back: Tensor
    """Asked by image tokens: where the character before theirs lies ..."""
    ahead: Tensor
    """... and by tokens of the answer, before each is written: where it is to be read."""


class Spots(NamedTuple):
    """Where characters lie: the four image tokens around each, what each of them counts; and its token."""

    around: Tensor
    share: Tensor
    wanted: Tensor
    images: tuple[int, int]
    """First image token of a sequence, and behind the last ..."""
    answer: int
    """... and the first token of the answer."""


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
        join_pictures(model.model.visual)

    def look(self, patches: Tensor, grids: Sequence[Grid]) -> Tensor:
        """The image tokens of pictures, one after another."""
        return see(self.model.model.visual, patches, grids)

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
        grids: Sequence[Grid],
        spots: Spots | None = None,
    ) -> Found:
        """The losses of a batch; `given` are the input tokens, which may be wrong on purpose."""
        seen = self.look(patches, grids)
        states, glances = self._think_aloud(self.embed(given, seen), positions, spots)
        taught = answer[:, 1:]
        loss, accuracy = self._scored(states[:, :-1][taught], ids[:, 1:][taught])
        dense = loss.new_zeros(())
        if spots is not None and self.dense is not None:
            at = sum(
                (seen[spots.around[:, k]] * spots.share[:, k, None] for k in range(4)),
                start=seen.new_zeros(()),
            )
            dense = self._scored(self.dense(at), spots.wanted)[0]
        return Found(loss, accuracy, dense, glances)

    def think(
        self,
        hidden: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        memory: Any = None,
        guided: Callable[[int, Any, Tensor, tuple[Tensor, Tensor]], None] | None = None,
    ) -> Tensor:
        """The states of all tokens; without a mask each sees all before it. `guided` is shown every layer's
        number, the layer, what goes into it, and how positions turn it."""
        language = self.model.model.language_model
        rotation = language.rotary_emb(hidden, position_ids=positions)
        for number, layer in enumerate(language.layers):
            if guided is not None:
                guided(number, layer, hidden, rotation)
            hidden = layer(hidden, attention_mask=mask, past_key_values=memory, position_embeddings=rotation)
        states: Tensor = language.norm(hidden)
        return states

    def _think_aloud(
        self, hidden: Tensor, positions: Tensor, spots: Spots | None
    ) -> tuple[Tensor, Glances | None]:
        """The states of all tokens; and where the guided heads look, if places are known."""
        if spots is None:
            return self.think(hidden, positions), None
        pictures, text = slice(*spots.images), slice(spots.answer - 1, -1)
        count, glances = len(self.model.model.language_model.layers), list[Tensor]()

        def guided(number: int, layer: Any, given: Tensor, rotation: tuple[Tensor, Tensor]) -> None:
            for asking, part in ((pictures, 4), (text, 2)):
                if number == count // part:
                    glances.append(glance(layer, given, rotation, asking, pictures))

        return self.think(hidden, positions, guided=guided), Glances(*glances)

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


def layers_of(model: Any) -> list[Any]:
    """The layers of both sides, which are alike and make up nearly all of the network."""
    return [*model.model.visual.blocks, *model.model.language_model.layers]


def compile_layers(model: Any) -> None:
    """Let the compiler have each layer, for any number of pictures and tokens."""
    for layer in layers_of(model):
        layer.compile(dynamic=True)


def glance(
    layer: Any, hidden: Tensor, rotation: tuple[Tensor, Tensor], asking: slice, asked: slice
) -> Tensor:
    """How much the layer's first head likes each token of one part of the sequences, seen from another."""
    from transformers.models.glm_ocr.modeling_glm_ocr import apply_rotary_pos_emb

    attention, normed = layer.self_attn, layer.input_layernorm(hidden)
    one = attention.head_dim
    query, key = (
        F.linear(normed, part.weight[:one])[:, None] for part in (attention.q_proj, attention.k_proj)
    )
    query, key = apply_rotary_pos_emb(query, key, *rotation)  # type: ignore[no-untyped-call]
    scores: Tensor = query[:, 0, asking] @ key[:, 0, asked].transpose(1, 2)
    return scores.float() * attention.scaling
