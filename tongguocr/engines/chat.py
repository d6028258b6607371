"""One picture and a prompt -> what a model on a server wrote, by the protocol that OpenAI's servers speak.

vLLM, SGLang, Ollama and llama.cpp all take a POST to /v1/chat/completions with the picture as a data address.
In: pixels. Out: an `Answer`, its text with the confidence of each code point where the server tells it. A
server that is down, slow or says no is an `InputError` that names its address; one that answers something
else than a completion is a `NonsenseError`, for the caller to mark. Only the address given is contacted.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from io import BytesIO
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from PIL import Image

from tongguocr.engines.answer import Answer, NonsenseError, parse_answer, parse_complaint
from tongguocr.errors import InputError
from tongguocr.page import Pixels
from tongguocr.sources.web import is_web
from tongguocr.version import __version__

PATH = "/chat/completions"
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which it pays to try again."""
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Chat:
    """Where the model is and how it is asked."""

    url: str
    """The server, with or without /v1 and what follows it."""
    model: str
    prompt: str = "Text Recognition:"
    """GLM-OCR's own words for it."""
    key_variable: str = "TONGGUOCR_API_KEY"
    """The environment variable that holds the server's key, if it wants one."""
    timeout: float = 180.0
    """Seconds for one answer, from the first byte sent to the last one got."""
    attempts: int = 4
    pause: float = 0.5
    """Seconds before the second attempt; twice as many before the next."""
    longest_pause: float = 30.0
    """If the server itself asks for more patience than this, it gets no more."""
    most_bytes: int = 20_000_000
    alternatives: int = 4
    """Other tokens asked for with each one."""


@dataclass
class ChatClient:
    """Asks one server."""

    chat: Chat
    endpoint: str = field(init=False)
    tells_confidence: bool = True
    """Until the server refuses to."""
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        plain = self.chat.url.isascii() and self.chat.url.isprintable() and " " not in self.chat.url
        if not plain or not is_web(self.chat.url) or "@" in urlsplit(self.chat.url).netloc:
            raise InputError(f"{self.chat.url!r}: this is not the http or https address of a server.")
        if not self.chat.model:
            raise InputError(f"{self.chat.url}: the name of the model that is to be asked is missing.")
        self.endpoint = find_endpoint(self.chat.url)

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
                pause = max(pause, min(busy.patience, self.chat.longest_pause))
            self.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _ask_once(self, picture: str, max_tokens: int, asked: bool) -> Answer:
        try:
            return parse_answer(self._post(self._question(picture, max_tokens, asked)))
        except HTTPError as error:
            said = _complaint(error)
            if error.code in (400, 422) and asked:
                answer = self._ask_once(picture, max_tokens, asked=False)
                self.tells_confidence = False
                return answer
            raise self._refusal(error, said) from None
        except TimeoutError:
            raise InputError(
                f"{self.endpoint}: the server did not answer within {self.chat.timeout:g} seconds."
            ) from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise InputError(f"{self.endpoint}: the server does not take the connection.") from None
            raise _BusyError(f"the server cannot be reached ({_reason(error.reason)})") from None
        except (OSError, HTTPException) as error:
            raise _BusyError(f"the connection broke off ({_reason(error)})") from None

    def _question(self, picture: str, max_tokens: int, asked: bool) -> bytes:
        content = [
            {"type": "image_url", "image_url": {"url": picture}},
            {"type": "text", "text": self.chat.prompt},
        ]
        body: dict[str, Any] = {
            "model": self.chat.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": max_tokens,
        }
        if asked:
            body |= {"logprobs": True, "top_logprobs": self.chat.alternatives}
        return json.dumps(body).encode()

    def _post(self, body: bytes) -> bytes:
        """The answer's bytes, within the limits: a server may drip for hours."""
        headers = {"Content-Type": "application/json", "User-Agent": f"tongguocr/{__version__}"}
        if key := os.environ.get(self.chat.key_variable, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise InputError(
                    f"{self.chat.key_variable}: the key in this variable is not one line of ASCII."
                )
            headers["Authorization"] = f"Bearer {key}"
        end, data = time.monotonic() + self.chat.timeout, bytearray()
        asked = request.Request(self.endpoint, body, headers, method="POST")
        with _opener(self.endpoint).open(asked, timeout=self.chat.timeout) as answer:
            while chunk := answer.read1(CHUNK):
                data += chunk
                if len(data) > self.chat.most_bytes:
                    raise NonsenseError(f"more than {self.chat.most_bytes} bytes")
                if time.monotonic() > end:
                    raise TimeoutError
        return bytes(data)

    def _refusal(self, error: HTTPError, said: str) -> Exception:
        what = f"the server answered {error.code}" + (f" ({said})" if said else "")
        if error.code in BUSY:
            patience = str(error.headers.get("Retry-After", "")) if error.headers else ""
            return _BusyError(what, float(patience) if patience.isdecimal() else 0.0)
        if error.code in (401, 403):
            what += f"; its key belongs in the environment variable {self.chat.key_variable}"
        return InputError(f"{self.endpoint}: {what}.")


class _BusyError(Exception):
    """It may be better in a moment."""

    def __init__(self, what: str, patience: float = 0.0) -> None:
        super().__init__(what)
        self.patience = patience


def find_endpoint(url: str) -> str:
    """The address to ask, from what users write: the server, its /v1, or the whole."""
    plain = url.split("#")[0].split("?")[0].rstrip("/")
    if plain.endswith(PATH):
        return plain
    return plain + (PATH if plain.rsplit("/", 1)[-1] == "v1" else f"/v1{PATH}")


def encode_picture(pixels: Pixels) -> str:
    """Pixels as a PNG in a data address."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=3)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _opener(endpoint: str) -> request.OpenerDirector:
    """Without redirects, which would carry the key elsewhere, and without a proxy to this very machine."""
    opener = request.OpenerDirector()
    host = urlsplit(endpoint).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    for handler in (
        request.ProxyHandler({} if local else None),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _complaint(error: HTTPError) -> str:
    try:
        with error:
            return parse_complaint(error.read(10_000))
    except (OSError, HTTPException):
        return ""


def _reason(error: object) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return " ".join(str(reason).split()).rstrip(".") or type(error).__name__
