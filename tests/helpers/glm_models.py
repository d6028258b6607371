"""A toy of GLM-OCR's class with a byte-level tokenizer of its own: what its tests share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from labelled_pages import CHARS

from tongguocr.engines.glm.config import GlmSize
from tongguocr.engines.glm.pretrained import PretrainedModel, save_pretrained
from tongguocr.engines.glm.processor import image_tokens
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.from_scratch import byte_tokenizer, random_model
from tongguocr.training.glm.samples import GlmBatch, GlmSample, collate

COMMON = "天地人之"
"""Characters that are one token before anything is added."""
RARE = "𤣥㫖䟽\uf900"
"""U+F900 looks like U+8C48: the two must not be taken for one."""
SIZE = GlmSize(
    text_width=64,
    text_layers=2,
    heads=2,
    key_value_heads=1,
    head=32,
    feed_forward=128,
    vision_width=64,
    vision_layers=2,
    vision_heads=2,
    vision_feed_forward=128,
    rows=330,
)
SHORT_STAGE = """
[run]
epochs = 1
learning_rate = 1e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
weight_decay = 0.0
warm_up = 0.1
flat = 0.1
workers = 0
compile = false
[pages]
longest_side = 128
augment = false
[glm]
checkpointing = false
saved = "float32"
"""
"""A stage of one epoch on labelled pages."""
SHAPES = [(112, 140), (140, 112), (112, 140), (112, 112)]
TEXTS = ["天地<left>𤣥", "人", "㫖㫖<down>䟽䟽䟽天", "永"]


@cache
def tokenizer_text() -> str:
    return byte_tokenizer([COMMON[:1] * 9, *(char * 5 for char in COMMON)] * 5, 60).to_str()


def make_tokenizer():  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer

    return Tokenizer.from_str(tokenizer_text())


def make_pretrained(size: GlmSize = SIZE, seed: int = 1) -> PretrainedModel:
    """A small model with lively random weights."""
    pretrained = random_model(size, make_tokenizer(), seed)
    with torch.no_grad():
        pretrained.model.lm_head.weight.mul_(8)
    return pretrained


def write_model(folder: Path, characters: str = CHARS) -> Path:
    """Write a small model, expanded by these characters."""
    save_pretrained(expand(make_pretrained(), characters)[0], folder)
    return folder


def make_samples(pretrained: PretrainedModel) -> list[GlmSample]:
    """Pictures of noise in a few sizes, with answers."""
    rng, prompt = np.random.default_rng(1), pretrained.prompt
    samples = []
    for (high, wide), text in zip(SHAPES, TEXTS, strict=True):
        picture = rng.integers(0, 256, (high, wide, 3)).astype(np.uint8)
        answer = (*prompt.encode(text), prompt.end)
        question = prompt.ids(image_tokens(picture, pretrained.processor))
        samples.append(GlmSample(picture, text, answer, len(question) + len(answer)))
    return samples


def make_batch(pretrained: PretrainedModel) -> GlmBatch:
    return collate(make_samples(pretrained), pretrained.prompt, pretrained.processor)
