"""Sources -> the pages of a job, each under a name of its own.

In: sources as they are typed. Out: their pages in order, and a sentence for each source that cannot be
opened. Sources are opened in a process apart: a file that brings its library down costs no more than itself.
Names hang on the sources, not on their order: one source's pages keep the names that it gives them; where
there are several, a folder's name stands in front of its pages' (as it does for a subfolder), and sources
that would still share a name are told apart by their suffixes, or by the folders that they lie in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tongguocr.batch.pool import Pool, WorkerFailure
from tongguocr.batch.results import FAILED
from tongguocr.errors import InputError
from tongguocr.formats import FORMATS
from tongguocr.sources import MemoryFile, SourcePage, open_source, parse_pages, passed_over
from tongguocr.sources.listing import safe_name

LISTING_LIMIT = 1800.0
"""Seconds for one source: a folder of many thousand files may lie far away."""
MAX_PARENTS = 8
SHOWN_NAMES = 5
"""So many names of what was passed over are told."""


@dataclass(frozen=True, slots=True)
class SourceListing:
    """What one source gave."""

    source: str
    pages: tuple[SourcePage, ...] = ()
    problem: str = ""
    skipped: tuple[str, ...] = ()
    """What else is in the folder or the archive, by name."""


def list_pages(
    sources: Iterable[str | MemoryFile],
    ranges: str | None = None,
    recursive: bool = False,
    password: str | None = None,
) -> tuple[list[SourcePage], list[SourceListing]]:
    """All pages in order, and the sources that cannot be opened."""
    every = list_sources(sources, ranges, recursive, password)
    return name_pages(every), [one for one in every if one.problem]


def list_sources(
    sources: Iterable[str | MemoryFile],
    ranges: str | None = None,
    recursive: bool = False,
    password: str | None = None,
) -> list[SourceListing]:
    """What each source gives, in order, a source that is named twice only once."""
    if ranges is not None:
        parse_pages(ranges)  # A slip of the pen is not every source's fault.
    once: dict[str, str | MemoryFile] = {}
    for source in sources:
        once.setdefault(_resolved(str(source)), source)
    every: list[SourceListing] = []
    with Pool(partial(_lister, ranges, recursive, password), 1, LISTING_LIMIT) as pool:
        for source, listed in pool.run(once.values()):
            if isinstance(listed, WorkerFailure):
                listed = SourceListing(str(source), problem=f"{source}: opening it {listed.reason}.")
            every.append(listed)
    return every


def _lister(
    ranges: str | None, recursive: bool, password: str | None
) -> Callable[[str | MemoryFile], SourceListing]:
    return partial(list_source, ranges=ranges, recursive=recursive, password=password)


def list_source(
    source: str | MemoryFile, ranges: str | None = None, recursive: bool = False, password: str | None = None
) -> SourceListing:
    """The pages of one source."""
    try:
        found = open_source(source, ranges, recursive, password=password)
        pages = tuple(page for page in found if not _is_overlay(page))
        skipped = tuple(name for name in passed_over(source, recursive) if name != FAILED)
    except InputError as error:
        return SourceListing(str(source), problem=str(error))
    except Exception as error:
        # A fault of ours on one source must not cost the others.
        return SourceListing(str(source), problem=f"{source}: {type(error).__name__}: {error}")
    return SourceListing(str(source), pages, skipped=skipped)


def skipped_sentence(every: Sequence[SourceListing]) -> str:
    """What was passed over in folders and archives, in one sentence; empty where nothing was."""
    names = [f"{one.source.rstrip('/')}/{name}" for one in every for name in one.skipped]
    if not names:
        return ""
    shown = ", ".join(names[:SHOWN_NAMES])
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    folders = any(name.endswith("/") for name in names)
    return f"Not read, as no images: {shown}{more}{' (--recursive reads subfolders)' if folders else ''}."


def _is_overlay(page: SourcePage) -> bool:
    """Pictures of results are no pages, where results lie among the images."""
    pictures = (format.endings for format in FORMATS.values() if format.media_type.startswith("image/"))
    return page.file.lower().endswith(tuple(chain.from_iterable(pictures)))


def name_pages(sources: Sequence[SourceListing]) -> list[SourcePage]:
    """The pages of all sources, no name twice, whichever of them a file system takes for the same."""
    if len(sources) == 1:
        return list(sources[0].pages)
    names = [_names(one, 0) for one in sources]
    clashing = _clashing(names)
    for level in range(1, MAX_PARENTS + 2):
        if not _clashing(names):
            break
        names = [_names(one, level if k in clashing else 0) for k, one in enumerate(sources)]
    pages, used = list[SourcePage](), set[str]()
    for one, given in zip(sources, names, strict=True):
        for page, name in zip(one.pages, given, strict=True):
            unique, copy = name, 2
            while unique.casefold() in used:
                unique, copy = f"{name}_{copy}", copy + 1
            used.add(unique.casefold())
            pages.append(replace(page, name=unique))
    return pages


def _clashing(names: Sequence[Sequence[str]]) -> set[int]:
    """The numbers of the sources that share a name with another."""
    often = Counter(name for given in names for name in {name.casefold() for name in given})
    return {k for k, given in enumerate(names) if any(often[name.casefold()] > 1 for name in given)}


def _names(one: SourceListing, level: int) -> list[str]:
    """The source's names, told apart more and more: as they are, with the suffix, with folders in front."""
    is_folder = not _is_address(one.source) and Path(one.source).is_dir()
    places = _places(one.source)
    front = [*reversed(places[1 : max(level, 1)]), *(places[:1] if is_folder else [])]
    suffix = Path(one.source).suffix if level == 1 and not is_folder else ""
    return ["_".join((*front, page.name)) + suffix for page in one.pages]


def _places(source: str) -> list[str]:
    """The source's own name, and those of the folders it lies in, nearest first."""
    if _is_address(source):
        parts = urlsplit(source)
        return [safe_name(unquote(part)) for part in (*parts.path.split("/")[::-1], parts.netloc) if part]
    path = Path(_resolved(source))
    return [safe_name(part) for part in (path.name, *(parent.name for parent in path.parents)) if part]


def _is_address(source: str) -> bool:
    return "://" in source


def _resolved(source: str) -> str:
    """One spelling for one source."""
    if _is_address(source):
        return source
    try:
        return str(Path(source).resolve())
    except (OSError, RuntimeError, ValueError):
        return source
