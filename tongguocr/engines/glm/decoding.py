"""Greedy decoding of many pictures together: patches in, tokens with their likeliest others out (paper 4.3).

Prompts are filled up on the left and the filling is masked, so that a picture's answer is the same, up to
rounding, whatever it is read with. Pictures whose answers have ended leave the batch where that saves time.
On a GPU all tensors stay where they are from step to step, so that the third step can be recorded and from
then on be played back: the hundreds of small operations of a step take the host longer than the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from tongguocr.engines.glm.config import MERGE
from tongguocr.engines.glm.network import GlmNetwork
from tongguocr.engines.glm.processor import Grid, positions
from tongguocr.engines.glm.prompt import Prompt

WARM_UP = 2
"""Steps before one is recorded: the first ones set things up that a recording must not hold."""

Stop: TypeAlias = Callable[[int, int], bool]
"""Told the number of a picture and its next token; whether to stop there. End tokens are not told."""


@dataclass(slots=True)
class Decoded:
    """One picture's answer."""

    tokens: list[int] = field(default_factory=list)
    """Without the end token."""
    candidates: list[tuple[list[int], list[float]]] = field(default_factory=list)
    """For each the likeliest tokens, itself first, and their probabilities."""
    ended: bool = False
    """Whether the model ended it by itself."""

    def add(self, ids: list[int], probabilities: list[float], ends: Sequence[int]) -> bool:
        """Take one more token, the first of `ids`; whether it was an end token."""
        self.ended = ids[0] in ends
        if not self.ended:
            self.tokens.append(ids[0])
            self.candidates.append((ids, probabilities))
        return self.ended


@torch.no_grad()
def generate(
    network: GlmNetwork,
    patches: Tensor,
    grids: Sequence[Grid],
    prompt: Prompt,
    longest: int,
    stop: Stop | None = None,
    alternatives: int = 0,
    record: bool = True,
) -> list[Decoded]:
    """The answers about pictures, each of at most `longest` tokens; `record` says whether steps may be
    recorded on a GPU."""
    prompts = batch_prompts(grids, prompt, patches.device)
    images = network.encode_images(patches, grids)
    state = DecodingState.start(network, prompts, images, longest, alternatives, record)
    answers = [Decoded() for _ in grids]
    rows, going = list(range(len(grids))), set(range(len(grids)))
    for step in range(longest):
        ids, probabilities = state.top.ids.tolist(), state.top.probabilities.tolist()
        for n, row in enumerate(rows):
            if row in going and (
                answers[row].add(ids[n], probabilities[n], prompt.ends) or (stop and stop(row, ids[n][0]))
            ):
                going.remove(row)
        if not going or step == longest - 1:
            break
        if len(going) < len(rows) and not state.recorded:
            state.select([n for n, row in enumerate(rows) if row in going])
            rows = [row for row in rows if row in going]
        state.step()
    return answers


class PromptBatch(NamedTuple):
    """Prompts of several pictures, filled up on the left."""

    ids: Tensor
    positions: Tensor
    known: Tensor
    """Which tokens are no filling."""

    def mask(self) -> Tensor | None:
        """What each token sees: known ones up to itself; filling sees itself, as nothing would be nonsense.
        Where nothing was filled up there is no mask: attention has faster ways without one."""
        if bool(self.known.all()):
            return None
        length = self.ids.shape[1]
        earlier = torch.ones(length, length, dtype=torch.bool, device=self.ids.device).tril()
        itself = torch.eye(length, dtype=torch.bool, device=self.ids.device)
        return ((earlier & self.known[:, None]) | itself)[:, None]


def batch_prompts(grids: Sequence[Grid], prompt: Prompt, device: torch.device) -> PromptBatch:
    """The prompts about pictures of these grids."""
    questions = [prompt.ids(rows * columns // MERGE**2) for rows, columns in grids]
    longest = max(map(len, questions))
    ids = torch.full((len(questions), longest), prompt.pad)
    places = torch.zeros(3, len(questions), longest, dtype=torch.long)
    known = torch.zeros(len(questions), longest, dtype=torch.bool)
    for row, (question, grid) in enumerate(zip(questions, grids, strict=True)):
        start = longest - len(question)
        ids[row, start:] = torch.tensor(question)
        places[:, row, start:] = torch.from_numpy(positions(len(prompt.before), grid, len(prompt.after)))
        known[row, start:] = True
    return PromptBatch(ids.to(device), places.to(device), known.to(device))


class KeyValueCache:
    """Keys and values of all layers, with room for the answers; the library's layers ask it to `update`."""

    def __init__(self, room: int, slot: Tensor) -> None:
        self.room = room
        self.used = room
        """Slots that are attended to; the others are empty."""
        self.slot = slot
        """Where the next token goes."""
        self.layers: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keep the prompt's keys and values, or one token's; what attention is to look at."""
        if layer not in self.layers:
            self.layers[layer] = self._make_room(keys), self._make_room(values)
            return keys, values
        old_keys, old_values = self.layers[layer]
        old_keys.index_copy_(2, self.slot, keys)
        old_values.index_copy_(2, self.slot, values)
        return old_keys[:, :, : self.used], old_values[:, :, : self.used]

    def _make_room(self, part: Tensor) -> Tensor:
        whole = part.new_zeros(*part.shape[:2], self.room, part.shape[3])
        whole[:, :, : part.shape[2]] = part
        return whole

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch alone."""
        self.layers = {layer: (keys[rows], values[rows]) for layer, (keys, values) in self.layers.items()}


class TopTokens(NamedTuple):
    """For each answer the likeliest next tokens, likeliest first, and their probabilities."""

    probabilities: Tensor
    ids: Tensor


@dataclass
class DecodingState:
    """A batch of answers in the making."""

    network: GlmNetwork
    alternatives: int
    cache: KeyValueCache
    attended: Tensor
    """Which slots of the cache count."""
    position: Tensor
    """Each answer's next position."""
    top: TopTokens
    recorded: bool
    """Whether steps are recorded and played back; then rows cannot leave."""
    graph: Any = None
    steps: int = 0

    @staticmethod
    def start(
        network: GlmNetwork,
        prompts: PromptBatch,
        images: Tensor,
        room: int,
        alternatives: int,
        record: bool,
    ) -> DecodingState:
        """Read the prompts; `images` are their image tokens, `room` the tokens that answers may have."""
        length, recorded = prompts.ids.shape[1], record and can_record(images.device)
        cache = KeyValueCache(length + room, torch.tensor([length], device=images.device))
        if not recorded:
            cache.used = length
        attended = torch.nn.functional.pad(prompts.known, (0, room))[:, None, None]
        embedded = network.embed(prompts.ids, images)
        states = network.hidden_states(embedded, prompts.positions, mask=prompts.mask(), cache=cache)
        top = top_tokens(network, states, alternatives)
        position = prompts.positions[0, :, -1] + 1
        return DecodingState(network, alternatives, cache, attended, position, top, recorded)

    def step(self) -> None:
        """Take the likeliest token of each answer, and find what may follow."""
        if self.recorded and self.steps == WARM_UP:
            try:
                self._record()
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                # Not every device and version can; then steps are made one by one, more slowly.
                self.recorded, self.cache.used = False, int(self.cache.slot)
        if self.graph is not None:
            self.graph.replay()
        else:
            self._step()
        self.steps += 1

    def _record(self) -> None:
        """Nothing is computed while a step is recorded; other threads may go on using the device."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step()
        self.graph = graph

    def _step(self) -> None:
        embedded = self.network.model.get_input_embeddings()(self.top.ids[:, :1])
        self.attended.index_fill_(3, self.cache.slot, True)
        if not self.recorded:
            self.cache.used += 1
        mask = self.attended[..., : self.cache.used]
        places = self.position[None, :, None].expand(3, -1, 1)
        states = self.network.hidden_states(embedded, places, mask=mask, cache=self.cache)
        self.cache.slot.add_(1)
        self.position.add_(1)
        found = top_tokens(self.network, states, self.alternatives)
        self.top.probabilities.copy_(found.probabilities)
        self.top.ids.copy_(found.ids)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these answers alone."""
        chosen = torch.tensor(rows, device=self.attended.device)
        self.cache.select(chosen)
        self.attended, self.position = self.attended[chosen], self.position[chosen]
        self.top = TopTokens(self.top.probabilities[chosen], self.top.ids[chosen])


def can_record(device: torch.device) -> bool:
    """Whether steps can be recorded and played back there."""
    return device.type == "cuda"


def top_tokens(network: GlmNetwork, states: Tensor, alternatives: int) -> TopTokens:
    """The likeliest next tokens by the last of each answer's states."""
    return TopTokens(*network.model.lm_head(states[:, -1]).float().softmax(-1).topk(1 + alternatives, -1))
