"""A ZIP or CBZ file of images -> its pages, one an image, in the order that people count in.

In: a file. Out: pages that each open the file anew. Nothing is unpacked onto the disk, so that no name in the
archive leads anywhere; how much an image may unpack to is bounded while it is unpacked, whatever the archive
says of it. Folders in the archive are gone through; hidden files and what is no image by its suffix are
passed over.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import BinaryIO

from tongguocr.errors import InputError
from tongguocr.sources.images import IMAGE_SUFFIXES, MemoryFile, Scan, StoredFile, load_frame, open_binary
from tongguocr.sources.images import tiff_pages as frames_of
from tongguocr.sources.listing import SourcePage, content_of, natural_key, page_name, safe_name

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 500_000_000
"""What one image may unpack to: an uncompressed TIFF of a large sheet still opens."""
MAX_DIRECTORY_BYTES = 16_000_000
"""Of the list of files, which is read whole before anything in it can be counted."""
PIECE = 1 << 20
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of the others a few bytes may unpack to any number of them at a time."""
_TIFFS = (".tif", ".tiff")


def list_archive(file: StoredFile, stem: str | None = None) -> Iterator[SourcePage]:
    """The pages of an archive's images; a TIFF in it may have several.

    Their names begin with the archive's, or with `stem`; if that is empty, they are the images' own.
    """
    images = filter(_is_image, _members(file))
    names = sorted(images, key=lambda name: [natural_key(part) for part in _inside(name).parts])
    if not names:
        raise InputError(f"{file}: there is no image in this archive.")
    return _number_pages(file, names, file.stem if stem is None else stem)


def measure_archive(file: StoredFile) -> tuple[int, int]:
    """How many images an archive has, and the bytes that they say they unpack to; no more are unpacked."""
    sizes = [size for name, size in _members(file).items() if _is_image(name)]
    return len(sizes), sum(sizes)


def passed_over_members(file: StoredFile) -> list[str]:
    """What an archive has besides its images."""
    try:
        names = _members(file)
    except InputError:
        return []  # Listing it says why.
    return sorted((name for name in names if not _is_image(name)), key=natural_key)


def load_member(file: StoredFile, member: str, frame: int, where: str) -> Scan:
    """One image of an archive, or one page of a TIFF in it."""
    return load_frame(MemoryFile(where, "", read_member(file, member, where)), frame, where)


def read_member(file: StoredFile, member: str, where: str) -> bytes:
    """The bytes of one file of an archive."""
    with _open_archive(file) as archive:
        try:
            packed = archive.getinfo(member)
            if packed.compress_type not in PACKINGS:
                raise NotImplementedError
            with archive.open(packed) as opened:
                pieces = iter(partial(opened.read, PIECE), b"")
                data = b"".join(islice(pieces, MAX_MEMBER_BYTES // PIECE + 1))
        except KeyError:
            raise InputError(f"{where}: it is not in the archive any more.") from None
        except MemoryError:
            raise InputError(f"{where}: the image does not fit into memory.") from None
        except NotImplementedError:
            raise InputError(f"{where}: its way of packing is not known; Deflate is.") from None
        except RuntimeError:
            raise InputError(f"{where}: it is encrypted; unpack the archive first.") from None
        except Exception:  # zipfile and its decompressors raise whatever junk leads them to.
            raise InputError(f"{where}: the archive is damaged there.") from None
    if len(data) > MAX_MEMBER_BYTES:
        raise InputError(f"{where}: it unpacks to more than {MAX_MEMBER_BYTES // 1_000_000} MB.")
    return data


def _number_pages(file: StoredFile, members: list[str], first: str) -> Iterator[SourcePage]:
    """All pages counted through; their names are the archive's and the images', without folders' slashes."""
    begin = (first,) if first else ()
    parts = [_inside(member).with_suffix("").parts for member in members]
    stems = [safe_name("_".join((*begin, *each))) for each in parts]
    often = Counter(stem.casefold() for stem in stems)
    used: set[str] = set()
    number, content = 0, content_of(file)
    for member, stem in zip(members, stems, strict=True):
        if often[stem.casefold()] > 1:
            stem += _inside(member).suffix
        where = f"{file}/{_inside(member)}"
        frames = _frames(file, member, where)
        for place, frame in enumerate(frames, 1):
            number, copy = number + 1, 2
            name = given = page_name(stem, place, len(frames))
            while name.casefold() in used:
                name, copy = f"{given}_{copy}", copy + 1
            used.add(name.casefold())
            told = f"{where}, page {place}" if len(frames) > 1 else where
            load = partial(load_member, file, member, frame, told)
            yield SourcePage(name, where, number, load, content)


def _frames(file: StoredFile, member: str, where: str) -> list[int]:
    """The pages of a TIFF; one of any other image, and of what cannot be read, which loading tells."""
    if not member.lower().endswith(_TIFFS):
        return [0]
    try:
        return frames_of(MemoryFile(where, "", read_member(file, member, where)))
    except InputError:
        return [0]


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES)


def _members(file: StoredFile) -> dict[str, int]:
    """An archive's files and their sizes, by name, but for hidden ones and what macOS adds."""
    with _open_archive(file) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
    if len(sizes) > MAX_MEMBERS:
        raise InputError(f"{file}: the archive has {len(sizes)} files, and up to {MAX_MEMBERS} are read.")
    return {name: size for name, size in sizes.items() if not _is_hidden(name)}


def _is_hidden(name: str) -> bool:
    parts = _inside(name).parts
    return "__MACOSX" in parts or any(part.startswith(".") and part.strip(".") for part in parts)


def _inside(name: str) -> PurePosixPath:
    """Its place in the archive; programs of Windows have written the other stroke."""
    return PurePosixPath(name.replace("\\", "/"))


class _Bounded:
    """An archive's file, of which no more is read at once than a list of files may have."""

    def __init__(self, opened: BinaryIO, file: StoredFile) -> None:
        self.opened, self.file = opened, file
        self.seek, self.tell, self.seekable = opened.seek, opened.tell, opened.seekable

    def read(self, size: int = -1, /) -> bytes:
        if size > MAX_DIRECTORY_BYTES:
            raise InputError(f"{self.file}: the archive lists more files than can be read.")
        return self.opened.read(size)


@contextmanager
def _open_archive(file: StoredFile) -> Iterator[zipfile.ZipFile]:
    with open_binary(file) as opened:
        try:
            archive = zipfile.ZipFile(_Bounded(opened, file))
        except InputError:
            raise
        except Exception:  # Whatever junk leads the parser to.
            raise InputError(f"{file}: not a ZIP archive that can be read.") from None
        with archive:
            yield archive
