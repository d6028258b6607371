"""The paper's three data sets in small: a dozen drawn pages each, in published shapes, with official splits.

Every page has two columns of three characters, so that a dozen pages have 72. M5HisDoc has another dozen in
its hard half, whose pages bear the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dataset_files import add_book
from labelled_pages import draw_page
from PIL import Image
from tiny_fonts import make_font

from tongguocr.page import Page

PARTS = ("MTH1000", "MTH1200", "TKH")
LISTED = {
    "mthv2": {"train": range(8), "test": range(8, 12)},
    "m5hisdoc": {"train": range(6), "val": range(6, 9), "test": range(9, 12)},
}
"""Which of the dozen pages each official list has."""


@dataclass(frozen=True, slots=True)
class PublishedSets:
    """Where the sets lie, and what their pages say."""

    root: Path
    texts: dict[str, list[str]]
    """Of mthv2, m5hisdoc, m5hisdoc-hard and hisdoc1b: the text of each page, columns as lines."""

    def folder(self, kind: str) -> Path:
        """The folder of a kind of data set."""
        return self.root / kind.partition("-")[0]

    def source(self, kind: str) -> str:
        """KIND=DIR."""
        return f"{kind}={self.folder(kind)}"

    def split(self, kind: str, name: str) -> list[str]:
        """The texts of an official split, in its list's order."""
        return [self.texts[kind][k] for k in LISTED[kind.partition("-")[0]][name]]


def write_sets(root: Path) -> PublishedSets:
    """Write all three below this folder."""
    font = make_font(root / "tiny.ttf")
    seeds = {"mthv2": 100, "m5hisdoc": 200, "m5hisdoc-hard": 300, "hisdoc1b": 400}
    pages = {
        kind: [draw_page(font, seed + k, columns=2, length=3) for k in range(12)]
        for kind, seed in seeds.items()
    }
    _write_mthv2(root / "mthv2", pages["mthv2"])
    for half in ("regular", "hard"):
        _write_half(
            root / "m5hisdoc" / f"M5HisDoc_{half}", pages["m5hisdoc-hard" if half == "hard" else "m5hisdoc"]
        )
    for name, numbers in LISTED["m5hisdoc"].items():
        (root / "m5hisdoc" / f"split_{name}.txt").write_text("".join(f"page{k}.png\n" for k in numbers))
    _write_books(root / "hisdoc1b", pages["hisdoc1b"])
    return PublishedSets(root, {kind: [page.text for page in dozen] for kind, dozen in pages.items()})


def _write_mthv2(root: Path, pages: list[Page]) -> None:
    """Four pages in each part, numbered through."""
    for k, page in enumerate(pages):
        folder = root / PARTS[k // 4]
        lines = [
            f"{line.text},{x0},{y0},{x1},{y0},{x1},{y1},{x0},{y1}"
            for line in page.lines
            for x0, y0, x1, y1 in [line.box]
        ]
        chars = [f"{c.text} {' '.join(map(str, c.box))}" for line in page.lines for c in line.chars]
        _write_page(folder, "img", f"v{k}", page, lines, chars)
    for name, numbers in LISTED["mthv2"].items():
        (root / f"{name}.txt").write_text("".join(f"{PARTS[k // 4]}/img/v{k}.png\n" for k in numbers))


def _write_half(folder: Path, pages: list[Page]) -> None:
    for k, page in enumerate(pages):
        lines = [
            f"{x0},{y0},{x1},{y0},{x1},{y1},{x0},{y1},{line.text}"
            for line in page.lines
            for x0, y0, x1, y1 in [line.box]
        ]
        chars = [f"{','.join(map(str, c.box))},{c.text}" for line in page.lines for c in line.chars]
        _write_page(folder, "images", f"page{k}", page, lines, chars)


def _write_page(folder: Path, images: str, name: str, page: Page, lines: list[str], chars: list[str]) -> None:
    for each, rows in (("label_textline", lines), ("label_char", chars)):
        (folder / each).mkdir(parents=True, exist_ok=True)
        (folder / each / f"{name}.txt").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    (folder / images).mkdir(exist_ok=True)
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(folder / images / f"{name}.png")


def _write_books(root: Path, pages: list[Page]) -> None:
    """Three books of four pages, which lie as images beside the annotations."""
    root.mkdir()
    for book in range(3):
        entries = []
        folder = root / "images" / f"book{book}"
        folder.mkdir(parents=True)
        for number, page in enumerate(pages[4 * book : 4 * book + 4], start=1):
            lines = [
                {
                    "text": line.text,
                    "box": list(line.box),
                    "order": k,
                    "chars": [{"text": c.text, "box": list(c.box)} for c in line.chars],
                }
                for k, line in enumerate(page.lines)
            ]
            # Reading order is said by a number of its own, not by the order in the file.
            size = {"width": page.width, "height": page.height}
            entries.append({"page": number, **size, "lines": lines[::-1]})
            assert page.pixels is not None
            Image.fromarray(page.pixels).save(folder / f"{number:04d}.png")
        add_book(root, f"book{book}", {"title": f"書{book}", "pages": entries}, f"book{book}.pdf")
