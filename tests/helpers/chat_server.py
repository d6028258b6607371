"""A small server that speaks the protocol of chat completions, with any fault one likes, in a thread."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from tongguocr.page import Pixels


@dataclass
class Reply:
    """One HTTP answer; `body` of None breaks the connection off."""

    body: bytes | None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass
class Question:
    """What the server was asked."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def picture(self) -> Pixels:
        address = self.body["messages"][0]["content"][0]["image_url"]["url"]
        head, data = address.split(",", 1)
        assert head == "data:image/png;base64"
        return np.asarray(Image.open(BytesIO(base64.b64decode(data))))


Answering = Callable[[Question], Reply]


def completion(text: Any, finish: str = "stop", logprobs: Any = None, **reply: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    if logprobs is not None:
        choice["logprobs"] = {"content": logprobs}
    return Reply(json.dumps({"object": "chat.completion", "choices": [choice]}).encode(), **reply)


class ChatServer:
    """Keeps what it was asked, and how many asked at a time."""

    def __init__(self, answer: Answering) -> None:
        self.answer, self.questions = answer, list[Question]()
        self.busy = self.busiest = 0
        self.lock = threading.Lock()
        self.url = ""

    def handle(self, question: Question) -> Reply:
        with self.lock:
            self.questions.append(question)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            reply = self.answer(question)
            time.sleep(reply.delay)
            return reply
        finally:
            with self.lock:
                self.busy -= 1


@contextmanager
def serve(answer: Answering) -> Iterator[ChatServer]:
    server = ChatServer(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            reply = server.handle(Question(self.path, dict(self.headers), json.loads(data)))
            if reply.body is None:
                self.close_connection = True
                return
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                pass  # The client did not wait.

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{listening.server_address[1]}"
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
