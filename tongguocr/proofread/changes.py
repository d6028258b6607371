"""What was changed: the machine's own reading and the page as it is now in, rows of a table out.

A row for each character, or run of characters, in which the text differs from the machine's: page, line,
place from 1, from, to, who, when. Lines with the same text count as the same wherever they were moved to, and
all others are compared as one text: a line that was split or joined has not changed. Who and when are those
of the latest edit of the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tongguocr.alignment import DELETION, INSERTION, MATCH, align
from tongguocr.formats.txt import characters
from tongguocr.page import Page
from tongguocr.proofread.edits import ALL, touched
from tongguocr.proofread.journal import Row
from tongguocr.proofread.store import EDITS

Placed: TypeAlias = tuple[str, int, str]
"""A character with its line's id and its place there, from 1."""

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
    same = {line.id for line in page.lines if was.get(line.id) == line.text}
    before = _placed(was, same)
    after = _placed({line.id: line.text for line in page.lines}, same)
    authors = _authors(rows)
    found = []
    for line, place, old, new in _differences(before, after):
        who, when = authors.get(line, authors.get(ALL, ("", "")))
        found.append(Change(name, line, place, old, new, who, when))
    return found


def _placed(lines: dict[str, str], without: set[str]) -> list[Placed]:
    """The characters of these lines, in order."""
    return [
        (line, place, char)
        for line, text in lines.items()
        if line not in without
        for place, char in enumerate(characters(text), start=1)
    ]


def _authors(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """Who edited each line last, and when."""
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row["kind"] == "edits":
            signed = str(row.get("who", "")), str(row.get("time", ""))
            for edit in EDITS.validate_python(row["edits"]):
                found |= dict.fromkeys(touched(edit), signed)
    return found


def _differences(before: Sequence[Placed], after: Sequence[Placed]) -> Iterator[tuple[str, int, str, str]]:
    """Runs of characters that differ, within a line: line and place, what stood there, what stands there."""
    steps = align([char for _, _, char in before], [char for _, _, char in after]) if before or after else ""
    i = j = 0
    run: list[str] = []
    for step in steps:
        here = _place(before, after, i, j, step)
        if run and (step == MATCH or here[0] != run[0]):
            yield run[0], int(run[1]), run[2], run[3]
            run = []
        if step != MATCH:
            run = run or [here[0], str(here[1]), "", ""]
            run[2] += before[i][2] if step != INSERTION else ""
            run[3] += after[j][2] if step != DELETION else ""
        i, j = i + (step != INSERTION), j + (step != DELETION)
    if run:
        yield run[0], int(run[1]), run[2], run[3]


def _place(before: Sequence[Placed], after: Sequence[Placed], i: int, j: int, step: str) -> tuple[str, int]:
    """Where a step is on the page now; of what is gone with its whole line, where it was."""
    if step != DELETION:
        return after[j][:2]
    line, place, _ = before[i]
    if j < len(after) and after[j][0] == line:
        return after[j][:2]
    if j and after[j - 1][0] == line:
        return line, after[j - 1][1] + 1
    return line, place


def render_changes(changes: Sequence[Change]) -> bytes:
    """The table, one row a change."""
    rows = [COLUMNS, *((c.page, c.line, str(c.place), c.old, c.new, c.who, c.when) for c in changes)]
    return "".join("\t".join(_cell(cell) for cell in row) + "\n" for row in rows).encode()


def _cell(text: str) -> str:
    """Without what would end a cell or a row."""
    return "".join(" " if char in "\t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029" else char for char in text)
