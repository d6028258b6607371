"""What IIIF names -> pages: a collection with all its manifests, one manifest, an image service, an image.

In: an address, or a JSON file. Out: pages in order. A collection is gone through as it is listed, collections
in it too: each manifest is fetched once, its pages are called by its own label, and all pages are counted
through. A manifest that cannot be had is a page that cannot be read, and costs no other. Collections that
lead in a circle, deeper than a library is or to more manifests than one has, come to an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tongguocr.errors import InputError
from tongguocr.sources.iiif import (
    MAX_IMAGE_BYTES,
    MAX_MANIFEST_BYTES,
    Json,
    address_of,
    dicts_of,
    is_image_info,
    joined,
    list_manifest,
    local_file,
    open_json,
    parse_json,
    text_of,
)
from tongguocr.sources.images import IMAGE_SUFFIXES, MemoryFile, Scan, load_frame
from tongguocr.sources.listing import SourcePage, safe_name, unique_page
from tongguocr.sources.web import Fetching, fetch, is_web

DEEPEST = 8
"""Collections in each other."""
MAX_MANIFESTS = 10_000
MAX_CANVASES = 100_000
_IMAGE_STARTS = (b"\xff\xd8", b"\x89PNG", b"II*\0", b"MM\0*", b"RIFF", b"GIF8", b"\0\0\0\x0cjP", b"BM")
_MEMBERS = ("items", "members", "collections", "manifests")
"""Where collections have what is in them: version 3, and three places of version 2."""


@dataclass(slots=True)
class _Walk:
    """What was met on the way through a collection."""

    source: str
    fetching: Fetching
    seen: set[str] = field(default_factory=set)


def list_iiif(source: str | Path, fetching: Fetching = Fetching()) -> Iterator[SourcePage]:
    """The pages of an address or of a JSON file."""
    if isinstance(source, Path):
        thing = open_json(source, fetching)
    elif _named_as_image(source):
        return iter([_image_page(source, fetching)])
    else:
        data = fetch(source, MAX_MANIFEST_BYTES, "IIIF manifest or image", fetching)
        if data.startswith(_IMAGE_STARTS) or data[4:8] == b"ftyp":
            return iter([_image_page(source, fetching)])
        thing = parse_json(data, source)
    if not _is_collection(thing):
        return list_manifest(thing, source, fetching)
    return _list_collection(thing, source, fetching)


def _list_collection(collection: Json, source: str | Path, fetching: Fetching) -> Iterator[SourcePage]:
    """The pages of all manifests; a collection without any is told at once."""
    pages = _number(
        _pages_in(collection, source, _Walk(str(source), fetching, {str(source)}), 1), str(source)
    )
    first = next(pages, None)
    if first is None:
        raise InputError(f"{source}: there is no manifest in this IIIF collection.")
    return _chain(first, pages)


def _chain(first: SourcePage, others: Iterator[SourcePage]) -> Iterator[SourcePage]:
    yield first
    yield from others


def _number(pages: Iterator[SourcePage], source: str) -> Iterator[SourcePage]:
    used: set[str] = set()
    for number, page in enumerate(pages, start=1):
        if number > MAX_CANVASES:
            raise InputError(f"{source}: this IIIF collection has more than {MAX_CANVASES} pages.")
        yield replace(unique_page(page, used), number=number)


def _pages_in(collection: Json, source: str | Path, walk: _Walk, depth: int) -> Iterator[SourcePage]:
    if depth > DEEPEST:
        raise InputError(f"{walk.source}: more than {DEEPEST} IIIF collections lie in each other.")
    for member in _members(collection):
        found, place = member, source
        if not _is_whole(member):
            try:
                place = _place(member, source)
                if str(place) in walk.seen:
                    continue
                if len(walk.seen) > MAX_MANIFESTS:
                    raise _TooManyError(f"{walk.source}: no more than {MAX_MANIFESTS} manifests are read.")
                walk.seen.add(str(place))
                found = open_json(place, walk.fetching)
            except _TooManyError:
                raise
            except InputError as error:
                yield _missing_page(member, str(error))
                continue
        if _is_collection(found):
            yield from _pages_in(found, place, walk, depth + 1)
            continue
        try:
            yield from list_manifest(found, place, walk.fetching)
        except InputError as error:
            yield _missing_page(member, str(error))


class _TooManyError(InputError):
    """No single manifest's fault."""


def _members(collection: Json) -> Iterator[Json]:
    """What is in a collection: what stands there whole, or has an address."""
    for key in _MEMBERS:
        for member in dicts_of(collection.get(key)):
            if _is_whole(member) or address_of(member):
                yield member


def _is_whole(member: Json) -> bool:
    """Whether a member stands in its collection with all that is in it, and not as a reference."""
    return any(dicts_of(member.get(key)) for key in (*_MEMBERS, "sequences"))


def _is_collection(thing: Json) -> bool:
    return not is_image_info(thing) and "Collection" in text_of(thing.get("type") or thing.get("@type"))


def _place(member: Json, source: str | Path) -> str | Path:
    """Where a member lies: at an address, or, if a file names it, in a file beside that."""
    address = address_of(member)
    if isinstance(source, Path) and not is_web(address):
        return local_file(source, address, str(source))
    return joined(source, address)


def _missing_page(member: Json, sentence: str) -> SourcePage:
    """What stands for a manifest that cannot be had: reading it tells why."""
    address = address_of(member) or "manifest"
    name = safe_name(text_of(member.get("label")) or unquote(address.rpartition("/")[2]), "manifest")
    return SourcePage(name, address, 1, partial(_refuse, sentence))


def _refuse(sentence: str) -> Scan:
    raise InputError(sentence)


def _named_as_image(address: str) -> bool:
    return is_web(address) and urlsplit(address).path.lower().endswith(IMAGE_SUFFIXES)


def _image_page(address: str, fetching: Fetching) -> SourcePage:
    """The page of an image that has an address; one of an image service is called by what it is a part of."""
    parts = [unquote(part) for part in urlsplit(address).path.split("/") if part]
    # IDENTIFIER/REGION/SIZE/ROTATION/QUALITY.FORMAT: the last part is the same for all of them.
    is_service = len(parts) >= 5 and Path(parts[-1]).stem in ("default", "color", "gray", "bitonal", "native")
    name = parts[-5] if is_service else Path(parts[-1]).stem if parts else ""
    return SourcePage(
        safe_name(name, "image"), address, 1, partial(_load_image, address, fetching), address=address
    )


def _load_image(address: str, fetching: Fetching) -> Scan:
    return load_frame(MemoryFile(address, "", fetch(address, MAX_IMAGE_BYTES, "image", fetching)), 0, address)
