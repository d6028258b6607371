"""An http(s) address -> its bytes, within limits of time and size. Else only the engine `server` is online.

Files, FTP and every other scheme are refused, also when a server redirects to them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

from tongguocr.errors import InputError
from tongguocr.version import __version__

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Fetching:
    """How long a server may take, and how large a picture is asked for."""

    timeout: float = 30.0
    """Seconds without a byte."""
    total_timeout: float = 300.0
    max_pixels: int = 40_000_000
    """A larger picture is asked for in a smaller size."""


class RefusedError(InputError):
    """The server answered, and the answer was no: another form of the address may still do."""


def is_web(address: str) -> bool:
    """Whether this is an http or https address with a host."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def fetch(address: str, max_bytes: int, where: str, fetching: Fetching = Fetching()) -> bytes:
    """The bytes at an address; `where` begins the sentence if they cannot be had."""
    if not is_web(address):
        raise InputError(f"{where}: {_shown(address)} is not an http or https address.")
    ask = request.Request(_ascii(address), headers={"User-Agent": f"tongguocr/{__version__}"})
    try:
        with _opener().open(ask, timeout=fetching.timeout) as answer:
            return _read(answer, max_bytes, f"{where}: {_shown(address)}", fetching)
    except HTTPError as error:
        error.close()
        raise RefusedError(f"{where}: {_shown(address)} answered {error.code}.") from None
    except TimeoutError:
        raise InputError(f"{where}: {_shown(address)} did not answer in time.") from None
    except URLError as error:
        raise InputError(f"{where}: {_shown(address)} cannot be reached ({_reason(error.reason)}).") from None
    except (OSError, HTTPException, ValueError) as error:
        raise InputError(f"{where}: {_shown(address)} cannot be fetched ({_reason(error)}).") from None


class _OnlyWeb(request.HTTPRedirectHandler):
    def redirect_request(
        self, req: request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> request.Request | None:
        if not is_web(newurl):
            fp.close()
            raise URLError(f"it redirects to {_shown(newurl)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """Like urllib's own, but without what opens files, FTP and data addresses."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        _OnlyWeb(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _read(answer: Any, max_bytes: int, what: str, fetching: Fetching) -> bytes:
    """The body piece by piece: a server may lie about its length, or drip for hours."""
    end, data = time.monotonic() + fetching.total_timeout, bytearray()
    while chunk := answer.read1(CHUNK):
        data += chunk
        if len(data) > max_bytes:
            raise InputError(f"{what} is larger than the {max_bytes} bytes that are fetched.")
        if time.monotonic() > end:
            raise InputError(f"{what} took longer than {fetching.total_timeout:.0f} seconds.")
    promised = answer.headers.get("Content-Length")
    if promised is not None and promised.isdecimal() and len(data) < int(promised):
        raise InputError(f"{what} broke off after {len(data)} of {int(promised)} bytes.")
    return bytes(data)


def _ascii(address: str) -> str:
    """Titles in Chinese stand in addresses as they are; servers want them in per cent signs."""
    return quote(address.split("#")[0], safe="%/:=&?~+!$,;'@()*[]-._", errors="replace")


def _shown(address: str) -> str:
    """The address fit for a one-line sentence."""
    clean = "".join(char if char.isprintable() else "?" for char in address)
    return clean if len(clean) <= 200 else f"{clean[:200]}…"


def _reason(error: object) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return " ".join(str(reason).split()).rstrip(".") or type(error).__name__
