"""The engine `server` against a real HTTP server that speaks the protocol, and lies, fails and dawdles."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from chat_server import Answering, ChatServer, Question, Reply, completion, serve
from recognise_pages import inputs_of, make_page

from tongguocr.crops import crop_blocks
from tongguocr.engines import open_engine
from tongguocr.engines.base import BlockReading, make_inputs
from tongguocr.engines.chat_protocol import find_endpoint
from tongguocr.engines.guard import Guarded, character_cap
from tongguocr.engines.server import Chat, ChatClient, ServerEngine, open_server
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.page import Block, Page


def engine_of(server: ChatServer, **settings: float) -> tuple[Guarded, list[float]]:
    """A guarded engine that does not really wait, and how long it would have."""
    engine = ServerEngine(Chat(server.url, "glm-ocr", **settings))  # type: ignore[arg-type]
    waited: list[float] = []
    engine.client.sleep = waited.append
    return Guarded(engine), waited


def read(answer: Answering, page: Page, **settings: float) -> tuple[BlockReading, ChatServer, list[float]]:
    with serve(answer) as server:
        engine, waited = engine_of(server, **settings)
        (reading,) = engine.read(inputs_of(page))
        return reading, server, waited


def in_turn(*replies: Reply) -> Answering:
    """The first answer first; the last one again and again."""
    left = list(replies)
    return lambda question: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    "text",
    ["天地玄黃宇\n宙洪荒日月\n", "天地玄黃宇<left|far_up>宙洪荒日月", "```text\n天地玄黃宇\n宙洪荒日月\n```"],
)
def test_blocks_go_out_as_pictures_and_come_back_as_lines(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TONGGUOCR_API_KEY", raising=False)
    page = make_page(2)
    reading, server, _ = read(lambda question: completion(text), page)
    assert [line.text for line in reading.lines] == ["天地玄黃宇", "宙洪荒日月"]
    assert [line.status for line in reading.lines] == ["read", "read"]
    (asked,) = server.questions
    (block,) = inputs_of(page)
    assert asked.path == "/v1/chat/completions" and "Authorization" not in asked.headers
    assert (asked.body["model"], asked.body["temperature"]) == ("glm-ocr", 0)
    assert asked.body["messages"][0]["content"][1]["text"] == "Text Recognition:"
    assert (asked.picture == block.crop.pixels).all()
    cap = character_cap(block.lines)
    assert cap < asked.body["max_tokens"] < 4 * cap
    for line, given in zip(reading.lines, page.lines, strict=True):
        tops = [char.box[1] for char in line.chars]
        assert tops == sorted(tops)
        for char in line.chars:
            assert given.box[1] <= char.box[1] < char.box[3] <= given.box[3]
            assert char.confidence is None and (char.box[0], char.box[2]) == (given.box[0], given.box[2])
    assert reading.lines[0].confidence is None


def test_tokens_with_probabilities_give_confidence_and_candidates() -> None:
    def token(
        text: str, logprob: float, *others: tuple[str, float], data: bytes | None = None
    ) -> dict[str, object]:
        spelled = list(text.encode() if data is None else data)
        top = [{"token": other, "logprob": value} for other, value in others]
        return {"token": text, "bytes": spelled, "logprob": logprob, "top_logprobs": top}

    rare = "𤣥".encode()
    tokens = [
        token("天", -0.1, ("天", -0.1), ("夫", -2.5), ("<left>", -3.0), ("大", -9.0)),
        token("地玄", -0.5),
        token("", -0.2, data=rare[:3]),
        token("", -0.3, data=rare[3:]),
        token("\n", -0.01),
        token("宙", -1.0),
        token("<|end|>", 0.0),
    ]
    page = make_page(2)
    reading, server, _ = read(lambda question: completion("天地玄𤣥\n宙", logprobs=tokens), page)
    assert server.questions[0].body["logprobs"] is True
    first, second = reading.lines
    assert [char.text for char in first.chars] == ["天", "地", "玄", "𤣥"]
    sure = [char.confidence for char in first.chars]
    assert sure == pytest.approx([np.exp(-0.1), np.exp(-0.5), np.exp(-0.5), np.exp(-0.5)], abs=1e-3)
    assert first.chars[0].candidates == (("夫", pytest.approx(np.exp(-2.5), abs=1e-3)),)
    assert second.chars[0].confidence == pytest.approx(np.exp(-1), abs=1e-3)


def test_a_server_that_refuses_probabilities_is_asked_without() -> None:
    def answer(question: Question) -> Reply:
        if "logprobs" in question.body:
            return Reply(b'{"error": {"message": "logprobs is not supported"}}', 400)
        return completion("天地玄黃宇")

    with serve(answer) as server:
        engine, _ = engine_of(server)
        for _ in range(2):
            assert engine.read(inputs_of(make_page(1)))[0].text == "天地玄黃宇"
        assert ["logprobs" in question.body for question in server.questions] == [True, False, False]


def test_a_question_that_is_refused_for_another_reason_does_not_cost_the_confidence() -> None:
    with serve(in_turn(*[Reply(b'{"error": "too large"}', 400)] * 2, completion("天地玄黃宇"))) as server:
        engine, _ = engine_of(server)
        with pytest.raises(InputError, match=r"answered 400 \(too large\)"):
            engine.read(inputs_of(make_page(1)))
        engine.read(inputs_of(make_page(1)))
        assert ["logprobs" in question.body for question in server.questions] == [True, False, True]


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGGUOCR_API_KEY", "secret")
    _, server, _ = read(lambda question: completion("天地玄黃宇"), make_page(1))
    assert server.questions[0].headers["Authorization"] == "Bearer secret"
    monkeypatch.setenv("TONGGUOCR_API_KEY", "secret\nX: y")
    with pytest.raises(InputError, match="TONGGUOCR_API_KEY"):
        read(lambda question: completion("天"), make_page(1))
    monkeypatch.setenv("TONGGUOCR_API_KEY", "wrong")
    with pytest.raises(InputError, match=r"answered 401 .*TONGGUOCR_API_KEY") as caught:
        read(lambda question: Reply(b'{"error": "bad key"}', 401), make_page(1))
    assert "wrong" not in str(caught.value)


def test_no_more_requests_than_allowed_are_in_flight_and_order_is_kept() -> None:
    page = make_page(6)
    crops = crop_blocks(page, [Block(k, k + 1, line.box) for k, line in enumerate(page.lines)])
    blocks = make_inputs(page, crops)
    sizes = {block.crop.pixels.tobytes(): str(k) for k, block in enumerate(blocks)}

    def answer(question: Question) -> Reply:
        return completion(sizes[question.picture.tobytes()], delay=0.1)

    with serve(answer) as server:
        engine = ServerEngine(Chat(server.url, "m"), in_flight=2)
        assert [reading.text for reading in engine.read(blocks)] == list("012345")
        assert server.busiest == 2
        assert ServerEngine(Chat(server.url, "m")).read([]) == []


def test_a_busy_server_is_asked_again_with_growing_pauses() -> None:
    busy = Reply(b"{}", 503)
    later = Reply(b"<html>", 429, {"Retry-After": "7"})
    reading, server, waited = read(in_turn(busy, later, Reply(None), completion("天地玄黃宇")), make_page(1))
    assert reading.text == "天地玄黃宇" and len(server.questions) == 4
    assert waited == [0.5, 7, 14]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(b'{"error": {"message": "engine died\\n."}}', 500), r"answered 500 \(engine died\)\.$"),
        (Reply(b'{"detail": "no model m"}', 404), r"answered 404 \(no model m\)\.$"),
        (Reply(b"<html>no</html>", 404), r"answered 404\.$"),
        (Reply(b"", 302, {"Location": "http://127.0.0.1:9/"}), r"answered 302\.$"),
        (Reply(None), r"broke off"),
        (completion("天", delay=2.0), r"did not answer within 1 seconds\.$"),
    ],
)
def test_a_server_that_fails_is_named_in_one_sentence(reply: Reply, sentence: str) -> None:
    # Only the reply that is to come too late has a short limit: a busy machine may delay the others as well.
    limit = reply.delay / 2 if reply.delay else 60
    with serve(lambda question: reply) as server:
        engine, _ = engine_of(server, timeout=limit)
        with pytest.raises(InputError, match=sentence) as caught:
            engine.read(inputs_of(make_page(3)))
        assert str(caught.value).startswith(f"{server.url}/v1/chat/completions: ")
        assert "\n" not in str(caught.value)
        assert len(server.questions) <= 4


def test_a_server_that_is_down_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    engine = ServerEngine(Chat(url, "m", attempts=2, pause=0.01))
    with pytest.raises(
        InputError, match=rf"^{url}/v1/chat/completions: the server cannot be reached \(.+\)\.$"
    ):
        engine.read(inputs_of(make_page(1)))


def test_a_server_that_drips_is_left_in_time() -> None:
    def drip(listening: socket.socket) -> None:
        taken, _ = listening.accept()
        with taken, suppress(OSError):
            taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while True:
                taken.sendall(b" ")
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,))
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(InputError, match=r"did not answer within 0\.5 seconds"):
            ServerEngine(Chat(url, "m", timeout=0.5)).read(inputs_of(make_page(1)))
        thread.join(300)
        assert not thread.is_alive(), "the connection was closed"


NONSENSE = [
    b"",
    b"<!DOCTYPE html><html><body>It works!</body></html>",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'{"choices": []}',
    b'{"choices": {}}',
    b'{"choices": [{"text": "..."}]}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": [{"message": {"content": 7}}]}',
    b'{"choices": [{"message": {"content": [7]}}]}',
    b'{"choices": [{"message": {"content": "' + "天".encode(),
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", NONSENSE)
def test_nonsense_marks_every_line_and_is_not_asked_for_again_and_again(body: bytes) -> None:
    reading, server, _ = read(lambda question: Reply(body), make_page(3))
    assert [line.status for line in reading.lines] == ["failed"] * 3
    assert [line.confidence for line in reading.lines] == [0.0] * 3
    assert len(server.questions) == 2


def test_nonsense_once_is_forgiven() -> None:
    reading, _, waited = read(in_turn(Reply(b"<html>"), completion("天地玄黃宇")), make_page(1))
    assert reading.text == "天地玄黃宇" and len(waited) == 1


@pytest.mark.parametrize("content", ["", None, " \n\n", [], [{"type": "text", "text": ""}]])
def test_an_empty_answer_leaves_empty_lines(content: object) -> None:
    reading, _, _ = read(lambda question: completion(content), make_page(2))
    assert [line.status for line in reading.lines] == ["empty", "empty"]


@pytest.mark.parametrize("text", ["子曰" * 50_000, "天地玄" + "之" * 3000, "一二三四五六\n" * 900])
def test_endless_repetition_is_cut_and_marked(text: str) -> None:
    page = make_page(2)
    reading, server, _ = read(lambda question: completion(text, "length"), page)
    assert {line.status for line in reading.lines} <= {"failed", "capped"}
    (block,) = inputs_of(page)
    assert sum(len(line.chars) for line in reading.lines) <= character_cap(block.lines)
    assert len(server.questions) == 3


def test_a_loop_keeps_what_precedes_it() -> None:
    reading, _, _ = read(lambda question: completion("天地玄" + "黃宇" * 9), make_page(1))
    assert (reading.lines[0].text, reading.lines[0].status) == ("天地玄黃宇", "failed")


def test_a_short_refrain_is_text() -> None:
    reading, _, _ = read(lambda question: completion("南無佛" * 3), make_page(1, length=9))
    assert (reading.lines[0].text, reading.lines[0].status) == ("南無佛" * 3, "read")


def test_text_that_was_cut_by_the_server_is_marked() -> None:
    reading, _, _ = read(lambda question: completion("天地玄", "length"), make_page(1))
    assert (reading.lines[0].text, reading.lines[0].status) == ("天地玄", "capped")


def test_a_blank_block_is_not_sent() -> None:
    page = make_page(2)
    assert page.pixels is not None
    blank = replace(page, pixels=np.full_like(page.pixels, 240))
    reading, server, _ = read(lambda question: completion("天地"), blank)
    assert [line.status for line in reading.lines] == ["empty", "empty"] and not server.questions


def test_whole_pages() -> None:
    with serve(in_turn(completion("天地\n\n玄 黃\n"), Reply(b"<html>"))) as server:
        engine = ServerEngine(Chat(server.url, "m", pause=0.0))
        pixels = make_page(2, grey=False).pixels
        assert pixels is not None and engine.read_whole(pixels) == ["天地", "玄黃"]
        assert (server.questions[0].picture == pixels).all()
        assert engine.read_whole(pixels) == []


@pytest.mark.parametrize(
    "url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/v1/chat/completions"]
)
def test_addresses_as_users_write_them(url: str) -> None:
    assert find_endpoint(url) == "http://h:1/v1/chat/completions"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://h",
        "file:///etc/passwd",
        "http://",
        "http://u:p@h",
        "http://h /",
        "http://古籍",
    ],
)
def test_bad_addresses(url: str) -> None:
    with pytest.raises(InputError, match="not the http or https address"):
        ChatClient(Chat(url, "m"))


def test_it_has_to_be_named_in_full_and_is_not_contacted_before_it_reads() -> None:
    missing: Sequence[tuple[str | None, str | None]] = [
        (None, None),
        ("http://h", None),
        (None, "m"),
        ("http://h", ""),
    ]
    for url, model in missing:
        with pytest.raises(InputError, match="address of a server and the name of its model"):
            open_engine("server", url=url, model=model)
    with serve(lambda question: completion("天")) as server:
        assert isinstance(open_engine("server", url=server.url, model="m"), Guarded)
        assert open_engine("server", url=server.url, model="m").read([]) == []
        assert not server.questions


def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks9://nowhere:1")
    with pytest.raises(InputError, match=r"https://example.org/.*proxy that the environment names"):
        open_server("https://example.org", "model")


def test_without_its_extra_the_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.errors.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"The engine server .*tongguocr\[server\]"):
        open_engine("server", url="http://localhost:1", model="model")
