"""The engine `server`: blocks go to a vision model behind an address, text comes back (paper 3.2, 3.3).

In: blocks; each crop is sent as it is, with the prompt. Out: the same readings as every engine's. The model
says no places, so its lines go to the block's lines by their number or length, its characters evenly along
them. What repeats itself or is longer than the lines can hold is cut and marked for the guard. A server that
is down, slow or says no is an `InputError` that names its address; an answer that is no completion leaves its
lines marked as failed. A few blocks are asked for at a time, in threads. Only the address given is contacted.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from urllib.parse import urlsplit

import httpx

from tongguocr.engines.align_by_length import align_by_length
from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, Stop
from tongguocr.engines.chat_protocol import (
    Answer,
    NonsenseError,
    encode_picture,
    find_endpoint,
    make_question,
    parse_answer,
    parse_complaint,
)
from tongguocr.engines.guard import LINE_END, character_cap, find_loop
from tongguocr.engines.prepare import is_blank, to_grey
from tongguocr.errors import InputError
from tongguocr.page import Char, Line, Pixels
from tongguocr.sources.web import is_web
from tongguocr.version import __version__

KEY_VARIABLE = "TONGGUOCR_API_KEY"
"""The environment variable that holds the server's key, if it wants one."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which it pays to try again."""
LONGEST_PAUSE = 30.0
"""Seconds; if the server itself asks for more patience than this, it gets no more."""
MOST_BYTES = 20_000_000
"""Bytes of an answer, at most."""
LONGEST_REFUSAL = 10_000
"""Bytes of a refusal that are looked at for its reason."""
TOKENS_PER_CHARACTER = 2.0
"""Tokens for each character that the lines can hold: that number is generous already."""
MORE_TOKENS = 16
"""For what a model may write around a short text."""
PAGE_TOKENS = 4096
"""For a whole page."""


@dataclass(frozen=True, slots=True)
class Chat:
    """Where the model is and how it is asked."""

    url: str
    """The server, with or without /v1 and what follows it."""
    model: str
    prompt: str = "Text Recognition:"
    """GLM-OCR's own words for it."""
    timeout: float = 180.0
    """Seconds for one answer, from the first byte sent to the last one got."""
    attempts: int = 4
    pause: float = 0.5
    """Seconds before the second attempt; twice as many before the next."""


@dataclass
class ChatClient:
    """Asks one server."""

    chat: Chat
    endpoint: str = field(init=False)
    tells_confidence: bool = True
    """Until the server refuses to."""
    sleep: Callable[[float], None] = time.sleep
    http: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plain = self.chat.url.isascii() and self.chat.url.isprintable() and " " not in self.chat.url
        if not plain or not is_web(self.chat.url) or "@" in urlsplit(self.chat.url).netloc:
            raise InputError(f"{self.chat.url!r}: this is not the http or https address of a server.")
        if not self.chat.model:
            raise InputError(f"{self.chat.url}: the name of the model that is to be asked is missing.")
        self.endpoint = find_endpoint(self.chat.url)
        self.http = _open_http(self.endpoint, self.chat.timeout)
        weakref.finalize(self, self.http.close)

    def ask(self, pixels: Pixels, max_tokens: int) -> Answer:
        """What the model writes about a picture; after a few attempts at most."""
        picture, pause = encode_picture(pixels), self.chat.pause
        for attempt in range(1, self.chat.attempts + 1):
            last = attempt == self.chat.attempts
            try:
                return self._ask_once(picture, max_tokens, self.tells_confidence)
            except NonsenseError:
                # The same question gets the same answer, unless something on the way was at fault.
                if last or attempt > 1:
                    raise
            except _BusyError as busy:
                if last:
                    raise InputError(f"{self.endpoint}: {busy}.") from None
                pause = max(pause, min(busy.patience, LONGEST_PAUSE))
            self.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _ask_once(self, picture: str, max_tokens: int, with_logprobs: bool) -> Answer:
        question = make_question(self.chat.model, self.chat.prompt, picture, max_tokens, with_logprobs)
        try:
            return parse_answer(self._post(question))
        except _RefusedError as refused:
            if refused.status in (400, 422) and with_logprobs:
                answer = self._ask_once(picture, max_tokens, with_logprobs=False)
                self.tells_confidence = False
                return answer
            raise self._sentence(refused) from None
        except httpx.ReadTimeout:
            raise InputError(
                f"{self.endpoint}: the server did not answer within {self.chat.timeout:g} seconds."
            ) from None
        except httpx.TimeoutException:
            raise InputError(f"{self.endpoint}: the server does not take the connection.") from None
        except httpx.ConnectError as error:
            raise _BusyError(f"the server cannot be reached ({_reason(error)})") from None
        except httpx.HTTPError as error:
            raise _BusyError(f"the connection broke off ({_reason(error)})") from None

    def _post(self, body: bytes) -> bytes:
        """The answer's bytes, within the limits: a server may drip for hours."""
        # Answers come as they are: packed ones might unfold to anything.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **_authorization()}
        end, data = time.monotonic() + self.chat.timeout, bytearray()
        with self.http.stream("POST", self.endpoint, content=body, headers=headers) as answer:
            if not answer.is_success:
                raise _RefusedError(answer)
            for chunk in answer.iter_raw():
                data += chunk
                if len(data) > MOST_BYTES:
                    raise NonsenseError(f"more than {MOST_BYTES} bytes")
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("the answer takes too long")
        return bytes(data)

    def _sentence(self, refused: _RefusedError) -> Exception:
        """What a refusal means: to be tried again, or the end."""
        what = f"the server answered {refused.status}" + (f" ({refused.said})" if refused.said else "")
        if refused.status in BUSY:
            return _BusyError(what, float(refused.patience) if refused.patience.isdecimal() else 0.0)
        if refused.status in (401, 403):
            what += f"; its key belongs in the environment variable {KEY_VARIABLE}"
        return InputError(f"{self.endpoint}: {what}.")


class _RefusedError(Exception):
    """The server answered with a status that is no success."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(answer.status_code)
        self.status, self.patience = answer.status_code, answer.headers.get("Retry-After", "")
        self.said = parse_complaint(_first_bytes(answer))


class _BusyError(Exception):
    """It may be better in a moment."""

    def __init__(self, what: str, patience: float = 0.0) -> None:
        super().__init__(what)
        self.patience = patience


def open_server(url: str | None, model: str | None) -> ServerEngine:
    """The engine for this model, without a guard."""
    if not url or not model:
        raise InputError("The engine server needs the address of a server and the name of its model.")
    return ServerEngine(Chat(url, model))


class ServerEngine(Engine):
    """Reads with the model of one server; nothing is contacted before the first block."""

    def __init__(self, chat: Chat, in_flight: int = 4) -> None:
        """`in_flight` is how many blocks are asked for at a time."""
        self.client, self.in_flight = ChatClient(chat), in_flight

    def read(self, blocks: Sequence[BlockInput]) -> list[BlockReading]:
        """Ask for all blocks, a few at a time; the answers are in the order of the blocks."""
        with ThreadPoolExecutor(self.in_flight) as pool:
            return list(pool.map(self._read_block, blocks))

    def read_whole(self, pixels: Pixels) -> list[str]:
        """The lines of a whole page, as the model finds and orders them; nothing where it talks nonsense."""
        try:
            answer = self.client.ask(pixels, PAGE_TOKENS)
        except NonsenseError:
            return []
        lines, _ = cut_text(answer, PAGE_TOKENS)
        return ["".join(char.text for char in line) for line in lines if line]

    def _read_block(self, block: BlockInput) -> BlockReading:
        # A model would invent text where there is no ink.
        if not block.lines or is_blank(to_grey(block.crop.pixels)):
            return BlockReading(tuple(LineReading() for _ in block.lines))
        try:
            answer = self.client.ask(block.crop.pixels, most_tokens(block.lines))
        except NonsenseError:
            return BlockReading(tuple(LineReading((), "failed") for _ in block.lines))
        lines, stop = cut_text(answer, character_cap(block.lines))
        return BlockReading(align_by_length(lines, block), (), stop)


def most_tokens(lines: Sequence[Line]) -> int:
    """How many tokens the model may write: by what these lines can hold."""
    characters = character_cap(lines) + len(lines)
    return round(TOKENS_PER_CHARACTER * characters) + MORE_TOKENS


def cut_text(answer: Answer, cap: int) -> tuple[list[list[Char]], Stop]:
    """The answer's lines up to the first loop and the cap, and why there is no more.

    The model says no places, so a loop is told from a refrain by the number of its repeats alone.
    """
    # A transition token is up to twenty characters long; beyond that, no text is worth taking apart.
    longest = 30 * cap + 1000
    if len(answer.text) > longest:
        answer = replace(answer, text=answer.text[:longest], cut=True)
    lines = answer.lines()
    items = [item for line in lines for item in (*(char.text for char in line), LINE_END)][:-1]
    too_long = sum(map(len, lines)) > cap
    items = items[: cap + len(lines)]
    for end in range(2, len(items) + 1):
        kept = find_loop(items[:end])
        if kept is not None:
            return _keep(lines, sum(item != LINE_END for item in items[:kept])), "loop"
    return _keep(lines, cap), "cap" if too_long or answer.cut else "end"


def _keep(lines: Sequence[list[Char]], count: int) -> list[list[Char]]:
    """The first characters of all lines together."""
    starts = accumulate((len(line) for line in lines), initial=0)
    return [line[: max(count - start, 0)] for line, start in zip(lines, starts, strict=False)]


def _open_http(endpoint: str, timeout: float) -> httpx.Client:
    """Without redirects, which would carry the key elsewhere, and without a proxy to this very machine."""
    host = urlsplit(endpoint).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    try:
        return httpx.Client(
            headers={"User-Agent": f"tongguocr/{__version__}"},
            timeout=timeout,
            follow_redirects=False,
            trust_env=not local,
        )
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{endpoint}: the proxy that the environment names cannot be used ({_reason(error)})."
        ) from None


def _authorization() -> dict[str, str]:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{KEY_VARIABLE}: the key in this variable is not one line of ASCII.")
    return {"Authorization": f"Bearer {key}"} if key else {}


def _first_bytes(answer: httpx.Response) -> bytes:
    """Enough of a refusal to know what it says."""
    data = b""
    with suppress(httpx.HTTPError):
        for chunk in answer.iter_raw():
            data += chunk
            if len(data) >= LONGEST_REFUSAL:
                break
    return data[:LONGEST_REFUSAL]


def _reason(error: object) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return " ".join(str(reason).split()).rstrip(".") or type(error).__name__
