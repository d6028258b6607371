"""The vision side's forward pass, held against the library's own."""

from __future__ import annotations

import pytest
import torch
from glm_models import RARE, make_pretrained

from tongguocr.engines.glm.network import GlmNetwork
from tongguocr.engines.glm.pretrained import PretrainedModel
from tongguocr.engines.glm.processor import patch_pictures
from tongguocr.training.glm.expand import expand


@pytest.fixture(scope="module")
def pretrained() -> PretrainedModel:
    return expand(make_pretrained(), RARE)[0]


@pytest.mark.parametrize("shapes", [[(112, 140)] * 3, [(112, 140), (140, 112), (140, 112), (112, 112)]])
def test_image_tokens_are_the_library_s(pretrained: PretrainedModel, shapes: list[tuple[int, int]]) -> None:
    rng = torch.Generator().manual_seed(2)
    pictures = [torch.randint(0, 256, (*shape, 3), generator=rng, dtype=torch.uint8) for shape in shapes]
    patches, grids = patch_pictures(pictures, pretrained.processor)
    fresh = make_pretrained().model
    network = GlmNetwork(make_pretrained().model)
    with torch.no_grad():
        grid = torch.tensor([(1, *sides) for sides in grids])
        wanted = fresh.model.visual(patches, grid_thw=grid).pooler_output
        assert torch.allclose(network.encode_images(patches, grids), wanted, atol=1e-5)
