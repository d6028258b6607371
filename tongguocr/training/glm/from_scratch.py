"""A model of GLM-OCR's class from nothing, for tests and for training where the published weights are not.

In: sizes and, if there is any, text. Out: a model with random weights and a byte-level tokenizer of its
own, special tokens behind its pieces as in the published one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from tongguocr.engines.glm.config import GlmSize, make_config
from tongguocr.engines.glm.pretrained import PretrainedModel, need_transformers
from tongguocr.engines.glm.processor import ProcessorConfig
from tongguocr.engines.glm.prompt import AFTER, SPECIALS, make_prompt
from tongguocr.training.glm.expand import expand

if TYPE_CHECKING:
    from tokenizers import Tokenizer


BOOK_MEAN, BOOK_STD = (0.75,) * 3, (0.22,) * 3
"""Mean and standard deviation of book pages. A model from nothing learns to see several times faster with
them than with those of photographs, which the published one has: a page is mostly bright."""

FAINT = 0.1
"""What layers of a fresh language model add at first, in standard deviations."""


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


def new_model(
    size: GlmSize, characters: Sequence[str], seed: int, transitions: bool = True
) -> PretrainedModel:
    """A model of this size to be trained from nothing, expanded by these characters as any other would be."""
    small = random_model(size, byte_tokenizer(), seed)
    small = replace(small, processor=replace(small.processor, mean=BOOK_MEAN, std=BOOK_STD))
    pretrained = expand(small, characters, transitions)[0]
    make_tokens_differ(pretrained.model, seed)
    return pretrained


@torch.no_grad()
def make_tokens_differ(model: Any, seed: int) -> None:
    """Let tokens differ from the beginning: rows that expansion added are all but equal, and normed layers
    add fifty times as much to a state as a fresh row holds."""
    rng = torch.Generator().manual_seed(seed)
    for table in dict.fromkeys((model.get_input_embeddings().weight, model.lm_head.weight)):
        table.normal_(0, model.config.text_config.initializer_range, generator=rng)
    for layer in model.model.language_model.layers:
        layer.post_self_attn_layernorm.weight.fill_(FAINT)
        layer.post_mlp_layernorm.weight.fill_(FAINT)
