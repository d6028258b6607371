"""A stage's plan: the sizes of its samples, measured on a few pages, and what `estimate` makes of them.

Nothing is trained, and no weights are read: a model's config.json and tokenizer are enough.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from tongguocr.engines.glm.config import GlmSize, size_of
from tongguocr.engines.glm.pretrained import TOKENIZER, find_folder, need_transformers
from tongguocr.engines.glm.processor import image_tokens, read_processor_config
from tongguocr.engines.glm.prompt import make_prompt
from tongguocr.errors import InputError
from tongguocr.tokens.base_tokenizer import open_tokenizer
from tongguocr.tokens.codec import Codec
from tongguocr.training.glm.estimate import COMPILED, DRAWN, PEAK, REACHED, Plan, SampleSize, step_operations
from tongguocr.training.glm.samples import GlmMaker, GlmSample
from tongguocr.training.glm.stage import GlmBlockStage, GlmPageStage
from tongguocr.training.recogniser.labelled import Labelled
from tongguocr.training.recogniser.page_feed import tell

LOOKED_AT = 40
"""Pages whose samples are measured."""


def read_size(folder: Path) -> GlmSize:
    """The sizes in a folder's config.json."""
    need_transformers()
    from transformers import GlmOcrConfig

    try:
        return size_of(GlmOcrConfig.from_pretrained(folder, local_files_only=True))
    except Exception as error:  # missing, no JSON, other keys: the library has a class for each
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        raise InputError(f"{folder}: its config.json cannot be used ({reason}).") from None


def plan_pages(stage: GlmPageStage, pages: Labelled, start: str, processes: int) -> str:
    """What a stage on labelled pages needs."""
    folder = find_folder(start)
    size = read_size(folder)
    prompt = make_prompt(open_tokenizer(folder), str(folder / TOKENIZER))
    run, recipe = stage.run, replace(stage.pages, augment=False)
    maker = GlmMaker(pages, recipe, stage.settings, prompt, read_processor_config(folder), run.seed)
    numbers = np.linspace(0, len(pages.train) - 1, min(len(pages.train), LOOKED_AT)).round().astype(int)
    made = [maker.make("train", int(number), 0) for number in numbers]
    samples: list[GlmSample] = [sample for found, _ in made for sample in found]
    if not samples:
        reasons = tell(sum((left for _, left in made), start=made[0][1]))
        raise InputError(f"{pages.train[0].image}: no page gives a sample: {reasons}.")
    seen = [image_tokens(s.picture, maker.processor) for s in samples]
    sample = SampleSize(round(fmean(seen)), round(fmean(len(s.answer) for s in samples)))
    count = round(len(samples) / len(numbers) * len(pages.train))
    plan = Plan(
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
    return plan.tell()


def plan_drawn(stage: GlmBlockStage, codec: Codec, processes: int) -> str:
    """What a stage on drawn blocks needs; its blocks follow from its steps or its time."""
    size = replace(stage.size, rows=max(stage.size.rows, len(codec) + 64))
    canvas = max(stage.recipe.canvases, key=lambda c: c.height * c.width * c.blocks)
    sample = SampleSize(canvas.height * canvas.width // size.stride**2, stage.recipe.longest // 3)
    work = step_operations(size, sample, stage.settings.checkpointing)
    limits, each = stage.run.limits, max(processes, 1)
    count = limits.steps * canvas.blocks * each or round(limits.minutes * 60 * PEAK * DRAWN * each / work)
    settings = replace(stage.settings, batch_tokens=canvas.blocks * sample.tokens)
    return Plan("Drawn blocks", size, sample, count, 1, settings, each, DRAWN).tell()
