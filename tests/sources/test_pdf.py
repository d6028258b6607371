"""PDF pages: scans come out as they are, all else is rendered; hostile pages are one sentence each."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Pixels
from tongguocr.sources import MemoryFile, Rendering, open_source
from tongguocr.sources.pdf import load_pdf_page

pikepdf = pytest.importorskip("pikepdf")
pytest.importorskip("pypdfium2")

WIDTH, HEIGHT = 60, 80
SCAN = np.add.outer(np.arange(HEIGHT), 2 * np.arange(WIDTH)).astype(np.uint8)
DRAW = b"q 60 0 0 80 0 0 cm /I Do Q"
FILL = b"0 0 1 rg 10 10 20 20 re f"


def image(pdf: Any, data: bytes = SCAN.tobytes(), **entries: Any) -> Any:
    told = {"Width": WIDTH, "Height": HEIGHT, "BitsPerComponent": 8, "ColorSpace": pikepdf.Name.DeviceGray}
    told |= {"Type": pikepdf.Name.XObject, "Subtype": pikepdf.Name.Image, **entries}
    return pikepdf.Stream(pdf, data, {f"/{key}": value for key, value in told.items() if value is not None})


def add_page(pdf: Any, content: bytes = DRAW, shown: Any = None, size: tuple[float, float] = (60, 80)) -> Any:
    page = pdf.add_blank_page(page_size=(60, 80))
    page.MediaBox = [0, 0, *size]
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica
    )
    page.Resources = pikepdf.Dictionary(
        XObject=pikepdf.Dictionary(I=image(pdf) if shown is None else shown), Font=pikepdf.Dictionary(F=font)
    )
    page.Contents = pikepdf.Stream(pdf, content)
    return page


def save_one(path: Path, content: bytes = DRAW, **entries: Any) -> Path:
    pdf = pikepdf.new()
    add_page(pdf, content, image(pdf, **entries))
    pdf.save(path)
    return path


def load_one(path: Path) -> Pixels:
    (page,) = open_source(path)
    assert page.name == path.stem
    return page.load()


def test_a_scan_comes_out_as_it_is(tmp_path: Path) -> None:
    assert np.array_equal(load_one(save_one(tmp_path / "a.pdf")), SCAN)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK"])
def test_scans_of_every_mode_keep_their_resolution(tmp_path: Path, mode: str) -> None:
    halves = np.repeat(np.array([0, 255], np.uint8), 75)[None].repeat(200, 0)
    Image.fromarray(halves).convert("RGB").convert(mode).save(tmp_path / "a.pdf", resolution=300)
    pixels = load_one(tmp_path / "a.pdf")
    assert pixels.shape == ((200, 150) if mode in ("1", "L") else (200, 150, 3))
    assert pixels[:, :60].max() < 90 and pixels[:, 90:].min() > 240


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_turned_page(tmp_path: Path, turns: int) -> None:
    pdf = pikepdf.new()
    add_page(pdf).Rotate = 90 * turns
    pdf.save(tmp_path / "a.pdf")
    assert np.array_equal(load_one(tmp_path / "a.pdf"), np.rot90(SCAN, -turns))


def test_an_invisible_text_layer_does_not_count(tmp_path: Path) -> None:
    hidden, seen = (b" BT /F 20 Tf %d Tr 5 30 Td (ab) Tj ET" % mode for mode in (3, 0))
    assert np.array_equal(load_one(save_one(tmp_path / "a.pdf", DRAW + hidden)), SCAN)
    assert load_one(save_one(tmp_path / "b.pdf", DRAW + seen)).shape == (2400, 1800, 3)


def test_what_is_more_than_a_scan_is_rendered(tmp_path: Path) -> None:
    pixels = load_one(save_one(tmp_path / "a.pdf", FILL))
    assert pixels.shape == (2400, 1800, 3)
    assert pixels[1800, 600].tolist() == [0, 0, 255] and pixels[10, 10].tolist() == [255, 255, 255]
    assert load_one(save_one(tmp_path / "b.pdf", b"q 30 0 0 40 9 9 cm /I Do Q")).shape == (2400, 1800, 3)
    assert load_one(save_one(tmp_path / "c.pdf", b"")).min() == 255


def test_masks_and_stencils_look_as_on_the_page(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    upper = bytes(WIDTH * HEIGHT // 2) + b"\xff" * (WIDTH * HEIGHT // 2)
    add_page(pdf, DRAW, image(pdf, bytes(WIDTH * HEIGHT), SMask=image(pdf, upper)))
    bits = np.packbits(np.arange(HEIGHT)[:, None].repeat(WIDTH, 1) < HEIGHT // 2, axis=1).tobytes()
    add_page(pdf, DRAW, image(pdf, bits, ImageMask=True, BitsPerComponent=1, ColorSpace=None))
    pdf.save(tmp_path / "a.pdf")
    for page in open_source(tmp_path / "a.pdf"):
        pixels = page.load()
        assert pixels[: len(pixels) * 2 // 5].min() == 255, "paper above"
        assert pixels[len(pixels) * 3 // 5 :].max() == 0, "ink below"


def test_rendering_is_bounded(tmp_path: Path) -> None:
    path = save_one(tmp_path / "a.pdf", FILL)
    assert load_pdf_page(path, 1, Rendering(long_side=800)).pixels.shape == (800, 600, 3)
    pixels = load_pdf_page(path, 1, Rendering(long_side=10_000, max_pixels=120_000)).pixels
    assert pixels.shape == (400, 300, 3)


def test_hostile_pages_fail_alone(tmp_path: Path) -> None:
    pdf, path = pikepdf.new(), tmp_path / "book.pdf"
    add_page(pdf)
    add_page(pdf, size=(1e7, 1e7))
    add_page(pdf, shown=image(pdf, Width=10**7, Height=10**7))
    add_page(pdf, b"q 9 0 0 9 0 0 cm /I Do Q " + FILL, image(pdf, Width=10**5, Height=10**5))
    add_page(pdf, shown=image(pdf, b"junk", Filter=pikepdf.Name.DCTDecode))
    add_page(pdf)
    pdf.save(path)
    pages = list(open_source(path))
    assert [page.name for page in pages] == [f"book-000{n}" for n in range(1, 7)]
    assert all(np.array_equal(page.load(), SCAN) for page in (pages[0], pages[5]))
    for page in pages[1:5]:
        with pytest.raises(InputError) as caught:
            page.load()
        assert str(caught.value).startswith(f"{path}, page {page.number}: the ")
        assert str(caught.value).endswith(".")


def test_files_that_are_no_open_pdf(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    add_page(pdf)
    pdf.save(tmp_path / "locked.pdf", encryption=pikepdf.Encryption(user="u", owner="o"))
    pdf.save(tmp_path / "free.pdf", encryption=pikepdf.Encryption(user="", owner="o"))
    (tmp_path / "empty.pdf").touch()
    (tmp_path / "junk.pdf").write_bytes(os.urandom(500))
    for name, sentence in {
        "locked": "encrypted and needs a password",
        "empty": "empty",
        "junk": "not a PDF",
        "none": "no such file",
    }.items():
        with pytest.raises(InputError, match=rf"{name}\.pdf: .*{sentence}.*\.$"):
            open_source(tmp_path / f"{name}.pdf")
    assert np.array_equal(load_one(tmp_path / "free.pdf"), SCAN), "a password only for changing it"


def test_a_pdf_by_what_is_inside(tmp_path: Path) -> None:
    path = save_one(tmp_path / "a.pdf").rename(tmp_path / "scan")
    assert np.array_equal(load_one(path), SCAN)


def test_a_file_that_is_gone_or_shorter_by_then(tmp_path: Path) -> None:
    (page,) = open_source(save_one(tmp_path / "a.pdf"))
    (tmp_path / "a.pdf").unlink()
    with pytest.raises(InputError, match="no such file"):
        page.load()
    with pytest.raises(InputError, match=r"b\.pdf, page 2: "):
        load_pdf_page(save_one(tmp_path / "b.pdf"), 2)


def test_without_the_optional_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_one(tmp_path / "a.pdf")
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtraError, match=r"a\.pdf: .*tongguocr\[pdf\]"):
        open_source(path)


def test_pages_load_from_several_threads(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    for value in range(12):
        add_page(pdf, DRAW, image(pdf, bytes([20 * value]) * (WIDTH * HEIGHT)))
    pdf.save(tmp_path / "a.pdf")
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda page: int(page.load().flat[0]), open_source(tmp_path / "a.pdf")))
    assert values == [20 * value for value in range(12)]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_pdfs_are_a_sentence(data: st.DataObject, tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.pdf", tmp_path / "x.pdf"
    if not whole.exists():
        save_one(whole, DRAW + b" " + FILL)
    content, junk = (
        whole.read_bytes(),
        data.draw(st.binary(max_size=6) | st.sampled_from([b"99999999", b"-1"])),
    )
    start = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:start] + junk + content[start + data.draw(st.integers(0, 9)) :])
    try:
        for page in open_source(path, "1-3", rendering=Rendering(long_side=100, max_long_side=500)):
            assert page.load().dtype == np.uint8
    except InputError as error:
        assert str(error).startswith(str(path)) and str(error).endswith(".") and "\n" not in str(error)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured as Linux tells it")
def test_three_hundred_pages_do_not_pile_up(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    scan, size = image(pdf, bytes(1200 * 1600), Width=1200, Height=1600), (600, 800)
    for number in range(300):
        draw = b"q 600 0 0 800 0 0 cm /I Do Q" + (b" " + FILL if number % 30 == 29 else b"")
        add_page(pdf, draw, scan, size)
    pdf.save(tmp_path / "a.pdf")
    # The kernel's high-water mark of this process alone; getrusage would start with that of its parent.
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from tongguocr.sources import open_source\n"
        "for page in open_source(sys.argv[1]):\n"
        "    page.load()\n"
        "    if page.number in (60, 300):\n"
        "        print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.pdf")], capture_output=True, text=True, check=True
    )
    early, late = (int(line) for line in result.stdout.split())
    assert late - early < 8_000, "kilobytes; one page has 1,900 and there are 240 between"


def test_a_password_opens_what_is_encrypted(tmp_path: Path) -> None:
    pdf = pikepdf.new()
    add_page(pdf)
    pdf.save(tmp_path / "a.pdf", encryption=pikepdf.Encryption(owner="owner", user="秘密"))
    for source in (tmp_path / "a.pdf", MemoryFile("standard input", "a", (tmp_path / "a.pdf").read_bytes())):
        (page,) = open_source(source, password="秘密")
        assert np.array_equal(pickle.loads(pickle.dumps(page)).load(), SCAN)
        assert "秘密" not in repr(page)
        with pytest.raises(InputError, match="is encrypted and needs a password"):
            open_source(source)
        with pytest.raises(InputError, match="the PDF has another password"):
            open_source(source, password="no")


def test_a_jpeg_inside_a_pdf_is_known_as_it_is(tmp_path: Path) -> None:
    jpegs = {}
    for mode in ("L", "RGB", "CMYK"):
        file = io.BytesIO()
        Image.fromarray(SCAN).convert(mode).save(file, "JPEG", quality=90)
        jpegs[mode] = file.getvalue()
    spaces = {"L": pikepdf.Name.DeviceGray, "RGB": pikepdf.Name.DeviceRGB, "CMYK": pikepdf.Name.DeviceCMYK}
    for mode, data in jpegs.items():
        shown = {"ColorSpace": spaces[mode], "Filter": pikepdf.Name.DCTDecode, "data": data}
        (page,) = open_source(save_one(tmp_path / "a.pdf", **shown))
        loaded = page.load_page()
        assert loaded.jpeg == (None if mode == "CMYK" else data) and loaded.width == WIDTH
    # Told to be read the other way round, the JPEG alone would be a negative.
    inverted = save_one(tmp_path / "a.pdf", Filter=pikepdf.Name.DCTDecode, data=jpegs["L"], Decode=[1, 0])
    assert next(open_source(inverted)).load_page().jpeg is None
