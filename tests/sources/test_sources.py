"""Image files of every mode come out as 8-bit grey or RGB; bad ones as one sentence."""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, features

from tongguocr.errors import InputError
from tongguocr.sources import (
    TooManyPixelsError,
    at_most,
    find_image,
    image_size,
    images,
    load_pixels,
    open_source,
)


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
    monkeypatch.setattr(images, "MAX_PIXELS", 100_000)
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


def grey(value: int, size: tuple[int, int] = (20, 30)) -> Image.Image:
    return Image.new("L", size, value)


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp", "jp2", "gif", "bmp"])
def test_one_image_is_one_page_of_its_stem(tmp_path: Path, suffix: str) -> None:
    if suffix == "jp2" and not features.check("jpg_2000"):
        pytest.skip("this Pillow has no JPEG 2000")
    path = tmp_path / f"卷一.v2.{suffix}"
    grey(200).save(path)
    (page,) = open_source(path)
    assert (page.name, page.file, page.number) == ("卷一.v2", str(path), 1)
    pixels = page.load()
    assert pixels.shape[:2] == (30, 20)
    assert np.abs(pixels.astype(int) - 200).max() <= 2


def test_only_the_first_frame_of_an_animation(tmp_path: Path) -> None:
    for suffix in ("gif", "webp", "png"):
        path = tmp_path / f"x.{suffix}"
        grey(0).save(path, save_all=True, append_images=[grey(255)])
        (page,) = open_source(str(path))
        assert page.load().max() <= 2


def test_sixteen_bits_keep_their_order(tmp_path: Path) -> None:
    Image.fromarray(np.linspace(0, 65535, 256).astype(np.uint16).reshape(1, -1)).save(tmp_path / "x.png")
    assert np.abs(load_pixels(tmp_path / "x.png")[0].astype(int) - np.arange(256)).max() <= 1


@pytest.mark.parametrize(
    ("bits", "suffix"), [(12, "tif"), (12, "png"), (10, "tif"), (14, "tif"), (32, "tif")]
)
def test_fewer_bits_than_the_file_has_room_for(tmp_path: Path, bits: int, suffix: str) -> None:
    shown = np.tile(np.linspace(0, 1, 256), (4, 1))
    values = (shown * (2.0**bits - 1 if bits < 32 else 2.0**31 - 1)).astype(
        np.int32 if bits > 16 else np.uint16
    )
    Image.fromarray(values).save(tmp_path / f"x.{suffix}")
    assert np.abs(load_pixels(tmp_path / f"x.{suffix}")[0].astype(int) - np.arange(256)).max() <= 1


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 255), (-0.5, 0.5), (0, 4095), (1000, 1001), (-3e38, 3e38)]
)
def test_decimals_are_scaled_by_their_own_range(tmp_path: Path, low: float, high: float) -> None:
    values = (low * np.linspace(1, 0, 256) + high * np.linspace(0, 1, 256)).astype(np.float32)
    Image.fromarray(np.tile(values, (4, 1))).save(tmp_path / "x.tif")
    assert np.abs(load_pixels(tmp_path / "x.tif")[0].astype(int) - np.arange(256)).max() <= 1


def test_decimals_that_are_no_numbers_are_paper(tmp_path: Path) -> None:
    Image.fromarray(np.array([[np.nan, np.inf, -np.inf, 2, 3]], np.float32)).save(tmp_path / "x.tif")
    assert load_pixels(tmp_path / "x.tif").tolist() == [[255, 255, 0, 0, 255]]
    Image.fromarray(np.full((2, 2), 0.25, np.float32)).save(tmp_path / "x.tif")
    assert load_pixels(tmp_path / "x.tif").min() == 255, "a blank page"


def test_a_blank_page_of_many_bits_stays_blank(tmp_path: Path) -> None:
    paper = np.random.default_rng(1).integers(3700, 3900, (40, 40)).astype(np.uint16)
    Image.fromarray(paper).save(tmp_path / "x.tif")
    assert load_pixels(tmp_path / "x.tif").min() > 220


@pytest.mark.parametrize("suffix", ["ppm", "pgm", "pbm", "pnm", "avif", "heic", "heif"])
def test_files_that_people_have(tmp_path: Path, suffix: str) -> None:
    if suffix.startswith("hei"):
        pytest.importorskip("pillow_heif").register_heif_opener()
    elif suffix == "avif" and not features.check("avif"):
        pytest.skip("this Pillow is built without AVIF")
    halves = Image.fromarray(np.repeat(np.array([0, 255], np.uint8), 32)[None].repeat(48, 0))
    image = halves.convert({"pbm": "1", "pgm": "L"}.get(suffix, "RGB"))
    image.save(
        tmp_path / f"x.{suffix}", format={"heic": "HEIF", "heif": "HEIF", "avif": "AVIF"}.get(suffix, "PPM")
    )
    (page,) = open_source(tmp_path)
    pixels = page.load()
    assert pixels.shape == ((48, 64) if suffix in ("pbm", "pgm") else (48, 64, 3)) and page.name == "x"
    assert pixels[:, :28].max() < 30 and pixels[:, 36:].min() > 225


@pytest.mark.parametrize("suffix", ["avif", "heic"])
def test_new_formats_stand_upright_and_damage_is_a_sentence(tmp_path: Path, suffix: str) -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / f"x.{suffix}"
    Image.effect_noise((96, 64), 50).convert("RGB").save(path, exif=exif)
    # In HEIC EXIF does not count, by its specification: the file turns the picture itself.
    assert load_pixels(path).shape[:2] == ((96, 64) if suffix == "avif" else (64, 96))
    path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(InputError, match=rf"x\.{suffix}: .*\.$"):
        load_pixels(path)


def test_heic_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(InputError, match=r"x\.heic: .*pip install 'tongguocr\[heif\]'"):
        load_pixels(tmp_path / "x.heic")


def test_tiff_pages_turned_and_thumbnails_left_out(tmp_path: Path) -> None:
    path = tmp_path / "book.tif"
    frames = [grey(10), grey(20, (5, 5)), grey(30, (8, 4)), grey(40)]
    for frame, tags in zip(frames, ({}, {254: 1}, {274: 6}, {254: 2}), strict=True):
        frame.encoderinfo = {"tiffinfo": tags}
    frames[0].save(path, save_all=True, append_images=frames[1:])
    pages = list(open_source(path))
    assert [page.name for page in pages] == ["book-0001", "book-0002", "book-0003"]
    assert [int(page.load().flat[0]) for page in pages] == [10, 30, 40]
    assert [page.load().shape for page in pages] == [(30, 20), (8, 4), (30, 20)]
    assert [page.name for page in open_source(path, "2-")] == ["book-0002", "book-0003"]


def test_a_broken_tiff_page_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "book.tif"
    noise = [Image.effect_noise((80, 80), 40 + i) for i in range(3)]
    noise[0].save(path, save_all=True, append_images=noise[1:])
    path.write_bytes(path.read_bytes()[:-4000])
    pages = list(open_source(path))
    assert [page.load().shape for page in pages[:2]] == [(80, 80)] * 2
    with pytest.raises(InputError, match=r"book\.tif, page 3: .*\.$"):
        pages[2].load()


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_a_turned_tiff_is_not_scrambled(tmp_path: Path, compression: str | None) -> None:
    shown = np.arange(32, dtype=np.uint8).reshape(8, 4)
    stored = Image.fromarray(np.rot90(shown))
    stored.save(tmp_path / "x.tif", tiffinfo={274: 6}, compression=compression)
    assert load_pixels(tmp_path / "x.tif").tolist() == shown.tolist()


def test_our_limit_counts_and_not_pillows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    for name in ("x.png", "x.tif"):
        grey(7).save(tmp_path / name)
        assert load_pixels(tmp_path / name).shape == (30, 20)
    assert Image.MAX_IMAGE_PIXELS == 10, "what others rely on is as it was"


def test_pages_travel_to_other_processes(tmp_path: Path) -> None:
    grey(9).save(tmp_path / "x.png")
    (page,) = pickle.loads(pickle.dumps(list(open_source(tmp_path))))
    assert page.load().max() == 9


def test_files_never_touch_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("a file led to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    grey(9).save(tmp_path / "x.png")
    assert [page.load().max() for page in open_source(tmp_path)] == [9]


def test_sources_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "empty.jpg").touch()
    os.mkfifo(tmp_path / "pipe.jpg")
    for source, sentence in {
        str(tmp_path / "none.jpg"): "no such file",
        str(tmp_path / "empty.jpg"): "the file is empty",
        str(tmp_path / "pipe.jpg"): "neither a file nor a folder",
        f"{tmp_path}/a\0b": "cannot be read",
        "ftp://example.org/x.jpg": "not an http or https address",
        "file:///etc/hosts": "not an http or https address",
    }.items():
        with pytest.raises(InputError, match=sentence):
            open_source(source)


@pytest.mark.parametrize("name", ["book", "book.jpg", "book.json", "book.pdf"])
def test_what_a_file_begins_with_counts_more_than_its_name(tmp_path: Path, name: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        made.writestr("a.txt", b"x")
    (tmp_path / name).write_bytes(data.getvalue())
    with pytest.raises(InputError, match="no image in this archive"):
        open_source(tmp_path / name)


def test_nothing_is_followed_where_nothing_may_be_fetched(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"@context": "http://iiif.io/x", "id": "http://127.0.0.1/"}')
    (page,) = open_source(path, fetching=None)
    with pytest.raises(InputError, match="not an image"):
        page.load()
    with pytest.raises(InputError, match="not followed"):
        open_source("http://127.0.0.1/manifest", fetching=None)


def test_a_bound_of_ones_own_for_images_wherever_they_lie(tmp_path: Path) -> None:
    grey(9).save(tmp_path / "a.png")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as made:
        made.write(tmp_path / "a.png", "a.png")
    for path in (tmp_path / "a.png", tmp_path / "b.zip"):
        (page,) = open_source(path)
        wide, high = page.load().shape
        with at_most(wide * high):
            page.load()
        with at_most(wide * high - 1), pytest.raises(TooManyPixelsError, match="megapixels"):
            page.load()
        page.load()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp", "gif"])
def test_damaged_images_are_a_sentence(suffix: str, data: st.DataObject, tmp_path: Path) -> None:
    whole, path = tmp_path / f"whole.{suffix}", tmp_path / f"x.{suffix}"
    if not whole.exists():
        grey(9).save(whole)
    junk, content = data.draw(st.binary(max_size=6)), whole.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:start] + junk + content[start + data.draw(st.integers(0, 9)) :] or b"x")
    try:
        assert all(page.load().dtype == np.uint8 for page in open_source(path))
    except InputError as error:
        assert str(error).startswith(str(path)) and str(error).endswith(".") and "\n" not in str(error)


def test_the_command_says_it_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8 not quite")
    command = [sys.executable, "-m", "tongguocr.cli", "lines", str(tmp_path / "x.jpg"), "-o", "out.json"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("tongguocr: ") and result.stderr.count("\n") == 1
    assert "x.jpg: " in result.stderr
