"""GLM-OCR in training: a batch in, the loss over its answers out (paper 3.3: the autoregressive objective).

Only tokens of answers are scored, a few thousand at a time. A model that begins from nothing may be taught by
two more losses: each character's place in the picture must say which token it is (the dense loss), and two
attention heads are guided: from each character back to the one before it, and from the text written so far to
the place to be read next. The second finds its place by what the first has seen, which a network takes long
to find out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tongguocr.engines.glm.network import GlmNetwork, Rotation
from tongguocr.engines.glm.processor import Grid
from tongguocr.training.recogniser.losses import token_weights
from tongguocr.training.run import LossMean

IGNORED = -100
"""The target of places that are not scored, as in torch's cross entropy."""


class HeadScores(NamedTuple):
    """Scores of the guided heads before softmax: blocks x asking tokens x image tokens."""

    back: Tensor
    """Asked by image tokens: where the character before theirs lies."""
    ahead: Tensor
    """Asked by tokens of the answer, before each is written: where it is to be read."""


class Losses(NamedTuple):
    """What a batch says of the network."""

    loss: Tensor
    accuracy: Tensor
    """The share of an answer's tokens that were right."""
    dense: Tensor
    heads: HeadScores | None = None


class CharacterPlaces(NamedTuple):
    """Where the characters of a batch lie among its image tokens, and where these stand in a sequence."""

    around: Tensor
    """characters x 4: the image tokens around each."""
    weights: Tensor
    """characters x 4: what each of these image tokens counts."""
    targets: Tensor
    """Each character's token, or IGNORED."""
    images: tuple[int, int]
    """First image token of a sequence, and behind the last."""
    answer: int
    """First token of the answer."""


class GlmTrainingNetwork(GlmNetwork):
    """A model of GLM-OCR's class with its losses and, while it is trained from nothing, its dense head."""

    def __init__(
        self, model: Any, dense: bool = False, chunk: int = 2048, loss_mean: LossMean = "sequences"
    ) -> None:
        super().__init__(model)
        self.chunk, self.loss_mean = chunk, loss_mean
        width = model.config.text_config.hidden_size
        self.dense = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width, bias=False)) if dense else None
        )

    def forward(self, work: Callable[..., Any], *given: Any) -> Any:
        """Do some of this network's work: all of it goes through here, where parameters are gathered and
        gradients shared if several processes train it together."""
        return work(*given)

    def losses(
        self,
        given: Tensor,
        ids: Tensor,
        positions: Tensor,
        answer: Tensor,
        patches: Tensor,
        grids: Sequence[Grid],
        places: CharacterPlaces | None = None,
    ) -> Losses:
        """The losses of a batch; `given` are the input tokens, which may be wrong on purpose."""
        images = self.encode_images(patches, grids)
        states, heads = self._guided_states(self.embed(given, images), positions, places)
        scored = answer[:, 1:]
        weights = token_weights(scored, self.loss_mean)
        loss, accuracy = self._score(states[:, :-1][scored], ids[:, 1:][scored], weights)
        dense = loss.new_zeros(())
        if places is not None and self.dense is not None:
            at = sum(
                (images[places.around[:, k]] * places.weights[:, k, None] for k in range(4)),
                start=images.new_zeros(()),
            )
            known = places.targets != IGNORED
            dense = self._score(self.dense(at), places.targets, known / known.sum().clamp(min=1))[0]
        return Losses(loss, accuracy, dense, heads)

    def _guided_states(
        self, hidden: Tensor, positions: Tensor, places: CharacterPlaces | None
    ) -> tuple[Tensor, HeadScores | None]:
        """The states of all tokens; and the scores of the guided heads, if places are known."""
        if places is None:
            return self.hidden_states(hidden, positions), None
        pictures, text = slice(*places.images), slice(places.answer - 1, -1)
        count, scores = len(self.model.model.language_model.layers), list[Tensor]()

        def guide(number: int, layer: Any, given: Tensor, rotation: Rotation) -> None:
            for asking, part in ((pictures, 4), (text, 2)):
                if number == count // part:
                    scores.append(first_head_scores(layer, given, rotation, asking, pictures))

        return self.hidden_states(hidden, positions, before_layer=guide), HeadScores(*scores)

    def _score(self, states: Tensor, targets: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The weighted sum of losses and the share of right tokens, in chunks whose scores are not kept."""
        sums = states.new_zeros(2, dtype=torch.float32)
        parts = (torch.split(given, self.chunk) for given in (states, targets, weights))
        for part in zip(*parts, strict=True):
            sums = sums + checkpoint(self._score_chunk, *part, use_reentrant=False)
        return sums[0], (sums[1] / (targets != IGNORED).sum().clamp(min=1)).detach()

    def _score_chunk(self, states: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        scores = self.model.lm_head(states).float()
        each = F.cross_entropy(scores, targets, ignore_index=IGNORED, reduction="none")
        loss = (each * weights).sum()
        return torch.stack([loss, (scores.argmax(-1) == targets).sum().float()])


def layers_of(model: Any) -> list[Any]:
    """The layers of both sides, which are alike and make up nearly all of the network."""
    return [*model.model.visual.blocks, *model.model.language_model.layers]


def compile_layers(model: Any) -> None:
    """Let the compiler have each layer, for any number of pictures and tokens."""
    for layer in layers_of(model):
        layer.compile(dynamic=True)


def first_head_scores(layer: Any, hidden: Tensor, rotation: Rotation, asking: slice, asked: slice) -> Tensor:
    """Scores of a layer's first head before softmax, from one part of the sequences to another."""
    from transformers.models.glm_ocr.modeling_glm_ocr import apply_rotary_pos_emb

    attention, normed = layer.self_attn, layer.input_layernorm(hidden)
    one = attention.head_dim
    query, key = (
        F.linear(normed, part.weight[:one])[:, None] for part in (attention.q_proj, attention.k_proj)
    )
    query, key = apply_rotary_pos_emb(query, key, *rotation)
    scores: Tensor = query[:, 0, asking] @ key[:, 0, asked].transpose(1, 2)
    return scores.float() * attention.scaling
