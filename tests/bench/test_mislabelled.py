"""Labels that are not what the image shows, told without the measured engine."""

from __future__ import annotations

import numpy as np

from bench.mislabelled import find_misfits, find_mislabelled, find_swapped, typical_pitch

TEXTS = ("天地玄黃宇宙洪荒", "日月盈昃辰宿列張", "寒來暑往秋收冬藏", "閏餘成歲律呂調陽", "雲騰致雨露結為霜")


def made(texts: tuple[str, ...] = TEXTS, length: int = 160) -> list[tuple[str, str, np.ndarray]]:
    return [(f"B__p1_{k}.webp", text, np.full((length, 20), 220, np.uint8)) for k, text in enumerate(texts)]


def labels(lines: list[tuple[str, str, np.ndarray]]) -> dict[str, str]:
    return {name: text for name, text, _ in lines}


def test_a_label_that_the_peer_reads_elsewhere_on_the_page_is_swapped() -> None:
    lines = made()
    read = [TEXTS[1], TEXTS[0], *TEXTS[2:]]
    assert find_swapped(lines, read, labels(lines)) == {0, 1}
    alone = [(f"B__p{k}_0.webp", text, pixels) for k, (_, text, pixels) in enumerate(lines)]
    assert find_swapped(alone, read, labels(alone)) == set()


def test_bad_reading_alone_proves_nothing() -> None:
    lines = made()
    assert find_swapped(lines, ["金生麗水玉出崑岡", *TEXTS[1:]], labels(lines)) == set()
    assert find_swapped(lines, ["日月盈", *TEXTS[1:]], labels(lines)) == set()


def test_on_a_page_of_strewn_labels_a_line_whose_own_is_not_there_counts() -> None:
    lines = made()
    read = [TEXTS[1], TEXTS[2], TEXTS[0], "金生麗水玉出崑岡", TEXTS[4]]
    assert find_swapped(lines, read, labels(lines)) == {0, 1, 2, 3}


def test_the_length_of_an_image_is_that_of_its_page_s_lines() -> None:
    lines = made()
    assert find_misfits(lines) == set()
    lines[2] = (lines[2][0], TEXTS[2][:3], lines[2][2])
    assert find_misfits(lines) == {2}
    assert typical_pitch([160, 160, 30], [8, 8, 1]) == 20


def test_a_line_counts_once() -> None:
    lines = made(("??地玄黃宇宙洪", *TEXTS[1:]))
    found = find_mislabelled(lines, [TEXTS[1], TEXTS[0], *TEXTS[2:]], labels(lines))
    assert found == {"unread": {0}, "shape": set(), "swapped": {1}}
