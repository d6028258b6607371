"""Small files in the shapes of HisDoc1B and M5HisDoc."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

LINE = "0,0,10,0.5,10,20,0,20,{}"
"""A row of M5HisDoc's line labels."""


def add_book(root: Path, name: str, data: object, book: str | None = None) -> None:
    for folder in ("annos", "books"):
        (root / folder).mkdir(exist_ok=True)
    (root / "annos" / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    if book:
        (root / "books" / book).write_bytes(b"")


def add_page(root: Path, half: str, name: str, lines: str, chars: str = "") -> None:
    folder = root / f"M5HisDoc_{half}"
    for each in ("images", "label_textline", "label_char"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    (folder / "label_textline" / f"{name}.txt").write_bytes(lines.encode())
    (folder / "label_char" / f"{name}.txt").write_bytes(chars.encode())
    Image.new("RGB", (30, 40)).save(folder / "images" / f"{name}.png")
