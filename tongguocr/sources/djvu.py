"""A DjVu file -> its pages, drawn by DjVuLibre's programs (`ddjvu`, `djvused`), where they are installed.

In: a file. Out: pages at the file's own resolution, bitonal and grey ones grey. The programs run one page at
a time; a page's size is asked for before it is drawn.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tongguocr.errors import InputError
from tongguocr.sources.images import MemoryFile, Scan, StoredFile, check_size, load_frame
from tongguocr.sources.listing import SourcePage, content_of, page_name

MAX_PAGES = 100_000
TIMEOUT = 300.0
"""Seconds for one page: a job may have given it up long before, and then nobody else ends the program."""


def list_djvu(file: StoredFile) -> Iterator[SourcePage]:
    """The pages of a DjVu file; only their number is read."""
    told = _run(file, "djvused", "-e", "n").split()
    count = int(told[-1]) if told and told[-1].isdigit() else 0
    if not 1 <= count <= MAX_PAGES:
        raise InputError(f"{file}: not a DjVu file that can be read.")
    content = content_of(file)
    return (
        SourcePage(
            page_name(file.stem, number, count),
            str(file),
            number,
            partial(load_djvu_page, file, number),
            content,
        )
        for number in range(1, count + 1)
    )


def load_djvu_page(file: StoredFile, number: int) -> Scan:
    """Page `number`, counted from 1."""
    where = f"{file}, page {number}"
    told = _run(file, "djvused", "-e", f"select {number}; size", where=where)
    if (size := re.search(rb"width=(\d+) height=(\d+)", told)) is None:
        raise InputError(f"{where}: the page is damaged.")
    check_size((int(size[1]), int(size[2])), where)
    drawn = _run(file, "ddjvu", "-format=pnm", f"-page={number}", where=where)
    return Scan(load_frame(MemoryFile(where, "", drawn), 0, where).pixels)


def _run(file: StoredFile, program: str, *arguments: str, where: str = "") -> bytes:
    """What one of the programs says of a file."""
    where = where or str(file)
    if (found := shutil.which(program)) is None:
        raise InputError(
            f"{file}: reading DjVu needs the program {program}: install DjVuLibre"
            " (apt install djvulibre-bin, brew install djvulibre)."
        )
    with _on_disk(file) as path:
        command = [found, *arguments, str(path)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise InputError(f"{where}: {program} took longer than {TIMEOUT:g} seconds.") from None
        except OSError as error:
            raise InputError(f"{where}: {program} cannot be run ({error.strerror}).") from None
    if done.returncode or not done.stdout:
        raise InputError(f"{where}: {program} finds it damaged.")
    return done.stdout


@contextmanager
def _on_disk(file: StoredFile) -> Iterator[Path]:
    """The file where a program can open it, under a name that is no option."""
    if isinstance(file, Path):
        yield file.absolute()
        return
    with TemporaryDirectory(prefix="tongguocr-") as folder:
        path = Path(folder) / "book.djvu"
        path.write_bytes(file.data)
        yield path
