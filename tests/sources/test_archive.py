"""ZIP and CBZ: each image a page; what an archive says of itself leads nowhere."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.sources import MemoryFile, archive, open_source, passed_over


def png(value: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((30, 20), value, np.uint8)).save(file, "PNG")
    return file.getvalue()


def save(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["book.zip", "book.CBZ", "book"])
def test_each_image_is_a_page_in_natural_order(tmp_path: Path, name: str) -> None:
    order = ["cover.png", "v2/p1.png", "v2/p2.png", "v2/p10.PNG", "v10/p1.png"]
    members = {member: png(number) for number, member in enumerate(order)}
    others = {"notes.txt": b"x", "__MACOSX/v2/._p1.png": b"x", ".hidden.png": b"x", "v2/more.zip": b"x"}
    path = save(tmp_path / name, dict(sorted({**members, **others}.items(), key=lambda one: one[0][::-1])))
    pages = list(open_source(path))
    assert [int(page.load()[0, 0]) for page in pages] == [0, 1, 2, 3, 4]
    names = ["book_cover", "book_v2_p1", "book_v2_p2", "book_v2_p10", "book_v10_p1"]
    assert [page.name for page in pages] == names
    assert [page.number for page in pages] == [1, 2, 3, 4, 5]
    assert pages[1].file == f"{path}/v2/p1.png" and pages[1].load_page().image == "p1.png"
    assert [page.name for page in open_source(path, "2-3")] == names[1:3]
    assert passed_over(path) == ["notes.txt", "v2/more.zip"]
    memory = MemoryFile("standard input", "stdin", path.read_bytes())
    assert next(page.name for page in open_source(memory)) == "stdin_cover"


def test_names_of_members_lead_nowhere(tmp_path: Path) -> None:
    tricks = ["../../up.png", "/etc/root.png", "a\\..\\b.png", "con.png", "a.png", "a.jpg", "A.PNG", "a_.png"]
    path = save(tmp_path / "b.zip", {name: png(9) for name in tricks})
    pages = list(open_source(path))
    names = [page.name for page in pages]
    assert len({name.casefold() for name in names}) == len(tricks)
    assert all(not set(name) & set("/\\:") and not name.startswith(".") for name in names), names
    assert {int(page.load()[0, 0]) for page in pages} == {9}
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.zip"], "nothing is unpacked"


def test_a_tiff_inside_has_its_pages(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((8, 8), value, np.uint8)) for value in (1, 2)]
    file = io.BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    pages = list(open_source(save(tmp_path / "b.zip", {"t.tif": file.getvalue(), "u.png": png(3)})))
    assert [page.name for page in pages] == ["b_t-0001", "b_t-0002", "b_u"]
    assert [int(page.load()[0, 0]) for page in pages] == [1, 2, 3]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 1_000_000)
    path = save(
        tmp_path / "b.zip", {"bomb.png": bytes(50_000_000), "good.png": png(5), "z.tif": bytes(2_000_000)}
    )
    # What the archive says of the size is a stranger's word.
    path.write_bytes(
        path.read_bytes().replace((50_000_000).to_bytes(4, "little"), (500).to_bytes(4, "little"))
    )
    bomb, good, tiff = open_source(path)
    assert good.load()[0, 0] == 5
    for page in (bomb, tiff):
        with pytest.raises(InputError, match=r"b\.zip/.*(more than 1 MB|damaged)"):
            page.load()
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    with pytest.raises(InputError, match="3 files"):
        open_source(path)


def test_bad_archives_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "junk.zip").write_bytes(b"PK\3\4 not quite")
    save(tmp_path / "none.zip", {"a.txt": b"x"})
    for name, said in {"junk.zip": "not a ZIP archive", "none.zip": "no image in this archive"}.items():
        with pytest.raises(InputError, match=rf"{name}: .*{said}"):
            open_source(tmp_path / name)
    path = save(tmp_path / "b.zip", {"a.png": png(1), "b.png": b"junk"})
    data = bytearray(path.read_bytes())
    data[60:70] = b"xxxxxxxxxx"
    path.write_bytes(data)
    for page in open_source(path):
        with pytest.raises(InputError, match=rf"b\.zip/{page.name[2:]}\.png: .*\.$"):
            page.load()


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_of_which_any_piece_may_be_a_bomb_are_left_alone(tmp_path: Path, packing: int) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w", packing) as made:
        made.writestr("a.png", png(1))
    (page,) = open_source(tmp_path / "b.zip")
    with pytest.raises(InputError, match=r"b\.zip/a\.png: its way of packing is not known"):
        page.load()


def test_a_list_of_files_that_fills_the_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "b.zip", {f"{number}.png": png(number) for number in range(3)})
    assert len(list(open_source(path))) == 3
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 100)
    with pytest.raises(InputError, match=r"b\.zip: the archive lists more files than can be read"):
        open_source(path)


def test_measuring_and_names_of_their_own(tmp_path: Path) -> None:
    members = {"v/1.png": bytes(5000), "v/2.png": bytes(70), "notes.txt": bytes(9), ".h.png": bytes(8)}
    path = save(tmp_path / "b.zip", members)
    assert archive.measure_archive(path) == (2, 5070)
    assert [page.name for page in archive.list_archive(path, "")] == ["v_1", "v_2"]


def test_an_encrypted_archive_is_a_sentence(tmp_path: Path) -> None:
    path = save(tmp_path / "b.zip", {"a.png": png(1)})
    data = bytearray(path.read_bytes())
    for start, flags in ((data.index(b"PK\3\4"), 6), (data.index(b"PK\1\2"), 8)):
        data[start + flags] |= 1
    path.write_bytes(data)
    (page,) = open_source(path)
    with pytest.raises(InputError, match="encrypted"):
        page.load()
