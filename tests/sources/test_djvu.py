"""DjVu by the programs of DjVuLibre: real ones where they are installed, and stand-ins that speak alike."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tongguocr.errors import InputError
from tongguocr.sources import MemoryFile, images, open_source

STAND_IN = f"""#!{sys.executable}
import sys
from pathlib import Path
book = Path(sys.argv[-1]).read_bytes()
if b"junk" in book:
    sys.exit("*** corrupted")
if sys.argv[0].endswith("djvused"):
    print("2" if sys.argv[2] == "n" else "width=40 height=30")
else:
    page = int(sys.argv[2].removeprefix("-page="))
    assert sys.argv[1] == "-format=pnm"
    sys.stdout.buffer.write(b"P5 40 30 255\\n" + bytes([40 * page]) * 1200)
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ddjvu` and `djvused` on the path, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("ddjvu", "djvused"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.usefixtures("programs")
def test_pages_are_drawn_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "book.djvu"
    path.write_bytes(b"AT&TFORM....DJVM")
    memory = MemoryFile("standard input", "book", path.read_bytes())
    for source in (path, memory):
        pages = list(open_source(source))
        assert [page.name for page in pages] == ["book-0001", "book-0002"]
        assert [(page.load().shape, int(page.load()[0, 0])) for page in pages] == [
            ((30, 40), 40),
            ((30, 40), 80),
        ]


@pytest.mark.usefixtures("programs")
def test_what_goes_wrong_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "-e.djvu"
    path.write_bytes(b"AT&TFORM junk")
    with pytest.raises(InputError, match=r"-e\.djvu: djvused finds it damaged\.$"):
        open_source(path)
    path.write_bytes(b"AT&TFORM")
    page = next(open_source(path))
    monkeypatch.setattr(images, "MAX_PIXELS", 1000)
    with pytest.raises(InputError, match=r"page 1: the image is 40 x 30"):
        page.load()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"-e\.djvu: reading DjVu needs .*install DjVuLibre") as error:
        open_source(path)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not shutil.which("c44") or not shutil.which("ddjvu"), reason="DjVuLibre is not installed")
def test_a_real_file(tmp_path: Path) -> None:
    shades = np.repeat(np.array([30, 220], np.uint8), 50)[None].repeat(80, 0)
    Image.fromarray(shades).save(tmp_path / "a.pgm")
    Image.fromarray(shades > 100).save(tmp_path / "b.pbm")
    for command in (
        ["c44", "a.pgm", "a.djvu"],
        ["cjb2", "b.pbm", "b.djvu"],
        ["djvm", "-c", "c.djvu", "a.djvu", "b.djvu"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, env=os.environ)
    first, second = (page.load() for page in open_source(tmp_path / "c.djvu"))
    for pixels in (first, second):
        assert pixels.shape[:2] == (80, 100) and pixels[:, :45].max() < 80 and pixels[:, 55:].min() > 180
    cut = tmp_path / "cut.djvu"
    cut.write_bytes((tmp_path / "a.djvu").read_bytes()[:30])
    with pytest.raises(InputError, match=r"cut\.djvu"):
        [page.load() for page in open_source(cut)]
