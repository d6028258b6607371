"""The published sizes, and configurations of others."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from glm_models import SIZE

from tongguocr.engines.glm.config import PUBLISHED, GlmSize, make_config, size_of
from tongguocr.engines.glm.prompt import SPECIALS
from tongguocr.training.glm.estimate import count_parameters


def test_the_published_sizes_are_the_published_model() -> None:
    from transformers import GlmOcrForConditionalGeneration

    count = count_parameters(PUBLISHED)
    assert round(count.total / 1e6) == 1107 and round(count.vision / 1e6) == 434
    assert PUBLISHED.sections == (16, 24, 24)
    ids = {token: k for k, token in enumerate(SPECIALS)}
    for size in (
        SIZE,
        replace(SIZE, tied=True, rows=500),
        replace(PUBLISHED, vision_layers=2, text_layers=1),
    ):
        with torch.device("meta"):
            model = GlmOcrForConditionalGeneration(make_config(size, ids))
        assert sum(p.numel() for p in model.parameters()) == count_parameters(size).total
        assert size_of(model.config) == size
    with pytest.raises(ValueError, match="multiple of 16"):
        GlmSize(head=40)
