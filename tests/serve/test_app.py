"""The service over real sockets: pages and completions out, and a sentence for whatever is wrong."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pytest
from lying_pages import scan_of
from PIL import Image
from recognise_pages import make_page, read_as
from serve_models import (
    TEXTS,
    as_jpeg,
    ask,
    complaint,
    dct_streams,
    fake_models,
    form,
    in_thread,
    png,
    question,
)

from tongguocr.engines.base import BlockInput, BlockReading
from tongguocr.engines.trust import NO_TEXT
from tongguocr.formats import FORMATS
from tongguocr.formats.page_json import parse_json, render_json
from tongguocr.page import Pixels
from tongguocr.serve.queue import Bounds

PAGE = make_page(3)
LINES = render_json(PAGE)
TEXT = "天地玄黃\n宇宙洪荒\n𤣥㫖"


def pixels() -> Pixels:
    assert PAGE.pixels is not None
    return PAGE.pixels


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with in_thread(fake_models()) as url:
        yield url


@pytest.fixture(scope="module")
def finding() -> Iterator[str]:
    with in_thread(fake_models(found=True)) as url:
        yield url


def read(url: str, *more: tuple[str, str | None, bytes]) -> tuple[int, bytes]:
    return ask(f"{url}/v1/read", *form([("image", "page.png", png(pixels())), *more]))


def test_a_page_with_its_lines(url: str) -> None:
    for lines in (("lines", None, LINES), ("lines", "lines.json", LINES)):
        status, data = read(url, lines)
        page = parse_json(data, Path("answer"))
        assert (status, page.text, page.image) == (200, TEXT, "page.png")
        assert [line.box for line in page.lines] == [line.box for line in PAGE.lines]
    status, data = read(url, ("lines", None, LINES), ("format", None, b"txt"))
    assert (status, data.decode()) == (200, TEXT + "\n")


def test_a_bare_picture_with_options_behind_the_address(finding: str) -> None:
    body = png(pixels())
    for headers in ({"Content-Type": "image/png"}, {}, {"Content-Type": "application/x-www-form-urlencoded"}):
        status, data = ask(f"{finding}/v1/read?format=text&flow=1&name=a%2Fb.png", body, headers)
        assert (status, data.decode()) == (200, TEXT.replace("\n", "") + "\n")
    status, data = ask(f"{finding}/v1/read?name=a%2Fb.png", body)
    assert parse_json(data, Path("answer")).image == "b.png"


@pytest.mark.parametrize(("turn", "angle"), [(None, 90), (b"true", 90), (b"0", 0)])
def test_a_page_that_lies_on_its_side(finding: str, turn: bytes | None, angle: int) -> None:
    image = ("image", "page.png", png(scan_of(PAGE, 90)))
    parts = [image] if turn is None else [image, ("turn", None, turn)]
    status, data = ask(f"{finding}/v1/read", *form(parts))
    page = parse_json(data, Path("answer"))
    assert (status, page.angle, page.height) == (200, angle, PAGE.height if angle else PAGE.width)
    lines = render_json(replace(PAGE, angle=90))
    status, data = ask(f"{finding}/v1/read", *form([image, ("lines", None, lines)]))
    page = parse_json(data, Path("answer"))
    assert (status, page.angle, page.text) == (200, 90, TEXT), "lines of a turned page turn it"


@pytest.mark.parametrize("option", [("direction", None, b"horizontal"), ("turn", None, b"false")])
def test_lines_that_are_given_are_not_looked_for(url: str, option: tuple[str, None, bytes]) -> None:
    said = complaint(read(url, ("lines", None, LINES), option))
    assert said == (400, "direction and turn are for lines that are looked for; here they are given.")


def test_a_page_without_text_says_so_in_every_format(url: str) -> None:
    lines = ("lines", None, render_json(replace(PAGE, lines=())))
    for format in ("json", "txt"):
        body, headers = form([("image", "page.png", png(pixels())), lines, ("format", None, format.encode())])
        with urlopen(Request(f"{url}/v1/read", body, headers)) as answer:
            assert (answer.status, answer.headers["X-Warning"]) == (200, NO_TEXT)
            data = answer.read()
        assert parse_json(data, Path("answer")).warnings == (NO_TEXT,) if format == "json" else not data


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(url: str, format: str) -> None:
    status, data = read(url, ("lines", None, LINES), ("format", None, format.encode()))
    assert status == 200 and data
    if format == "pdf":
        assert data.startswith(b"%PDF")
    if format == "overlay":
        assert data.startswith(b"\x89PNG")


@pytest.mark.parametrize("turned", [0, 90])
def test_a_jpeg_goes_into_a_pdf_as_it_is(turned: int) -> None:
    picture, page = as_jpeg(PAGE, turned)
    with in_thread(fake_models(found=True, page=page)) as url:
        status, data = ask(f"{url}/v1/read?format=pdf&name=page.jpg&turn=true", picture)
    assert status == 200 and dct_streams(data) == [picture]


def test_no_file_of_the_server_gets_into_an_answer(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(255 - pixels()).save(tmp_path / "page.png")
    wanted = [("lines", None, LINES), ("format", None, b"pdf")]
    here = read(url, *wanted)
    (tmp_path / "page.png").unlink()
    assert here == read(url, *wanted) and here[0] == 200


def test_bad_pages_get_one_sentence(url: str) -> None:
    assert complaint(read(url)) == (
        400,
        "page.png: this server has no detector; send the page's lines with it.",
    )
    other = render_json(make_page(2))
    for status, said, answer in (
        (400, "an image of 240 x 280", read(url, ("lines", None, other))),
        (400, "not JSON", read(url, ("lines", None, b"junk"))),
        (400, "no format 'docx'", read(url, ("format", None, b"docx"))),
        (400, "no option 'foo'", read(url, ("foo", None, b"1"))),
        (400, "no file named image", ask(f"{url}/v1/read", *form([("lines", None, LINES)]))),
        (400, "no file named image", ask(f"{url}/v1/read", *form([("image", None, b"x")]))),
        (400, "form cannot be read", ask(f"{url}/v1/read", b"x", {"Content-Type": "multipart/form-data"})),
        (400, "form cannot be read", ask(f"{url}/v1/read", b"junk", form([])[1])),
        (400, "Too many", ask(f"{url}/v1/read", *form([("image", "a", b"x")] * 3))),
        (400, "page: the picture is empty", ask(f"{url}/v1/read", b"")),
        (400, "not an image", ask(f"{url}/v1/read", b"junk")),
        (400, "damaged", ask(f"{url}/v1/read", png(pixels())[:200])),
        (404, "no such address", ask(f"{url}/v1/nothing")),
        (405, "another method", ask(f"{url}/v1/read")),
    ):
        found = complaint(answer)
        assert found[0] == status and said in found[1], found


def test_a_completion(finding: str) -> None:
    status, data = ask(
        f"{finding}/v1/chat/completions", question(pixels(), model="fake", logprobs=True, top_logprobs=2)
    )
    answer = json.loads(data)
    (choice,) = answer["choices"]
    assert (status, choice["message"]["content"], choice["finish_reason"]) == (200, TEXT, "stop")
    assert [entry["token"] for entry in choice["logprobs"]["content"]] == list(TEXT)
    assert answer["usage"]["completion_tokens"] == len(TEXT) and answer["model"] == "fake"
    status, data = ask(f"{finding}/v1/chat/completions", question(pixels(), max_tokens=3))
    (choice,) = json.loads(data)["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (TEXT[:3], "length")


def test_bad_chats_get_one_sentence(url: str) -> None:
    where = f"{url}/v1/chat/completions"
    assert complaint(ask(where, b"junk"))[0] == 400
    assert complaint(ask(where, question(pixels(), model="gpt")))[0] == 404
    assert complaint(ask(where, question(pixels(), stream=True)))[0] == 400
    broken = question(pixels()).replace(b"base64,iVBORw0K", b"base64,AAAAAAAA")
    assert complaint(ask(where, broken)) == (400, "image_url: not an image that can be read.")


def test_models_and_health(url: str) -> None:
    status, data = ask(f"{url}/v1/models")
    assert status == 200 and [model["id"] for model in json.loads(data)["data"]] == ["fake"]
    status, data = ask(f"{url}/health")
    assert (status, json.loads(data)["status"]) == (200, "ok")
    status, data = ask(f"{url}/openapi.json")
    assert status == 200 and "/v1/read" in json.loads(data)["paths"]


def test_too_many_bytes_pixels_and_lines() -> None:
    bounds = Bounds(body=20_000, pixels=pixels().size - 1, lines=2)
    with in_thread(fake_models(), bounds) as url:
        where = f"{url}/v1/read"
        assert complaint(ask(where, b"x" * 20_001)) == (413, "The request is larger than 0.02 MB.")
        assert complaint(ask(where, b"x" * 200_000))[0] == 413, "more than it is patient to read"
        for name in ("image", "lines"):
            assert complaint(ask(where, *form([(name, "a.png", b"x" * 20_001)])))[0] == 413
        assert complaint(ask(f"{url}/v1/chat/completions", b"x" * 20_001))[0] == 413
        assert complaint(ask(where, png(pixels())))[0] == 422
        tiny = png(np.zeros((9, 9), np.uint8))
        parts = [("image", "a.png", tiny), ("lines", None, LINES)]
        assert complaint(ask(where, *form(parts))) == (422, "lines: 3 are more than the 2 that are read.")


def test_a_key_is_wanted_where_there_is_one() -> None:
    with in_thread(fake_models(found=True), key="secret") as url:
        assert ask(f"{url}/health")[0] == 200
        body = png(pixels())
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
            assert complaint(ask(f"{url}/v1/read", body, headers))[0] == 401
            assert complaint(ask(f"{url}/v1/models", None, headers))[0] == 401
            assert complaint(ask(f"{url}/v1/chat/completions", question(pixels()), headers))[0] == 401
        assert ask(f"{url}/v1/read", body, {"Authorization": "Bearer secret"})[0] == 200


class Slow:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.gate, self.begun, self.blocks = threading.Event(), threading.Event(), 0

    def __call__(self, block: BlockInput) -> BlockReading:
        self.begun.set()
        self.blocks += 1
        assert self.gate.wait(300)
        return read_as(block, TEXTS)


def test_one_at_a_time_others_wait_and_one_too_many_is_refused() -> None:
    slow, answers = Slow(), list[tuple[int, bytes]]()
    with in_thread(fake_models(slow, found=True), Bounds(waiting=1)) as url:
        body = png(pixels())
        threads = [threading.Thread(target=lambda: answers.append(ask(f"{url}/v1/read", body))) for _ in "ab"]
        for thread in threads:
            thread.start()
        while json.loads(ask(f"{url}/health")[1])["requests"] < 2 and not answers:
            time.sleep(0.01)
        assert slow.begun.wait(300) and slow.blocks == 1
        assert complaint(ask(f"{url}/v1/read", body))[0] == 503
        slow.gate.set()
        for thread in threads:
            thread.join()
        assert [status for status, _ in answers] == [200, 200]
        assert ask(f"{url}/v1/read", body)[0] == 200


def test_what_takes_too_long_is_given_up() -> None:
    slow = Slow()
    with in_thread(fake_models(slow, found=True), Bounds(seconds=0.3)) as url:
        assert complaint(ask(f"{url}/v1/read", png(pixels())))[0] == 504
        slow.gate.set()
        # A busy machine may need more than the bound for the next ones, too; sooner or later one is answered.
        assert any(ask(f"{url}/v1/read", png(pixels()))[0] == 200 for _ in range(200))


def test_a_client_that_drips_or_leaves_costs_nothing() -> None:
    with in_thread(fake_models(found=True), Bounds(waiting=0, upload_seconds=0.3)) as url:
        host, port = urlsplit(url).netloc.split(":")
        head = b"POST /v1/read HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"
        with socket.create_connection((host, int(port)), timeout=60) as dripping:
            dripping.sendall(head)
            assert b" 408 " in dripping.recv(1000)
        with socket.create_connection((host, int(port))) as leaving:
            leaving.sendall(head)
        deadline = time.monotonic() + 120
        while ask(f"{url}/v1/read", png(pixels()))[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_fault_of_ours_is_a_sentence_too() -> None:
    def broken(block: BlockInput) -> BlockReading:
        raise ZeroDivisionError("secret detail")

    with in_thread(fake_models(broken, found=True)) as url:
        status, said = complaint(ask(f"{url}/v1/read", png(pixels())))
        assert status == 500 and "secret" not in said
        assert ask(f"{url}/health")[0] == 200
