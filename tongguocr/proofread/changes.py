"""What was changed: the machine's own reading and the page as it is now in, rows of a table out.

A row for each character, or run of characters, in which a line differs from the machine's: page, line, place
from 1, from, to, who, when. Lines go by their ids: what was split off, drawn or taken away is compared with
nothing. Who and when are those of the latest edit of the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tongguocr.alignment import DELETION, INSERTION, MATCH, align
from tongguocr.formats.txt import characters
from tongguocr.page import Page
from tongguocr.proofread.edits import ALL, touched
from tongguocr.proofread.journal import Row
from tongguocr.proofread.store import EDITS

COLUMNS = ("page", "line", "place", "from", "to", "who", "when")
CHANGES = "changes.tsv"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference."""

    page: str
    line: str
    place: int
    old: str
    new: str
    who: str
    when: str


def changes_of(name: str, page: Page, machine: Page | None, rows: Sequence[Row]) -> list[Change]:
    """Where a page differs from what the machine read."""
    was = {line.id: line.text for line in machine.lines} if machine is not None else {}
    now = {line.id: line.text for line in page.lines}
    authors = _authors(rows)
    found = []
    for line in dict.fromkeys((*now, *was)):
        who, when = authors.get(line, authors.get(ALL, ("", "")))
        for place, old, new in _differences(was.get(line, ""), now.get(line, "")):
            found.append(Change(name, line, place, old, new, who, when))
    return found


def _authors(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """Who edited each line last, and when."""
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row["kind"] == "edits":
            signed = str(row.get("who", "")), str(row.get("time", ""))
            for edit in EDITS.validate_python(row["edits"]):
                found |= dict.fromkeys(touched(edit), signed)
    return found


def _differences(old: str, new: str) -> Iterator[tuple[int, str, str]]:
    """Runs of characters that differ: their place in the new text, what stood there, what stands there."""
    before, after = characters(old), characters(new)
    steps = align(before, after) if before != after else ""
    i = j = 0
    run: tuple[int, list[str], list[str]] | None = None
    for step in steps:
        if step == MATCH:
            if run is not None:
                yield run[0] + 1, "".join(run[1]), "".join(run[2])
            run, i, j = None, i + 1, j + 1
            continue
        run = run or (j, [], [])
        if step != INSERTION:
            run[1].append(before[i])
            i += 1
        if step != DELETION:
            run[2].append(after[j])
            j += 1
    if run is not None:
        yield run[0] + 1, "".join(run[1]), "".join(run[2])


def render_changes(changes: Sequence[Change]) -> bytes:
    """The table, one row a change."""
    rows = [COLUMNS, *((c.page, c.line, str(c.place), c.old, c.new, c.who, c.when) for c in changes)]
    return "".join("\t".join(_cell(cell) for cell in row) + "\n" for row in rows).encode()


def _cell(text: str) -> str:
    """Without what would end a cell or a row."""
    return "".join(" " if char in "\t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029" else char for char in text)
