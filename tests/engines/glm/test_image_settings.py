"""What pictures a model was trained on: the file in its folder, and a block as the model sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from recognise_pages import inputs_of, make_page

from tongguocr.engines.glm.image_settings import (
    FILE,
    ImageSettings,
    block_pixels,
    load_image_settings,
    save_image_settings,
)
from tongguocr.engines.glm.processor import ProcessorConfig
from tongguocr.errors import InputError


def test_how_a_model_is_shown_pages(tmp_path: Path) -> None:
    assert load_image_settings(tmp_path) == ImageSettings()
    save_image_settings(ImageSettings(False, 512, 40.0), tmp_path)
    assert load_image_settings(tmp_path) == ImageSettings(False, 512, 40.0)
    for bad in ("junk", "[]", '{"square": true}'):
        (tmp_path / FILE).write_text(bad)
        with pytest.raises(InputError, match=FILE):
            load_image_settings(tmp_path)
    (block,) = inputs_of(make_page(1, size=60, length=6))
    square = ImageSettings().picture_of(block, ProcessorConfig())
    assert square.shape[0] == square.shape[1] and block_pixels(block, True) is block.crop.pixels
    narrow = ImageSettings(square=False).picture_of(block, ProcessorConfig())
    x0, y0, x1, y1 = block.crop.region
    assert narrow.shape[0] > 2 * narrow.shape[1] and block_pixels(block, False).shape[:2] == (
        y1 - y0,
        x1 - x0,
    )
    scaled = ImageSettings(False, 1024, 20.0).picture_of(block, ProcessorConfig())
    assert scaled.shape[0] < 0.6 * narrow.shape[0], "characters as large as in training"
