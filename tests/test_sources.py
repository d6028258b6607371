"""Image files of every mode come out as 8-bit grey or RGB; bad ones as one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tongguocr import sources
from tongguocr.errors import InputError
from tongguocr.sources import find_image, image_size, load_pixels


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "LA", "I;16"])
def test_modes(tmp_path: Path, mode: str) -> None:
    grey = np.tile(np.array([0, 255], np.uint8), (4, 3))
    if mode == "I;16":
        image = Image.fromarray(grey.astype(np.uint16) * 257)
    else:
        image = Image.fromarray(grey).convert("RGB").convert(mode)
    path = tmp_path / ("x.tif" if mode in ("CMYK", "I;16") else "x.png")
    image.save(path)
    pixels = load_pixels(path)
    assert pixels.dtype == np.uint8
    assert pixels.shape[:2] == (4, 6)
    shown = pixels if pixels.ndim == 2 else pixels[..., 0]
    assert np.abs(shown.astype(int) - grey).max() <= 2


def test_transparent_ink_lies_on_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((0, 0), (0, 0, 0, 255))
    image.save(tmp_path / "x.png")
    assert load_pixels(tmp_path / "x.png")[0].tolist() == [[0, 0, 0], [255, 255, 255]]


def test_exif_orientation(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (30, 10)).save(tmp_path / "x.jpg", exif=exif)
    assert load_pixels(tmp_path / "x.jpg").shape[:2] == (30, 10)


def test_bad_images_give_one_sentence_with_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, cut = tmp_path / "text.jpg", tmp_path / "cut.png"
    text.write_text("not an image")
    Image.effect_noise((200, 200), 50).save(cut)
    cut.write_bytes(cut.read_bytes()[:3000])
    for path in (text, cut, tmp_path / "none.png", tmp_path):
        with pytest.raises(InputError, match=path.name):
            load_pixels(path)
        if path != cut:
            with pytest.raises(InputError, match="the image cannot be read"):
                image_size(path)
    assert image_size(cut) == (200, 200), "its header is whole"
    Image.new("1", (400, 300)).save(tmp_path / "big.png")
    monkeypatch.setattr(sources, "MAX_PIXELS", 100_000)
    with pytest.raises(InputError, match=r"big.png: the image is 400 x 300"):
        load_pixels(tmp_path / "big.png")


def test_find_image(tmp_path: Path) -> None:
    annotation = tmp_path / "p1.xml"
    assert find_image("scan.png", annotation) is None
    (tmp_path / "p1.jpg").touch()
    assert find_image("scan.png", annotation) == tmp_path / "p1.jpg"
    (tmp_path / "scan.png").touch()
    assert find_image("../elsewhere/scan.png", annotation) == tmp_path / "scan.png"
    assert find_image("", annotation) == tmp_path / "p1.jpg"
