"""A stranger's file becomes pages: names lead nowhere, sizes are not believed, damage is one sentence."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from recognise_pages import make_page
from serve_models import png

from tongguocr.errors import InputError
from tongguocr.formats.pdf import write_pdf
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.serve.unpack import END, END_MARK, list_source, prepare_source

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
    pages = prepare_source(folder)
    assert [page.name for page in pages] == ["v1_9", "v1_10", "v2_1"]
    assert [page.load().shape for page in pages] == [(8, 6)] * 3
    assert list_source(folder) == pages, "a server that starts again finds the same"
    assert sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file()) == [".png"] * 3


@pytest.mark.parametrize(
    "name",
    ["../../out.png", "/etc/out.png", "..\\..\\out.png", "a/../../../out.png", "C:\\out.png", "..\\.\\o.png"],
)
def test_names_lead_nowhere_but_into_the_folder(tmp_path: Path, name: str) -> None:
    folder = laid(tmp_path, packed((name, PICTURE), ("in.png", PICTURE)))
    assert len(prepare_source(folder)) == 2
    outside = [path for path in tmp_path.rglob("*.png") if not path.is_relative_to(folder)]
    assert not outside


def test_names_that_fall_together_are_told_apart(tmp_path: Path) -> None:
    names = ("a:b.png", "a*b.png", "A_B.png", "a_b.png", "a_b.png", "x" * 300 + ".png", "upload.zip.png")
    pages = prepare_source(laid(tmp_path, packed(*((name, PICTURE) for name in names)), "a_b.png"))
    assert len({page.name.casefold() for page in pages}) == len(names)


def test_a_pdf_and_an_image_are_what_they_are_whatever_they_are_called(tmp_path: Path) -> None:
    write_pdf([make_page(1), make_page(2)], tmp_path / "two.pdf")
    pages = prepare_source(laid(tmp_path / "a", (tmp_path / "two.pdf").read_bytes(), "book"))
    assert [page.load().shape for page in pages] == [(280, 160), (280, 240)]
    (page,) = prepare_source(laid(tmp_path / "b", PICTURE, "page"))
    assert (page.name, page.load().shape) == ("page", (8, 6))


def test_a_manifest_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("went to the network"))
    (page,) = prepare_source(
        laid(tmp_path, b'{"@context": "http://iiif.io/x", "id": "http://127.0.0.1/"}', "m.json")
    )
    with pytest.raises(InputError, match=r"not an image|cannot be read"):
        page.load()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"PK\3\4 and then nothing", "damaged"),
        (packed(("a.png", PICTURE))[:-30], "damaged"),
        (packed(("a.txt", b"x")), "no image in this ZIP"),
        (packed(), "no image in this ZIP"),
        (b"%PDF-1.7 junk", "not a PDF"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence_without_our_folders(
    tmp_path: Path, data: bytes, said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        prepare_source(laid(tmp_path, data))
    assert str(tmp_path) not in str(caught.value) and str(caught.value).startswith("book.zip")


def test_a_damaged_image_costs_its_page_alone(tmp_path: Path) -> None:
    good, bad = prepare_source(laid(tmp_path, packed(("1.png", PICTURE), ("2.png", b"junk"))))
    assert good.load().shape == (8, 6)
    with pytest.raises(InputError):
        bad.load()


def test_a_broken_stream_inside_is_damage(tmp_path: Path) -> None:
    data = bytearray(packed(("a.png", bytes(5000))))
    data[45] ^= 0xFF
    with pytest.raises(InputError, match="damaged"):
        prepare_source(laid(tmp_path, bytes(data)))


def test_an_encrypted_one_says_so(tmp_path: Path) -> None:
    data = bytearray(packed(("a.png", PICTURE)))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + place] |= 1
    with pytest.raises(InputError, match="encrypted"):
        prepare_source(laid(tmp_path, bytes(data)))


def test_bombs_are_stopped_by_what_they_unpack_to(tmp_path: Path) -> None:
    data = bytearray(packed(("a.png", bytes(3_000_000))))
    # It says that it is small.
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = struct.pack("<L", 10)
    with pytest.raises(InputError):
        prepare_source(laid(tmp_path / "lies", bytes(data)))
    bomb = packed(*((f"{k}.png", bytes(400_000)) for k in range(9)))
    assert len(bomb) < 10_000
    with pytest.raises(StatusError, match="larger than a job may be") as caught:
        prepare_source(laid(tmp_path / "bomb", bomb), Bounds(job_unpacked=1_000_000))
    assert caught.value.status == 413
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.png")) < 3_000_000


def test_too_many_pages_and_too_long_a_list_are_refused(tmp_path: Path) -> None:
    three = packed(*((f"{k}.png", PICTURE) for k in range(3)))
    with pytest.raises(StatusError, match="3 images are more than the 2"):
        prepare_source(laid(tmp_path / "zip", three), Bounds(job_pages=2))
    write_pdf([make_page(1)] * 3, tmp_path / "three.pdf")
    with pytest.raises(StatusError, match="more than the 2 pages"):
        prepare_source(laid(tmp_path / "pdf", (tmp_path / "three.pdf").read_bytes()), Bounds(job_pages=2))
    end = END.pack(END_MARK, 0, 0, 1, 1, 2**31, 0, 0)
    with pytest.raises(InputError, match="lists more files"):
        prepare_source(laid(tmp_path / "list", b"PK\3\4" + end))
