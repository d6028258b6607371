"""Where ONNX Runtime computes: the bytes of a network and a device's name in, a session that is there out.

The processor is there always; a graphics card is if ONNX Runtime was installed for it (docs/devices.md), and
that it lists a card does not mean that it can use it: a driver or a library may be missing, and then it takes
the processor without an error. So each session is asked what it really computes with.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from tongguocr.errors import InputError
from tongguocr.stdout import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxruntime import InferenceSession, SessionOptions

AUTO, CPU = "auto", "cpu"
WARNINGS, ERRORS = 2, 3
"""What ONNX Runtime writes on standard error: as ever; and less, where its warning would say what we say."""


@dataclass(frozen=True, slots=True)
class Device:
    """What ONNX Runtime calls a device, and how its user gets it."""

    provider: str
    package: str
    """The package of ONNX Runtime that has it; only one of them can be installed at a time."""
    brought_by: str
    settings: dict[str, str] = field(default_factory=dict)
    by_itself: bool = True
    """Whether `auto` takes it: whoever installed a package for a card wants it."""


CARDS = {
    # Pictures and blocks are of all sizes; for each new one cuDNN would try all that it can, for a second.
    "cuda": Device(
        "CUDAExecutionProvider",
        "onnxruntime-gpu",
        "pip install 'tongguocr[gpu]' brings it",
        {"cudnn_conv_algo_search": "HEURISTIC"},
    ),
    "directml": Device(
        "DmlExecutionProvider",
        "onnxruntime-directml",
        "on Windows pip install 'tongguocr[directml]' brings it",
    ),
    # In every ONNX Runtime for macOS, so nobody asked for it; and nobody measured it.
    "coreml": Device("CoreMLExecutionProvider", "onnxruntime", "macOS alone has it", by_itself=False),
}
"""Graphics cards and the like, the best first."""
DEVICES = (AUTO, CPU, *CARDS)
"""What may be asked for; `auto` is a card that ONNX Runtime was installed for and can use, else `cpu`."""

_unusable: set[str] = set()
"""Devices that are listed and cannot be used, found out in this process."""


def find_devices() -> list[str]:
    """The devices that ONNX Runtime lists here, the best first, the processor last."""
    import onnxruntime

    if not hasattr(onnxruntime, "get_available_providers"):
        # Two of its packages lay over each other, and taking one away took files of the other along.
        raise InputError(
            "ONNX Runtime is not whole; install it again: pip install --force-reinstall onnxruntime"
            " (for a graphics card see docs/devices.md)."
        )
    listed = onnxruntime.get_available_providers()
    return [*(name for name, card in CARDS.items() if card.provider in listed), CPU]


def has_package_for_card() -> bool:
    """Whether a package was installed that `auto` takes a card by; ONNX Runtime itself is not asked."""
    return any(card.by_itself and _is_installed(card.package) for card in CARDS.values())


def connect(model: bytes, options: SessionOptions, device: str = AUTO) -> InferenceSession:
    """A session on the device of this name; one that is asked for and not there is refused."""
    check_device(device)
    if device == AUTO:
        return _connect_to_best(model, options)
    if device == CPU:
        return _open(model, options, [])
    return _connect_to_card(model, options, device)


def check_device(device: str) -> None:
    """Refuse a device that ONNX Runtime does not even list here."""
    if device not in DEVICES:
        raise InputError(f"There is no device {device!r}; take one of {', '.join(DEVICES)}.")
    if device not in (AUTO, CPU) and device not in find_devices():
        raise InputError(_missing(device))


def _connect_to_best(model: bytes, options: SessionOptions) -> InferenceSession:
    listed = find_devices()
    for name, card in CARDS.items():
        wanted = name in listed or _is_installed(card.package)
        if card.by_itself and wanted and name not in _unusable:
            try:
                check_device(name)
                return _connect_to_card(model, options, name)
            except InputError as error:
                _unusable.add(name)
                complain(f"{error} The processor reads instead.")
    return _open(model, options, [])


def _connect_to_card(model: bytes, options: SessionOptions, name: str) -> InferenceSession:
    """A session that computes on the card, or the reason why there is none."""
    card, reason = CARDS[name], ""
    if name == "directml":
        options.enable_mem_pattern = False  # Its documentation wants that.
    with _libraries(name):
        try:
            session = _open(model, options, [(card.provider, dict(card.settings))])
            if card.provider in session.get_providers():
                return session
        except Exception as error:
            # ONNX Runtime has an exception of its own for every kind of fault, without a common base. A fault
            # of the file's is the processor's, too.
            _open(model, options, [])
            reason = f" ({str(error).splitlines()[0][:200]})" if str(error) else ""
    raise InputError(
        f"The device {name} cannot be used: ONNX Runtime found no driver or no library for it{reason};"
        " see docs/devices.md."
    )


def _open(model: bytes, options: SessionOptions, cards: list[tuple[str, dict[str, str]]]) -> InferenceSession:
    import onnxruntime

    # Left alone it would print its troubles among our results, and take the processor.
    return onnxruntime.InferenceSession(
        model, options, providers=[*cards, "CPUExecutionProvider"], enable_fallback=0
    )


@contextmanager
def _libraries(name: str) -> Iterator[None]:
    """CUDA's libraries out of the packages that pip installed; what is said of that is no result of ours."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(ERRORS)
    try:
        with redirect_stdout(sys.stderr):
            if name == "cuda":
                onnxruntime.preload_dlls()
            yield
    finally:
        onnxruntime.set_default_logger_severity(WARNINGS)


def _missing(device: str) -> str:
    card = CARDS[device]
    if card.package != "onnxruntime" and _is_installed(card.package) and _is_installed("onnxruntime"):
        return (
            f"The device {device} is not there: onnxruntime lies over {card.package}, and only one of the two"
            f" can be installed: pip uninstall onnxruntime {card.package}, then pip install {card.package}"
            " (docs/devices.md)."
        )
    there = ", ".join(find_devices())
    about = f"this ONNX Runtime has {there}; {card.brought_by}"
    return f"The device {device} is not there: {about} (docs/devices.md)."


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
