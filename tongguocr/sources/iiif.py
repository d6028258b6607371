"""A IIIF Presentation 2 or 3 manifest -> its pages, one a canvas; of an image service's info.json the one.

In: a manifest's file or address. Out: pages whose images are fetched when they are loaded. A manifest is a
stranger's text: it may name http(s) addresses, and a manifest *file* also image files in its own folder or
below; whatever else it names is refused, page by page. A canvas with several pictures gives the first. What a
collection has in it is iiif_collection.py's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from tongguocr.errors import InputError
from tongguocr.files import read_bytes
from tongguocr.sources.images import MemoryFile, Scan, load_frame
from tongguocr.sources.listing import SourcePage, page_name, safe_name
from tongguocr.sources.web import Fetching, RefusedError, fetch, is_web

MAX_MANIFEST_BYTES = 50_000_000
MAX_IMAGE_BYTES = 200_000_000
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """What a canvas shows: an image's own address, and where there is one that of its image service."""

    address: str
    service: str
    width: int
    height: int


def open_json(source: str | Path, fetching: Fetching) -> Json:
    """A manifest, a collection or an info.json, as it stands there."""
    if isinstance(source, str):
        return parse_json(fetch(source, MAX_MANIFEST_BYTES, "IIIF manifest", fetching), source)
    return parse_json(read_bytes(source), str(source))


def list_manifest(manifest: Json, source: str | Path, fetching: Fetching) -> Iterator[SourcePage]:
    """The pages of a manifest, or the image of an info.json; nothing is fetched before they are loaded."""
    if is_image_info(manifest):
        return iter([_info_page(manifest, source, fetching)])
    stem = source.stem if isinstance(source, Path) else safe_name(text_of(manifest.get("label")), "manifest")
    if isinstance(source, Path):
        stem = stem.removesuffix(".manifest") or stem
    canvases, own = _canvases(manifest, str(source)), address_of(manifest)
    return (
        _page(source, own, _picture(canvas), page_name(stem, number, len(canvases)), number, fetching)
        for number, canvas in enumerate(canvases, 1)
    )


def load_picture(source: str | Path, picture: Picture, number: int, fetching: Fetching) -> Scan:
    """One canvas's picture."""
    where = f"{source}, page {number}"
    if not picture.address and not picture.service:
        raise InputError(f"{where}: the manifest names no image for it.")
    if isinstance(source, Path) and not picture.service and not is_web(picture.address):
        return load_frame(local_file(source, picture.address, where), 0, where)
    for address in (addresses := _addresses(source, picture, fetching)):
        try:
            data = fetch(address, MAX_IMAGE_BYTES, where, fetching)
            return load_frame(MemoryFile(where, "", data), 0, where)
        except RefusedError:
            if address == addresses[-1]:
                raise
    raise AssertionError("there is always an address")


def _page(
    source: str | Path, own: str, picture: Picture, name: str, number: int, fetching: Fetching
) -> SourcePage:
    if copy := _copy_beside(source, own, picture.address):
        return SourcePage(name, str(copy), number, partial(load_frame, copy, 0, str(copy)))
    shown = picture.service or picture.address or str(source)
    # A file beside the manifest is known by the manifest's place: many books have a p1.jpg.
    content = "" if is_web(shown) else f"{source} {number}"
    loader = partial(load_picture, source, picture, number, fetching)
    known = picture.address or (f"{picture.service}/full/max/0/default.jpg" if picture.service else "")
    address = joined(source, known)
    return SourcePage(name, shown, number, loader, content, address if is_web(address) else "")


def _copy_beside(source: str | Path, own: str, address: str) -> Path | None:
    """The image's file where both lie on this machine as they do on the web: below the manifest's folder."""
    folder = own[: own.rfind("/") + 1]
    if not isinstance(source, Path) or not is_web(own) or not address.startswith(folder):
        return None
    try:
        return local_file(source, address.removeprefix(folder), str(source))
    except InputError:
        return None


def _info_page(info: Json, source: str | Path, fetching: Fetching) -> SourcePage:
    """The whole picture of an image service."""
    asked = source.removesuffix("/info.json") if isinstance(source, str) else ""
    service = _service_address(info) if is_web(_service_address(info)) else asked
    if not service:
        raise InputError(f"{source}: this image service does not say where it is.")
    word = "full" if "/image/2" in text_of(info.get("@context")) else "max"
    width, height = (_length(info.get(side)) for side in ("width", "height"))
    picture = Picture(f"{service}/full/{word}/0/default.jpg", service, width, height)
    name = safe_name(unquote(service.rpartition("/")[2]), "image")
    return SourcePage(
        name, service, 1, partial(load_picture, source, picture, 1, fetching), address=picture.address
    )


def is_image_info(thing: Json) -> bool:
    """Whether this describes an image, as a service of the Image API 2 or 3 does at info.json."""
    told = f"{text_of(thing.get('protocol'))} {text_of(thing.get('type') or thing.get('@type'))}"
    return "iiif.io/api/image" in told or "ImageService" in told


def _addresses(source: str | Path, picture: Picture, fetching: Fetching) -> list[str]:
    """Where to ask for the picture, best first: the service's largest size, else the address itself.

    Servers of Image API 2.0 know "full" and not "max", those of 3.0 only "max"; some hold only the one file.
    """
    sizes = ["max", "full"]
    pixels = picture.width * picture.height
    if pixels > fetching.max_pixels:
        sizes.insert(0, f"{int(picture.width * (fetching.max_pixels / pixels) ** 0.5)},")
    found = [f"{picture.service}/full/{size}/0/default.jpg" for size in sizes if picture.service]
    if picture.address:
        found.append(picture.address)
    return [address if is_web(address) else joined(source, address) for address in found]


def joined(source: str | Path, address: str) -> str:
    """An address that a manifest from the web gives relative to its own."""
    try:
        return urljoin(source, address) if isinstance(source, str) else address
    except ValueError:
        return address


def local_file(manifest: Path, written: str, where: str) -> Path:
    """The image that a manifest file names beside itself; links are followed before they are judged."""
    folder = manifest.parent.resolve()
    for spelled in dict.fromkeys((written, unquote(written))):
        try:
            scheme, path = urlsplit(spelled).scheme, (folder / spelled).resolve()
            if scheme or "\\" in spelled or Path(spelled).is_absolute() or not path.is_relative_to(folder):
                break
            if path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            break
    else:
        raise InputError(f"{where}: there is no file {written!r} beside the manifest.")
    raise InputError(f"{where}: {written[:200]!r} is neither an http address nor a file beside the manifest.")


def parse_json(data: bytes, source: str) -> Json:
    """What a file of JSON holds, if that can be anything of IIIF."""
    try:
        manifest = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError(f"{source}: not a IIIF manifest (it is not JSON).") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{source}: not a IIIF manifest.")
    return manifest


def _canvases(manifest: Json, source: str) -> list[Json]:
    """The canvases of either version; anything that is none is left in as an empty one, to keep the count."""
    sequence = _first(manifest.get("sequences"))
    canvases = manifest.get("items") or sequence.get("canvases")
    if not isinstance(canvases, list) or not canvases:
        raise InputError(f"{source}: not a IIIF manifest with pages (it has no canvas).")
    return [canvas if isinstance(canvas, dict) else {} for canvas in canvases]


def _picture(canvas: Json) -> Picture:
    body = _first(_first(canvas.get("images")).get("resource"))
    for layer in dicts_of(canvas.get("items")):
        for annotation in dicts_of(layer.get("items")):
            body = body or _first(annotation.get("body"))
    body = _chosen(body)
    return Picture(
        address_of(body),
        next((_service_address(s) for s in dicts_of(body.get("service")) if _is_image_service(s)), ""),
        *(_length(body.get(side)) or _length(canvas.get(side)) for side in ("width", "height")),
    )


def _chosen(body: Json) -> Json:
    """The image inside a choice (`items`, in version 2 `default`) or a cut-out (`source`, `full`)."""
    for _ in range(4):
        inner = next((body[key] for key in ("items", "default", "source", "full") if body.get(key)), None)
        if isinstance(inner, str):
            return {"id": inner}
        if not _first(inner):
            break
        body = _first(inner)
    return body


def _is_image_service(service: Json) -> bool:
    if text_of(service.get("type") or service.get("@type")).startswith("ImageService"):
        return True
    told = f"{text_of(service.get('@context'))} {text_of(service.get('profile'))}".lower()
    return "/image" in told and "auth" not in told


def _service_address(service: Json) -> str:
    return address_of(service).removesuffix("/info.json").rstrip("/")


def address_of(thing: Json) -> str:
    address = thing.get("id") or thing.get("@id")
    return address if isinstance(address, str) else ""


def _length(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 1e9 else 0


def dicts_of(value: object) -> list[Json]:
    """One thing or a list of them, as IIIF writes both."""
    found = value if isinstance(value, list) else [value]
    return [thing for thing in found if isinstance(thing, dict)]


def _first(value: object) -> Json:
    return next(iter(dicts_of(value)), {})


def text_of(value: object) -> str:
    """The first words of a label: a string, a list, {"@value": …}, or version 3's {"zh": [ … ]}."""
    for _ in range(4):
        if isinstance(value, dict):
            value = value.get("@value") or next(iter(value.values()), "")
        elif isinstance(value, list):
            value = value[0] if value else ""
    return value if isinstance(value, str) else ""
