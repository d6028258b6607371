"""The tasks of the full-size model for the training loop: its loss on a batch, and its validation.

One is on labelled pages (the paper's three stages): the loss over answers, nothing else. The other is on
synthetic blocks, for models that begin from nothing: the dense loss beside it, two heads that are shown where
to look, and input tokens that are sometimes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tongguocr.engines.glm.config import MERGE
from tongguocr.engines.glm.processor import Grid, patch_pictures, positions, to_patches
from tongguocr.engines.glm.prompt import Prompt
from tongguocr.errors import InputError
from tongguocr.tokens.codec import BYTES, SPECIALS, Codec
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.glm.network import IGNORED, CharacterPlaces, GlmTrainingNetwork, Losses
from tongguocr.training.glm.samples import GlmBatch, GlmSample
from tongguocr.training.glm.trainer import GlmTrainer
from tongguocr.training.recogniser.losses import neighbours, pointer_loss, within
from tongguocr.training.recogniser.validation import (
    SURPLUS,
    ValidationSet,
    Validator,
    accuracy,
    page_accuracy,
)


@dataclass(frozen=True, slots=True)
class GlmPageTask:
    """Answers about labelled pages."""

    trainer: GlmTrainer
    validation_sets: Callable[[], Iterable[list[GlmSample]]]
    """Batches to validate on, made anew each time: a thousand pages of pictures are not held."""
    by_page: bool = True
    """Whether AR is the mean of the pages' own, as in the paper."""
    metric: str = "AR"

    @property
    def model(self) -> GlmTrainingNetwork:
        return self.trainer.network

    def loss(self, batch: GlmBatch, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        patches, grids = patch_pictures(batch.pictures, self.trainer.processor)
        with self.trainer.half():
            found: Losses = self.trainer.forward(
                *(self.trainer.network.losses, batch.ids, batch.ids, batch.positions, batch.answer),
                *(patches, grids),
            )
        return found.loss, {"loss": found.loss, "accuracy": found.accuracy}

    def validate(self) -> dict[str, float]:
        if not self.trainer.validates:
            return {}
        texts, moves, pages = list[tuple[str, str]](), list[tuple[str, str]](), list[str]()
        for batch in self.validation_sets():
            for sample, ids in zip(batch, self._read(batch), strict=True):
                pages.append(sample.page)
                wanted, found = (self.trainer.prompt.decode(part) for part in (sample.answer, ids))
                texts.append(("".join(x.text for x in wanted), "".join(x.text for x in found)))
                moves.append((_moves(x.transition for x in wanted), _moves(x.transition for x in found)))
        read = page_accuracy(texts, pages) if self.by_page else accuracy(texts)
        figures = {"AR": read, "transitions": accuracy(moves)}
        share = self.trainer.group.broadcast if self.trainer.sharded else float
        return {name: round(share(value), 4) for name, value in figures.items()}

    def save(self, folder: Path) -> None:
        self.trainer.save(folder)

    def _read(self, samples: Sequence[GlmSample]) -> list[list[int]]:
        pictures = [torch.from_numpy(s.picture.copy()).to(self.trainer.group.device) for s in samples]
        patches, grids = patch_pictures(pictures, self.trainer.processor)
        return self.trainer.read(patches, grids, max(len(s.answer) for s in samples) + SURPLUS)


def _moves(transitions: Any) -> str:
    """Transitions as one letter each, so that the same alignment counts them."""
    return "".join(chr(ord("A") + TRANSITIONS.index(t)) for t in transitions if t)


@dataclass(frozen=True, slots=True)
class GlmBlockTask:
    """Answers about synthetic blocks, whose targets are in the codec of their data."""

    trainer: GlmTrainer
    codec: Codec
    table: Tensor
    """The model's token of each of the codec's."""
    validator: Validator | None
    metric: str = "AR"

    @property
    def model(self) -> GlmTrainingNetwork:
        return self.trainer.network

    def loss(self, batch: Any, passed: float) -> tuple[Tensor, Mapping[str, Tensor]]:
        work, (images, points, of_block) = batch
        trainer, run, stride = self.trainer, self.trainer.run, self.trainer.processor.patch * MERGE
        grid, at = (images.shape[2] // stride, images.shape[3] // stride), points / stride
        ids, token_positions, answer = self._sequence(work.tokens, grid)
        places = self._places(work.characters, at, of_block, grid)
        given = self._corrupt(ids, answer)
        grids = [(grid[0] * MERGE, grid[1] * MERGE)] * len(images)
        with trainer.half():
            patches = to_patches(images, trainer.processor)
            found: Losses = trainer.forward(
                trainer.network.losses, given, ids, token_positions, answer, patches, grids, places
            )
        assert found.heads is not None
        ahead = pointer_loss(found.heads.ahead, at, work.places, grid)
        back = back_loss(found.heads.back, at, of_block, grid)
        loss = found.loss + run.dense[int(passed >= 0.5)] * found.dense + run.pointer * (ahead + back)
        return loss, {
            "loss": found.loss,
            "dense": found.dense,
            "ahead": ahead,
            "back": back,
            "accuracy": found.accuracy,
        }

    def _sequence(self, tokens: Tensor, grid: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, positions, and which of them are the answer's; the grid is one of image tokens."""
        prompt = self.trainer.prompt
        asked = torch.tensor(prompt.ids(grid[0] * grid[1]), device=tokens.device)
        ids = torch.cat([asked.expand(len(tokens), -1), self.table[tokens]], 1)
        known = tokens != self.codec.pad
        answer = torch.cat([known.new_zeros(len(tokens), len(asked)), known], 1)
        behind = len(prompt.after) + tokens.shape[1]
        patches = grid[0] * MERGE, grid[1] * MERGE
        places = torch.from_numpy(positions(len(prompt.before), patches, behind)).to(tokens.device)
        return ids, places[:, None].expand(-1, len(tokens), -1), answer

    def _places(
        self, characters: Tensor, at: Tensor, of_block: Tensor, grid: tuple[int, int]
    ) -> CharacterPlaces:
        """`at` are places in image tokens."""
        around, share = neighbours(at, grid)
        wanted = torch.where(characters >= 0, self.table[characters.clamp(min=0)], IGNORED)
        count, first = grid[0] * grid[1], len(self.trainer.prompt.before)
        return CharacterPlaces(
            around + (of_block * count)[:, None],
            share,
            torch.where(within(at, grid), wanted, IGNORED),
            images=(first, first + count),
            answer=len(self.trainer.prompt.ids(count)),
        )

    def _corrupt(self, ids: Tensor, answer: Tensor) -> Tensor:
        """Some tokens of the answers replaced, so that the model trusts the page and not its memory."""
        chosen = answer & (torch.rand(ids.shape, device=ids.device) < self.trainer.run.corrupted)
        return torch.where(chosen, self.table[torch.randint_like(ids, len(self.codec))], ids)

    def validate(self) -> dict[str, float]:
        if self.validator is None:
            return {}
        # Where transitions are switched off all of them are the newline, and come back as the first of them.
        back = {token: k for k, token in reversed(list(enumerate(self.table.tolist())))}
        return self.validator.score(lambda sets: [self._back(ids, back) for ids in self._read(sets)])

    def save(self, folder: Path) -> None:
        self.trainer.save(folder)

    def _read(self, sets: Sequence[ValidationSet]) -> list[list[int]]:
        """All sets together: a step of writing takes as long for one picture as for hundreds."""
        processor = self.trainer.processor
        patches, grids = list[Tensor](), list[Grid]()
        for one in sets:
            patches.append(to_patches(one.images.float() / 255, processor))
            high, wide = one.images.shape[2:]
            grids += [(high // processor.patch, wide // processor.patch)] * len(one.images)
        longest = max(len(ids) for one in sets for ids in one.tokens) + SURPLUS
        return self.trainer.read(torch.cat(patches), grids, longest)

    def _back(self, ids: Sequence[int], back: dict[int, int]) -> list[int]:
        """Ids of the codec again; what it does not know stays unreadable."""
        return [back.get(token, len(self.codec)) for token in ids]


def back_loss(scores: Tensor, at: Tensor, of_block: Tensor, grid: tuple[int, int]) -> Tensor:
    """How far image tokens with a character look from the one that is read before it.

    Image tokens see those of higher rows alone, so a column's first character looks for nothing.
    """
    around, share = neighbours(at, grid)
    nearest = around.gather(1, share.argmax(1, keepdim=True))[:, 0]
    asking, inside = nearest[1:], within(at, grid)
    taught = (of_block[1:] == of_block[:-1]) & inside[1:] & inside[:-1] & (nearest[:-1] < asking)
    asking, wanted, share = asking[taught], around[:-1][taught], share[:-1][taught]
    rows = scores[of_block[1:][taught], asking]
    unseen = torch.arange(rows.shape[1], device=rows.device) > asking[:, None]
    sure = rows.masked_fill(unseen, -torch.inf).log_softmax(-1).gather(-1, wanted)
    missed = torch.where(wanted > asking[:, None], 0.0, -sure * share)
    return missed.sum() / max(len(sure), 1)


def model_tokens(codec: Codec, prompt: Prompt, transitions: bool = True) -> Tensor:
    """The model's token of each of the codec's, which must be one; or newlines for transitions."""
    single = {s: k for k, s in reversed(list(enumerate(prompt.spellings))) if s is not None and len(s) == 1}
    known = {token: number for number, token in prompt.transitions.items()}
    newline = single.get(b"\n", -1)
    table = [prompt.pad, prompt.pad, prompt.end]
    table += [known.get(t, -1) if transitions else newline for t in TRANSITIONS]
    table += [single.get(bytes([value]), -1) for value in range(len(BYTES))]
    for char in codec.characters:
        ids = prompt.encode(char)
        table.append(ids[0] if len(ids) == 1 else -1)
    if -1 in table:
        lost = codec.tokens[table.index(-1)]
        raise InputError(f"The model has no single token for {lost}, which the data to train on has.")
    assert len(SPECIALS) == 3
    return torch.tensor(table)
