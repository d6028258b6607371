"""Weights on disk -> bytes that may be used: manifests, files checked by their SHA-256, ONNX sessions.

A folder of weights has a manifest that names its files. Every file's SHA-256 is compared with the manifest
before it is used; a file that is missing, cut off or changed gives one sentence. What a file means is known
to those who open it: `layout.detect` the detector's, `engines.weights` the recogniser's.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongguocr.devices import AUTO, connect, find_devices, has_package_for_card
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORMAT, VERSION = "tongguocr-weights", 1
MANIFEST = "manifest.json"
SHIPPED = Path(__file__).parent
"""Where the recogniser's weights of the package lie; the detector's are in `detector` below it."""


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """What a manifest says, if it is one of ours."""
    try:
        manifest = json.loads(decode_utf8(read_bytes(path), path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is not a manifest of weights, which is JSON.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f'{path}: this is not a manifest of weights, which says "format": "{FORMAT}".')
    if manifest.get("version") != VERSION:
        raise InputError(f"{path}: the weights are not of version {VERSION}, the only one known here.")
    return manifest


def read_checked(path: Path, wanted: str) -> bytes:
    """The contents of a file whose SHA-256 is the one wanted."""
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != wanted:
        raise InputError(f"{path}: the file is not the one that {MANIFEST} names; fetch the weights again.")
    return data


def open_session(model: bytes, path: Path, threads: int, device: str = AUTO) -> InferenceSession:
    """A session of ONNX Runtime, from the bytes of the file at `path`; 0 threads: one a core."""
    import onnxruntime

    find_devices()  # Says so where what is installed is not whole.
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return connect(model, options, device)
    except InputError:
        raise
    except Exception as error:
        # ONNX Runtime has an exception of its own for every kind of damage, without a common base.
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"{path}: ONNX Runtime cannot use this file ({reason}).") from None


def warn_of_card(device: str) -> None:
    """Say now if ONNX Runtime was installed for a card and cannot use it: processes of a job are silent."""
    if device == AUTO and has_package_for_card():
        path = SHIPPED / "detector" / "detector.onnx"
        open_session(read_bytes(path), path, 1)
