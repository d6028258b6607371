"""A job's file -> a folder of its pages: a PDF or an image as it is, the images of a ZIP file unpacked.

In: a file of a stranger's. Out: pages as `sources` lists them. Names inside a ZIP lead nowhere but into the
folder, what it says of its size is not believed, and only images are taken from it. A JSON that a source
might take for a IIIF manifest is an image here, and a damaged one: nothing is fetched for a client.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from tongguocr.errors import InputError
from tongguocr.serve.queue import Bounds, StatusError
from tongguocr.sources.folders import list_file, list_folder
from tongguocr.sources.images import IMAGE_SUFFIXES
from tongguocr.sources.listing import SourcePage, safe_name
from tongguocr.sources.pdf import Rendering, list_pdf

ARCHIVE = "upload.zip"
PIECE = 1 << 20
MAX_DIRECTORY = 16_000_000
"""Bytes of a ZIP's list of files: it is read whole, before anything can be counted."""
END = struct.Struct("<4s4H2LH")
"""The record at the end of a ZIP that says how long that list is."""
END_MARK, LONGEST_COMMENT = b"PK\5\6", 65_535
DEEPEST = 8
"""Folders in each other; what lies deeper comes under the name of the eighth."""


def prepare_source(folder: Path, bounds: Bounds = Bounds()) -> tuple[SourcePage, ...]:
    """The pages of the one file in this folder; a ZIP is replaced by the images in it."""
    (path,) = folder.iterdir()
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise InputError(f"{path.name}: the file is empty.")
    try:
        if start[:2] == b"PK":
            # Out of the way of what is in it.
            archive = path.rename(folder.parent / ARCHIVE)
            _unpack(archive, path.name, folder, bounds)
            archive.unlink()
        return list_source(folder, bounds)
    except InputError as error:
        raise StatusError(getattr(error, "status", 400), without_folder(str(error), folder)) from None


def list_source(folder: Path, bounds: Bounds = Bounds()) -> tuple[SourcePage, ...]:
    """The pages in the folder of a job, prepared already."""
    entries = list(folder.iterdir())
    if len(entries) == 1 and entries[0].is_file():
        with entries[0].open("rb") as file:
            is_pdf = b"%PDF-" in file.read(1024)
        rendering = Rendering(max_pixels=min(Rendering().max_pixels, bounds.pixels))
        pages = list_pdf(entries[0], rendering) if is_pdf else list_file(entries[0])
    else:
        pages = list_folder(folder, recursive=True)
    listed = tuple(islice(pages, bounds.job_pages + 1))
    if len(listed) > bounds.job_pages:
        raise StatusError(422, f"The file has more than the {bounds.job_pages} pages that a job may have.")
    return listed


def without_folder(sentence: str, folder: Path) -> str:
    """A sentence about a file, without where it lies here."""
    return sentence.replace(f"{folder}/", "").replace(f"{folder}\\", "")


def _unpack(path: Path, name: str, folder: Path, bounds: Bounds) -> None:
    """The images of a ZIP file, under names that are harmless, as far as all of them are within bounds."""
    try:
        _check_directory(path, name)
        with zipfile.ZipFile(path) as archive:
            images = [entry for entry in archive.infolist() if _is_image(entry)]
            if not images:
                raise InputError(f"{name}: there is no image in this ZIP file.")
            if len(images) > bounds.job_pages:
                raise StatusError(
                    422, f"{name}: {len(images)} images are more than the {bounds.job_pages} of a job."
                )
            left = bounds.job_unpacked
            for entry, target in zip(images, _targets(images, folder), strict=True):
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as packed, target.open("xb") as file:
                    left -= _copy(packed, file, left, name)
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError):
        raise InputError(f"{name}: the ZIP file is damaged.") from None
    except (NotImplementedError, RuntimeError):
        # As zipfile says it where a password is needed, or a way of packing is not known.
        raise InputError(f"{name}: the ZIP file is encrypted, or packed in a way unknown here.") from None


def _check_directory(path: Path, name: str) -> None:
    """Refuse a list of files that would not fit into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - LONGEST_COMMENT - END.size, 0))
        end = file.read()
    place = end.rfind(END_MARK)
    # One that is not there is zipfile's to complain of; 4 GB stand for a larger number elsewhere.
    if place >= 0 and END.unpack_from(end, place)[5] > MAX_DIRECTORY:
        raise InputError(f"{name}: the ZIP file lists more files than can be read.")


def _is_image(entry: zipfile.ZipInfo) -> bool:
    """What a folder of images would show of it; macOS adds a hidden twin to each file."""
    inside = _inside(entry)
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in inside.parts if part != "..")
    return not entry.is_dir() and not hidden and inside.suffix.lower() in IMAGE_SUFFIXES


def _inside(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Its place in the ZIP file; programs of Windows have written the other stroke."""
    return PurePosixPath(entry.filename.replace("\\", "/"))


def _targets(images: list[zipfile.ZipInfo], top: Path) -> Iterator[Path]:
    """Where each image goes: its own folders and name, as far as they are harmless, and none twice.

    What differs only in case is the same to some file systems.
    """
    taken: set[str] = set()
    for entry in images:
        inside = _inside(entry)
        folders = [safe_name(part) for part in inside.parts[:-1] if part not in ("/", "..")][:DEEPEST]
        stem, copy = safe_name(inside.stem), 1
        target = top.joinpath(*folders, f"{stem}{inside.suffix.lower()}")
        while str(target).casefold() in taken:
            copy += 1
            target = target.with_name(f"{stem}_{copy}{inside.suffix.lower()}")
        taken.add(str(target).casefold())
        yield target


def _copy(packed: IO[bytes], file: BinaryIO, left: int, name: str) -> int:
    """Unpack piece by piece, and stop where there is no more room."""
    total = 0
    while piece := packed.read(PIECE):
        total += len(piece)
        if total > left:
            raise StatusError(413, f"{name}: the images in the ZIP file are larger than a job may be.")
        file.write(piece)
    return total
