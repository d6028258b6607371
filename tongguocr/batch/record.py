"""What the results in a folder were made from: which pages, of which files, read and written how.

In: a job's pages and settings. Out: a small hidden file among the results, or a refusal in one sentence where
results of these names are there already and are another book's, or were made otherwise. Pages whose results
nobody recorded, as earlier versions made them, count as this job's. Places are kept as they lie from the
folder, so that both may be moved together.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongguocr.batch.job import Job
from tongguocr.batch.locks import PageLocks
from tongguocr.batch.results import missing, result_paths
from tongguocr.errors import InputError
from tongguocr.files import read_bytes, write_bytes
from tongguocr.formats import FORMATS
from tongguocr.reader import Setup
from tongguocr.sources import SourcePage

RECORD = ".tongguocr-job"
_FORMAT, _VERSION = "tongguocr-job", 1
_WAIT = 0.05
"""Seconds between two looks at a record that another process is just writing."""
_PACKAGES_OWN = "the package's"


@dataclass(slots=True)
class Made:
    """Pages that were made in one way."""

    settings: dict[str, str]
    formats: list[str]
    pages: dict[str, str] = field(default_factory=dict)
    """The file that each page's image is in, by the page's name."""


def describe_setup(setup: Setup, out: Path) -> dict[str, str]:
    """All that changes what is read, by the names of options; where it is read changes nothing."""
    usual = Setup()
    found = {}
    for name in ("engine", "weights", "second", "model", "lines", "detector", "detector_weights", "language"):
        value = getattr(setup, name)
        if isinstance(value, Path):
            own = value == getattr(usual, name)
            found[name] = _PACKAGES_OWN if own else _place(str(value), out)
        else:
            found[name] = value or (_PACKAGES_OWN if name.endswith("weights") else "none")
    found |= {"direction": setup.direction or "as seen", "turn": "yes" if setup.turn else "no"}
    # Earlier versions, which read every line once, recorded nothing of it.
    return found | {"reread": "yes"} if setup.reread else found


def record_job(pages: Sequence[SourcePage], job: Job, locks: PageLocks) -> None:
    """Record what these pages are made from, unless what is there under their names was made otherwise."""
    path = job.out / RECORD
    while not locks.acquire(RECORD):
        time.sleep(_WAIT)
    try:
        known = _read(path)
        wanted = _describe(pages, job)
        if not job.again:
            _refuse_others(known, wanted, pages, job, locks.alone)
            _leave_unknown(known, wanted, job)
        if _add(known, wanted):
            _write(known, path)
    finally:
        locks.release(RECORD)


def _describe(pages: Sequence[SourcePage], job: Job) -> Made:
    settings = dict(job.settings) | {"script": job.style.script}
    if any(FORMATS[format].styled for format in job.formats):
        style = job.style
        settings |= {"notes": style.notes or "as ever"}
        settings |= {"flow": "yes" if style.flow else "no", "fold": "yes" if style.fold else "no"}
    return Made(settings, list(job.formats), {page.name: _origin(page, job.out) for page in pages})


def _refuse_others(
    known: Sequence[Made], wanted: Made, pages: Sequence[SourcePage], job: Job, alone: bool
) -> None:
    """Raise where results that are there, or that another process makes now, are not what is wanted."""
    newest = {(name, format): made for made in known for name in made.pages for format in made.formats}
    differing = dict[str, str]()
    for page in pages:
        for format in job.formats:
            made = newest.get((page.name, format))
            if made is None or not (difference := _difference(made, wanted, page, job.out)):
                continue
            if not alone or _all_there(page.name, job.out, (format,)):
                differing.setdefault(page.name, difference)
    if differing:
        name = next(iter(differing))
        others = f" and {len(differing) - 1} more pages" if len(differing) > 1 else ""
        raise InputError(
            f"{job.out}: the results of {name}{others} that are there {differing[name]};"
            " give another folder, or add --again to replace them."
        )


def _difference(made: Made, wanted: Made, page: SourcePage, out: Path) -> str:
    """What tells the results that are there from those that are wanted; empty where nothing does."""
    before = made.pages[page.name]
    if before != wanted.pages[page.name]:
        shown = before if "://" in before else os.path.normpath(out / before)
        return f"were read from {shown}, not from {page.file}"
    return _changed(made.settings, wanted.settings)


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """How settings differ, in words; only what both tell of counts."""
    differing = [key for key in now if before.get(key, now[key]) != now[key]]
    parts = (f"{key.replace('_', '-')} {before[key]}, not {now[key]}" for key in differing)
    return f"were made with {'; '.join(parts)}" if differing else ""


def _leave_unknown(known: Sequence[Made], wanted: Made, job: Job) -> None:
    """Results that were there before there was a record are not said to be this job's."""
    recorded = {name for made in known for name in made.pages}
    for name in [name for name in wanted.pages if name not in recorded]:
        if _all_there(name, job.out, wanted.formats):
            del wanted.pages[name]


def _all_there(name: str, out: Path, formats: Sequence[str]) -> bool:
    try:
        return not missing(result_paths(name, out, formats))
    except OSError:
        return False  # A name that is too long for a file: reading it says so.


def _add(known: list[Made], wanted: Made) -> bool:
    """Put the pages on record, the newest last; whether anything changed by that."""
    before = [(made.settings, made.formats, dict(made.pages)) for made in known]
    same = next((made for made in known if _is_same(made, wanted)), None)
    for made in known:
        if made is not same and set(made.formats) <= set(wanted.formats):
            for name in made.pages.keys() & wanted.pages.keys():
                del made.pages[name]
    if same is None:
        known.append(wanted)
    else:
        same.pages |= wanted.pages
    known[:] = [made for made in known if made.pages]
    return before != [(made.settings, made.formats, made.pages) for made in known]


def _is_same(made: Made, wanted: Made) -> bool:
    return made.settings == wanted.settings and sorted(made.formats) == sorted(wanted.formats)


def _origin(page: SourcePage, out: Path) -> str:
    """Where a page's image comes from: an address, or a place as it lies from the folder of results."""
    if page.content:
        return f"{Path(page.file).name} {page.content}"
    return page.file if "://" in page.file else _place(page.file, out)


def _place(file: str, out: Path) -> str:
    path = Path(file).absolute()
    try:
        # Where the folder really lies; the file itself may be a link with a name of its own.
        return Path(os.path.relpath(path.parent.resolve() / path.name, out.resolve())).as_posix()
    except ValueError:  # Another drive.
        return path.as_posix()


def _read(path: Path) -> list[Made]:
    if not path.exists():
        return []
    try:
        told: dict[str, Any] = json.loads(read_bytes(path))
        if told["format"] != _FORMAT or told["version"] != _VERSION:
            raise ValueError
        return [
            Made(dict(made["settings"]), list(made["formats"]), dict(made["pages"])) for made in told["jobs"]
        ]
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: this record of earlier jobs cannot be read; without it, what is there counts as done."
        ) from None


def _write(known: Sequence[Made], path: Path) -> None:
    jobs = [{"settings": made.settings, "formats": made.formats, "pages": made.pages} for made in known]
    told = {"format": _FORMAT, "version": _VERSION, "jobs": jobs}
    write_bytes(json.dumps(told, ensure_ascii=True, indent=1).encode(), path)
