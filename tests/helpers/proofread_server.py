"""The real command `tongguocr proofread`, as a process of its own, and a client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from paths import ROOT


@dataclass
class Desk:
    """A server that runs, and where."""

    process: subprocess.Popen[str]
    address: str

    def ask(self, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """An answer: its status, and its JSON or its text."""
        connection = HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        try:
            data = None if body is None else json.dumps(body).encode()
            method = "GET" if body is None else "POST"
            connection.request(method, path, data, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            is_json = answer.headers.get_content_type() == "application/json"
            return answer.status, json.loads(text) if is_json and text else text
        finally:
            connection.close()

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "tongguocr", "proofread", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def open_desk(book: Path, *options: object) -> Iterator[Desk]:
    """The command on this book, until it is left or ended."""
    words = command(book, "--port", 0, "--no-browser", *options)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"http://\S+", said)
            assert found, process.stderr.read() if process.stderr else said
            yield Desk(process, found.group())
        finally:
            process.kill()


def run_proofread(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command, where it is to end by itself."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, env=environment(), timeout=120)
