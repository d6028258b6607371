"""Real pages with character boxes: reading them, packing them, their lines, and windows cut out of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from detector_pages import column, paint, write_char_pages

from tongguocr.errors import InputError
from tongguocr.page import KINDS
from tongguocr.training.detector.paint import PageStore
from tongguocr.training.detector.real_pages import (
    RealPage,
    is_held_out,
    load_pages,
    make_page,
    read_char_pages,
    save_pages,
    trace_lines,
)

CPU = torch.device("cpu")


def test_a_real_page_is_cut_where_its_labels_are() -> None:
    """A page turned and enlarged: each box still holds its dark square and nothing else."""
    lines = [column(x, 60, 6, size=24, pitch=34) for x in (200, 140, 80)]
    boxes = np.array([box for line in lines for box in line], np.float32)
    store = PageStore.load([make_page("a", paint(lines, 280, 300), boxes)], CPU)
    views = torch.tensor([[0, 1.3, 0.06, 140.0, 150.0, 0.9], [0, 0.8, -0.03, 100.0, 120.0, 0.9]])
    images, labels = store.show(views, 256)
    assert labels.wanted.sum() > 25
    for k in torch.nonzero(labels.wanted)[:, 0].tolist():
        x, y = ((labels.boxes[k, :2] + labels.boxes[k, 2:]) / 2).long().tolist()
        assert images[labels.block[k], 0, y, x] < 0.25
        x0, y0, x1, y1 = labels.boxes[k].long().tolist()
        if min(x0, y0) > 3 and max(x1, y1) < 252:
            beside = images[labels.block[k], 0, [y0 - 2, y1 + 2], [x0 - 2, x1 + 2]]
            assert (beside > 0.75).all()
    after = labels.following[labels.wanted]
    assert (labels.block[after[after >= 0]] == labels.block[labels.wanted][after >= 0]).all()


def test_lines_of_real_pages_are_traced() -> None:
    main, right, left = column(300, 50, 4, 30), column(310, 190, 5, 18, 20), column(290, 190, 5, 18, 20)
    fold = column(200, 60, 5, 20, 24)
    boxes = np.array([*main, *right, *left, *column(100, 50, 9, 30), *fold], np.float32)
    following, kinds = trace_lines(boxes, 400, 400)
    assert following.tolist() == [
        1,
        2,
        3,
        -1,
        5,
        6,
        7,
        8,
        -1,
        10,
        11,
        12,
        13,
        -1,
        *range(15, 23),
        -1,
        *range(24, 28),
        -1,
    ]
    names = [KINDS[k] for k in kinds]
    assert names == ["main"] * 4 + ["note"] * 10 + ["main"] * 9 + ["fold"] * 5


def test_char_pages_are_packed_whole(tmp_path: Path) -> None:
    pages = read_char_pages(write_char_pages(tmp_path / "pages"))
    save_pages(pages, tmp_path / "char_pages.npz")
    for page, again in zip(pages, load_pages(tmp_path / "char_pages.npz"), strict=True):
        assert page.name == again.name and np.array_equal(page.boxes, again.boxes)
        assert np.array_equal(page.following, again.following) and np.array_equal(page.kinds, again.kinds)
        assert np.abs(page.pixels.astype(int) - again.pixels).mean() < 3
    names = [f"page-{k}.jpg" for k in range(500)]
    assert 60 < sum(map(is_held_out, names)) < 150


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '[{"image": "p0.png"}]',
        '[{"image": "p0.png", "chars": [{"box": [1, 2, 3]}]}]',
        '[{"image": "p0.png", "chars": [{"box": [5, 2, 3, 9]}]}]',
        '[{"image": "none.png", "chars": []}]',
    ],
)
def test_other_folders_are_refused(tmp_path: Path, text: str) -> None:
    folder = write_char_pages(tmp_path / "pages", 1)
    (folder / "pages.json").write_text(text)
    with pytest.raises(InputError, match=r"pages\.json|none\.png"):
        read_char_pages(folder)
    (tmp_path / "x.npz").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"x\.npz"):
        load_pages(tmp_path / "x.npz")


def test_a_page_without_characters_is_a_page() -> None:
    page: RealPage = make_page("blank", np.full((60, 50), 200, np.uint8), np.zeros((0, 4), np.float32))
    assert len(page.following) == 0 and len(page.kinds) == 0
