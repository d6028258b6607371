"""A IIIF Presentation 2 or 3 manifest -> its pages, one a canvas.

In: a manifest's file or address. Out: pages whose images are fetched when they are loaded. A manifest is a
stranger's text: it may name http(s) addresses, and a manifest *file* also image files in its own folder or
below; whatever else it names is refused, page by page. A canvas with several pictures gives the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from tongguocr.errors import InputError
from tongguocr.files import read_bytes
from tongguocr.sources.images import MemoryFile, Scan, load_frame
from tongguocr.sources.listing import SourcePage, page_name, safe_name
from tongguocr.sources.web import Fetching, RefusedError, fetch, is_web

MAX_MANIFEST_BYTES = 50_000_000
MAX_IMAGE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """What a canvas shows: an image's own address, and where there is one that of its image service."""

    address: str
    service: str
    width: int
    height: int


def list_manifest(source: str | Path, fetching: Fetching = Fetching()) -> Iterator[SourcePage]:
    """The pages of a manifest; only the manifest itself is fetched."""
    if isinstance(source, str):
        manifest = _parse(fetch(source, MAX_MANIFEST_BYTES, "IIIF manifest", fetching), source)
        stem = safe_name(_text(manifest.get("label")), "manifest")
    else:
        manifest, stem = _parse(read_bytes(source), str(source)), source.stem
    canvases = _canvases(manifest, str(source))
    return (
        _page(source, _picture(canvas), page_name(stem, number, len(canvases)), number, fetching)
        for number, canvas in enumerate(canvases, 1)
    )


def load_picture(source: str | Path, picture: Picture, number: int, fetching: Fetching) -> Scan:
    """One canvas's picture."""
    where = f"{source}, page {number}"
    if not picture.address and not picture.service:
        raise InputError(f"{where}: the manifest names no image for it.")
    if isinstance(source, Path) and not picture.service and not is_web(picture.address):
        return load_frame(_local_file(source, picture.address, where), 0, where)
    for address in (addresses := _addresses(source, picture, fetching)):
        try:
            data = fetch(address, MAX_IMAGE_BYTES, where, fetching)
            return load_frame(MemoryFile(where, "", data), 0, where)
        except RefusedError:
            if address == addresses[-1]:
                raise
    raise AssertionError("there is always an address")


def _page(source: str | Path, picture: Picture, name: str, number: int, fetching: Fetching) -> SourcePage:
    shown = picture.service or picture.address or str(source)
    # A file beside the manifest is known by the manifest's place: many books have a p1.jpg.
    content = "" if is_web(shown) else f"{source} {number}"
    return SourcePage(name, shown, number, partial(load_picture, source, picture, number, fetching), content)


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
    return [address if is_web(address) else _joined(source, address) for address in found]


def _joined(source: str | Path, address: str) -> str:
    """An address that a manifest from the web gives relative to its own."""
    try:
        return urljoin(source, address) if isinstance(source, str) else address
    except ValueError:
        return address


def _local_file(manifest: Path, written: str, where: str) -> Path:
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


def _parse(data: bytes, source: str) -> dict[str, Any]:
    try:
        manifest = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError(f"{source}: not a IIIF manifest (it is not JSON).") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{source}: not a IIIF manifest.")
    return manifest


def _canvases(manifest: dict[str, Any], source: str) -> list[dict[str, Any]]:
    """The canvases of either version; anything that is none is left in as an empty one, to keep the count."""
    if "Collection" in _text(manifest.get("type") or manifest.get("@type")):
        raise InputError(f"{source}: this is a IIIF collection; give one of its manifests.")
    sequence = _first(manifest.get("sequences"))
    canvases = manifest.get("items") or sequence.get("canvases")
    if not isinstance(canvases, list) or not canvases:
        raise InputError(f"{source}: not a IIIF manifest with pages (it has no canvas).")
    return [canvas if isinstance(canvas, dict) else {} for canvas in canvases]


def _picture(canvas: dict[str, Any]) -> Picture:
    body = _first(_first(canvas.get("images")).get("resource"))
    for layer in _dicts(canvas.get("items")):
        for annotation in _dicts(layer.get("items")):
            body = body or _first(annotation.get("body"))
    body = _chosen(body)
    return Picture(
        _address(body),
        next((_service_address(s) for s in _dicts(body.get("service")) if _is_image_service(s)), ""),
        *(_length(body.get(side)) or _length(canvas.get(side)) for side in ("width", "height")),
    )


def _chosen(body: dict[str, Any]) -> dict[str, Any]:
    """The image inside a choice (`items`, in version 2 `default`) or a cut-out (`source`, `full`)."""
    for _ in range(4):
        inner = next((body[key] for key in ("items", "default", "source", "full") if body.get(key)), None)
        if isinstance(inner, str):
            return {"id": inner}
        if not _first(inner):
            break
        body = _first(inner)
    return body


def _is_image_service(service: dict[str, Any]) -> bool:
    if _text(service.get("type") or service.get("@type")).startswith("ImageService"):
        return True
    told = f"{_text(service.get('@context'))} {_text(service.get('profile'))}".lower()
    return "/image" in told and "auth" not in told


def _service_address(service: dict[str, Any]) -> str:
    return _address(service).removesuffix("/info.json").rstrip("/")


def _address(thing: dict[str, Any]) -> str:
    address = thing.get("id") or thing.get("@id")
    return address if isinstance(address, str) else ""


def _length(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 1e9 else 0


def _dicts(value: object) -> list[dict[str, Any]]:
    """One thing or a list of them, as IIIF writes both."""
    found = value if isinstance(value, list) else [value]
    return [thing for thing in found if isinstance(thing, dict)]


def _first(value: object) -> dict[str, Any]:
    return next(iter(_dicts(value)), {})


def _text(value: object) -> str:
    """The first words of a label: a string, a list, {"@value": …}, or version 3's {"zh": [ … ]}."""
    for _ in range(4):
        if isinstance(value, dict):
            value = value.get("@value") or next(iter(value.values()), "")
        elif isinstance(value, list):
            value = value[0] if value else ""
    return value if isinstance(value, str) else ""
