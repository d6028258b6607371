"""The benches of the full-size model, on a toy."""

from __future__ import annotations

from pathlib import Path

import pytest
from glm_models import write_model
from labelled_pages import write_pages

from bench import full_size, full_size_read
from tongguocr.engines.glm.image_settings import ImageSettings, save_image_settings


def test_the_benches_run_on_a_toy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full_size.main(["--tiny", "--side", "112", "--answer", "9", "--batch", "1", "--repeats", "1"])
    told = capsys.readouterr().out
    assert "tokens/s" in told and "8 such GPUs" in told
    write_pages(tmp_path / "pages", 2, columns=1, length=2)
    save_image_settings(ImageSettings(side=112), write_model(tmp_path / "model"))
    full_size_read.main([str(tmp_path / "pages"), str(tmp_path / "model"), "--rows", "2"])
    assert "2 pages, 4 characters" in capsys.readouterr().out
