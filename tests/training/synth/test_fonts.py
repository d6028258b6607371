"""Which characters a font really draws, which face a page takes, and glyphs in their em box."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from hypothesis import given
from hypothesis import strategies as st
from tiny_fonts import DEFAULT, EM, make_font, many

from tongguocr.errors import InputError
from tongguocr.training.synth.composition import OVERHANG
from tongguocr.training.synth.fonts import Face, FontBook, glyph_mask, known_faces, load_fonts, mask_side
from tongguocr.training.synth.generate import BENCH_FALLBACKS, benchmark_fonts
from tongguocr.training.synth.outlines import CENTRING_SAMPLE

RARE = "\U00020000"


def ink_box(face: Face, char: str) -> tuple[float, float, float, float]:
    """Where the glyph's ink lies in its em box, from the top left, in shares of the em; it may leave it."""
    size = 256
    mask = glyph_mask(face, char, size) > 0
    margin = (len(mask) - size) / 2
    x, y = (np.flatnonzero(mask.any(axis=axis)) for axis in (0, 1))
    if not len(x):
        return (0.5, 0.5, 0.5, 0.5)
    corners = (x[0], y[0], x[-1] + 1, y[-1] + 1)
    x0, y0, x1, y1 = (float(value - margin) / size for value in corners)
    return (x0, y0, x1, y1)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    """Two training faces (cwkai is Kai, tiny is not known) and one that is held out."""
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "tiny.ttf", {**DEFAULT, "目": ((1, 2, 3, 4),)})
    (folder / "deeper").mkdir()
    make_font(folder / "deeper" / "cwkai.ttf", many("一田十日曰"))
    make_font(folder / "cwming.ttf", many("一口大"))
    return load_fonts(folder)


def only(folder: Path) -> set[str]:
    return set(load_fonts(folder).drawable())


def number(book: FontBook, key: str) -> int:
    return [face.key for face in book.faces].index(key)


def test_characters_with_an_outline_count(tmp_path: Path) -> None:
    zero = ((300, 300, 700, 700),)
    make_font(tmp_path / "a.ttf", {**DEFAULT, "〇": zero, "A": "L", "國": "notdef"}, empty="鬼")
    # A is no ideograph, 國 shows the sign for missing glyphs, 鬼 nothing.
    assert only(tmp_path) == {*DEFAULT, "〇"}


@pytest.mark.parametrize("way", ["same", "built_from"])
def test_variants_drawn_alike(tmp_path: Path, way: str) -> None:
    make_font(tmp_path / "a.ttf", **{way: {"來": "田", "\uf9bc": "口"}})
    # 來 and 田: nobody knows which is drawn. A compatibility ideograph gives way to the unified one.
    assert only(tmp_path) == set(DEFAULT) - {"田"}


def test_postscript_outlines(tmp_path: Path) -> None:
    make_postscript_font(tmp_path / "a.otf", draws="一國", empty="鬼")
    assert only(tmp_path) == {"一", "國"}


def test_the_exclude_list_beside_a_font(tmp_path: Path) -> None:
    make_font(tmp_path / "a.ttf")
    (tmp_path / "a.exclude.txt").write_text("# drawn as another variant: 一\n田口\n十\n", encoding="utf-8")
    assert only(tmp_path) == set("一丨乚")


def test_an_exclude_list_that_is_no_text(tmp_path: Path) -> None:
    make_font(tmp_path / "a.ttf")
    (tmp_path / "a.exclude.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"a\.exclude\.txt: .*UTF-8"):
        load_fonts(tmp_path)


def test_a_font_under_two_names_or_in_a_linked_folder_counts_once(tmp_path: Path) -> None:
    make_font(tmp_path / "a.ttf")
    (tmp_path / "b.ttf").symlink_to(tmp_path / "a.ttf")
    (tmp_path / "loop").symlink_to(tmp_path)
    other = tmp_path.parent / f"{tmp_path.name}-other"
    other.mkdir()
    make_font(other / "c.ttf")
    (tmp_path / "linked").symlink_to(other)
    assert [face.key for face in load_fonts(tmp_path).faces] == ["a", "c"]


def test_how_known_and_unknown_files_are_used(tmp_path: Path) -> None:
    for name in ("HanaMinB", "cwkai", "cwming", "MyKaiti", "qiji-fang", "some-brush", "Other", "NotoSans-x"):
        make_font(tmp_path / f"{name}.ttf")
    faces = {face.key: face for face in load_fonts(tmp_path).faces}
    groups = {key: face.group for key, face in faces.items()}
    assert groups == {
        "HanaMinB": "song",
        "cwTeXKai": "kai",
        "cwTeXMing": "song",
        "MyKaiti": "kai",
        "qiji-fang": "kai",
        "some-brush": "brush",
        "Other": "song",
    }
    assert faces["HanaMinB"].weight == 0 and faces["Other"].weight == 1
    assert {key for key, face in faces.items() if face.held_out} == {"cwTeXMing"}


def test_the_list_of_faces() -> None:
    listed = json.loads((files("tongguocr.training.synth") / "faces.json").read_bytes())["faces"]
    names = [(name, face["index"]) for face in listed for name in face["files"]]
    assert len({face["key"] for face in listed}) == len(listed) and len(set(names)) == len(names)
    assert {face["group"] for face in listed} == {"song", "kai", "brush", "cut"}
    assert all(face["weight"] >= 0 and face["package"] and face["licence"] for face in listed)
    held_out = [face for face in listed if face.get("held_out")]
    assert sorted(face["group"] for face in held_out) == ["cut", "kai", "song"]
    assert all(face["package"].startswith("deb ") for face in held_out)


def test_unseen_faces_are_neither_trained_on_nor_in_the_benchmark() -> None:
    listed = json.loads((files("tongguocr.training.synth") / "faces.json").read_bytes())["faces"]
    unseen = [face for face in listed if face.get("unseen")]
    assert {face["group"] for face in unseen} == {"kai", "brush"}
    # The frozen benchmark takes every held-out face.
    assert not any(face.get("held_out") or face["key"] in BENCH_FALLBACKS for face in unseen)


def test_unseen_faces_come_only_when_asked_for(tmp_path: Path) -> None:
    make_font(tmp_path / "UnGungseo.ttf", many("一日"))
    with pytest.raises(InputError, match="only faces here that training must not see"):
        load_fonts(tmp_path)
    make_font(tmp_path / "tiny.ttf", many("一"))
    assert [face.key for face in load_fonts(tmp_path).faces] == ["tiny"]
    assert load_fonts(tmp_path).face_for("日", 0) is None
    assert [face.key for face in load_fonts(tmp_path, unseen=True).faces] == ["UnGungseo", "tiny"]


def test_an_unseen_face_leaves_the_benchmark_as_it_is(tmp_path: Path) -> None:
    needed = [face for face in known_faces() if face.get("held_out") or face["key"] in BENCH_FALLBACKS]
    for face in needed:
        make_font(tmp_path / face["files"][0])
    before = benchmark_fonts(load_fonts(tmp_path), tmp_path)
    make_font(tmp_path / "UnGungseo.ttf", many("一日"))
    assert benchmark_fonts(load_fonts(tmp_path), tmp_path) == before and len(before.faces) == len(needed)


def test_no_training_page_takes_a_held_out_face(book: FontBook) -> None:
    rng = np.random.default_rng(1)
    held_out = {number(book, "cwTeXMing")}
    assert {book.pick(rng) for _ in range(200)} == set(range(3)) - held_out
    assert {book.pick(rng, held_out=True) for _ in range(20)} == held_out
    assert {book.pick_group(rng, "brush", held_out=True) for _ in range(20)} == held_out


def test_weights_and_groups_decide(book: FontBook) -> None:
    rng = np.random.default_rng(2)
    kai = number(book, "cwTeXKai")
    assert {book.pick_group(rng, "kai") for _ in range(20)} == {kai}
    assert {book.pick_group(rng, "brush") for _ in range(20)} == {kai}
    # Weights 6 and 1.
    assert np.mean([book.pick(rng) == kai for _ in range(1000)]) == pytest.approx(6 / 7, abs=0.05)


def test_which_face_stands_in(book: FontBook) -> None:
    tiny, kai, ming = (number(book, key) for key in ("tiny", "cwTeXKai", "cwTeXMing"))
    assert book.face_for("一", tiny) == tiny and book.face_for("一", ming) == ming
    assert book.face_for("日", tiny) == kai and book.face_for("口", kai) == tiny
    # The held-out face alone has 大: training goes without. The benchmark may borrow the other way.
    assert book.face_for("大", tiny) is None and book.face_for("日", ming) == kai
    assert book.face_for(RARE, tiny) is None


def test_the_same_group_comes_first(tmp_path: Path) -> None:
    make_font(tmp_path / "page.ttf", many("一"))
    make_font(tmp_path / "near.ttf", many("一日"))
    make_font(tmp_path / "wider-kai.ttf", many("一日月明"))
    book = load_fonts(tmp_path)
    page = number(book, "page")
    assert book.face_for("日", page) == number(book, "near")
    assert book.face_for("月", page) == number(book, "wider-kai")


def test_faces_that_show_come_last_and_held_out_ones_first(tmp_path: Path) -> None:
    make_font(tmp_path / "cwming.ttf", many("一"))
    make_font(tmp_path / "dejima-mincho-r227.ttf", many("一日月"))
    make_font(tmp_path / "plain.ttf", many("一日"))
    make_font(tmp_path / "some-brush.ttf", many("一日月明星"))
    book = load_fonts(tmp_path)
    page, plain = number(book, "cwTeXMing"), number(book, "plain")
    assert book.face_for("日", page) == plain
    assert book.face_for("月", page) == number(book, "DejimaMincho")
    assert book.face_for("星", page) == number(book, "some-brush")
    assert book.face_for("月", plain) == number(book, "some-brush")


def test_wide_faces_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.training.synth.fonts.WIDE", 3)
    for name in ("a", "b", "c", "d"):
        make_font(tmp_path / f"{name}.ttf", many("一"))
    for name in ("wide-1", "wide-2"):
        make_font(tmp_path / f"{name}.ttf", many("一日月"))
    book = load_fonts(tmp_path)
    assert [book.faces[book.face_for("日", k) or 0].key for k in range(4)] == ["wide-1", "wide-2"] * 2


def test_what_can_be_drawn(book: FontBook) -> None:
    assert book.drawable(held_out=True) == set("一口大")
    assert book.drawable(held_out=False) == set(DEFAULT) | set("日曰目")
    assert book.drawable() == set(DEFAULT) | set("日曰目大")
    assert book.missing("鬼大一" + RARE + "鬼") == ["鬼", RARE]
    assert book.missing("鬼大一", held_out=False) == ["鬼", "大"]


@given(size=st.floats(8, 200), char=st.sampled_from("一丨田十乚"))
def test_a_mask_has_the_glyph_in_its_em_box(book: FontBook, size: float, char: str) -> None:
    face = book.faces[number(book, "tiny")]
    mask = glyph_mask(face, char, size)
    assert mask.shape == (mask_side(size),) * 2 == (round(size * (1 + 2 * OVERHANG)),) * 2
    ink = mask.astype(np.float64) / 255
    share = {"一": 0.08, "丨": 0.08, "田": 0.64, "十": 0.15, "乚": 0.15}[char]
    assert ink.sum() == pytest.approx(share * size**2, rel=0.12, abs=4)
    if char != "乚":
        middle = (len(mask) - 1) / 2
        assert np.average(np.indices(mask.shape), axis=(1, 2), weights=np.stack([ink, ink])) == pytest.approx(
            [middle, middle], abs=0.6
        )


def test_ink_boxes_keep_the_place_in_the_em(book: FontBook) -> None:
    face = book.faces[number(book, "tiny")]
    near = {"abs": 1 / 128}
    assert ink_box(face, "一") == pytest.approx((0.1, 0.45, 0.9, 0.55), **near)
    assert ink_box(face, "丨") == pytest.approx((0.45, 0.1, 0.55, 0.9), **near)
    assert ink_box(face, "田") == pytest.approx((0.1, 0.1, 0.9, 0.9), **near)


def test_a_face_is_centred_as_a_class_when_it_is_large_enough_to_tell(tmp_path: Path) -> None:
    chars = [chr(0x4E00 + k) for k in range(CENTRING_SAMPLE)]
    shapes = {char: ((100, 100, 900 - k, 900),) for k, char in enumerate(chars)} | {"一": DEFAULT["一"]}
    make_font(tmp_path / "large.ttf", shapes, rise=100)
    make_font(tmp_path / "small.ttf", {"一": "bar"}, rise=100)
    large, small = load_fonts(tmp_path).faces
    assert ink_box(large, "一")[1::2] == pytest.approx((0.45, 0.55), abs=1 / 64)
    assert ink_box(small, "一")[1::2] == pytest.approx((0.35, 0.45), abs=1 / 64)


def test_masks_are_shared_and_safe(book: FontBook) -> None:
    mask = glyph_mask(book.faces[0], "一", 32)
    assert glyph_mask(book.faces[0], "一", 32) is mask
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 0] = 1


def bad_folder(folder: Path, what: str) -> Path:
    if what == "missing":
        return folder / "nowhere"
    if what == "file":
        return make_font(folder / "a.ttf")
    if what == "latin":
        make_font(folder / "a.ttf", {"A": "bar"})
    elif what != "empty":
        whole = make_font(folder / "a.ttf").read_bytes()
        data = {"junk": b"\x00\x01" * 500, "none": b"", "cut": whole[: len(whole) // 2]}[what]
        (folder / "a.ttf").write_bytes(data)
    return folder


@pytest.mark.parametrize("what", ["missing", "file", "empty", "latin", "junk", "none", "cut"])
def test_bad_folders_and_fonts_give_one_sentence(tmp_path: Path, what: str) -> None:
    with pytest.raises(InputError) as caught:
        load_fonts(bad_folder(tmp_path, what))
    message = str(caught.value)
    assert message.startswith(str(tmp_path)) and message.endswith(".") and "\n" not in message


def test_no_face_for_the_benchmark(tmp_path: Path) -> None:
    make_font(tmp_path / "tiny.ttf")
    with pytest.raises(InputError, match="held out"):
        load_fonts(tmp_path).pick(np.random.default_rng(0), held_out=True)


def make_postscript_font(path: Path, draws: str, empty: str) -> None:
    """An OpenType font whose glyphs are charstrings; an empty one has a width and no outline."""
    strings = {".notdef": T2CharStringPen(500, None).getCharString()}
    points = {}
    for k, char in enumerate(draws + empty):
        pen = T2CharStringPen(600, None)
        if char in draws:
            pen.moveTo((0, 0))
            pen.lineTo((0, 100 + k))
            pen.lineTo((100, 0))
            pen.closePath()
        strings[f"g{k}"] = pen.getCharString()
        points[ord(char)] = f"g{k}"
    font = FontBuilder(EM, isTTF=False)
    font.setupGlyphOrder(list(strings))
    font.setupCharacterMap(points)
    font.setupCFF("Tiny", {}, strings, {})
    font.setupHorizontalMetrics(dict.fromkeys(strings, (EM, 0)))
    font.setupHorizontalHeader(ascent=880, descent=-120)
    font.setupOS2(sTypoAscender=880, sTypoDescender=-120)
    font.setupNameTable({"familyName": "Tiny", "styleName": "Regular"})
    font.setupPost()
    font.save(path)
