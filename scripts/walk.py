"""The way of one page: `python scripts/walk.py [IMAGE]` prints the modules that `read` enters, in order.

IMAGE is the example page unless given. A module counts where one of its functions is first called; what is
only imported does not. A walk that goes from package to package and never back is easy to follow, so the
changes of package are counted, from first entry to first entry. The types, boxes and helpers that everything
uses (`BASE`) are no stations of it.
"""

from __future__ import annotations

import inspect
import sys
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import tongguocr

BASE = frozenset(
    {"alignment", "characters", "devices", "errors", "files", "geometry", "page", "progress", "straight"}
    | {"variants", "version"}
)
EXAMPLE = Path(__file__).parent.parent / "examples" / "page.jpg"


class Walk:
    """A profiler's hook that notes our modules, each when it is first entered."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.importing = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_name == "<module>" and event in ("call", "return"):
            self.importing += 1 if event == "call" else -1
        name = frame.f_globals.get("__name__", "")
        # Class bodies are entered like functions, but are not optimised.
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        if event == "call" and is_function and not self.importing and name.startswith("tongguocr."):
            self.modules.setdefault(name)


def walk(image: Path) -> list[str]:
    """The modules that reading this image enters, in order."""
    noted = Walk()
    sys.setprofile(noted)
    try:
        tongguocr.read(image)
    finally:
        sys.setprofile(None)
    return list(noted.modules)


def package(module: str) -> str:
    """The name below `tongguocr`."""
    return module.split(".")[1]


def rooms(modules: list[str]) -> list[tuple[str, list[str]]]:
    """The walk as runs of modules of one package."""
    stations = (module for module in modules if package(module) not in BASE)
    return [(name, list(run)) for name, run in groupby(stations, package)]


def main() -> None:
    """Print the walk."""
    modules = walk(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE)
    found = rooms(modules)
    for name, run in found:
        print(f"{name:10} {' '.join(module.removeprefix('tongguocr.') for module in run)}")
    print(f"{sum(len(run) for _, run in found)} modules, {len(found) - 1} changes of package")


if __name__ == "__main__":
    main()
