"""Proofreading as a process: the lock of the book and a socket first, then answers until told to end.

Ctrl-C and SIGTERM write down what is due, within the second; whatever was answered is on the disk already.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from types import FrameType
from typing import NoReturn

import uvicorn

from tongguocr.errors import InputError
from tongguocr.files import write_error
from tongguocr.proofread.app import make_app
from tongguocr.proofread.book import Book, open_book
from tongguocr.proofread.guard import Access, names_of
from tongguocr.proofread.proofreading import Means, Proofreading
from tongguocr.serve.run import open_socket

BACKLOG = 128
DEFAULT_PORT = 8001
GRACE = 2
"""Seconds for answers that have begun, once the server is to end."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What is proofread, where, and with what."""

    source: str
    images: str | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    """0: any that is free; None: 8001, or any if that one is taken."""
    token: str | None = None
    """What everybody must show; without one, and for others than this machine, one is made."""
    browser: bool = True
    """Whether a browser is opened."""
    means: Means = field(default_factory=Means)


def proofread(desk: Desk, say: Callable[[str], None] = print) -> None:
    """Answer until told to end."""
    with _open_socket(desk.host, desk.port) as listening:
        book = open_book(desk.source, desk.images)
        host, port = listening.getsockname()[:2]
        access = access_for(desk, str(host))
        address = _address(desk.host, port) + (f"?token={access.token}" if access.token else "")
        with locked(book, address):
            work = Proofreading(book, desk.means)
            config = uvicorn.Config(
                make_app(work, access),
                http="h11",
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
            server = _Server(config, work)
            listening.listen(BACKLOG)
            work.start()
            count = f"{len(book.pages)} page{'s' if len(book.pages) > 1 else ''}"
            say(f"{book.title}, {count}: {address} (Ctrl-C ends it; everything is kept)")
            if not any(page.source for page in book.pages):
                say(f"There is no picture in {book.folder}: --images SOURCE says where they are.")
            if desk.browser and _has_screen():
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            with _ended_by_signals():
                try:
                    server.run(sockets=[listening])
                finally:
                    work.close()


def _open_socket(host: str, port: int | None) -> socket:
    if port is not None:
        return open_socket(host, port)
    try:
        return open_socket(host, DEFAULT_PORT)
    except InputError:
        return open_socket(host, 0)


def _has_screen() -> bool:
    """Whether a browser would have a window: without one, a browser of text would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def access_for(desk: Desk, host: str) -> Access:
    """Who may ask: on this machine everybody without a token, unless there is one; others only with it."""
    if host == "::1" or host.startswith("127."):
        return Access(desk.token)
    return Access(desk.token or secrets.token_urlsafe(24), frozenset(names_of(desk.host)))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, work: Proofreading) -> None:
        super().__init__(config)
        self.work = work

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Streams of events would go on for ever.
        self.work.events.close()
        super().handle_exit(sig, frame)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """uvicorn raises the signal that ended it once more, for who handled it before: a good end, here."""

    def end(sig: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {sig: signal.signal(sig, end) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


@contextmanager
def locked(book: Book, address: str) -> Iterator[None]:
    """The book for this process alone; the system gives the lock back however a process ends."""
    from filelock import FileLock, Timeout

    lock, note = FileLock(book.own("lock")), book.own("address")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(f"{book.folder}: this book is open already{_where(note)}.") from None
    except OSError as error:
        raise write_error(book.own("lock"), error) from None
    try:
        _write_note(note, address)
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _write_note(note: Path, address: str) -> None:
    try:
        note.write_text(address, encoding="utf-8")
        note.chmod(0o600)
    except OSError as error:
        raise write_error(note, error) from None


def _where(note: Path) -> str:
    try:
        return f", at {note.read_text(encoding='utf-8')}"
    except (OSError, ValueError):
        return ""


def _address(host: str, port: int) -> str:
    """What a browser on this machine is to open."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"
