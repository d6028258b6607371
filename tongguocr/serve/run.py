"""The service as a process: a socket first, then the models, then requests until it is told to end.

The port is taken before anything is loaded, so that a port in use is one sentence at once. One worker reads
in this process, several each in one of their own. Ctrl-C and SIGTERM let what is being read come to its end
for a few seconds.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from tongguocr.batch.pool import share_cores
from tongguocr.devices import AUTO
from tongguocr.engines import ENGINES
from tongguocr.engines.language_model import SHIPPED_LANGUAGE
from tongguocr.errors import InputError
from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE
from tongguocr.serve.app import make_app
from tongguocr.serve.connections import protocol_for
from tongguocr.serve.jobs import JobStore
from tongguocr.serve.models import check_choice, open_models
from tongguocr.serve.queue import Bounds, RequestQueue
from tongguocr.serve.workers import Processes, Readers

BACKLOG = 128
MANY = 1_000_000
"""Pages: there is no end of them."""


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
    """Of each model; 0: all workers share the cores."""
    key_variable: str | None = None
    """The environment variable that holds the key that clients must have."""
    bounds: Bounds = field(default_factory=Bounds)
    turn: bool = True
    """Whether pages that lie on their side or upside down are turned, unless a client says."""
    language: Path | None = SHIPPED_LANGUAGE
    """The folder of the language model; None for none."""
    workers: int = 1
    """So many pages are read at a time, by processes where it is more than one; 0: one a core."""
    jobs: Path | None = None
    """The folder for jobs and their results; without it they are gone with the server."""
    origins: tuple[str, ...] = ()
    """Where pages in browsers come from that may use the server; `*` for anywhere."""
    log: bool = False
    """Whether each request is a line on standard error."""
    device: str = AUTO
    """Where our models compute."""
    reread: bool = False
    """Whether our own engine reads doubtful lines again."""


def serve(service: Service, say: Callable[[str], None] = print) -> None:
    """Load the models and answer until told to end."""
    key = read_key(service.key_variable)
    check_choice(service.engine, service.model)
    workers, threads = share(service)
    for origin in service.origins:
        check_origin(origin)
    with open_socket(service.host, service.port) as listening, _open_store(service) as store:
        queue = RequestQueue(service.bounds, workers)
        with _open_readers(service, workers, threads, queue) as readers:
            log = partial(print, file=sys.stderr, flush=True) if service.log else None
            app = make_app(readers, queue, key, store, service.origins, log)
            server = Server(app, queue)
            # From here on clients that come wait; before, they are refused.
            listening.listen(BACKLOG)
            if key is None and not _is_local(listening):
                warn = f"Anyone who reaches {service.host} can use this server; --api-key-env asks for a key."
                print(f"tongguocr: {warn}", file=sys.stderr, flush=True)
            say(f"{readers.name}: {_address(listening)}")
            with _ended_by_signals(server):
                server.run(sockets=[listening])
            queue.close()


def share(service: Service) -> tuple[int, int]:
    """How many workers, and threads for each model of theirs (0: one a core)."""
    if service.workers == 0 and ENGINES[service.engine].full_size:
        # Each would fill a graphics card, or the memory, with a model of its own.
        return 1, service.threads
    workers, threads = share_cores(MANY, service.workers or None, service.threads or None)
    return workers, service.threads if workers == 1 else threads


@contextmanager
def _open_store(service: Service) -> Iterator[JobStore]:
    """Where jobs are kept: the folder that is named, or one that goes with the server."""
    if service.jobs is not None:
        yield JobStore(service.jobs, service.bounds)
    else:
        with tempfile.TemporaryDirectory(prefix="tongguocr-jobs-", ignore_cleanup_errors=True) as folder:
            yield JobStore(Path(folder), service.bounds)


@contextmanager
def _open_readers(service: Service, workers: int, threads: int, queue: RequestQueue) -> Iterator[Readers]:
    prepare = partial(
        open_models,
        service.engine,
        service.model,
        service.detector,
        threads,
        turn=service.turn,
        language=service.language,
        device=service.device,
        reread=service.reread,
    )
    if workers == 1:
        yield prepare(queue.check)
        return
    with Processes(prepare, workers, queue.check) as readers:
        yield readers


class Server(uvicorn.Server):
    """uvicorn with our bounds for connections."""

    def __init__(self, app: object, queue: RequestQueue, level: str = "warning") -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            http=protocol_for(queue.bounds),
            ws="none",
            lifespan="on",
            log_level=level,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(queue.bounds.grace) + 5,
        )
        super().__init__(config)
        self.queue = queue

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal that ends the server: what is being read has a moment left."""
        self.queue.end_soon()
        super().handle_exit(sig, frame)


@contextmanager
def _ended_by_signals(server: Server) -> Iterator[None]:
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


def check_origin(origin: str) -> None:
    """Refuse what no browser would ever send as the origin of a page."""
    if origin != "*" and not re.fullmatch(r"https?://[^/\s?#*@]+", origin):
        raise InputError(f"--cors {origin}: an origin is like https://library.example, or * for any.")


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
