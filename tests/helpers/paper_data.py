"""The paper's three data sets in their published shapes, a few small printed pages each, and stage files."""

from __future__ import annotations

from pathlib import Path

from dataset_files import add_book
from labelled_pages import draw_page
from PIL import Image
from tiny_fonts import make_font

from tongguocr.page import Line, Page

SHAPE = {"columns": 2, "length": 3}
STAGE = """
[run]
epochs = {epochs}
learning_rate = 1e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
weight_decay = 0.0
warm_up = 0.1
flat = 0.1
workers = 0
compile = false
[pages]
kinds = {kinds}
validated_on = ["m5hisdoc"]
granularity = "{granularity}"
longest_side = {side}
longest = 80
validation_pages = 2
augment = false
"""
GLM = """
[glm]
checkpointing = false
saved = "float32"
"""


def corners(line: Line) -> str:
    x0, y0, x1, y1 = line.box
    return ",".join(f"{value:g}" for value in (x0, y0, x1, y0, x1, y1, x0, y1))


def write_image(page: Page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert page.pixels is not None
    Image.fromarray(page.pixels).save(path)


def write_text(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def write_mthv2(root: Path, font: Path, train: int, test: int, seed: int = 100) -> None:
    """Pages of TKH in the two official lists."""
    names = [f"V{k}" for k in range(train + test)]
    for k, name in enumerate(names):
        page = draw_page(font, seed + k, **SHAPE)
        write_image(page, root / "TKH" / "img" / f"{name}.png")
        rows = [f"{line.text},{corners(line)}" for line in page.lines]
        write_text(root / "TKH" / "label_textline" / f"{name}.txt", rows)
    write_text(root / "train.txt", [f"TKH/{name}" for name in names[:train]])
    write_text(root / "test.txt", [f"TKH/{name}" for name in names[train:]])


def write_m5hisdoc(root: Path, font: Path, train: int, val: int, test: int, seed: int = 200) -> None:
    """Pages of the regular half in the three official lists, and the hard half, which nobody should read."""
    names = [f"p{k}" for k in range(train + val + test)]
    for half in ("regular", "hard"):
        folder = root / f"M5HisDoc_{half}"
        for k, name in enumerate(names):
            page = draw_page(font, seed + k, **SHAPE)
            write_image(page, folder / "images" / f"{name}.png")
            rows = [f"{corners(line)},{line.text}" for line in page.lines]
            write_text(folder / "label_textline" / f"{name}.txt", rows)
    write_text(root / "split_train.txt", names[:train])
    write_text(root / "split_val.txt", names[train : train + val])
    write_text(root / "split_test.txt", names[train + val :])


def write_hisdoc1b(root: Path, font: Path, count: int, seed: int = 300) -> None:
    """One book, its pages beside its annotations."""
    root.mkdir(parents=True, exist_ok=True)
    pages = []
    for k in range(count):
        page = draw_page(font, seed + k, **SHAPE)
        write_image(page, root / "images" / "a" / f"{k + 1}.png")
        lines = [{"text": line.text, "box": list(line.box)} for line in page.lines]
        pages.append({"width": page.width, "height": page.height, "lines": lines})
    add_book(root, "a", {"pages": pages}, "a.pdf")


def write_data(root: Path) -> Path:
    """All three data sets under one folder; the font beside them."""
    root.mkdir(parents=True, exist_ok=True)
    font = make_font(root / "tiny.ttf")
    write_mthv2(root / "mthv2", font, 8, 4)
    write_m5hisdoc(root / "m5hisdoc", font, 6, 3, 3)
    write_hisdoc1b(root / "hisdoc1b", font, 12)
    return root


def write_stages(root: Path, glm: bool) -> str:
    """Three short stage files, as `--stages` takes them."""
    all_kinds = '["hisdoc1b", "mthv2", "m5hisdoc"]'
    paths = []
    for number, (kinds, granularity, side) in enumerate(
        (
            (all_kinds, "page", 128),
            ('["mthv2", "m5hisdoc"]', "page", 192),
            ('["mthv2", "m5hisdoc"]', "block", 192),
        ),
        start=1,
    ):
        text = STAGE.format(epochs=1, kinds=kinds, granularity=granularity, side=side)
        paths.append(root / f"{'glm' if glm else 'small'}-{number}.toml")
        paths[-1].write_text(text + (GLM if glm else ""), encoding="utf-8")
    return ",".join(map(str, paths))
