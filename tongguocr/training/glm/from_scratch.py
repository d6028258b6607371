"""A model of GLM-OCR's class from nothing, for tests and for training where the published weights are not.

In: sizes and, if there is any, text. Out: a model with random weights and a byte-level tokenizer of its
own, special tokens behind its pieces as in the published one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from tongguocr.engines.glm.config import GlmSize, make_config
from tongguocr.engines.glm.pretrained import PretrainedModel, need_transformers
from tongguocr.engines.glm.processor import ProcessorConfig
from tongguocr.engines.glm.prompt import AFTER, SPECIALS, make_prompt

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def byte_tokenizer(text: Iterable[str] = (), merges: int = 64) -> Tokenizer:
    """A byte-level BPE of the 256 bytes and so many merges, trained on this text and the prompt."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    words = Regex(r"\s*[\r\n]+|\s?\p{L}+|\p{N}|\s?[^\s\p{L}\p{N}]+|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([AFTER, *text], trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    return tokenizer


def random_model(size: GlmSize, tokenizer: Tokenizer, seed: int = 1) -> PretrainedModel:
    """Random weights; as many rows as the tokenizer has tokens, if the sizes have fewer."""
    transformers = need_transformers()
    prompt = make_prompt(tokenizer, "the tokenizer")
    size = replace(size, rows=max(size.rows, len(prompt.spellings)))
    config = make_config(size, {token: prompt.tokenizer.token_to_id(token) or 0 for token in SPECIALS})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.GlmOcrForConditionalGeneration(config)
    model.generation_config.eos_token_id = list(prompt.ends)
    model.generation_config.pad_token_id = prompt.pad
    return PretrainedModel(model.eval(), prompt, ProcessorConfig(patch=size.patch))
