"""What may be proofread: folders, PDFs, manifests, images; and where their files go."""

from __future__ import annotations

import json
import os
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from job_readers import write_pages
from PIL import Image
from proofread_books import read_page_of, write_book

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.proofread.book import image_file, open_book
from tongguocr.sources import image_size


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def names(source: Path) -> list[str]:
    return [page.name for page in open_book(str(source)).pages]


def test_a_folder_is_in_the_order_in_which_people_count(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 11, texts=False)
    write_page(read_page_of("p3", ("甲",)), folder / "p3.json")
    write_page(read_page_of("p5-and-a-half", ("甲",)), folder / "p5-and-a-half.page.xml")
    (folder / "notes.json").write_text('{"mine": true}')
    Image.new("L", (9, 9)).save(folder / "p1.overlay.png")
    assert names(folder) == [
        *(f"p{n}" for n in (1, 2, 3, 4, 5)),
        "p5-and-a-half",
        *(f"p{n}" for n in range(6, 12)),
    ]
    book = open_book(str(folder))
    assert (book.title, book.folder) == ("book", folder)
    assert [page.source is None for page in book.pages].count(True) == 1
    assert image_file(book, book.page(3)) == "p3.png"
    with pytest.raises(InputError, match="no page 0"):
        book.page(0)


def test_results_without_images_get_them_from_elsewhere(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "results", 3, images=False)
    scans = write_book(tmp_path / "scans", 2, texts=False)
    book = open_book(str(folder), str(scans))
    assert [page.source is not None for page in book.pages] == [True, True, False]
    source = book.page(2).source
    assert source is not None
    assert source.load().shape == image_size(scans / "p2.png")[::-1]
    assert (folder / "p2.png").read_bytes() == (scans / "p2.png").read_bytes()
    assert not (folder / "p1.png").exists(), "only what was looked at"
    assert open_book(str(folder), str(scans)).pages[0].source is not None, "the same command again"
    with pytest.raises(InputError, match=r"others: no page here is called as one of .*results, like p1\."):
        open_book(str(folder), str(write_pages(tmp_path / "others", {"q1": 1})))


def test_a_pdf_gets_a_folder_beside_it(tmp_path: Path) -> None:
    pages = [Image.new("RGB", (60 + 10 * k, 90), (200, 180, 160)) for k in range(3)]
    pages[0].save(tmp_path / "册.pdf", save_all=True, append_images=pages[1:])
    book = open_book(str(tmp_path / "册.pdf"))
    assert (book.title, book.folder) == ("册", tmp_path / "册.proofread")
    assert [page.name for page in book.pages] == ["册-0001", "册-0002", "册-0003"]
    source = book.page(2).source
    assert source is not None
    size = source.load().shape[1::-1]
    assert image_size(book.folder / "册-0002.jpg") == size
    assert image_file(book, book.page(2)) == "册-0002.jpg"
    # What is there is not made again.
    Image.new("L", (7, 7)).save(book.folder / "册-0002.jpg")
    assert source.load().shape == (7, 7)


def test_a_manifest_beside_its_images(tmp_path: Path) -> None:
    write_book(tmp_path, 2, texts=False)
    canvases = [
        {"type": "Canvas", "items": [{"items": [{"body": {"id": f"p{n}.png", "type": "Image"}}]}]}
        for n in (1, 2)
    ]
    (tmp_path / "m.json").write_text(json.dumps({"type": "Manifest", "items": canvases}))
    book = open_book(str(tmp_path / "m.json"))
    assert (book.folder, len(book.pages)) == (tmp_path / "m.proofread", 2)
    source = book.page(1).source
    assert source is not None
    source.load()
    assert (book.folder / "m-0001.jpg").exists()


def test_a_manifest_of_the_web_gets_a_folder_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_book(tmp_path / "web", 1, texts=False)
    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "web"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        body = {"id": f"{here}/p1.png", "type": "Image"}
        manifest = {
            "type": "Manifest",
            "label": "../某書",
            "items": [{"items": [{"items": [{"body": body}]}]}],
        }
        (tmp_path / "web" / "m.json").write_text(json.dumps(manifest))
        (tmp_path / "desk").mkdir()
        monkeypatch.chdir(tmp_path / "desk")
        book = open_book(f"{here}/m.json")
        source = book.page(1).source
        assert source is not None
        shape = source.load().shape
        server.shutdown()
    assert [path.name for path in (tmp_path / "desk").iterdir()] == ["某書.proofread"]
    assert (tmp_path / "desk" / "某書.proofread" / "某書.jpg").exists()
    # From here on the page comes from the folder: nobody answers any more.
    assert source.load().shape == shape


def test_one_image(tmp_path: Path) -> None:
    Image.new("L", (40, 50), 9).save(tmp_path / "leaf.tif")
    book = open_book(str(tmp_path / "leaf.tif"))
    source = book.page(1).source
    assert source is not None
    assert source.load().shape == (50, 40)
    assert [path.name for path in book.folder.iterdir() if path.is_file()] == ["leaf.tif"]


@pytest.mark.parametrize("wanted", ["gone", "empty", "notes.txt"])
def test_what_is_no_book_is_one_sentence(wanted: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=rf"^{tmp_path / wanted}: .*\.$"):
        open_book(str(tmp_path / wanted))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links")
@pytest.mark.parametrize("name", [".proofread", "machine"])
def test_links_that_would_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 1)
    (tmp_path / "outside").mkdir()
    (folder / name).symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="would lead out of the book"):
        open_book(str(folder))
    assert not list((tmp_path / "outside").iterdir())
