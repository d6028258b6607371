"""The addresses: what a browser gets, and what nobody gets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from fastapi.testclient import TestClient
from PIL import Image
from proofread_books import read_page_of, typed, write_book

from tongguocr.formats import FORMATS, read_page
from tongguocr.formats.page_json import parse_json
from tongguocr.proofread.app import make_app
from tongguocr.proofread.book import open_book
from tongguocr.proofread.guard import Access
from tongguocr.proofread.openapi import openapi
from tongguocr.proofread.proofreading import Means, Proofreading
from tongguocr.proofread.reading import ReadingTask

HOST = "http://127.0.0.1:8001"


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Proofreading]:
    work = Proofreading(open_book(str(write_book(tmp_path / "book"))), Means(can_read=False))
    work.start()
    work.overview.wait()
    yield work
    work.close()


@pytest.fixture
def client(work: Proofreading) -> TestClient:
    return TestClient(make_app(work), base_url=HOST, follow_redirects=False)


def edit(client: TestClient, base: int, *written: dict[str, object], name: str = "a", **more: str) -> Any:
    body = {"base": base, "client": name, "edits": list(written), **more}
    return client.post("/api/pages/1/edits", json=body)


def test_the_book_and_a_page(client: TestClient) -> None:
    book = client.get("/api/book").json()
    assert [page["name"] for page in book["pages"]] == ["p1", "p2", "p3"]
    assert [(page["state"], page["doubts"], page["version"]) for page in book["pages"]] == [
        ("read", 3, 0)
    ] * 3
    assert book["settings"]["canRead"] is False
    assert "train tune" in book["trainCommand"] and "/book" in book["trainCommand"]
    page = client.get("/api/pages/1").json()
    line = page["page"]["lines"][0]
    assert (line["text"], len(line["chars"]), line["column"]) == ("天地玄黃", 4, 0)
    assert line["chars"][1]["candidates"] == [["他", 0.25], ["池", 0.125]]
    assert [char["doubt"] for char in line["chars"]] == [False, True, False, False]
    assert page["machine"] == page["page"]
    assert (page["version"], page["state"], page["undoable"]) == (0, "read", False)


def test_edits_and_their_files(client: TestClient, work: Proofreading) -> None:
    answer = edit(client, 0, typed("l1", 1, "他"), who="某", id="1").json()
    assert answer["page"]["lines"][0]["text"] == "天他玄黃"
    again = edit(client, 0, typed("l1", 1, "他"), who="某", id="1").json()
    assert (again["version"], again["inverse"]) == (answer["version"], [])
    assert (
        client.post("/api/pages/1/state", json={"proofread": True, "who": "某"}).json()["state"]
        == "proofread"
    )
    folder = work.book.folder
    assert read_page(folder / "p1.json").lines[0].text == "天他玄黃"
    assert read_page(folder / "p1.page.xml").lines[0].text == "天他玄黃"
    assert (folder / "p1.txt").read_text().startswith("天他玄黃\n")
    assert read_page(folder / "machine" / "p1.json").text == read_page_of("p1").text
    rows = (folder / "changes.tsv").read_text().splitlines()
    assert [row.split("\t")[:6] for row in rows] == [
        ["page", "line", "place", "from", "to", "who"],
        ["p1", "l1", "2", "地", "他", "某"],
    ]
    assert client.get("/api/changes.tsv").text.splitlines() == rows
    book = client.get("/api/book").json()
    assert (book["readyForTraining"], book["pages"][0]["doubts"]) == (1, 2)
    back = edit(client, answer["version"], *answer["inverse"])
    assert back.json()["page"]["lines"] == client.get("/api/pages/1").json()["machine"]["lines"]
    kinds = [record["kind"] for record in client.get("/api/pages/1/history").json()]
    assert kinds == ["read", "edits", "state", "edits"]
    assert client.get("/api/pages/1/versions/2").json()["lines"][0]["text"] == "天他玄黃"


def test_two_who_edit_one_line(client: TestClient) -> None:
    first = edit(client, 0, typed("l1", 0, "一"), name="a", who="甲").json()
    told = edit(client, 0, typed("l1", 0, "乙"), name="b")
    assert told.status_code == 409
    assert told.json()["version"] == first["version"]
    assert told.json()["page"] == first["page"]
    assert [(one["who"], one["client"], one["edits"][0]["op"]) for one in told.json()["others"]] == [
        ("甲", "a", "text")
    ]
    assert edit(client, 0, typed("l2", 0, "乙"), name="b").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"base": 0, "client": "a", "edits": []},
        {"base": 0, "client": "a", "edits": [{"op": "explode", "line": "l1"}]},
        {"base": 0, "client": "a", "edits": [typed("l1", 90, "一")]},
        {"base": 0, "client": "a", "edits": [{**typed("l1", 0, ""), "insert": ["a\nb"]}]},
        {"base": 0, "client": "a", "edits": [{"op": "line", "line": "l1", "box": [0, 0, 1e30, 1]}]},
        {"base": 0, "client": "a", "edits": [{"op": "line", "line": "l1", "box": [0, 0, 1]}]},
        {"base": 0, "client": "a\n", "edits": [typed("l1", 0, "一")]},
        {"base": 0, "client": "a", "edits": [typed("l1", 0, "一")], "file": "/etc/passwd"},
    ],
)
def test_what_is_no_edit_is_refused_in_one_sentence(
    client: TestClient, work: Proofreading, body: dict[str, object]
) -> None:
    answer = client.post("/api/pages/1/edits", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(".")
    assert work.store.state(1).version == 0


def test_half_characters_and_numbers_that_are_none_are_refused(client: TestClient) -> None:
    for body in (
        '{"base":0,"client":"a","edits":[{"op":"text","line":"l1","at":0,"count":1,"insert":["\\ud800"]}]}',
        '{"base":0,"client":"a","edits":[{"op":"line","line":"l1","box":[0,0,NaN,1]}]}',
        "[" * 10_000,
    ):
        answer = client.post("/api/pages/1/edits", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422), body[:80]


def test_pictures(client: TestClient) -> None:
    page = read_page_of("p1")
    whole = client.get("/api/pages/1/image")
    assert Image.open(BytesIO(whole.content)).size == (page.width, page.height)
    assert Image.open(BytesIO(client.get("/api/pages/1/image?width=100").content)).width == 100
    assert Image.open(BytesIO(client.get("/api/pages/1/thumbnail").content)).width == 160
    tiles = client.get("/api/pages/1/tiles.json").json()
    assert (tiles["width"], tiles["height"], tiles["size"]) == (page.width, page.height, 512)
    tile = client.get(f"/api/pages/1/tiles/{tiles['levels'] - 1}/0_0.jpg")
    assert Image.open(BytesIO(tile.content)).size == (page.width, page.height)
    tag = whole.headers["etag"]
    assert client.get("/api/pages/1/image", headers={"If-None-Match": tag}).status_code == 304
    for place in ("0/7_7", "9/0_0", "0/-1_0"):
        assert client.get(f"/api/pages/1/tiles/{place}.jpg").status_code == 404


def test_search_finds_variants_on_demand(client: TestClient) -> None:
    def hits(words: str, fold: int = 0) -> list[tuple[int, str, int]]:
        found = client.get("/api/search", params={"q": words, "fold": fold}).json()
        return [(hit["page"], hit["line"], hit["start"]) for hit in found["hits"]]

    assert hits("宙洪") == [(n, "l2", 1) for n in (1, 2, 3)]
    assert hits("黃宇") == [(n, "l1", 3) for n in (1, 2, 3)], "over the end of a column"
    edit(client, 0, typed("l1", 0, "峯"))
    assert (hits("峰"), hits("峰", 1)) == ([], [(1, "l1", 0)])


@pytest.mark.parametrize("format", FORMATS)
def test_exports(client: TestClient, work: Proofreading, format: str) -> None:
    edit(client, 0, typed("l1", 1, "他"))
    page = client.get("/api/export", params={"format": format, "page": 1})
    assert page.status_code == 200
    assert page.headers["content-disposition"].startswith("attachment")
    if format == "json":
        assert parse_json(page.content, Path("p1.json")).lines[0].text == "天他玄黃"
    book = client.get("/api/export", params={"format": format})
    if book.headers["content-type"] == "application/zip":
        archive = ZipFile(BytesIO(book.content))
        assert archive.namelist() == [f"p{n}{FORMATS[format].ending}" for n in (1, 2, 3)]
        assert archive.read(archive.namelist()[0]) == page.content
    else:
        assert len(book.content) > 100


def test_there_is_no_way_to_other_files(client: TestClient, work: Proofreading) -> None:
    (work.book.folder.parent / "secret.json").write_bytes((work.book.folder / "p1.json").read_bytes())
    for address in (
        "/api/pages/..%2Fsecret",
        "/api/pages/0",
        "/api/pages/4/image",
        "/api/pages/1/tiles/0/..%2F..%2Fsecret.jpg",
        "/api/export?format=../secret",
        "/..%2f..%2fapp.py",
        "/%2e%2e/%2e%2e/app.py",
        "/book/p1.json",
    ):
        assert client.get(address).status_code in (404, 422), address
    for body in ({"weights": "/"}, {"weights": "../.."}, {"engine": "server"}, {"engine": "x"}):
        assert client.post("/api/pages/1/read", json=body).status_code == 422


def test_headers(client: TestClient) -> None:
    for address in ("/api/book", "/api/pages/9", "/"):
        headers = client.get(address).headers
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_names_by_which_the_server_may_be_called(client: TestClient) -> None:
    known = ("127.0.0.1", "127.0.0.1:8001", "localhost:8001", "[::1]:8001")
    for host in known:
        assert client.get("/api/book", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "192.168.1.5:8001", "", "[::1", "localhost.evil"):
        assert client.get("/api/book", headers={"Host": host}).status_code == 421, host


def test_changes_come_from_this_server_as_json(client: TestClient, work: Proofreading) -> None:
    body = json.dumps({"proofread": True})
    kind = {"Content-Type": "application/json"}
    for headers, status in (
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({**kind, "Origin": "http://evil.example"}, 403),
        ({**kind, "Origin": "http://127.0.0.1:9999"}, 403),
        ({**kind, "Origin": "null"}, 403),
        ({**kind, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**kind, "Content-Length": "999999999"}, 413),
    ):
        assert client.post("/api/pages/1/state", content=body, headers=headers).status_code == status, headers
    assert work.store.state(1).version == 0
    good = client.post("/api/pages/1/state", content=body, headers={**kind, "Origin": HOST})
    assert good.status_code == 200


def test_others_need_the_token(work: Proofreading) -> None:
    app = make_app(work, Access("word", frozenset({"desk.local"})))
    client = TestClient(app, base_url="http://192.168.1.5:8001", follow_redirects=False)
    for address in ("/api/book", "/", "/api/book?token=word", "/?token=wrong", "/api/events"):
        assert client.get(address).status_code == 401, address
    opened = client.get("/?token=word")
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert client.get("/api/book").status_code == 200
    assert client.get("/api/book", headers={"Host": "desk.local:8001"}).status_code == 200
    assert client.get("/api/book", headers={"Host": "evil.example"}).status_code == 421
    wrong = {"Cookie": cookie.partition("=")[0] + "=wrong"}
    assert TestClient(app, base_url="http://192.168.1.5").get("/api/book", headers=wrong).status_code == 401


def test_weights_of_the_books_folder_can_be_chosen(
    client: TestClient, work: Proofreading, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tuned/weights", ".proofread", "machine"):
        folder = work.book.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").write_text("{}")
    assert client.get("/api/book").json()["settings"]["weightsChoices"] == ["package", "tuned/weights"]
    asked: list[ReadingTask] = []
    work.means = Means()
    monkeypatch.setattr(work.reading, "add", lambda task, first: asked.append(task))
    for body in (
        {"weights": "tuned/weights"},
        {"weights": "package", "keepLines": False, "engine": "rapidocr"},
    ):
        assert client.post("/api/pages/2/read", json=body).status_code == 202
    assert [task.setup.weights for task in asked] == [work.book.folder / "tuned" / "weights", None]
    assert [task.setup.engine for task in asked] == ["tongguocr", "rapidocr"]
    assert [task.keep_lines for task in asked] == [True, False]
    assert client.get("/api/pages/2").json()["state"] == "reading"


def test_pages_that_nobody_touched_are_read_again_together(
    client: TestClient, work: Proofreading, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ReadingTask] = []
    work.means = Means()
    monkeypatch.setattr(work.reading, "add", lambda task, first: asked.append(task))
    client.post("/api/pages/1/state", json={"proofread": True})
    assert client.post("/api/pages/2/read", json={"others": True}).status_code == 202
    assert [(task.number, task.spare) for task in asked] == [(3, True), (2, False)]
    # Its turn comes: somebody corrected it meanwhile, and it is left alone.
    assert work._reading_begins(asked[0]) is not None
    line = client.get("/api/pages/3").json()["page"]["lines"][0]["id"]
    call = {"base": 0, "client": "a", "edits": [typed(line, 0, "夭")]}
    assert client.post("/api/pages/3/edits", json=call).status_code == 200
    assert work._reading_begins(asked[0]) is None and work.overview.state(3) == "read"
    page = work.store.state(3).page
    assert work.store.put_reading(3, replace(page, lines=()), "", True, spare=True).page == page
    assert work._reading_begins(asked[1]).known == work.store.state(2).page  # type: ignore[union-attr]


def test_every_type_is_described() -> None:
    described = openapi()
    assert {"Event", "PageAnswer", "Conflict", "EditsRequest"} <= set(described["components"]["schemas"])
    assert described == openapi()


def test_what_the_disk_does_not_take_may_be_sent_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        refused = edit(client, 0, typed("l1", 0, "一"), id="1")
        assert refused.status_code == 503 and "No space left" in refused.json()["detail"]
    again = edit(client, 0, typed("l1", 0, "一"), id="1")
    assert again.json()["page"]["lines"][0]["text"] == "一地玄黃"


def test_a_page_without_a_picture_says_what_to_do(tmp_path: Path) -> None:
    work = Proofreading(
        open_book(str(write_book(tmp_path / "texts", 1, images=False))), Means(can_read=False)
    )
    client = TestClient(make_app(work), base_url=HOST)
    assert client.get("/api/pages/1").json()["page"]["lines"][0]["text"] == "天地玄黃"
    for address in ("image", "tiles.json", "thumbnail"):
        answer = client.get(f"/api/pages/1/{address}")
        assert answer.status_code == 404 and "--images" in answer.json()["detail"]
    assert client.post("/api/pages/1/read", json={}).status_code == 422
    work.close()
