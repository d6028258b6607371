"""The service as a process: a socket first, then the models, then requests until it is told to end.

The port is taken before anything is loaded, so that a port in use is one sentence at once. Ctrl-C and SIGTERM
let what is being read come to its end for a few seconds.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from tongguocr.engines.language_model import SHIPPED_LANGUAGE
from tongguocr.errors import InputError
from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE
from tongguocr.serve.app import make_app
from tongguocr.serve.models import open_models
from tongguocr.serve.queue import Bounds, RequestQueue

BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, and where."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: any that is free."""
    engine: str = DEFAULT_ENGINE
    model: str | None = None
    detector: str = DEFAULT_DETECTOR
    threads: int = 0
    key_variable: str | None = None
    """The environment variable that holds the key that clients must have."""
    bounds: Bounds = field(default_factory=Bounds)
    turn: bool = True
    """Whether pages that lie on their side or upside down are turned, unless a client says."""
    language: Path | None = SHIPPED_LANGUAGE
    """The folder of the language model; None for none."""


def serve(service: Service, say: Callable[[str], None] = print) -> None:
    """Load the models and answer until told to end."""
    key = read_key(service.key_variable)
    with open_socket(service.host, service.port) as listening:
        queue = RequestQueue(service.bounds)
        models = open_models(
            service.engine,
            service.model,
            service.detector,
            service.threads,
            queue.check,
            service.turn,
            service.language,
        )
        server = _Server(make_app(models, queue, key), queue)
        # From here on clients that come wait; before, they are refused.
        listening.listen(BACKLOG)
        if key is None and not _is_local(listening):
            warn = f"Anyone who reaches {service.host} can use this server; --api-key-env asks for a key."
            print(f"tongguocr: {warn}", file=sys.stderr, flush=True)
        say(f"{models.name}: {_address(listening)}")
        with _ended_by_signals(server):
            server.run(sockets=[listening])
        queue.close()


class _Server(uvicorn.Server):
    def __init__(self, app: object, queue: RequestQueue) -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            http="h11",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(queue.bounds.grace) + 5,
        )
        super().__init__(config)
        self.queue = queue

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.queue.end_soon()
        super().handle_exit(sig, frame)


@contextmanager
def _ended_by_signals(server: _Server) -> Iterator[None]:
    """uvicorn raises the signal that ended it once more, for who handled it before: a good end, here."""

    def end(sig: int, frame: FrameType | None) -> None:
        server.should_exit = True

    before = {sig: signal.signal(sig, end) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def read_key(variable: str | None) -> str | None:
    """The key in an environment variable; a variable that is named must hold one."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key or not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable}: this environment variable holds no key, one line of ASCII.")
    return key


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that has its address and does not listen yet."""
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port}: a port is a number from 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host}: this is no address of this machine ({_reason(error)}).") from None
    try:
        if os.name == "posix":
            # On Windows this would share the port with another server instead of taking over a dead one's.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise InputError(f"{host}:{port}: the server cannot listen there ({_reason(error)}).") from None
    return opened


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _is_local(listening: socket.socket) -> bool:
    host = str(listening.getsockname()[0])
    return host == "::1" or host.startswith("127.")


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
