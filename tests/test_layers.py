"""The import graph of the package: layers in one order, no edge back, and reading needs nothing of training.

Imports inside functions count, too: they hide a cycle, they do not break it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from paths import ROOT

LAYERS = (
    ("errors", "version", "characters"),
    ("files", "geometry", "variants", "alignment", "progress"),
    ("page", "stdout"),
    ("straight", "devices"),
    ("sources",),
    ("weights",),
    ("layout",),
    ("blocks",),
    ("crops",),
    ("tokens",),
    ("formats",),
    ("engines",),
    ("reader",),
    ("api",),
    ("evaluate", "batch"),
    ("serve",),
    ("proofread",),
    ("training",),
    ("cli",),
    ("__main__",),
)
"""Low to high. A module imports from lower layers and from its own package."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
READING = frozenset(LEVEL) - {"training", "cli", "__main__"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    files = sorted((ROOT / "tongguocr").rglob("*.py"))
    dotted = (".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    return {name.removesuffix(".__init__"): file for name, file in zip(dotted, files, strict=True)}


def imports(file: Path, known: dict[str, Path], for_types: bool = True) -> set[str]:
    """The modules of the package that a file imports, wherever in it the import stands."""
    tree = ast.parse(file.read_bytes())
    if not for_types:
        tree.body = [node for node in tree.body if not is_for_types(node)]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: imports are absolute"
            paths = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {path if path in known else node.module for path in paths}
    return found & set(known)


def is_for_types(node: ast.stmt) -> bool:
    """Whether this is an `if TYPE_CHECKING:`, which only type checkers look into."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def package_of(module: str) -> str:
    """The folder or file right below `tongguocr` in which a module lies."""
    return f"{module}.__init__".split(".")[1]


def edges() -> list[tuple[str, str]]:
    """Every pair of modules of which the first imports the second."""
    known = modules()
    return [(name, other) for name, file in known.items() for other in sorted(imports(file, known))]


def test_every_package_has_a_layer() -> None:
    assert {package_of(name) for name in modules()} - {"__init__"} == set(LEVEL)


def test_imports_go_one_way() -> None:
    back = [
        f"{name} imports {other}"
        for name, other in edges()
        if "__init__" not in (here := package_of(name), there := package_of(other))
        and here != there
        and LEVEL[here] <= LEVEL[there]
    ]
    assert not back, "\n".join(back)


def test_no_module_needs_itself() -> None:
    known = modules()
    graph = {name: imports(file, known, for_types=False) for name, file in known.items()}
    TopologicalSorter(graph).prepare()  # raises a CycleError that names the circle


@pytest.mark.parametrize("command", ["read", "serve", "eval"])
def test_commands_that_read_load_nothing_of_training(command: str) -> None:
    code = f"""
import sys
from tongguocr import cli
sys.argv = ["tongguocr", {command!r}, "--help"]
try:
    cli.main()
except SystemExit:
    pass
import tongguocr.reader, tongguocr.serve, tongguocr.evaluate.files, tongguocr.formats
print([name for name in sys.modules if name.startswith(("tongguocr.training", "torch", "transformers"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_reading_imports_nothing_of_training() -> None:
    bad = [
        f"{name} imports {other}"
        for name, other in edges()
        if package_of(name) in READING and package_of(other) == "training"
    ]
    assert not bad, "\n".join(bad)
