"""What a batch of answers is written with: prompts in, the likeliest next tokens of all out, step by step.

On a GPU all tensors stay where they are from step to step, so that the third one can be recorded and from
then on be played back: the hundreds of small operations of a step take the host longer than the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tongguocr.engines.glm.config import MERGE
from tongguocr.engines.glm.network import GlmNetwork, Grid
from tongguocr.engines.glm.processor import positions
from tongguocr.engines.glm.prompt import Wording

WARM = 2
"""Steps before one is recorded: the first ones set things up that a recording must not hold."""


class Likely(NamedTuple):
    """For each answer the likeliest next tokens, likeliest first, and their probabilities."""

    sure: Tensor
    ids: Tensor


class Memory:
    """Keys and values of all layers, with room for what will be written; the library asks it to `update`."""

    def __init__(self, room: int, place: Tensor) -> None:
        self.room = room
        self.used = room
        """Places that are looked at; the others are empty."""
        self.place = place
        """Where the next token goes."""
        self.held: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keep the prompt's, or one token's; what attention is to look at."""
        if layer not in self.held:
            self.held[layer] = self._make_room(keys), self._make_room(values)
            return keys, values
        old_keys, old_values = self.held[layer]
        old_keys.index_copy_(2, self.place, keys)
        old_values.index_copy_(2, self.place, values)
        return old_keys[:, :, : self.used], old_values[:, :, : self.used]

    def _make_room(self, part: Tensor) -> Tensor:
        whole = part.new_zeros(*part.shape[:2], self.room, part.shape[3])
        whole[:, :, : part.shape[2]] = part
        return whole

    def keep(self, rows: Tensor) -> None:
        self.held = {layer: (keys[rows], values[rows]) for layer, (keys, values) in self.held.items()}


class Prompts(NamedTuple):
    """Filled up on the left."""

    ids: Tensor
    places: Tensor
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


def make_prompts(grids: Sequence[Grid], wording: Wording, device: torch.device) -> Prompts:
    prompts = [wording.prompt(rows * columns // MERGE**2) for rows, columns in grids]
    longest = max(map(len, prompts))
    ids = torch.full((len(prompts), longest), wording.pad)
    places = torch.zeros(3, len(prompts), longest, dtype=torch.long)
    known = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for row, (prompt, grid) in enumerate(zip(prompts, grids, strict=True)):
        start = longest - len(prompt)
        ids[row, start:] = torch.tensor(prompt)
        places[:, row, start:] = torch.from_numpy(positions(len(wording.before), grid, len(wording.after)))
        known[row, start:] = True
    return Prompts(ids.to(device), places.to(device), known.to(device))


def can_record(device: torch.device) -> bool:
    return device.type == "cuda"


@dataclass
class Desk:
    """A batch of answers in the making."""

    network: GlmNetwork
    rivals: int
    memory: Memory
    seen: Tensor
    """Which places of the memory count."""
    following: Tensor
    """Each answer's next position."""
    likely: Likely
    recorded: bool
    """Whether steps are recorded and played back; then rows cannot leave."""
    graph: Any = None
    steps: int = 0

    @staticmethod
    def begin(
        network: GlmNetwork, prompts: Prompts, pictures: Tensor, room: int, rivals: int, record: bool
    ) -> Desk:
        """Read the prompts; `pictures` are their image tokens, `room` the tokens that answers may have."""
        length, recorded = prompts.ids.shape[1], record and can_record(pictures.device)
        memory = Memory(length + room, torch.tensor([length], device=pictures.device))
        if not recorded:
            memory.used = length
        known = torch.nn.functional.pad(prompts.known, (0, room))[:, None, None]
        hidden = network.embed(prompts.ids, pictures)
        states = network.hidden_states(hidden, prompts.places, mask=prompts.mask(), cache=memory)
        likely = choose(network, states, rivals)
        following = prompts.places[0, :, -1] + 1
        return Desk(network, rivals, memory, known, following, likely, recorded)

    def step(self) -> Likely:
        """Take the likeliest token of each answer, and say what follows."""
        if self.recorded and self.steps == WARM:
            try:
                self._record()
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:
                # Not every device and version can; then steps are written one by one, more slowly.
                self.recorded, self.memory.used = False, int(self.memory.place)
        if self.graph is not None:
            self.graph.replay()
        else:
            self._write()
        self.steps += 1
        return self.likely

    def _record(self) -> None:
        """Nothing is computed while a step is recorded; other threads may go on using the device."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._write()
        self.graph = graph

    def _write(self) -> None:
        embedded = self.network.model.get_input_embeddings()(self.likely.ids[:, :1])
        self.seen.index_fill_(3, self.memory.place, True)
        if not self.recorded:
            self.memory.used += 1
        mask = self.seen[..., : self.memory.used]
        places = self.following[None, :, None].expand(3, -1, 1)
        states = self.network.hidden_states(embedded, places, mask=mask, cache=self.memory)
        self.memory.place.add_(1)
        self.following.add_(1)
        found = choose(self.network, states, self.rivals)
        self.likely.sure.copy_(found.sure)
        self.likely.ids.copy_(found.ids)

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these answers alone."""
        chosen = torch.tensor(rows, device=self.seen.device)
        self.memory.keep(chosen)
        self.seen, self.following = self.seen[chosen], self.following[chosen]
        self.likely = Likely(self.likely.sure[chosen], self.likely.ids[chosen])


def choose(network: GlmNetwork, states: Tensor, rivals: int) -> Likely:
    return Likely(*network.model.lm_head(states[:, -1]).float().softmax(-1).topk(1 + rivals, -1))
