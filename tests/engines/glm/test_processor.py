"""Pictures and positions, held against transformers' own processor and model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from glm_models import make_pretrained
from hypothesis import given, settings
from hypothesis import strategies as st

from tongguocr.engines.glm.processor import (
    PREPROCESSOR,
    PROCESSOR,
    ProcessorConfig,
    fit_size,
    image_tokens,
    patch_pictures,
    patch_places,
    positions,
    read_processor_config,
    scale_picture,
    to_patches,
)
from tongguocr.errors import InputError

sides = st.integers(1, 3000)


@given(sides, sides, st.sampled_from([256, 768, 1024, 4000]))
def test_sizes_are_those_of_the_library(high: int, wide: int, side: int) -> None:
    from transformers.models.glm46v.image_processing_pil_glm46v import smart_resize

    processor = ProcessorConfig().within(side)
    try:
        wanted = smart_resize(2, high, wide, 2, 28, processor.min_pixels, processor.max_pixels)
    except ValueError:
        return  # too oblong: ours is filled up first
    assert fit_size(high, wide, processor) == wanted


@pytest.mark.parametrize("shape", [(100, 333, 3), (300, 60, 3), (20, 200, 3), (61, 50, 3), (700, 900, 3)])
def test_patches_are_those_of_the_library(shape: tuple[int, ...]) -> None:
    from transformers.models.glm46v.image_processing_pil_glm46v import Glm46VImageProcessorPil

    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    processor = ProcessorConfig().within(256)
    size = {"shortest_edge": processor.min_pixels, "longest_edge": processor.max_pixels}
    theirs = Glm46VImageProcessorPil(size=size)(
        images=[pixels], return_tensors="np", input_data_format="channels_last"
    )
    scaled = scale_picture(pixels, processor)
    patches, grids = patch_pictures([torch.from_numpy(scaled.copy())], processor)
    np.testing.assert_allclose(patches.numpy(), theirs["pixel_values"], atol=1e-6)
    _, rows, columns = theirs["image_grid_thw"][0]
    assert grids == [(scaled.shape[0] // 14, scaled.shape[1] // 14)] == [(rows, columns)]
    assert image_tokens(scaled, processor) == rows * columns // 4


def test_grey_pictures_have_three_channels_alike() -> None:
    grey = np.random.default_rng(1).integers(0, 256, (112, 140)).astype(np.uint8)
    scaled = scale_picture(grey, ProcessorConfig())
    assert scaled.shape == (112, 140, 3) and (scaled == grey[..., None]).all()
    painted = torch.from_numpy(grey)[None, None].float() / 255
    assert torch.allclose(
        to_patches(painted, ProcessorConfig()),
        patch_pictures([torch.from_numpy(scaled.copy())], ProcessorConfig())[0],
    )


@given(st.integers(1, 40), st.integers(1, 6000))
@settings(max_examples=20)
def test_any_shape_can_be_shown(short: int, long: int) -> None:
    for shape in ((short, long), (long, short)):
        scaled = scale_picture(np.zeros(shape, np.uint8), ProcessorConfig().within(512))
        assert scaled.ndim == 3 and not any(side % 28 or not side for side in scaled.shape[:2])


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 9))
@settings(max_examples=15)
def test_positions_are_those_of_the_model(rows: int, columns: int, answer: int) -> None:
    pretrained = make_pretrained()
    prompt, grid = pretrained.prompt, (2 * rows, 2 * columns)
    ids = torch.tensor([[*prompt.ids(rows * columns), *[prompt.end] * answer]])
    wanted, _ = pretrained.model.model.get_rope_index(
        ids, (ids == prompt.image).int(), image_grid_thw=torch.tensor([[1, *grid]])
    )
    found = positions(len(prompt.before), grid, len(prompt.after) + answer)
    assert np.array_equal(found, wanted[:, 0].numpy())


def test_places_of_patches_go_by_tokens() -> None:
    assert patch_places([(2, 4)]).tolist() == [
        *([0, 0], [0, 1], [1, 0], [1, 1]),
        *([0, 2], [0, 3], [1, 2], [1, 3]),
    ]
    assert len(patch_places([(2, 4), (4, 4)])) == 24


def test_settings_of_a_folder(tmp_path: Path) -> None:
    assert read_processor_config(tmp_path) == ProcessorConfig()
    held = {"patch_size": 14, "size": {"shortest_edge": 100, "longest_edge": 200}, "image_mean": [0, 0, 0]}
    for name, content in ((PROCESSOR, {"image_processor": held}), (PREPROCESSOR, held)):
        (tmp_path / name).write_text(json.dumps(content))
        processor = read_processor_config(tmp_path)
        assert (processor.min_pixels, processor.max_pixels, processor.mean) == (100, 200, (0.0, 0.0, 0.0))
        (tmp_path / name).unlink()
    (tmp_path / PROCESSOR).write_text("{}")
    assert read_processor_config(tmp_path) == ProcessorConfig()
    for bad in ("[]", "junk", '{"merge_size": 4}', '{"size": 3}'):
        (tmp_path / PREPROCESSOR).write_text(bad)
        with pytest.raises(InputError, match=PREPROCESSOR):
            read_processor_config(tmp_path)
