"""A small web server of manifests and pictures, and manifests of both versions."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

Answer = tuple[int, dict[str, str], bytes]


class Server:
    """Answers by path; whatever is not there is a 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Any], None]] = {}
        self.asked: list[str] = []
        handler = type("Handler", (_Handler,), {"told": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.root = f"http://127.0.0.1:{self.http.server_port}"

    def put(self, path: str, body: object, status: int = 200, **headers: str) -> str:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers[path] = (status, {"Content-Length": str(len(data)), **headers}, data)
        return self.root + path


class _Handler(BaseHTTPRequestHandler):
    told: Server

    def do_GET(self) -> None:
        self.told.asked.append(self.path)
        answer = self.told.answers.get(self.path, (404, {"Content-Length": "0"}, b""))
        if not isinstance(answer, tuple):
            answer(self)
            return
        self.send_response(answer[0])
        for key, value in answer[1].items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(answer[2])

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    """A server, as long as it is needed."""
    told = Server()
    thread = threading.Thread(target=told.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        told.http.shutdown()
        told.http.server_close()
        thread.join()


def png(value: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (20, 30), value).save(file, "png")
    return file.getvalue()


def version3(*bodies: Any, label: Any = None) -> dict[str, Any]:
    canvases = [
        {
            "type": "Canvas",
            "items": [{"items": [{"type": "Annotation", "motivation": "painting", "body": body}]}],
        }
        for body in bodies
    ]
    return {
        "@context": "http://iiif.io/api/presentation/3/context.json",
        "type": "Manifest",
        "label": label or {"zh": ["大學 章句"]},
        "items": canvases,
    }


def version2(*resources: Any, label: Any = "大學") -> dict[str, Any]:
    canvases = [{"@type": "sc:Canvas", "images": [{"resource": resource}]} for resource in resources]
    return {"@type": "sc:Manifest", "label": label, "sequences": [{"canvases": canvases}]}


def image3(address: str, **more: Any) -> dict[str, Any]:
    return {"id": address, "type": "Image", **more}
