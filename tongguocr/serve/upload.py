"""A request's bytes -> a picture, its lines if they are known, and options; or a file on the disk, for a job.

A form (multipart/form-data) has the picture as `image` or `file`, lines in our JSON as `lines`, and options
as fields; any other body is the picture itself, with options behind the address. Sizes are bounded while the
bytes come in, pixels before they are unpacked (bounded.py).
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeAlias, get_args

from fastapi import Request
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from tongguocr.errors import InputError
from tongguocr.formats import FORMATS, Style, check_style, find_format
from tongguocr.formats.page_json import parse_json
from tongguocr.layout import WritingMode
from tongguocr.page import Page, bare_page
from tongguocr.serve.bounded import load_picture
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.sources.listing import safe_name

STYLES = ("format", "notes", "flow", "fold", "script", "min_confidence", "doubtful")
"""How an answer is written."""
READINGS = ("direction", "turn")
"""How a page is read."""
OPTIONS = (*STYLES, *READINGS)
OPENINGS = (*READINGS, "password")
"""How the file of a job is opened, and its pages read."""
FILES = ("image", "file")
Take: TypeAlias = Callable[[int], None]
"""Takes so many bytes of what all requests together may have, or refuses to."""
DIRECTIONS: tuple[WritingMode, ...] = get_args(WritingMode)
NAMELESS = "page"
LONGEST_NAME = 60
"""Characters: no more than a file system takes, whatever they are."""
DRAINED = 4
"""A body of up to so many times the bound is read to its end, unkept: some clients listen only then."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a page is to be read and written: what `tongguocr read` has as options."""

    format: str = "json"
    style: Style = field(default_factory=Style)
    direction: WritingMode | None = None
    turn: bool | None = None
    """Whether a page that lies on its side or upside down is turned; None: as the server does."""
    password: str | None = field(default=None, repr=False)
    """Of a job's PDF."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One page to be read."""

    name: str
    image: bytes
    lines: bytes | None
    options: ReadOptions

    def page(self, bounds: Bounds) -> Page:
        """The page with its pixels, the JPEG that they were, if it was one, and without lines."""
        scan = load_picture(self.image, self.name, bounds)
        return bare_page(self.name, scan.pixels, scan.jpeg)

    def known(self, bounds: Bounds) -> Page | None:
        """The page as the client knows it already: its lines."""
        if self.lines is None:
            return None
        page = parse_json(self.lines, Path("lines"))
        if len(page.lines) > bounds.lines:
            raise StatusError(
                422, f"lines: {len(page.lines)} are more than the {bounds.lines} that are read."
            )
        return page


async def receive(
    request: Request, limit: int, take: Take, drained: int = DRAINED
) -> AsyncGenerator[bytes, None]:
    """The body, piece by piece, as long as it is within the limit and what `take` allows."""
    length = request.headers.get("content-length", "")
    refusal = StatusError(413, f"The request is larger than {limit / 1e6:g} MB.")
    if length.isdecimal() and int(length) > drained * limit:
        raise refusal
    total = 0
    async for piece in request.stream():
        total += len(piece)
        if total > drained * limit:
            break
        if total <= limit:
            take(len(piece))
            yield piece
    if total > limit:
        raise refusal


async def receive_body(request: Request, bounds: Bounds, take: Take) -> bytes:
    """The whole body, as long as it is within bounds."""
    return b"".join([piece async for piece in receive(request, bounds.body, take)])


async def receive_upload(request: Request, bounds: Bounds, take: Take) -> Upload:
    """One page with its options, from a form or a bare picture."""
    options = dict(request.query_params)
    if not _is_form(request):
        name = clean_name(options.pop("name", ""))
        return Upload(name, await receive_body(request, bounds, take), None, parse_options(options))
    async with _receive_form(request, bounds.body, receive(request, bounds.body, take)) as form:
        picture, lines = _file_of(form), form.get("lines")
        options |= _fields(form, *FILES, "lines")
        known = (
            lines.encode() if isinstance(lines, str) else await lines.read() if lines is not None else None
        )
        chosen = parse_options(options)
        if known is not None and (chosen.direction, chosen.turn) != (None, None):
            raise InputError("direction and turn are for lines that are looked for; here they are given.")
        return Upload(clean_name(picture.filename or ""), await picture.read(), known, chosen)


async def receive_file(request: Request, folder: Path, bounds: Bounds, take: Take) -> tuple[str, ReadOptions]:
    """A job's file into a folder, where it is alone; its name as it was given, and how it is to be read."""
    options = dict(request.query_params)
    pieces = receive(request, bounds.job_body, take, 1)
    if _is_form(request):
        async with _receive_form(request, bounds.body, pieces) as form:
            upload = _file_of(form)
            chosen = parse_options(options | _fields(form, *FILES), OPENINGS)
            name = clean_name(upload.filename or "")
            with (folder / safe_name(name)).open("xb") as file:
                await asyncio.to_thread(shutil.copyfileobj, upload.file, file)
        return name, chosen
    name = clean_name(options.pop("name", ""))
    chosen = parse_options(options, OPENINGS)
    with (folder / safe_name(name)).open("xb") as file:
        async for piece in pieces:
            file.write(piece)
    return name, chosen


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


@asynccontextmanager
async def _receive_form(
    request: Request, part: int, pieces: AsyncGenerator[bytes, None]
) -> AsyncIterator[FormData]:
    """The form that arrives in these pieces; large files in it lie on the disk meanwhile."""
    limits = {"max_files": 2, "max_fields": 2 + len(OPTIONS), "max_part_size": part}
    try:
        form = await MultiPartParser(request.headers, pieces, **limits).parse()
    except (MultiPartException, FormParserError) as error:
        said = getattr(error, "message", "") or str(error)
        raise InputError(f"The form cannot be read ({said.rstrip('.')}).") from None
    try:
        yield form
    finally:
        await form.close()


def _file_of(form: FormData) -> UploadFile:
    found = form.get("image", form.get("file"))
    if not isinstance(found, UploadFile):
        raise InputError("The form has no file named image (or file).")
    return found


def _fields(form: FormData, *others: str) -> dict[str, str]:
    """What is written in the form, but for these names."""
    return {
        name: value for name, value in form.multi_items() if isinstance(value, str) and name not in others
    }


def clean_name(written: str) -> str:
    """A file's name as a client gives it, without folders and whatever does not print."""
    name = PurePosixPath(written.replace("\\", "/")).name
    printed = "".join(char for char in name if char.isprintable())[-LONGEST_NAME:]
    return printed if printed.strip(". ") else NAMELESS


def parse_options(options: Mapping[str, str], allowed: tuple[str, ...] = OPTIONS) -> ReadOptions:
    """The options in a form's fields or behind an address; whatever is unknown is refused by name."""
    for name in options:
        if name not in allowed:
            raise InputError(f"There is no option {name[:40]!r}; take one of {', '.join(allowed)}.")
    format = find_format(options.get("format", "json")).name
    direction = next((name for name in DIRECTIONS if name == options.get("direction")), None)
    if direction is None and "direction" in options:
        raise InputError(f"direction: {options['direction'][:40]!r} is not one of {', '.join(DIRECTIONS)}.")
    style = Style(
        options.get("notes"),  # type: ignore[arg-type]
        is_true(options, "flow"),
        options.get("script", "keep"),  # type: ignore[arg-type]
        is_true(options, "fold"),
        _number(options, "min_confidence"),
        options.get("doubtful", "mark"),  # type: ignore[arg-type]
    )
    check_style(style, [FORMATS[format]])
    turn = is_true(options, "turn") if "turn" in options else None
    return ReadOptions(format, style, direction, turn, options.get("password") or None)


def _number(options: Mapping[str, str], name: str) -> float:
    written = options.get(name, "0")
    try:
        return float(written)
    except ValueError:
        raise InputError(f"{name}: {written[:40]!r} is not a number.") from None


def is_true(options: Mapping[str, str], name: str) -> bool:
    """An option that is switched on or off in words; off where it is not there."""
    written = options.get(name, "false").lower()
    if written not in ("true", "false", "1", "0"):
        raise InputError(f"{name}: {written[:40]!r} is neither true nor false.")
    return written in ("true", "1")
