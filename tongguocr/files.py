"""Bytes and text in and out of files, for every format: a clear sentence on failure, whole files or none."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tongguocr.errors import DiskFullError, InputError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""No space left on the device; the user's share of it is used up."""


def read_bytes(path: Path) -> bytes:
    """The file's bytes; a missing file, a folder or a forbidden one is an InputError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder, not a file.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the file cannot be read ({_reason(error)}).") from None


def decode_utf8(data: bytes, path: Path) -> str:
    """The text of a UTF-8 file, without its byte order mark; nothing else is guessed or changed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 text (byte {error.start}); convert it first.") from None
    if "\0" in text:
        raise InputError(f"{path}: this is not a text file (it holds null bytes).")
    return text


def make_folder(path: Path) -> None:
    """The folder, with those above it, if it is not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind = DiskFullError if error.errno in NO_ROOM else InputError
        raise kind(f"{path}: the folder cannot be made ({error.strerror}).") from None


def write_bytes(data: bytes, path: Path) -> None:
    """Write the file whole or not at all."""
    with open_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write piece by piece: a neighbour in the same folder takes its place at the end."""
    try:
        handle, name = tempfile.mkstemp(prefix=".tongguocr-", suffix=".tmp", dir=path.parent)
    except (OSError, ValueError) as error:
        raise write_error(path, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        temporary.chmod(_mode(path))
        temporary.replace(path)
    except OSError as error:
        raise write_error(path, error) from None
    finally:
        # Once it has taken its place there is no temporary file left; after a failure there is.
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_error(path: Path | str, error: OSError | ValueError) -> InputError:
    """Why a file cannot be written; a DiskFullError where the next one could not be either."""
    kind = DiskFullError if getattr(error, "errno", None) in NO_ROOM else InputError
    return kind(f"{path}: the file cannot be written ({_reason(error)}).")


def _mode(path: Path) -> int:
    """The rights of the file that is replaced, or those any new file gets (mkstemp's own are private)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _reason(error: OSError | ValueError) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return reason[:1].lower() + reason[1:]
