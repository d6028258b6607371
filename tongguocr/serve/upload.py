"""A request's bytes -> a picture, its lines if they are known, and options.

A form (multipart/form-data) has the picture as `image` or `file`, lines in our JSON as `lines`, and options
as fields; any other body is the picture itself, with options behind the address. Sizes are bounded while the
bytes come in, pixels before they are unpacked.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import get_args

from fastapi import Request
from PIL import Image
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from tongguocr.errors import InputError
from tongguocr.formats import Style, find_format
from tongguocr.formats.page_json import parse_json
from tongguocr.layout import WritingMode
from tongguocr.page import Page, Pixels, bare_page
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.sources.images import FORMATS as PICTURES
from tongguocr.sources.images import decode_image

OPTIONS = ("format", "notes", "flow", "fold", "script", "direction", "turn")
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


@dataclass(frozen=True, slots=True)
class Upload:
    """One page to be read."""

    name: str
    image: bytes
    lines: bytes | None
    options: ReadOptions

    def page(self, bounds: Bounds) -> Page:
        """The page with its pixels and without lines."""
        return bare_page(self.name, load_picture(self.image, self.name, bounds))

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


async def receive(request: Request, bounds: Bounds) -> AsyncGenerator[bytes, None]:
    """The body, piece by piece, as long as it is within bounds."""
    length = request.headers.get("content-length", "")
    refusal = StatusError(413, f"The request is larger than {bounds.body / 1e6:g} MB.")
    if length.isdecimal() and int(length) > DRAINED * bounds.body:
        raise refusal
    total = 0
    async for piece in request.stream():
        total += len(piece)
        if total > DRAINED * bounds.body:
            break
        if total <= bounds.body:
            yield piece
    if total > bounds.body:
        raise refusal


async def receive_body(request: Request, bounds: Bounds) -> bytes:
    """The whole body, as long as it is within bounds."""
    return b"".join([piece async for piece in receive(request, bounds)])


async def receive_upload(request: Request, bounds: Bounds) -> Upload:
    """One page with its options, from a form or a bare picture."""
    options = dict(request.query_params)
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        name = clean_name(options.pop("name", ""))
        return Upload(name, await receive_body(request, bounds), None, parse_options(options))
    limits = {"max_files": 2, "max_fields": 2 + len(OPTIONS), "max_part_size": bounds.body}
    try:
        form = await MultiPartParser(request.headers, receive(request, bounds), **limits).parse()
    except (MultiPartException, FormParserError) as error:
        said = getattr(error, "message", "") or str(error)
        raise InputError(f"The form cannot be read ({said.rstrip('.')}).") from None
    try:
        return await _from_form(form, options)
    finally:
        await form.close()


async def _from_form(form: FormData, options: dict[str, str]) -> Upload:
    picture = form.get("image", form.get("file"))
    lines = form.get("lines")
    options |= {
        name: value
        for name, value in form.multi_items()
        if isinstance(value, str) and name not in ("image", "file", "lines")
    }
    if not isinstance(picture, UploadFile):
        raise InputError("The form has no file named image (or file).")
    known = lines.encode() if isinstance(lines, str) else await lines.read() if lines is not None else None
    return Upload(clean_name(picture.filename or ""), await picture.read(), known, parse_options(options))


def clean_name(written: str) -> str:
    """A file's name as a client gives it, without folders and whatever does not print."""
    name = PurePosixPath(written.replace("\\", "/")).name
    printed = "".join(char for char in name if char.isprintable())[-LONGEST_NAME:]
    return printed if printed.strip(". ") else NAMELESS


def parse_options(options: Mapping[str, str]) -> ReadOptions:
    """The options in a form's fields or behind an address; whatever is unknown is refused by name."""
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"There is no option {name[:40]!r}; take one of {', '.join(OPTIONS)}.")
    format = find_format(options.get("format", "json")).name
    direction = next((name for name in DIRECTIONS if name == options.get("direction")), None)
    if direction is None and "direction" in options:
        raise InputError(f"direction: {options['direction'][:40]!r} is not one of {', '.join(DIRECTIONS)}.")
    flow, fold = _is_true(options, "flow"), _is_true(options, "fold")
    style = Style(options.get("notes"), flow, options.get("script", "keep"), fold)  # type: ignore[arg-type]
    turn = _is_true(options, "turn") if "turn" in options else None
    return ReadOptions(format, style, direction, turn)


def _is_true(options: Mapping[str, str], name: str) -> bool:
    """An option that is switched on or off in words; off where it is not there."""
    written = options.get(name, "false").lower()
    if written not in ("true", "false", "1", "0"):
        raise InputError(f"{name}: {written[:40]!r} is neither true nor false.")
    return written in ("true", "1")


def load_picture(data: bytes, name: str, bounds: Bounds) -> Pixels:
    """The pixels of an image file, no more of them than the bounds allow."""
    if not data:
        raise InputError(f"{name}: the picture is empty.")
    wide, high = _size(data)
    if wide * high > bounds.pixels:
        raise StatusError(
            422,
            f"{name}: the image is {wide} x {high} pixels, more than the"
            f" {bounds.pixels / 1e6:g} megapixels that are read.",
        )
    return decode_image(data, name)


def _size(data: bytes) -> tuple[int, int]:
    """Width and height by the header; nothing where it cannot be read, since decoding tells why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=PICTURES) as image:
                return image.size
    except Image.DecompressionBombError:
        return 1_000_000, 1_000_000
    except Exception:  # Pillow's parsers raise whatever junk leads them to.
        return 0, 0
