"""How large a model of GLM-OCR's class is: the published sizes, and its configuration for transformers.

The class's own defaults are not those of the published model, so every value is given here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPORAL = 2
"""Times that a still picture is repeated: the patches are those of a video."""
MERGE = 2
"""Patches a side that become one token."""


@dataclass(frozen=True, slots=True)
class GlmSize:
    """Sizes of a network; as they stand, those of the published one."""

    text_width: int = 1536
    text_layers: int = 16
    heads: int = 16
    key_value_heads: int = 8
    head: int = 128
    """Channels of one head."""
    feed_forward: int = 4608
    vision_width: int = 1024
    vision_layers: int = 24
    vision_heads: int = 16
    vision_feed_forward: int = 4096
    patch: int = 14
    rows: int = 59_392
    """Of the embedding tables; a few more than there are tokens."""
    tied: bool = False
    """Whether one table serves input and output."""

    def __post_init__(self) -> None:
        if self.head % 16:
            raise ValueError("head is a multiple of 16, which the three kinds of positions share")
        if self.heads % self.key_value_heads or self.vision_width % (4 * self.vision_heads):
            raise ValueError("heads divide what they share")

    @property
    def sections(self) -> tuple[int, int, int]:
        """Channels of a head, in pairs, for the time, height and width of a place."""
        quarter = self.head // 8
        return quarter, 3 * quarter // 2, 3 * quarter // 2

    @property
    def stride(self) -> int:
        """Pixels a side of one image token."""
        return self.patch * MERGE


PUBLISHED = GlmSize()


def make_config(size: GlmSize, ids: Mapping[str, int]) -> Any:
    """The configuration of a model of this size; `ids` are those of the special tokens, by name."""
    from transformers import GlmOcrConfig

    ends = [ids["<|endoftext|>"], ids["<|user|>"]]
    text = {
        "vocab_size": size.rows,
        "hidden_size": size.text_width,
        "intermediate_size": size.feed_forward,
        "num_hidden_layers": size.text_layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.key_value_heads,
        "head_dim": size.head,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 131_072,
        "pad_token_id": ends[0],
        "eos_token_id": ends,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "mrope_section": list(size.sections),
        },
    }
    vision = {
        "depth": size.vision_layers,
        "hidden_size": size.vision_width,
        "num_heads": size.vision_heads,
        "intermediate_size": size.vision_feed_forward,
        "out_hidden_size": size.text_width,
        "patch_size": size.patch,
        "temporal_patch_size": TEMPORAL,
        "spatial_merge_size": MERGE,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
    }
    return GlmOcrConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["<|image|>"],
        video_token_id=ids["<|video|>"],
        image_start_token_id=ids["<|begin_of_image|>"],
        image_end_token_id=ids["<|end_of_image|>"],
        video_start_token_id=ids["<|begin_of_video|>"],
        video_end_token_id=ids["<|end_of_video|>"],
        tie_word_embeddings=size.tied,
    )


def size_of(config: Any) -> GlmSize:
    """The sizes of a model by its configuration."""
    text, vision = config.text_config, config.vision_config
    return GlmSize(
        text_width=text.hidden_size,
        text_layers=text.num_hidden_layers,
        heads=text.num_attention_heads,
        key_value_heads=text.num_key_value_heads,
        head=getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
        feed_forward=text.intermediate_size,
        vision_width=vision.hidden_size,
        vision_layers=vision.depth,
        vision_heads=vision.num_heads,
        vision_feed_forward=vision.intermediate_size,
        patch=vision.patch_size,
        rows=text.vocab_size,
        tied=bool(config.tie_word_embeddings),
    )
