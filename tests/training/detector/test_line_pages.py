"""Pages with labelled lines: where their characters are put, and what counts neither way."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from detector_pages import characters, column, paint
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.layout.peaks import Characters
from tongguocr.page import KINDS, Pixels
from tongguocr.training.detector.line_pages import line_kinds, place_characters, read_line_pages
from tongguocr.training.detector.real_pages import is_held_out, load_pages, save_pages

MAIN = [column(230, 60, 8, size=24, pitch=28), column(190, 60, 8, size=24, pitch=28)]
FOLD = [(-12.0, 80.0 + 20 * k, 10.0, 100.0 + 20 * k) for k in range(3)]
STRAY = [(100.0, 100.0, 124.0, 124.0)]


def line(boxes: list[tuple[float, ...]], text: str) -> dict[str, object]:
    array = np.array(boxes)
    return {"box": [*array[:, :2].min(0).tolist(), *array[:, 2:].max(0).tolist()], "text": text}


def entry(**more: object) -> dict[str, object]:
    lines = [line(MAIN[0], "天地玄黃宇宙洪荒"), line(MAIN[1], "日月盈昃辰宿列")]
    return {"image": "BOOK_I_1a.png", "lines": lines, **more}


def page_and_found() -> tuple[Pixels, Characters]:
    picture = paint([*MAIN, FOLD, STRAY], 280, 320)
    return picture, characters([*MAIN, FOLD, STRAY])


def test_characters_are_those_found_if_as_many_as_the_label_has_else_even_cuts() -> None:
    page = place_characters(entry(), *page_and_found())
    assert page.labels[:15] == tuple("天地玄黃宇宙洪荒日月盈昃辰宿列")
    assert np.allclose(page.boxes[:8], MAIN[0])
    high = np.diff(page.boxes[8:15, 1])
    assert np.allclose(high, (MAIN[1][-1][3] - MAIN[1][0][1]) / 7, atol=0.01), "seven labels, eight found"
    assert page.following[:15].tolist() == [1, 2, 3, 4, 5, 6, 7, -1, 9, 10, 11, 12, 13, 14, -1]
    assert not page.ignored[:15].any()


def test_what_is_found_at_the_edge_is_the_fold_and_the_rest_counts_neither_way() -> None:
    page = place_characters(entry(), *page_and_found())
    fold = page.kinds == KINDS.index("fold")
    assert np.allclose(page.boxes[fold], FOLD) and not page.ignored[fold].any()
    assert page.following[fold].tolist() == [16, 17, -1]
    ignored = page.boxes[page.ignored]
    assert (ignored == np.array(STRAY[0])).all(1).any()
    middle = (ignored[:, :2] + ignored[:, 2:]) / 2
    assert (middle[:, 0] > 250).any() and (middle[:, 1] < 30).any(), "room beyond the lines"
    between = np.abs(middle - (210, 150)).max(1) < 20
    assert not between.any(), "between two columns nothing is written, and that counts"


def test_what_is_faint_shows_through_and_must_not_be_found() -> None:
    picture, found = page_and_found()
    x0, y0, x1, y1 = (int(v) for v in STRAY[0])
    picture[y0:y1, x0:x1] = np.where(picture[y0:y1, x0:x1] < 100, 190, 230)
    page = place_characters(entry(), picture, found)
    assert not (page.boxes[page.ignored] == np.array(STRAY[0])).all(1).any()


def test_unread_boxes_count_neither_way() -> None:
    page = place_characters(entry(unlabelled=[[100, 50, 124, 122]]), *page_and_found())
    unread = [box for box in page.boxes[page.ignored].tolist() if box[0] == 100 and box[2] == 124]
    assert len(unread) == 4, "three even cuts, and the character that was found"


def test_thin_lines_are_notes() -> None:
    boxes = np.array([[200, 0, 226, 300], [170, 0, 196, 90], [184, 95, 197, 190], [170, 95, 182, 190]])
    names = [KINDS[k] for k in line_kinds(boxes.astype(np.float32))]
    assert names == ["main", "main", "note", "note"]
    assert len(line_kinds(np.zeros((0, 4), np.float32))) == 0


def test_a_folder_with_an_archive_is_read_and_packed(tmp_path: Path) -> None:
    picture, found = page_and_found()
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "PNG")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("BOOK_I_1a.png")
        member.size = len(data.getvalue())
        archive.addfile(member, io.BytesIO(data.getvalue()))
    rows = [entry(tar="a.tar"), entry(tar="a.tar")]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pages = list(read_line_pages(tmp_path, lambda pixels: found))
    assert len(pages) == 2 and np.array_equal(pages[0].pixels, picture)
    save_pages(pages, tmp_path / "pages.npz", quality=60)
    again = load_pages(tmp_path / "pages.npz")[1]
    assert np.array_equal(again.ignored, pages[1].ignored) and np.array_equal(again.kinds, pages[1].kinds)


@pytest.mark.parametrize(
    "row",
    ["{", "[1]", '{"image": "a.png"}', '{"image": "none.png", "lines": []}', '{"image": "a", "lines": [{}]}'],
)
def test_other_rows_are_refused_in_one_sentence(tmp_path: Path, row: str) -> None:
    (tmp_path / "pages.jsonl").write_text(row, encoding="utf-8")
    with pytest.raises(InputError, match=r"pages\.jsonl|\.png"):
        list(read_line_pages(tmp_path, lambda pixels: characters([STRAY])))


def test_whole_parts_of_a_book_are_held_out() -> None:
    assert is_held_out("DVSKTT_ngoai_I_1a.webp") and is_held_out("DVSKTT_thu_V_9b.webp")
    assert not any(is_held_out(f"DVSKTT_ban_toan_I_{k}a.webp") for k in range(60))
