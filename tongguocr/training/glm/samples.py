"""Labelled pages -> samples of GLM-OCR: a picture, the prompt, and the answer that is taught (paper 3.3).

Whole pages as they are, or blocks cut, masked and set on their square canvas as when reading. The answer is
the lines with transitions between them, or newlines where transitions are switched off. Batches fill the
right side: behind an answer nothing is looked at, so no mask is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tongguocr.engines.glm.image_settings import block_pixels
from tongguocr.engines.glm.processor import ProcessorConfig, image_tokens, positions, scale_picture
from tongguocr.engines.glm.prompt import Prompt
from tongguocr.errors import InputError
from tongguocr.page import Line, Pixels
from tongguocr.tokens.codec import build_target, target_text
from tongguocr.training.recogniser.labelled import Labelled, LabelledPage, draw
from tongguocr.training.recogniser.page_feed import Made, fill_batches
from tongguocr.training.recogniser.pages import LeftOut, PageRecipe, cut, relight, with_pixels

BLANK = 20
"""Pictures whose ink and paper differ by less hold no text."""


@dataclass(frozen=True, slots=True)
class GlmSettings:
    """The table [glm] of a stage file: what only this model has."""

    transitions: bool = True
    """Tokens between lines; if not, newlines."""
    square: bool = True
    """Blocks on the square canvas of the paper; if not, without its padding, which saves image tokens."""
    batch_tokens: int = 16_384
    """Tokens of a batch of one process at most, filling and image tokens included."""
    checkpointing: bool = True
    """Layers computed once more for the backward pass: a third slower, a fraction of the memory."""
    shard: bool = False
    """Parameters, gradients and optimiser spread over the processes (FSDP)."""
    saved: str = "bfloat16"
    """Precision of saved weights; training itself holds them in 32 bits."""
    chunk: int = 2048
    """Tokens whose scores exist at one time."""

    def __post_init__(self) -> None:
        if self.saved not in ("bfloat16", "float32"):
            raise ValueError("saved is bfloat16 or float32")


@dataclass(frozen=True, slots=True)
class GlmSample:
    """One picture and its answer."""

    picture: Pixels
    """height x width x 3, as large as the model sees it."""
    text: str
    """The answer as it is written."""
    answer: tuple[int, ...]
    """Ids of the answer, with the end token."""
    tokens: int
    """Tokens of the whole sequence: prompt, picture, answer."""
    page: str = ""
    """The page's image."""


def write_answer(lines: Sequence[Line], wide: float, high: float, transitions: bool) -> str:
    """The text that is taught for these lines of a picture."""
    if transitions:
        return target_text(lines, wide, high)
    return "\n".join(build_target(lines, wide, high)[::2])


def make_glm_samples(
    labelled: LabelledPage,
    recipe: PageRecipe,
    settings: GlmSettings,
    prompt: Prompt,
    processor: ProcessorConfig,
    rng: np.random.Generator | None,
) -> tuple[list[GlmSample], LeftOut]:
    """A page's samples, and why others were left out; with a generator in another light and size."""
    page = with_pixels(labelled)
    if isinstance(page, str):
        return [], Counter({page: 1})
    samples, left_out = list[GlmSample](), LeftOut()
    for block, given in cut(page, recipe):
        pixels = block_pixels(given, settings.square and recipe.granularity == "block")
        made = _sample(pixels, block.lines(page), recipe, settings, prompt, processor, rng)
        if isinstance(made, str):
            left_out[made] += 1
        else:
            samples.append(made)
    return samples, left_out


def _sample(
    pixels: Pixels,
    lines: Sequence[Line],
    recipe: PageRecipe,
    settings: GlmSettings,
    prompt: Prompt,
    processor: ProcessorConfig,
    rng: np.random.Generator | None,
) -> GlmSample | str:
    """One picture's sample, or why there is none."""
    if not all(line.text.strip() for line in lines):
        return "samples with lines without text"
    try:
        text = write_answer(lines, pixels.shape[1], pixels.shape[0], settings.transitions)
    except InputError:
        return "samples whose text is not that of single lines"
    side = recipe.longest_side
    if rng is not None:
        side = round(side * min(float(rng.uniform(*recipe.scale)), 1.0))
    picture = scale_picture(pixels, processor.within(side))
    dark, bright = np.percentile(picture[::4, ::4], (1, 99))
    if bright - dark < BLANK:
        return "samples without ink"
    if rng is not None:
        picture = relight(picture, recipe, rng)[0]
    answer = (*prompt.encode(text), prompt.end)
    seen = image_tokens(picture, processor)
    tokens = len(prompt.before) + seen + len(prompt.after) + len(answer)
    if tokens > recipe.longest:
        return "samples that are too long"
    return GlmSample(picture, text, answer, tokens)


@dataclass(frozen=True, slots=True)
class GlmBatch:
    """Samples as tensors."""

    ids: Tensor
    """samples x length, filled up on the right."""
    positions: Tensor
    """3 x samples x length."""
    answer: Tensor
    """Which tokens are the answer's."""
    pictures: tuple[Tensor, ...]
    """height x width x 3, bytes."""

    def to(self, device: torch.device) -> GlmBatch:
        """The batch on another device."""
        ids, places, answer, *pictures = (
            part.to(device, non_blocking=True)
            for part in (self.ids, self.positions, self.answer, *self.pictures)
        )
        return GlmBatch(ids, places, answer, tuple(pictures))


def collate(samples: Sequence[GlmSample], prompt: Prompt, processor: ProcessorConfig) -> GlmBatch:
    """Samples of any sizes as one batch."""
    longest = max(sample.tokens for sample in samples)
    ids = torch.full((len(samples), longest), prompt.pad)
    answer = torch.zeros(len(samples), longest, dtype=torch.bool)
    places = torch.zeros(3, len(samples), longest, dtype=torch.long)
    for row, sample in enumerate(samples):
        high, wide = sample.picture.shape[:2]
        question = prompt.ids(image_tokens(sample.picture, processor))
        ids[row, : sample.tokens] = torch.tensor([*question, *sample.answer])
        answer[row, len(question) : sample.tokens] = True
        grid = high // processor.patch, wide // processor.patch
        behind = len(prompt.after) + len(sample.answer)
        places[:, row, : sample.tokens] = torch.from_numpy(positions(len(prompt.before), grid, behind))
    return GlmBatch(ids, places, answer, tuple(torch.from_numpy(s.picture.copy()) for s in samples))


def make_glm_batches(
    samples: Sequence[GlmSample], tokens: int, rng: np.random.Generator | None
) -> list[list[GlmSample]]:
    """Batches of samples of about one length, of at most so many tokens; with a generator in any order."""
    return fill_batches(
        samples,
        lambda s: (s.tokens, s.picture.shape),
        lambda batch, s: (len(batch) + 1) * s.tokens <= tokens,
        rng,
    )


@dataclass(frozen=True, slots=True)
class GlmMaker:
    """Makes samples and batches of labelled pages; each worker process has one."""

    pages: Labelled
    recipe: PageRecipe
    settings: GlmSettings
    prompt: Prompt
    processor: ProcessorConfig
    seed: int

    def make(self, name: str, number: int, epoch: int) -> Made:
        """The samples of one page of `train` or `validation`, and what was left out of it."""
        page = draw(self.pages.train if name == "train" else self.pages.validation, number)
        if isinstance(page, str):
            return [], Counter({page: 1})
        changed = name == "train" and self.recipe.augment
        rng = np.random.default_rng([self.seed, epoch, number]) if changed else None
        settings = self.settings, self.prompt, self.processor
        samples, left_out = make_glm_samples(page, self.recipe, *settings, rng)
        return [replace(sample, page=str(page.image)) for sample in samples], left_out

    def batches(self, samples: Sequence[GlmSample], rng: np.random.Generator | None) -> list[list[GlmSample]]:
        """Samples in batches that a device has room for."""
        return make_glm_batches(samples, self.settings.batch_tokens, rng)

    def stack(self, samples: Sequence[GlmSample]) -> Any:
        """Samples as one batch."""
        return collate(samples, self.prompt, self.processor)

    def validation_set(self, samples: Sequence[GlmSample], device: torch.device) -> list[GlmSample]:
        """Samples to validate on, as they are."""
        return list(samples)
