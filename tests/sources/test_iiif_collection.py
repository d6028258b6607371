"""IIIF collections, image services and images at an address, from a small server and from files."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from iiif_server import Server, image3, png, serving, version2, version3

from tongguocr.errors import InputError
from tongguocr.sources import Fetching, open_source


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as told:
        yield told


def collection3(*members: Any) -> dict[str, Any]:
    return {"type": "Collection", "label": {"zh": ["四庫"]}, "items": members}


def member3(address: str, kind: str = "Manifest", label: str = "") -> dict[str, Any]:
    return {"id": address, "type": kind, "label": {"zh": [label]}}


def values(pages: Any) -> list[int]:
    return [int(page.load().flat[0]) for page in pages]


def put_book(server: Server, label: str, *shades: int) -> str:
    """A manifest of pages of these shades."""
    images = [image3(server.put(f"/{shade}.png", png(shade))) for shade in shades]
    return server.put(f"/{'-'.join(map(str, shades))}", version3(*images, label={"zh": [label]}))


def test_a_collection_of_version_3_with_one_in_it(server: Server) -> None:
    inner = server.put("/inner", collection3(member3(put_book(server, "卷二", 3))))
    top = collection3(
        member3(put_book(server, "卷一", 1, 2)),
        member3(inner, "Collection"),
        member3(put_book(server, "卷一", 4, 5)),
    )
    pages = list(open_source(server.put("/top", top)))
    assert [page.name for page in pages] == ["卷一-0001", "卷一-0002", "卷二", "卷一-0001_2", "卷一-0002_2"]
    assert [page.number for page in pages] == [1, 2, 3, 4, 5]
    assert not any(path.endswith(".png") for path in server.asked), (
        "pictures are fetched when they are loaded"
    )
    assert values(pages) == [1, 2, 3, 4, 5]
    assert values(open_source(f"{server.root}/top", "2-3")) == [2, 3]


def test_a_collection_of_version_2_with_what_stands_in_it(server: Server) -> None:
    book = server.put("/m2", version2({"@id": server.put("/7.png", png(7))}, label="卷七"))
    inner = {"@type": "sc:Collection", "manifests": [{"@id": book, "@type": "sc:Manifest", "label": "七"}]}
    members = [{"@id": put_book(server, "卷八", 8), "@type": "sc:Manifest"}, {"label": "nothing"}]
    top = {"@type": "sc:Collection", "collections": [inner], "members": members}
    pages = list(open_source(server.put("/top", top)))
    assert [page.name for page in pages] == ["卷八", "卷七"] and values(pages) == [8, 7]


def test_a_manifest_that_cannot_be_had_costs_no_other(server: Server) -> None:
    empty = server.put("/empty", {"type": "Manifest", "items": []})
    top = collection3(
        member3(f"{server.root}/gone", label="卷一"),
        member3(empty, label="卷二"),
        member3(put_book(server, "卷三", 3)),
    )
    pages = list(open_source(server.put("/top", top)))
    assert [page.name for page in pages] == ["卷一", "卷二", "卷三"] and values(pages[2:]) == [3]
    for page, said in zip(pages, ("gone answered 404", "no canvas"), strict=False):
        with pytest.raises(InputError, match=said):
            page.load()


def test_circles_and_too_much_of_it_come_to_an_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    book = put_book(server, "卷一", 1)
    circle = collection3(member3(f"{server.root}/b", "Collection"), member3(book), member3(book))
    server.put("/a", circle)
    server.put("/b", collection3(member3(f"{server.root}/a", "Collection")))
    assert values(open_source(f"{server.root}/a")) == [1]
    deep = collection3(member3(book))
    for _ in range(10):
        deep = collection3(deep)
    with pytest.raises(InputError, match=r"more than 8 IIIF collections lie in each other\.$"):
        list(open_source(server.put("/deep", deep)))
    monkeypatch.setattr("tongguocr.sources.iiif_collection.MAX_MANIFESTS", 3)
    many = collection3(*(member3(put_book(server, f"卷{n}", n)) for n in range(1, 6)))
    with pytest.raises(InputError, match=r"no more than 3 manifests are read\.$"):
        list(open_source(server.put("/many", many)))
    monkeypatch.setattr("tongguocr.sources.iiif_collection.MAX_CANVASES", 2)
    with pytest.raises(InputError, match=r"more than 2 pages\.$"):
        list(open_source(server.put("/long", collection3(member3(put_book(server, "卷", 6, 7, 8))))))
    with pytest.raises(InputError, match=r"there is no manifest in this IIIF collection\.$"):
        open_source(server.put("/none", collection3()))


def test_a_collection_in_a_file_reaches_files_beside_it_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    folder = tmp_path / "books"
    (folder / "one").mkdir(parents=True)
    for place in (tmp_path / "secret", folder / "one" / "m"):
        place.with_suffix(".png").write_bytes(png(5))
        place.with_suffix(".json").write_text(json.dumps(version3(image3(f"{place.name}.png"))))
    members = (member3("one/m.json"), member3("../secret.json"), member3(str(tmp_path / "secret.json")))
    (folder / "all.json").write_text(json.dumps(collection3(*members)))
    pages = list(open_source(folder / "all.json"))
    assert pages[0].name == "m" and values(pages[:1]) == [5], "pictures lie beside their own manifest"
    for page in pages[1:]:
        with pytest.raises(InputError, match="neither an http address nor a file beside the manifest"):
            page.load()


def test_a_collection_from_the_web_reaches_no_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps(version3(image3("x.png"))))
    top = collection3(member3(f"file://{tmp_path}/m.json"), member3(str(tmp_path / "m.json")))
    for page in open_source(server.put("/top", top)):
        with pytest.raises(InputError):
            page.load()


def test_an_image_service(server: Server) -> None:
    for version, word in ((2, "full"), (3, "max")):
        service = f"{server.root}/iiif/{version}/%E5%8D%B7%E4%B8%80"
        server.put(f"/iiif/{version}/%E5%8D%B7%E4%B8%80/full/{word}/0/default.jpg", png(version))
        info = {
            "@context": f"http://iiif.io/api/image/{version}/context.json",
            "protocol": "http://iiif.io/api/image",
            "@id" if version == 2 else "id": service,
            "width": 20,
            "height": 30,
        }
        address = server.put(f"/iiif/{version}/%E5%8D%B7%E4%B8%80/info.json", info)
        (page,) = open_source(address)
        assert page.name == "卷一" and values([page]) == [version]
        assert page.address == f"{service}/full/{word}/0/default.jpg"


def test_images_at_an_address(server: Server) -> None:
    for path, name in (
        ("/scans/p%201.png", "p_1"),
        ("/iiif/book%2Fp2/full/max/0/default.png", "book_p2"),
        ("/scans/p3.png?size=large", "p3"),
        ("/show/17", "17"),
    ):
        (page,) = open_source(server.put(path, png(9)))
        assert (page.name, page.address) == (name, server.root + path) and values([page]) == [9]
    (page,) = open_source(f"{server.root}/gone.png")
    with pytest.raises(InputError, match=r"gone\.png answered 404"):
        page.load()
    with pytest.raises(InputError, match="not JSON"):
        open_source(server.put("/page", b"<html>"))


def test_without_fetching_no_address_is_followed(server: Server) -> None:
    for address in (server.put("/p.png", png(1)), server.put("/info.json", {"protocol": "x"})):
        with pytest.raises(InputError, match="addresses are not followed here"):
            open_source(address, fetching=None)
    assert not server.asked


def test_images_that_lie_here_as_they_do_on_the_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(png(4))
    manifest = version3(image3("http://example.org/books/in/a.png"), image3("http://example.org/b.png"))
    manifest["id"] = "http://example.org/books/b.manifest.json"
    (tmp_path / "b.manifest.json").write_text(json.dumps(manifest))
    pages = list(open_source(tmp_path / "b.manifest.json", fetching=Fetching(timeout=1)))
    assert [page.name for page in pages] == ["b-0001", "b-0002"]
    assert values(pages[:1]) == [4] and pages[0].file == str(tmp_path / "in" / "a.png")
    assert pages[1].file == "http://example.org/b.png"
