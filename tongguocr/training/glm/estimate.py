"""What a run of the full-size model needs, before it begins: parameters, memory, arithmetic, hours.

In: a stage, and the pages or the codec it trains on. Out: a few lines of text (`--dry-run`). Sizes of samples
are measured on a few pages; no weights are read, a model's config.json and tokenizer are enough. Memory is
what 32-bit weights, gradients and AdamW take, plus the activations of one batch; time is arithmetic over the
share of a GPU's peak that is reached, so it is no better than that share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from tongguocr.engines.glm.config import MERGE, TEMPORAL, GlmSize, size_of
from tongguocr.engines.glm.pretrained import TOKENIZER, find_folder, need_transformers
from tongguocr.engines.glm.processor import image_tokens, read_processor_config
from tongguocr.engines.glm.prompt import make_prompt
from tongguocr.errors import InputError
from tongguocr.tokens.base_tokenizer import open_tokenizer
from tongguocr.tokens.codec import Codec
from tongguocr.training.glm.samples import GlmMaker, GlmSample, GlmSettings
from tongguocr.training.glm.stage import GlmBlockStage, GlmPageStage
from tongguocr.training.recogniser.labelled import Labelled
from tongguocr.training.recogniser.page_feed import describe_left_out

PEAK = 989e12
"""Half-precision operations a second of an H100 or H200, as its maker gives them."""
REACHED, COMPILED = 0.27, 0.44
"""Share of the peak that training reaches on an H200, layers computed twice counted in where they are; and
with compiled layers, computed once. Measured with the published sizes by `python -m bench.full_size`."""
SYNTHETIC = 0.17
"""Share of the peak that a whole run of full-drawn-1 reaches, painting and compiling included: a small
network reaches less."""
PROMPT_TOKENS = 11
SAMPLED_PAGES = 40
"""Pages whose samples are measured."""
PASSES = {False: 3, True: 4}
"""Forward passes' worth of arithmetic a step: backward costs two, checkpointing one more."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many parameters the parts of a network have."""

    vision: int
    text: int
    tables: int
    """Embeddings, once where input and output share them."""

    @property
    def total(self) -> int:
        """All parameters."""
        return self.vision + self.text + self.tables


def count_parameters(size: GlmSize) -> Parameters:
    """Parameters of a network, as the class has them."""
    width, inner, deep = size.vision_width, size.vision_feed_forward, size.text_width
    block = 4 * width**2 + 4 * width + 3 * width * inner + 2 * inner + width + 2 * width
    block += 2 * (width // size.vision_heads)
    patches = 3 * TEMPORAL * size.patch**2 * width + width
    vision = size.vision_layers * block + patches + width + merger_parameters(size)
    attention = 2 * deep * size.head * (size.heads + size.key_value_heads)
    layer = attention + 3 * deep * size.feed_forward + 4 * deep
    return Parameters(vision, size.text_layers * layer + deep, size.rows * deep * (1 if size.tied else 2))


def merger_parameters(size: GlmSize) -> int:
    """Those that make one image token of four patches."""
    deep = size.text_width
    return MERGE**2 * size.vision_width * deep + deep + deep**2 + 2 * deep + 9 * deep**2


@dataclass(frozen=True, slots=True)
class SampleSize:
    """A sample in tokens."""

    image: int
    answer: int

    @property
    def tokens(self) -> int:
        """Tokens of the whole sequence."""
        return self.image + self.answer + PROMPT_TOKENS


def forward_operations(size: GlmSize, sample: SampleSize) -> float:
    """Operations of one sample's forward pass: two a parameter and token, and attention."""
    count, merger = count_parameters(size), merger_parameters(size)
    patches = sample.image * MERGE**2
    vision = 2 * (count.vision - merger) * patches + 2 * merger * sample.image
    vision += 4 * size.vision_layers * size.vision_width * patches**2
    text = 2 * count.text * sample.tokens + 2 * size.text_layers * size.heads * size.head * sample.tokens**2
    return float(vision + text + 2 * size.rows * size.text_width * sample.answer)


def step_operations(size: GlmSize, sample: SampleSize, checkpointing: bool) -> float:
    """Operations of training on one sample."""
    return PASSES[checkpointing] * forward_operations(size, sample)


def state_bytes(size: GlmSize, shards: int = 1) -> float:
    """Weights, gradients and two moments, 32 bits each, on one of so many processes that share them."""
    return 16.0 * count_parameters(size).total / shards


def activation_bytes(size: GlmSize, sample: SampleSize, settings: GlmSettings) -> float:
    """What a batch keeps for its backward pass, roughly; with checkpointing a layer's input each, and one
    layer whole. Scores are kept for one chunk at a time."""
    rows = max(settings.batch_tokens // max(sample.tokens, 1), 1)
    patches, tokens = rows * sample.image * MERGE**2, rows * sample.tokens
    # In half precision: inputs, normed inputs, queries, keys, values, attended, gate, up and their product.
    vision = 2 * patches * (10 * size.vision_width + 3 * size.vision_feed_forward)
    text = 2 * tokens * (8 * size.text_width + 2 * size.head * size.heads + 4 * size.feed_forward)
    if settings.checkpointing:
        inputs = (
            size.vision_layers * patches * size.vision_width + size.text_layers * tokens * size.text_width
        )
        kept = 2.0 * inputs + max(vision, text)
    else:
        kept = float(size.vision_layers * vision + size.text_layers * text)
    return kept + 12.0 * settings.chunk * size.rows + 4.0 * patches * 3 * TEMPORAL * size.patch**2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A stage as it would run."""

    name: str
    size: GlmSize
    sample: SampleSize
    samples: int
    """An epoch."""
    epochs: int
    settings: GlmSettings
    processes: int = 1
    reached: float = REACHED

    def hours(self) -> float:
        """How long it takes on GPUs with this peak."""
        work = step_operations(self.size, self.sample, self.settings.checkpointing)
        return work * self.samples * self.epochs / (PEAK * self.reached * self.processes) / 3600

    def memory(self) -> float:
        """Bytes of one GPU."""
        shards = self.processes if self.settings.shard else 1
        return state_bytes(self.size, shards) + activation_bytes(self.size, self.sample, self.settings)

    def describe(self) -> str:
        """A few lines for the user."""
        count = count_parameters(self.size)
        state = state_bytes(self.size, self.processes if self.settings.shard else 1)
        rows = max(self.settings.batch_tokens // max(self.sample.tokens, 1), 1)
        steps = -(-self.samples // (rows * self.processes)) * self.epochs
        return "\n".join(
            [
                f"{self.name}: {self.samples} samples an epoch, {self.epochs} epochs, about {steps} steps of"
                f" {rows * self.processes} samples on {self.processes} GPUs.",
                f"Parameters: {count.total / 1e6:.0f} M (vision {count.vision / 1e6:.0f}, text"
                f" {count.text / 1e6:.0f}, tables {count.tables / 1e6:.0f}), all trained.",
                f"A sample: {self.sample.image} image tokens and an answer of {self.sample.answer};"
                f" {step_operations(self.size, self.sample, self.settings.checkpointing) / 1e12:.1f} T"
                " operations to train on.",
                f"Memory of one GPU: {self.memory() / 2**30:.0f} GiB, of which weights, gradients and"
                f" optimiser {state / 2**30:.0f}.",
                f"Time: {self.hours():.1f} h at {self.reached:.0%} of {PEAK / 1e12:.0f} T operations a"
                " second.",
            ]
        )


def read_size(folder: Path) -> GlmSize:
    """The sizes in a folder's config.json."""
    need_transformers()
    from transformers import GlmOcrConfig

    try:
        return size_of(GlmOcrConfig.from_pretrained(folder, local_files_only=True))
    except Exception as error:  # missing, no JSON, other keys: the library has a class for each
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        raise InputError(f"{folder}: its config.json cannot be used ({reason}).") from None


def estimate_pages(stage: GlmPageStage, pages: Labelled, start: str, processes: int) -> str:
    """What a stage on labelled pages needs."""
    folder = find_folder(start)
    size = read_size(folder)
    prompt = make_prompt(open_tokenizer(folder), str(folder / TOKENIZER))
    run, recipe = stage.run, replace(stage.pages, augment=False)
    maker = GlmMaker(pages, recipe, stage.settings, prompt, read_processor_config(folder), run.seed)
    numbers = np.linspace(0, len(pages.train) - 1, min(len(pages.train), SAMPLED_PAGES)).round().astype(int)
    made = [maker.make("train", int(number), 0) for number in numbers]
    samples: list[GlmSample] = [sample for found, _ in made for sample in found]
    if not samples:
        reasons = describe_left_out(sum((left for _, left in made), start=made[0][1]))
        raise InputError(f"{pages.train[0].image}: no page gives a sample: {reasons}.")
    seen = [image_tokens(s.picture, maker.processor) for s in samples]
    sample = SampleSize(round(fmean(seen)), round(fmean(len(s.answer) for s in samples)))
    count = round(len(samples) / len(numbers) * len(pages.train))
    estimate = Estimate(
        *(
            f"{len(pages.train)} pages",
            size,
            sample,
            count,
            run.limits.epochs,
            stage.settings,
            max(processes, 1),
        ),
        reached=COMPILED if run.compile else REACHED,
    )
    return estimate.describe()


def estimate_blocks(stage: GlmBlockStage, codec: Codec, processes: int) -> str:
    """What a stage on drawn blocks needs; its blocks follow from its steps or its time."""
    size = replace(stage.size, rows=max(stage.size.rows, len(codec) + 64))
    canvas = max(stage.recipe.canvases, key=lambda c: c.height * c.width * c.blocks)
    sample = SampleSize(canvas.height * canvas.width // size.stride**2, stage.recipe.longest // 3)
    work = step_operations(size, sample, stage.settings.checkpointing)
    limits, each = stage.run.limits, max(processes, 1)
    count = limits.steps * canvas.blocks * each or round(limits.minutes * 60 * PEAK * SYNTHETIC * each / work)
    settings = replace(stage.settings, batch_tokens=canvas.blocks * sample.tokens)
    return Estimate("Drawn blocks", size, sample, count, 1, settings, each, SYNTHETIC).describe()
