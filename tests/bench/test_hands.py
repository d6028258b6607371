"""Pages in hands that no training saw, out of made-up strokes: what is drawn, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from tiny_fonts import make_font, many
from tiny_recogniser import write_tiny

from bench.hands import draw_pages, gather_faces, main, tabulate
from bench.pages import load_folder
from bench.recogniser import Score
from bench.strokes import OTHER_FORMS, Hand, contours, draw_hand, load_strokes, write_font
from tongguocr.errors import InputError
from tongguocr.training.synth.fonts import glyph_mask, load_fonts
from tongguocr.training.synth.text import load_text

TEXT = "".join(load_text(None).documents[0].lines)[:60]
LEVEL, UPRIGHT = ("㇐", "M20,54c20,0,50,0,70,0"), ("㇑", "M54,20c0,20,0,50,0,70")
TURN = ("㇕a", "M20,20c20,0,50,0,70,0c0,20,0,50,0,70")
CROSS = (LEVEL, UPRIGHT)


def drawn(char: str, strokes: tuple[tuple[str, str], ...], form: str = "") -> tuple[str, str]:
    """A file of stroke data, its name and what it holds."""
    paths = "".join(f'<path id="s" kvg:type="{kind}" d="{path}"/>\n' for kind, path in strokes)
    return f"kanji/{ord(char):05x}{form}.svg", f"<svg>{paths}</svg>"


def write_wheel(path: Path, *files: tuple[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files:
            wheel.writestr(name, text)
    return path


def many_crosses(path: Path) -> Path:
    """Some characters, each with an upright at another place and of another length."""
    uprights = ((c, f"M{30 + k % 50},20c0,{5 + k // 50},0,50,0,60") for k, c in enumerate(TEXT))
    return write_wheel(path, *(drawn(c, (LEVEL, ("㇑", upright))) for c, upright in uprights))


def area(points: np.ndarray) -> float:
    """Positive where the outline runs against the clock."""
    x, y = points.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_the_form_of_regular_script_comes_first(tmp_path: Path) -> None:
    files = (drawn("十", (LEVEL,)), drawn("十", CROSS, "-Kaisho"), drawn("丁", (TURN,), "-VtLst"))
    wheel = write_wheel(tmp_path / "a.whl", *files, drawn("a", (TURN,)), drawn(OTHER_FORMS[0], (TURN,)))
    strokes = load_strokes(wheel)
    assert {char: [part.kind for part in parts] for char, parts in strokes.items()} == {"十": ["㇐", "㇑"]}
    ends = strokes["十"][0].line[[0, -1]]
    assert ends == pytest.approx(np.array([[20, 55], [90, 55]]) / 109, abs=1e-6)


def test_a_folder_serves_as_well_as_a_wheel(tmp_path: Path) -> None:
    name, text = drawn("十", CROSS)
    (tmp_path / "kanji").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert set(load_strokes(tmp_path)) == {"十"}


def test_characters_drawn_alike_are_left_out(tmp_path: Path) -> None:
    files = (drawn("十", CROSS), drawn("七", CROSS), drawn("一", (LEVEL,)))
    assert set(load_strokes(write_wheel(tmp_path / "a.whl", *files))) == {"一"}


@pytest.mark.parametrize("what", ["missing", "empty", "junk", "other", "latin"])
def test_what_is_no_stroke_data_gives_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.whl"
    if what == "junk":
        path.write_bytes(b"PK junk")
    elif what == "other":
        write_wheel(path, ("kanji/readme.txt", "x"), drawn("十", ()))
    elif what == "latin":
        write_wheel(path, drawn("十", CROSS)).write_bytes(path.read_bytes().replace(b"M54", b"M\xff\xfe"))
    elif what == "empty":
        path.mkdir()
    with pytest.raises(InputError) as caught:
        load_strokes(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and message.endswith(".") and "\n" not in message


def test_all_outlines_run_with_the_clock_and_stay_near_the_stroke(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "a.whl", drawn("十", CROSS), drawn("丁", (TURN,)), drawn("一", (LEVEL,)))
    strokes = load_strokes(wheel)
    for char, parts in strokes.items():
        for seed in range(8):
            outlines = list(contours(draw_hand(seed), char, parts))
            assert len(outlines) >= 3 * len(parts) and all(area(outline) < 0 for outline in outlines)
            assert np.concatenate(outlines).min() > 0 and np.concatenate(outlines).max() < 1
    corner = next(iter(contours(draw_hand(1), "丁", strokes["丁"])))
    # Level, then upright: a ribbon each.
    assert np.ptp(corner[:, 0]) > 3 * np.ptp(corner[:, 1])


def masks(folder: Path, hand: Hand, wheel: Path) -> dict[str, np.ndarray]:
    folder.mkdir()
    write_font(hand, load_strokes(wheel), folder / "hand.ttf")
    (face,) = load_fonts(folder).faces
    return {chr(p): glyph_mask(face, chr(p), 64).astype(int) for p in face.codepoints.tolist()}


def test_a_hand_is_the_same_every_time_and_unlike_another(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "a.whl", drawn("十", CROSS), drawn("丁", (TURN,)), drawn("一", (LEVEL,)))
    one, again, other = (masks(tmp_path / str(k), draw_hand(s), wheel) for k, s in enumerate((5, 5, 6)))
    assert set(one) == set("十丁一")
    for char, mask in one.items():
        assert np.array_equal(mask, again[char]) and not np.array_equal(mask, other[char])
        assert 0.01 < (mask > 127).mean() < 0.2
    # Where strokes cross the ink is whole.
    cross = one["十"]
    assert cross[30:60, 30:60].max() == 255 and (cross.max(axis=0) > 0).sum() > 30


def test_every_face_has_its_pages_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.hands.HANDS", {"HandA": 5})
    monkeypatch.setattr("bench.hands.PAGES", 1)
    wheel = many_crosses(tmp_path / "strokes.whl")
    font = make_font(tmp_path / "UnGungseo.ttf", many(TEXT[:40]))
    weights = write_tiny(tmp_path / "weights", False)
    out, text = tmp_path / "out", tmp_path / "text.txt"
    text.write_text(20 * TEXT, encoding="utf-8")
    options = ["--kanjivg", wheel, "--faces", font, "--text", text, "--engine", "tongguocr", "--weights"]
    main([str(out), *map(str, options), str(weights)])
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("HandA-1-half-leaf", "UnGungseo-1-note-edges", "all"))
    hand, font_page = load_folder(out)
    written, printed = (set(page.full_text) - {"\n"} for page in (hand, font_page))
    assert written <= set(TEXT) and printed <= set(TEXT[:40]) and written - set(TEXT[:40])
    before = {path.name: path.read_bytes() for path in out.glob("*.jpg")}
    again = gather_faces([font], wheel, tmp_path / "again" / "fonts")
    list(draw_pages(again, load_text(text, held_out=True), tmp_path / "again"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").glob("*.jpg")} == before


def test_rows_are_means_over_the_pages_of_a_face() -> None:
    found = [Score(f"{name}.jpg", ar, ar, ar, 1, 1, 9, 0) for name, ar in (("A-1-x", 0.5), ("A-2-x", 0.7))]
    found.append(Score("B-1-x.jpg", 0.9, 1, 1, 1, 1, 9, 0))
    columns = [list(column.cells) for column in tabulate({"ours": found}).columns]
    assert columns[:3] == [["A", "B", "all"], ["2", "1", "3"], ["60.00", "90.00", "70.00"]]


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no pages"):
        main([str(tmp_path)])
    with pytest.raises(InputError, match=r"none\.ttf: "):
        main([str(tmp_path), "--faces", str(tmp_path / "none.ttf")])
