"""Who may ask, and from where: a layer around the application that refuses before anything is looked at.

A page of the web that someone has open must not reach the book: the name by which the server is called is
checked (DNS rebinding), and so is where a change comes from (Origin), and that it is JSON, which no form can
send. With a token, nobody is answered without it; a cookie that only this server gets back holds it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 64_000_000
POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' blob: data:",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask."""

    token: str | None = None
    """What everybody must show."""
    hosts: frozenset[str] = frozenset()
    """Names by which the server may be called, besides localhost."""

    @property
    def cookie(self) -> str:
        """What the cookie is called: browsers have one set of them for all ports of a machine."""
        return f"tongguocr-{hashlib.sha256((self.token or '').encode()).hexdigest()[:8]}"


class Guard:
    """An application behind the checks, and with headers on each of its answers."""

    def __init__(self, app: ASGIApp, access: Access = Access()) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self.refusal(scope)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        await self.app(scope, _bounded(receive), _with_headers(send))

    def refusal(self, scope: Scope) -> Response | None:
        """What is answered instead; None where all is well."""
        headers = Headers(scope=scope)
        if not is_known_host(headers.get("host", ""), self.access):
            return _no(421, "This server is not called by that name.")
        if self.access.token is not None:
            answer = self._check_token(scope, headers)
            if answer is not None:
                return answer
        if scope["path"].startswith("/api/") and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return _no(403, "Another site asks for this.")
        if scope["method"] not in ("GET", "HEAD"):
            return _check_change(headers)
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        token = self.access.token or ""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and _same(given, token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self.access.cookie, token, httponly=True, samesite="strict", path="/")
            return answer
        if not _same(_cookie(headers.get("cookie", ""), self.access.cookie), token):
            return _no(401, "This book wants its token: open the address that the command printed.")
        return None


def is_known_host(host: str, access: Access) -> bool:
    """Whether a Host header names this machine: a number, localhost, or a name that was given.

    A name of the web that leads to this machine is none of ours. Where others may ask, any number will do:
    a site cannot have one for a name.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name in access.hosts:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or bool(access.hosts)


def names_of(host: str) -> Iterable[str]:
    """By which names a server that listens on this host may be called."""
    yield host.lower()
    yield socket.gethostname().lower()
    yield f"{socket.gethostname().lower()}.local"


def _check_change(headers: Headers) -> Response | None:
    """A change comes from this server's own page, or from no page at all, and is JSON."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return _no(403, "A page of another site asks for this.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return _no(415, "Changes are sent as application/json.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BODY:
        return _no(413, f"The request is larger than {MAX_BODY / 1e6:g} MB.")
    return None


def _bounded(receive: Receive) -> Receive:
    """The body, as long as it is within bounds; beyond them the client counts as gone."""
    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return message if total <= MAX_BODY else {"type": "http.disconnect"}

    return bounded


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if "cache-control" not in headers:
                headers["Cache-Control"] = "no-store"
        await send(message)

    return with_headers


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _no(status: int, sentence: str) -> Response:
    return JSONResponse({"detail": sentence}, status)
