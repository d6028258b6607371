"""The glyph atlas: the same pixels as the masks, and the same again from its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_fonts import DEFAULT, make_font, many

from tongguocr.errors import InputError
from tongguocr.training.synth import atlas as atlas_module
from tongguocr.training.synth.atlas import Atlas, build_atlas, load_atlas, save_atlas
from tongguocr.training.synth.fonts import FontBook, glyph_mask, load_fonts

CHARS = "十一田日曰鬼一"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "a.ttf", DEFAULT)
    make_font(folder / "cwming.ttf", many("一日曰大"))
    return load_fonts(folder)


@pytest.fixture(scope="module")
def atlas(book: FontBook) -> Atlas:
    return build_atlas(book, CHARS)


def test_every_character_once_in_every_face_that_has_it(book: FontBook, atlas: Atlas) -> None:
    assert atlas.chars == "一十日曰田鬼" and atlas.index.shape == (2, 6)
    assert atlas.bits.shape == (6, 72, 9) and sorted(atlas.index[atlas.index >= 0]) == list(range(6))
    for face in range(2):
        for char in atlas.chars:
            if book.faces[face].draws(char):
                assert (atlas.mask(face, char) == (glyph_mask(book.faces[face], char, 64) >= 128)).all()
            else:
                assert atlas.cells(np.array([face], np.int16), [char]).tolist() == [-1]


def test_cells_of_many_glyphs(atlas: Atlas) -> None:
    faces = np.array([0, 1, 0, 1, 0], np.int16)
    cells = atlas.cells(faces, ["一", "一", "日", "鬼", "龜"])
    assert cells.tolist() == [atlas.index[0, 0], atlas.index[1, 0], -1, -1, -1]


def test_workers_change_nothing(book: FontBook, atlas: Atlas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_module, "CHUNK", 1)
    seen: list[tuple[int, int]] = []
    other = build_atlas(book, CHARS, workers=2, progress=lambda done, total: seen.append((done, total)))
    assert (other.bits == atlas.bits).all() and (other.index == atlas.index).all()
    assert seen == [(k, 6) for k in range(1, 7)]


def test_an_atlas_comes_back_from_its_parts(
    atlas: Atlas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atlas_module, "PART_BYTES", 2 * 72 * 9)
    paths = save_atlas(atlas, tmp_path / "small.npz")
    assert [path.name for path in paths] == ["small.npz", *(f"small.00{k}.npz" for k in range(3))]
    back = load_atlas(tmp_path / "small.npz")
    assert (back.em, back.chars) == (atlas.em, atlas.chars)
    assert (back.bits == atlas.bits).all() and (back.index == atlas.index).all()
    paths[2].unlink()
    with pytest.raises(InputError, match=r"small\.001\.npz: there is no such file"):
        load_atlas(tmp_path / "small.npz")


def test_pages_can_be_composed_without_the_fonts(atlas: Atlas, tmp_path: Path) -> None:
    save_atlas(atlas, tmp_path / "a.npz")
    book = load_atlas(tmp_path / "a.npz").book()
    assert book.drawable(held_out=True) == set("一日曰") and book.drawable(held_out=False) == set("一十田")
    assert [face.key for face in book.faces] == ["a", "cwTeXMing"]
    assert book.face_for("十", 1) == 0 and book.face_for("日", 0) is None


def test_no_characters_at_all(book: FontBook, tmp_path: Path) -> None:
    save_atlas(build_atlas(book, ""), tmp_path / "a.npz")
    assert load_atlas(tmp_path / "a.npz").bits.shape == (0, 72, 9)


def test_files_that_are_no_atlas(tmp_path: Path) -> None:
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04 no archive")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", x=1)
    for name in ("junk.npz", "empty.npz", "other.npz"):
        with pytest.raises(InputError, match=f"{name}: this is not a glyph atlas"):
            load_atlas(tmp_path / name)
    with pytest.raises(InputError, match="there is no such file"):
        load_atlas(tmp_path / "none.npz")


def test_a_folder_that_cannot_be_written(atlas: Atlas, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        save_atlas(atlas, tmp_path / "nowhere" / "a.npz")


def test_an_em_whose_cells_do_not_fill_bytes(book: FontBook) -> None:
    with pytest.raises(ValueError, match="whole bytes"):
        build_atlas(book, CHARS, em=60)
