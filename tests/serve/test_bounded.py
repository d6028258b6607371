"""A stranger's file becomes pages: sizes are bounded, nothing is fetched, damage is one sentence."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from recognise_pages import make_page
from serve_models import png

from tongguocr.errors import InputError
from tongguocr.formats.pdf import write_pdf
from tongguocr.serve.bounded import list_source, load_page, load_picture
from tongguocr.serve.queue import Bounds, StatusError

PICTURE = png(np.full((8, 6), 200, np.uint8))


def packed(*files: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, content in files:
            archive.writestr(name, content)
    return data.getvalue()


def laid(tmp_path: Path, data: bytes, name: str = "book.zip") -> Path:
    folder = tmp_path / "job" / "source"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    return folder


def test_a_zip_of_images_in_the_order_in_which_people_count(tmp_path: Path) -> None:
    names = (
        "v2/1.png",
        "v1/10.png",
        "v1/9.PNG",
        "__MACOSX/v1/._9.png",
        "v1/.hidden.png",
        "readme.txt",
        "v3/",
    )
    folder = laid(tmp_path, packed(*((name, PICTURE) for name in names)))
    pages = list_source(folder)
    assert [page.name for page in pages] == ["v1_9", "v1_10", "v2_1"]
    assert [page.load().shape for page in pages] == [(8, 6)] * 3
    assert pickle.loads(pickle.dumps(pages)) == pages, "they go to processes that read"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["book.zip"]


@pytest.mark.parametrize(
    "name",
    ["../../out.png", "/etc/out.png", "..\\..\\out.png", "a/../../../out.png", "C:\\out.png", "..\\.\\o.png"],
)
def test_names_lead_nowhere_but_into_the_folder(tmp_path: Path, name: str) -> None:
    pages = list_source(laid(tmp_path, packed((name, PICTURE), ("in.png", PICTURE))))
    assert [page.load().shape for page in pages] == [(8, 6)] * 2
    assert all(Path(page.name).name == page.name and "\\" not in page.name for page in pages)
    assert {page.load_page().image for page in pages} == {name.replace("\\", "/").split("/")[-1], "in.png"}
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["book.zip"]


def test_names_that_fall_together_are_told_apart(tmp_path: Path) -> None:
    names = ("a:b.png", "a*b.png", "A_B.png", "a_b.png", "x" * 300 + ".png", "upload.zip.png")
    pages = list_source(laid(tmp_path, packed(*((name, PICTURE) for name in names)), "a_b.png"))
    assert len({page.name.casefold() for page in pages}) == len(names)


def test_a_pdf_and_an_image_are_what_they_are_whatever_they_are_called(tmp_path: Path) -> None:
    write_pdf([make_page(1), make_page(2)], tmp_path / "two.pdf")
    for name in ("book", "book.png", "book.zip"):
        pages = list_source(laid(tmp_path / name, (tmp_path / "two.pdf").read_bytes(), name))
        assert [page.load().shape for page in pages] == [(280, 160), (280, 240)]
    (page,) = list_source(laid(tmp_path / "b", PICTURE, "page"))
    assert (page.name, page.load().shape) == ("page", (8, 6))


def test_a_manifest_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("went to the network"))
    (page,) = list_source(
        laid(tmp_path, b'{"@context": "http://iiif.io/x", "id": "http://127.0.0.1/"}', "m.json")
    )
    with pytest.raises(InputError, match=r"not an image|cannot be read"):
        page.load()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"PK\3\4 and then nothing", "not a ZIP archive"),
        (packed(("a.png", PICTURE))[:-30], "not a ZIP archive"),
        (packed(("a.txt", b"x")), "no image in this archive"),
        (packed(), "no image in this archive"),
        (b"%PDF-1.7 junk", "not a PDF"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence_without_our_folders(
    tmp_path: Path, data: bytes, said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        list_source(laid(tmp_path, data))
    assert str(tmp_path) not in str(caught.value) and str(caught.value).startswith("book.zip")


def test_a_damaged_image_costs_its_page_alone(tmp_path: Path) -> None:
    good, bad = list_source(laid(tmp_path, packed(("1.png", PICTURE), ("2.png", b"junk"))))
    assert good.load().shape == (8, 6)
    with pytest.raises(InputError):
        bad.load()


def test_a_broken_stream_inside_costs_its_page_too(tmp_path: Path) -> None:
    data = bytearray(packed(("a.png", bytes(5000)), ("b.png", PICTURE)))
    data[45] ^= 0xFF
    bad, good = list_source(laid(tmp_path, bytes(data)))
    assert good.load().shape == (8, 6)
    with pytest.raises(InputError, match="damaged"):
        bad.load()


def test_bombs_are_stopped_by_what_they_unpack_to(tmp_path: Path) -> None:
    bomb = packed(*((f"{k}.png", bytes(400_000)) for k in range(9)))
    assert len(bomb) < 10_000
    with pytest.raises(StatusError, match="larger than a job may be") as caught:
        list_source(laid(tmp_path / "bomb", bomb), Bounds(job_unpacked=1_000_000))
    assert caught.value.status == 413


def test_what_says_that_it_is_small_unpacks_to_no_more(tmp_path: Path) -> None:
    data = bytearray(packed(("a.png", bytes(3_000_000))))
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    (page,) = list_source(laid(tmp_path, bytes(data)), Bounds(job_unpacked=1000))
    with pytest.raises(InputError, match="damaged"):
        page.load()


def test_too_many_pages_are_refused(tmp_path: Path) -> None:
    three = packed(*((f"{k}.png", PICTURE) for k in range(3)))
    with pytest.raises(StatusError, match="3 images are more than the 2"):
        list_source(laid(tmp_path / "zip", three), Bounds(job_pages=2))
    write_pdf([make_page(1)] * 3, tmp_path / "three.pdf")
    with pytest.raises(StatusError, match="more than the 2 pages"):
        list_source(laid(tmp_path / "pdf", (tmp_path / "three.pdf").read_bytes()), Bounds(job_pages=2))


def test_listing_stops_when_its_time_is_over(tmp_path: Path) -> None:
    def check() -> None:
        raise StatusError(504, "Too late.")

    with pytest.raises(StatusError, match="Too late") as caught:
        list_source(laid(tmp_path, packed(("a.png", PICTURE))), check=check)
    assert caught.value.status == 504


def test_pages_are_bounded_in_whatever_they_lie(tmp_path: Path) -> None:
    page = make_page(1)
    write_pdf([page], tmp_path / "one.pdf")
    assert page.pixels is not None
    for name, data in (
        ("a.png", png(page.pixels)),
        ("a.zip", packed(("a.png", png(page.pixels)))),
        ("a.pdf", (tmp_path / "one.pdf").read_bytes()),
    ):
        (source,) = list_source(laid(tmp_path / name, data, name))
        assert load_page(source, Bounds(pixels=page.pixels.size)).width == page.width
        with pytest.raises(StatusError, match="megapixels") as caught:
            load_page(source, Bounds(pixels=page.pixels.size - 1))
        assert caught.value.status == 422


def test_pictures_are_bounded_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    small = png(np.zeros((10, 20), np.uint8))
    assert load_picture(small, "a.png", Bounds(pixels=200)).pixels.shape == (10, 20)
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("was unpacked"))
    with pytest.raises(StatusError, match=r"a\.png: the image is 20 x 10 pixels") as caught:
        load_picture(small, "a.png", Bounds(pixels=199))
    assert caught.value.status == 422
    bomb = bytearray(small)
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    bomb[29:33] = zlib.crc32(bomb[12:29]).to_bytes(4, "big")
    with pytest.raises(StatusError, match="megapixels"):
        load_picture(bytes(bomb), "a.png", Bounds())


@pytest.mark.parametrize("data", [b"", b"junk", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7"])
def test_what_is_no_picture_gets_a_sentence(data: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.png: "):
        load_picture(data, "a.png", Bounds())
