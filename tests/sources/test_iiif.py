"""IIIF manifests of both versions from a small server and from files, and the tricks that they may try."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iiif_server import Server, image3, png, serving, version2, version3

from tongguocr.errors import InputError
from tongguocr.sources import Fetching, open_source
from tongguocr.sources.iiif import Picture, _addresses, _canvases, _picture
from tongguocr.sources.web import fetch


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as told:
        yield told


def first_values(pages: Any) -> list[int]:
    return [int(page.load().flat[0]) for page in pages]


def test_version_3(server: Server) -> None:
    service = {"id": f"{server.root}/img/1", "type": "ImageService3", "profile": "level1"}
    server.put("/img/1/full/max/0/default.jpg", png(10))
    bodies = [
        image3("http://127.0.0.1:1/never", service=[{"@id": "x", "type": "AuthService"}, service]),
        image3(server.put("/2.png", png(20))),
        {"type": "Choice", "items": [image3(server.put("/3.png", png(30))), image3("no")]},
        {
            "type": "SpecificResource",
            "source": image3(server.put("/4.png", png(40))),
        },
    ]
    url = server.put("/m.json", version3(*bodies))
    pages = list(open_source(url))
    assert server.asked == ["/m.json"], "listing fetches the manifest and nothing else"
    assert [page.name for page in pages] == [f"大學_章句-000{n}" for n in (1, 2, 3, 4)]
    assert first_values(pages) == [10, 20, 30, 40]
    assert first_values(open_source(url, "3-")) == [30, 40]


def test_version_2_and_its_older_image_servers(server: Server) -> None:
    service = {
        "@context": "http://iiif.io/api/image/2/context.json",
        "@id": f"{server.root}/img/1/",
        "profile": "http://iiif.io/api/image/2/level0.json",
    }
    server.put("/img/1/full/max/0/default.jpg", b"", 400)
    server.put("/img/1/full/full/0/default.jpg", png(10))
    resources = [
        {"@id": "http://127.0.0.1:1/never", "service": service},
        {"@id": server.put("/2.png", png(20)), "service": {**service, "@id": f"{server.root}/img/2"}},
        {"@type": "oa:Choice", "default": {"@id": server.put("/3.png", png(30))}, "item": []},
    ]
    pages = list(open_source(server.put("/m", version2(*resources, label=[{"@value": "大學"}]))))
    assert [page.name for page in pages] == ["大學-0001", "大學-0002", "大學-0003"]
    assert first_values(pages) == [10, 20, 30]
    assert server.asked[1:3] == ["/img/1/full/max/0/default.jpg", "/img/1/full/full/0/default.jpg"]


def test_a_huge_picture_is_asked_for_in_a_smaller_size() -> None:
    huge = Picture("", "http://h/s", 20_000, 10_000)
    first = _addresses("http://h/m", huge, Fetching(max_pixels=50_000_000))[0]
    assert first == "http://h/s/full/10000,/0/default.jpg"


def test_a_chinese_address(server: Server) -> None:
    server.put("/%E5%9B%9B%20%E5%BA%AB.png", png(9))
    (page,) = open_source(server.put("/m", version3(image3("四 庫.png"))))
    assert page.name == "大學_章句", "one page, no number"
    assert page.load().max() == 9


def test_a_file_with_pictures_beside_it(tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    for name in ("a.png", "scans/b c.png"):
        (tmp_path / name).write_bytes(png(len(name)))
    path = tmp_path / "book.json"
    bodies = [image3("a.png"), image3("scans/b c.png"), image3("scans/b%20c.png"), image3("./scans/../a.png")]
    path.write_text(json.dumps(version3(*bodies)), encoding="utf-8-sig")
    assert [page.name for page in open_source(path)] == [f"book-000{n}" for n in (1, 2, 3, 4)]
    assert first_values(open_source(path)) == [5, 13, 13, 5]


def test_path_tricks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    (tmp_path / "secret.png").write_bytes(png(1))
    folder = tmp_path / "manifest"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "ok.png").write_bytes(png(2))
    (folder / "..\\secret.png").write_bytes(png(1))
    tricks = [
        "../secret.png",
        "%2e%2e/secret.png",
        "%2e%2e%2fsecret.png",
        "..\\secret.png",
        str(tmp_path / "secret.png"),
        f"file://{tmp_path}/secret.png",
        f"FILE:{tmp_path}/secret.png",
        "link.png",
        "ftp://example.org/x.png",
        "data:image/png;base64,AAAA",
        "//example.org/x.png",
        "none.png",
        "a\0b.png",
        ".",
        "http://[",
        "",
    ]
    services = [
        {"@id": place, "profile": "http://iiif.io/api/image/2/level2.json"}
        for place in (f"file://{tmp_path}", "..", "ftp://example.org")
    ]
    bodies = [image3(trick) for trick in tricks] + [image3("ok.png", service=service) for service in services]
    (folder / "m.json").write_text(json.dumps(version3(*bodies, image3("ok.png"))))
    pages = list(open_source(folder / "m.json"))
    for page in pages[:-1]:
        with pytest.raises(InputError) as caught:
            page.load()
        assert str(caught.value).startswith(f"{folder / 'm.json'}, page {page.number}: "), page
        assert str(caught.value).endswith(".")
    assert first_values(pages[-1:]) == [2]


def test_a_manifest_from_the_web_reaches_no_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(png(1))
    tricks = [f"file://{tmp_path}/x.png", str(tmp_path / "x.png"), "../../x.png"]
    label = {"none": [f"../../{tmp_path}/a\0b"]}
    pages = list(open_source(server.put("/m", version3(*map(image3, tricks), label=label))))
    for page in pages:
        assert "/" not in page.name and not page.name.startswith(".")
        with pytest.raises(InputError):
            page.load()


def test_redirects_lead_to_the_web_only(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(png(1))
    places = [
        f"{server.root}/x.png",
        f"file://{tmp_path}/x.png",
        "ftp://127.0.0.1/x.png",
        f"{server.root}/r3",
    ]
    server.put("/x.png", png(7))
    bodies = [image3(server.put(f"/r{n}", b"", 302, Location=place)) for n, place in enumerate(places)]
    pages = list(open_source(server.put("/m", version3(*bodies))))
    assert first_values(pages[:1]) == [7]
    for page, sentence in zip(
        pages[1:], ("answered 302", "it redirects to ftp:", "answered 302"), strict=True
    ):
        with pytest.raises(InputError, match=rf"/m, page {page.number}: .*{sentence}"):
            page.load()


def test_an_answer_is_not_unpacked(server: Server) -> None:
    packed = gzip.compress(bytes(1_000_000))
    assert fetch(server.put("/packed", packed, **{"Content-Encoding": "gzip"}), 2000, "m") == packed


def test_servers_that_fail(server: Server) -> None:
    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while not over.wait(0.02):
                handler.wfile.write(b"x")

    def silence(handler: Any) -> None:
        over.wait()

    over = threading.Event()

    server.put("/long", b"x" * 3000)
    server.put("/short", b"x" * 30)
    server.answers["/short"] = (200, {"Content-Length": "99"}, b"x" * 30)
    server.answers |= {"/drip": drip, "/silence": silence}
    # Only those who keep us waiting have short limits: a busy machine may delay the others as well.
    for path, sentence, limits in (
        ("/none", "answered 404", Fetching()),
        ("/long", "is larger than the 2000 bytes", Fetching()),
        ("/short", "broke off after 30 of 99 bytes", Fetching()),
        ("/drip", "took longer", Fetching(total_timeout=0.2)),
        ("/silence", "did not answer in time", Fetching(timeout=0.25)),
    ):
        with pytest.raises(InputError, match=rf"^m, page 1: http.*{path} {sentence}.*\.$"):
            fetch(server.root + path, 2000, "m, page 1", limits)
    over.set()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="cannot be reached"):
            fetch(f"http://127.0.0.1:{unused.getsockname()[1]}/", 2000, "m", Fetching())


@pytest.mark.parametrize(
    "address", ["", "http://", "http:///x", "http://h:x/", "http://[", "x", "http://\n/", "gopher://h/"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(InputError, match=r"^m: .*\.$"):
        fetch(address, 10, "m", Fetching(timeout=0.1))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a IIIF manifest"),
        (b'{"a": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "no canvas"),
        (b'{"items": []}', "no canvas"),
        (b'{"items": 3, "sequences": "x"}', "no canvas"),
        (b'{"type": "Collection", "items": [{}]}', "collection"),
        (b'{"@type": "sc:Collection"}', "collection"),
    ],
)
def test_files_that_are_no_manifest(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(InputError, match=rf"m\.json: .*{sentence}.*\.$"):
        open_source(tmp_path / "m.json")


KEYS = [
    "id",
    "@id",
    "items",
    "images",
    "resource",
    "service",
    "body",
    "source",
    "default",
    "width",
    "type",
    "label",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.just("ImageService2"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_canvas_is_some_picture(canvas: dict[str, Any]) -> None:
    picture = _picture(canvas)
    assert isinstance(picture.address, str) and isinstance(picture.service, str)
    assert 0 <= picture.width < 10**9 and 0 <= picture.height < 10**9
    assert all(isinstance(address, str) for address in _addresses("http://h/m", picture, Fetching()))


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["items", "sequences", "type", "@type", "label"]), JSON))
def test_any_manifest_has_canvases_or_a_sentence(manifest: dict[str, Any]) -> None:
    try:
        assert all(isinstance(canvas, dict) for canvas in _canvases(manifest, "m.json"))
    except InputError as error:
        assert str(error).startswith("m.json: ")


def test_bombs_and_junk_from_a_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.sources.images.MAX_PIXELS", 500)
    bodies = [image3(server.put("/big", png(1))), image3(server.put("/junk", b"<html>")), image3("/none"), {}]
    url = server.put("/m", version3(*bodies))
    sentences = ("20 x 30 pixels", "not an image", "answered 404", "names no image")
    for page, sentence in zip(open_source(url), sentences, strict=True):
        with pytest.raises(InputError, match=rf"/m, page {page.number}: .*{sentence}"):
            page.load()
