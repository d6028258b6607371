"""Servers for the tests of tongguocr.serve: in a thread or as a process, with toys behind them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pikepdf
from lying_pages import Observant, scan_of
from PIL import Image
from recognise_pages import FakeEngine, make_page, read_as

from tongguocr.engines.base import BlockInput, BlockReading
from tongguocr.engines.chat_protocol import encode_picture
from tongguocr.page import Page, Pixels, turn_pixels
from tongguocr.reader import Reader
from tongguocr.serve.app import make_app
from tongguocr.serve.jobs import JobStore
from tongguocr.serve.models import Models
from tongguocr.serve.observe import Log
from tongguocr.serve.queue import Bounds, RequestQueue
from tongguocr.serve.run import Server, open_socket
from tongguocr.serve.workers import Readers

TEXTS = {"l1": "天地玄黃", "l2": "宇宙洪荒", "l3": "𤣥㫖"}
SPOKEN = "天一丨<left|far_up>地十口<down>田人乚<left>之𤣥㫖"
"""What the speaking toy says, from some place on."""


def write_speaking_model(folder: Path) -> Path:
    """A toy of GLM-OCR's class that says the end of one text, and of which, the picture decides.

    Each token's embedding is so loud that the layers add nothing to it, and points at the token that follows;
    the prompt's last token is quiet, so that what follows it is the picture's doing.
    """
    import torch
    from glm_models import RARE, make_pretrained
    from labelled_pages import CHARS

    from tongguocr.engines.glm.image_settings import ImageSettings, save_image_settings
    from tongguocr.engines.glm.pretrained import save_pretrained
    from tongguocr.training.glm.expand import expand

    pretrained = expand(make_pretrained(), CHARS + RARE)[0]
    ids = [*pretrained.prompt.encode(SPOKEN), pretrained.prompt.end]
    assert len(set(ids)) == len(ids)
    dice = torch.Generator().manual_seed(3)
    with torch.no_grad():
        table, head = pretrained.model.get_input_embeddings().weight, pretrained.model.lm_head.weight
        rows = torch.randn(len(ids), table.shape[1], generator=dice)
        table[ids] = 20 * rows
        head.zero_()
        head[ids[1:]] = 0.1 * rows[:-1]
        head[ids[0]] = 0.1 * torch.randn(table.shape[1], generator=dice)
    save_pretrained(pretrained, folder)
    save_image_settings(ImageSettings(side=128), folder)
    return folder


def fake_models(
    answer: Callable[[BlockInput], BlockReading] | None = None, found: bool = False, page: Page | None = None
) -> Models:
    """Every line says the text of its id; if `found`, lines are those of the page that was drawn."""
    engine = FakeEngine(answer or (lambda block: read_as(block, TEXTS)))
    return Models("fake", Reader(engine, Observant(page or make_page(3)) if found else None))


@contextmanager
def in_thread(
    readers: Readers,
    bounds: Bounds = Bounds(),
    key: str | None = None,
    store: JobStore | None = None,
    *,
    workers: int = 1,
    origins: Sequence[str] = (),
    log: Log | None = None,
) -> Iterator[str]:
    """The address of the service for these models."""
    queue = RequestQueue(bounds, workers)
    server = Server(make_app(readers, queue, key, store, origins, log), queue, "critical")
    with open_socket("127.0.0.1", 0) as listening:
        listening.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
            queue.close()


@contextmanager
def as_process(*options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`tongguocr serve` on a free port, and its address."""
    command = [sys.executable, "-W", "error", "-m", "tongguocr.cli", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            said = process.stdout.readline()
            assert said, process.stderr.read()
            yield process, said.rsplit(" ", 1)[-1].strip()
        finally:
            process.terminate()


def ask(
    url: str, body: bytes | None = None, headers: dict[str, str] | None = None, seconds: float = 300.0
) -> tuple[int, bytes]:
    """Status and body of the answer, whatever it is."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=seconds)
    try:
        where = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET" if body is None else "POST", where, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def complaint(answer: tuple[int, bytes]) -> tuple[int, str]:
    """Status and sentence of a refusal in OpenAI's shape."""
    error = json.loads(answer[1])["error"]
    assert error["code"] == answer[0] and error["message"].endswith(".")
    assert "\n" not in error["message"] and "Traceback" not in error["message"]
    return answer[0], error["message"]


def form(parts: Sequence[tuple[str, str | None, bytes]]) -> tuple[bytes, dict[str, str]]:
    """A multipart body of (name, file name, content), and its header."""
    body = b""
    for name, file, content in parts:
        named = f'; filename="{file}"' if file is not None else ""
        body += f'--cut\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
        body += content + b"\r\n"
    return body + b"--cut--\r\n", {"Content-Type": "multipart/form-data; boundary=cut"}


def png(pixels: Pixels) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def as_jpeg(page: Page, angle: int) -> tuple[bytes, Page]:
    """The page as a JPEG that has to be turned by an angle, and with the pixels that it has from there on."""
    file = BytesIO()
    Image.fromarray(scan_of(page, angle)).save(file, "JPEG", quality=95)
    return file.getvalue(), replace(page, pixels=turn_pixels(np.asarray(Image.open(file)), angle))


def dct_streams(pdf: bytes) -> list[bytes]:
    """The JPEG files inside a PDF, byte for byte."""
    with pikepdf.open(BytesIO(pdf)) as opened:
        images = [page.Resources.XObject.Image for page in opened.pages]
        return [image.read_raw_bytes() for image in images if image.Filter == "/DCTDecode"]


def question(pixels: Pixels, **more: Any) -> bytes:
    """A chat about a picture."""
    content = [
        {"type": "image_url", "image_url": {"url": encode_picture(pixels)}},
        {"type": "text", "text": "Text Recognition:"},
    ]
    return json.dumps({"messages": [{"role": "user", "content": content}], **more}).encode()
