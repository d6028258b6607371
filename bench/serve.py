"""The service under load: `python -m bench.serve`, against 127.0.0.1 alone, bounded in count and time.

Three tables with the real command and the shipped models: pages a second by workers and threads; many small
pages by many clients, each answer compared with the page's own; and how long others wait while some clients
drip bodies into it and many more send half of a header and no more.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection

from rich.console import Console
from rich.table import Table

from bench.batch import EXAMPLE, cut_example
from bench.machine import machine
from tongguocr.formats.page_json import render_json
from tongguocr.page import Page

DRIP_SECONDS = 1.0
TEXT = "/v1/read?format=txt"
HALF = b"POST /v1/read HTTP/1.1\r\nHost: bench\r\nContent-"
DRIPPED = b"POST /v1/read HTTP/1.1\r\nHost: bench\r\nContent-Length: 100000\r\n\r\n"


@dataclass(frozen=True)
class Answer:
    """What came of one request."""

    status: int
    body: bytes
    seconds: float


@contextlib.contextmanager
def service(workers: int, threads: int) -> Iterator[int]:
    """The port of a service of its own."""
    options = ["--port", "0", "--workers", str(workers), "--threads", str(threads)]
    command = [sys.executable, "-m", "tongguocr.cli", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline().rsplit(":", 1)[1])
        finally:
            process.terminate()


def ask(port: int, body: bytes, headers: dict[str, str], seconds: float = 120.0) -> Answer:
    """One request on a connection of its own; status 0 where there is no answer."""
    start, connection = time.perf_counter(), HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("POST", TEXT, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read(), time.perf_counter() - start)
    except OSError as error:
        return Answer(0, str(error).encode(), time.perf_counter() - start)
    finally:
        connection.close()


def form(image: bytes, lines: bytes) -> tuple[bytes, dict[str, str]]:
    """A page's image and its lines as a form."""
    parts = (("image", "image/png", image), ("lines", "application/json", lines))
    body = b"".join(
        f'--cut\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        f"Content-Type: {kind}\r\n\r\n".encode()
        + data
        + b"\r\n"
        for name, kind, data in parts
    )
    return body + b"--cut--\r\n", {"Content-Type": "multipart/form-data; boundary=cut"}


def small_pages() -> list[tuple[bytes, dict[str, str]]]:
    """Each line of the example as a page that is known to have one line."""
    found = []
    for image, page in cut_example():
        file = io.BytesIO()
        image.save(file, "PNG")
        found.append(form(file.getvalue(), render_json(Page("image", page.width, page.height, page.lines))))
    return found


def speed(pages: int, splits: Sequence[tuple[int, int]]) -> Table:
    table = Table("workers x threads", "pages/s", "of the first", title=f"{pages} pages, lines found")
    image, first = EXAMPLE.with_suffix(".jpg").read_bytes(), 0.0
    for workers, threads in splits:
        with service(workers, threads) as port, ThreadPoolExecutor(2 * workers) as clients:

            def read(_: int, port: int = port) -> Answer:
                return ask(port, image, {})

            list(clients.map(read, range(2 * workers)))
            start = time.perf_counter()
            answers = list(clients.map(read, range(pages)))
            rate = pages / (time.perf_counter() - start)
        assert all(answer.status == 200 for answer in answers)
        first = first or rate
        table.add_row(f"{workers} x {threads}", f"{rate:.2f}", f"{rate / first:.2f}")
    return table


def many(port: int, pages: int, clients: int) -> Table:
    kinds = small_pages()
    expected = [ask(port, *kind).body for kind in kinds]
    with ThreadPoolExecutor(clients) as pool:
        start = time.perf_counter()
        answers = list(pool.map(lambda number: ask(port, *kinds[number % len(kinds)]), range(pages)))
        seconds = time.perf_counter() - start
    good = sum(a.status == 200 and a.body == expected[n % len(kinds)] for n, a in enumerate(answers))
    table = Table(title=f"{pages} small pages by {clients} clients", show_header=False)
    table.add_row("answered, each with its own text", str(good))
    table.add_row("lost, refused or mixed up", str(pages - good))
    table.add_row("pages a second", f"{pages / seconds:.1f}")
    table.add_row("longest", f"{max(answer.seconds for answer in answers):.2f} s")
    return table


def hold(port: int, count: int, start: bytes) -> list[socket.socket]:
    """So many connections that have sent this and wait."""
    opened = []
    for _ in range(count):
        opened.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        opened[-1].sendall(start)
    return opened


def closed(connection: socket.socket) -> bool:
    """Whether the server has ended the connection, or answered."""
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def besieged(port: int, dripping: int, half: int, seconds: float) -> Table:
    kind = small_pages()[0]
    title = f"{dripping} clients that drip, {half} with half a header"
    table = Table("others wait", "requests", "middle", "longest", "refused", title=title)
    table.add_row("before", *row(repeat(lambda: ask(port, *kind), seconds / 3)))
    over = threading.Event()
    with contextlib.ExitStack() as open_:
        halves = [open_.enter_context(one) for one in hold(port, half, HALF)]
        drips = [open_.enter_context(one) for one in hold(port, dripping, DRIPPED)]
        dripper = threading.Thread(target=drip, args=(drips, over))
        dripper.start()
        try:
            table.add_row("meanwhile", *row(repeat(lambda: ask(port, *kind), seconds)))
        finally:
            over.set()
            dripper.join()
        ended = sum(map(closed, halves))
    table.add_section()
    table.add_row("half headers that were closed", str(ended))
    return table


def drip(connections: Sequence[socket.socket], over: threading.Event) -> None:
    """A byte into each connection now and then."""
    while not over.wait(DRIP_SECONDS):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(b"x")


def repeat(work: Callable[[], Answer], seconds: float) -> list[Answer]:
    end = time.perf_counter() + seconds
    found = []
    while time.perf_counter() < end:
        found.append(work())
    return found


def row(answers: Sequence[Answer]) -> tuple[str, str, str, str]:
    waits = [answer.seconds for answer in answers]
    refused = sum(answer.status != 200 for answer in answers)
    return str(len(waits)), f"{statistics.median(waits):.2f} s", f"{max(waits):.2f} s", str(refused)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the service, and lay siege to it.")
    parser.add_argument("--pages", type=int, default=24, metavar="N", help="whole pages for speed; 0: none")
    parser.add_argument("--many", type=int, default=500, metavar="N", help="small pages; 0: none")
    parser.add_argument("--clients", type=int, default=16, metavar="N")
    parser.add_argument("--half", type=int, default=1500, metavar="N", help="half headers; 0: no siege")
    parser.add_argument("--dripping", type=int, default=64, metavar="N")
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S", help="how long the siege lasts")
    parser.add_argument("--split", action="append", metavar="WxT", help="workers x threads (1x1, 2x1, 1x2)")
    chosen = parser.parse_args(arguments)
    splits = [tuple(map(int, text.split("x"))) for text in chosen.split or ("1x1", "2x1", "1x2")]
    console = Console(width=120)
    console.print(machine())
    if chosen.pages:
        console.print(speed(chosen.pages, [(workers, threads) for workers, threads in splits]))
    with service(2, 1) as port:
        if chosen.many:
            console.print(many(port, chosen.many, chosen.clients))
        if chosen.half:
            console.print(besieged(port, chosen.dripping, chosen.half, chosen.seconds))


if __name__ == "__main__":
    main()
