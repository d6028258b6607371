"""Many pages: each is read and written by itself, and what is done is not done again.

In: pages of sources, a function that reads one, a folder, formats. Out: every page's files, and what became
of it. Files are written whole or not at all, so a page whose files are all there is done, and a job that was
stopped goes on where it was. A page or a source that cannot be read costs only itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tongguocr.errors import InputError
from tongguocr.files import make_folder
from tongguocr.formats import write_page
from tongguocr.page import Page, Pixels
from tongguocr.sources import SourcePage, open_source

ReadPage: TypeAlias = Callable[[Page], Page]
"""A page with pixels in, the same with lines and text out."""

OUTPUTS = {
    "txt": ".txt",
    "json": ".json",
    "page": ".page.xml",
    "alto": ".alto.xml",
    "tei": ".tei.xml",
    "hocr": ".hocr",
    "md": ".md",
    "pdf": ".pdf",
    "csv": ".csv",
}
"""How results are called, behind the page's name."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one page."""

    name: str
    state: Literal["read", "done", "failed"]
    """Read now; done before; not read, for this reason."""
    reason: str = ""
    characters: int = 0


def parse_formats(written: str) -> tuple[str, ...]:
    """Formats as they are typed: "txt,json"."""
    names = tuple(dict.fromkeys(name.strip() for name in written.split(",")))
    for name in names:
        if name not in OUTPUTS:
            raise InputError(f"There is no format {name!r}; take one of {', '.join(OUTPUTS)}.")
    return names


def list_pages(sources: Iterable[str], ranges: str | None = None) -> Iterator[SourcePage]:
    """The pages of all sources; one that cannot be opened is there as a page that cannot be loaded."""
    for source in sources:
        try:
            yield from open_source(source, ranges)
        except InputError as error:
            yield SourcePage(Path(source).stem or source, source, 1, _failing(error))


def _failing(error: InputError) -> Callable[[], Pixels]:
    def load() -> Pixels:
        raise error

    return load


def run_job(
    pages: Iterable[SourcePage], read: ReadPage, out: Path, formats: Sequence[str]
) -> Iterator[Outcome]:
    """Read all pages that are not done yet; one outcome a page, in their order."""
    make_folder(out)
    seen: set[str] = set()
    for page in pages:
        if page.name in seen:
            yield Outcome(page.name, "failed", f"{page.file}: another page of this job has the same name.")
            continue
        seen.add(page.name)
        yield _do(page, read, [out / f"{page.name}{OUTPUTS[name]}" for name in formats])


def _do(page: SourcePage, read: ReadPage, paths: Sequence[Path]) -> Outcome:
    missing = [path for path in paths if not path.exists()]
    if not missing:
        return Outcome(page.name, "done")
    try:
        result = read(load_page(page))
        for path in missing:
            write_page(result, path)
    except InputError as error:
        return Outcome(page.name, "failed", str(error))
    except Exception as error:
        # A fault of ours on one page must not cost the others; it is named as what it is.
        return Outcome(page.name, "failed", f"{page.file}: {type(error).__name__}: {error}")
    return Outcome(page.name, "read", characters=sum(len(line.text) for line in result.lines))


def load_page(page: SourcePage) -> Page:
    """The page with its pixels, named after its file."""
    pixels = page.load()
    return Page(Path(page.file).name, pixels.shape[1], pixels.shape[0], pixels=pixels)
