"""An edit, applied to a page: pages and edits in, pages out; nothing else is looked at or changed.

What cannot be applied is an `EditError`, one sentence. `inverse` gives the edits that take an edit back,
exactly; they are edits like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from tongguocr.geometry import Box, Point, bounds, clip, make_box, union
from tongguocr.page import Char, Line, Page
from tongguocr.proofread.models import (
    AddEdit,
    DeleteEdit,
    Edit,
    JoinEdit,
    LineData,
    LineEdit,
    MoveEdit,
    RestoreEdit,
    SetEdit,
    SplitEdit,
    TextEdit,
)
from tongguocr.proofread.page_data import along, line_data, line_from, spelled, spread, stretch

ALL = "*"
"""Stands for every line of a page; as an id it would be an edit of everything, which does no harm."""
MAX_CANDIDATES = 10


class EditError(ValueError):
    """An edit that cannot be applied: the message is a whole sentence."""


def apply_all(page: Page, edits: Iterable[Edit]) -> Page:
    """The page after these edits, one after the other."""
    return reduce(apply, edits, page)


def apply(page: Page, edit: Edit) -> Page:
    """The page after one edit."""
    match edit:
        case TextEdit():
            return _with_line(page, _edit_text(_line(page, edit.line), edit))
        case LineEdit():
            return _with_line(page, _edit_line(page, _line(page, edit.line), edit))
        case SetEdit():
            _line(page, edit.line.id)
            return _with_line(page, _from_data(page, edit.line))
        case AddEdit():
            _refuse_taken(page, edit.line.id)
            return _insert(page, _from_data(page, edit.line), edit.before)
        case DeleteEdit():
            return _without(page, _line(page, edit.line).id)
        case SplitEdit():
            return _split(page, _line(page, edit.line), edit)
        case JoinEdit():
            return _join(page, _line(page, edit.line), _line(page, edit.next))
        case MoveEdit():
            line = _line(page, edit.line)
            return page if edit.before == line.id else _insert(_without(page, line.id), line, edit.before)
        case RestoreEdit():
            return _restore(page, edit)


def touched(edit: Edit) -> frozenset[str]:
    """The ids of the lines that an edit changes; `ALL` where it changes every line."""
    match edit:
        case SetEdit() | AddEdit():
            return frozenset({edit.line.id})
        case SplitEdit():
            return frozenset({edit.line, edit.new_line})
        case JoinEdit():
            return frozenset({edit.line, edit.next})
        case RestoreEdit():
            return frozenset({ALL})
    return frozenset({edit.line})


def meet(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether two sets of lines have one in common."""
    return bool(some & others) or (ALL in some and bool(others)) or (ALL in others and bool(some))


def inverse(page: Page, edit: Edit) -> list[Edit]:
    """The edits that lead from the page after the edit back to this page."""
    match edit:
        case AddEdit():
            return [DeleteEdit(op="delete", line=edit.line.id)]
        case DeleteEdit():
            return [_added(page, edit.line)]
        case SplitEdit():
            return [DeleteEdit(op="delete", line=edit.new_line), _set(page, edit.line)]
        case JoinEdit():
            return [_set(page, edit.line), _added(page, edit.next)]
        case MoveEdit():
            return [MoveEdit(op="move", line=edit.line, before=_follower(page, edit.line))]
        case RestoreEdit():
            return [RestoreEdit(op="restore", lines=[line_data(spelled(line)) for line in page.lines])]
        case SetEdit():
            return [_set(page, edit.line.id)]
    return [_set(page, edit.line)]


def inverse_all(page: Page, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that take a row of edits back, the last one first."""
    found: list[list[Edit]] = []
    for edit in edits:
        found.append(inverse(page, edit))
        page = apply(page, edit)
    return [one for back in reversed(found) for one in back]


def _set(page: Page, name: str) -> SetEdit:
    return SetEdit.model_construct(op="set", line=line_data(spelled(_line(page, name))))


def _added(page: Page, name: str) -> AddEdit:
    line = line_data(spelled(_line(page, name)))
    return AddEdit.model_construct(op="add", line=line, before=_follower(page, name))


def _follower(page: Page, name: str) -> str | None:
    names = [line.id for line in page.lines]
    after = names.index(name) + 1
    return names[after] if after < len(names) else None


def _line(page: Page, name: str) -> Line:
    for line in page.lines:
        if line.id == name:
            return line
    raise EditError(f"The page has no line {name!r}.")


def _refuse_taken(page: Page, name: str) -> None:
    if any(line.id == name for line in page.lines):
        raise EditError(f"The page has a line {name!r} already.")


def _with_line(page: Page, line: Line) -> Page:
    return replace(page, lines=tuple(line if old.id == line.id else old for old in page.lines))


def _without(page: Page, name: str) -> Page:
    return replace(page, lines=tuple(line for line in page.lines if line.id != name))


def _insert(page: Page, line: Line, before: str | None) -> Page:
    if before is None:
        return replace(page, lines=(*page.lines, line))
    at = page.lines.index(_line(page, before))
    return replace(page, lines=(*page.lines[:at], line, *page.lines[at:]))


def _from_data(page: Page, data: LineData) -> Line:
    """The line that a browser sends; a new one, without characters yet, is kept on the page."""
    if not data.chars:
        data = data.model_copy(update={"box": _on_page(page, make_box(*data.box))})
    try:
        return line_from(data)
    except ValueError as error:
        raise EditError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None


def _on_page(page: Page, box: Box) -> Box:
    """The box inside the page, where its size is known."""
    return clip(box, page.width, page.height) if page.width and page.height else box


def _spell(line: Line, chars: tuple[Char, ...], **changes: object) -> Line:
    """The line with these characters, and their text and mean confidence."""
    known = [char.confidence for char in chars if char.confidence is not None]
    mean = sum(known) / len(known) if known else None
    text = "".join(char.text for char in chars)
    return replace(line, chars=chars, text=text, confidence=mean, **changes)  # type: ignore[arg-type]


def _edit_text(line: Line, edit: TextEdit) -> Line:
    chars = spelled(line).chars
    stop = edit.at + edit.count
    if stop > len(chars):
        raise EditError(f"The line {line.id!r} has {len(chars)} characters, and not {stop}.")
    old = chars[edit.at : stop]
    if len(old) == len(edit.insert):
        new = tuple(_replaced(char, text, edit.keep) for char, text in zip(old, edit.insert, strict=True))
        if len(new) == 1:
            new = (replace(new[0], candidates=_candidates(old[0], new[0].text)),)
    else:
        new = spread(edit.insert, _place(line, chars, edit.at, stop), line.direction, 1.0)
        if edit.keep and (known := [char.confidence for char in old if char.confidence is not None]):
            new = tuple(replace(char, confidence=min(known)) for char in new)
    return _spell(line, (*chars[: edit.at], *new, *chars[stop:]))


def _replaced(old: Char, text: str, keep: bool) -> Char:
    return Char(text, old.box, old.confidence if keep else 1.0)


def _candidates(old: Char, text: str) -> tuple[tuple[str, float], ...]:
    """What else it may be: what stood there, and its candidates, without what stands there now."""
    listed = [(old.text, old.confidence or 0.0), *old.candidates]
    return tuple({other: share for other, share in listed if other != text}.items())[:MAX_CANDIDATES]


def _place(line: Line, chars: Sequence[Char], at: int, stop: int) -> Box:
    """Where new characters go: over those they replace; else between their neighbours."""
    first, last = along(line.box, line.direction)
    if at < stop:
        return stretch(line.box, line.direction, *_extent(line, chars[at:stop]))
    pitch = (last - first) / max(len(chars), 1)
    before = along(chars[at - 1].box, line.direction) if at else (first, first)
    behind = along(chars[at].box, line.direction) if at < len(chars) else (last, last)
    start, end = before[1], behind[0]
    if end - start < pitch / 4:
        # There is no gap: half of either neighbour is their place, too.
        start, end = sum(before) / 2, sum(behind) / 2
    return make_box(*stretch(line.box, line.direction, min(start, end), max(start, end)))


def _extent(line: Line, chars: Sequence[Char]) -> tuple[float, float]:
    starts, ends = zip(*(along(char.box, line.direction) for char in chars), strict=True)
    return min(starts), max(ends)


def _edit_line(page: Page, line: Line, edit: LineEdit) -> Line:
    if edit.points and len(edit.points) < 3:
        raise EditError(f"An outline of the line {line.id!r} needs three points.")
    line = spelled(line)
    outline = tuple(edit.points) if edit.points else None
    box = make_box(*edit.box) if edit.box else bounds(outline) if outline else line.box
    moved = _moved(line, _on_page(page, box))
    if edit.points is not None:
        moved = replace(moved, polygon=outline)
    if edit.kind:
        moved = replace(moved, kind=edit.kind)
    if edit.direction and edit.direction != line.direction:
        cells = spread([char.text for char in line.chars], moved.box, edit.direction)
        chars = tuple(replace(c, box=new.box) for c, new in zip(moved.chars, cells, strict=True))
        moved = replace(moved, direction=edit.direction, chars=chars)
    return moved


def _moved(line: Line, box: Box) -> Line:
    """The line in another box, its characters and outline moved and scaled with it."""
    if box == line.box:
        return line
    (x0, y0, x1, y1), (a0, b0, a1, b1) = line.box, box
    wide, high = (a1 - a0) / ((x1 - x0) or 1.0), (b1 - b0) / ((y1 - y0) or 1.0)

    def point(at: Point) -> Point:
        return (a0 + (at[0] - x0) * wide, b0 + (at[1] - y0) * high)

    chars = tuple(replace(c, box=(*point(c.box[:2]), *point(c.box[2:]))) for c in line.chars)
    return replace(line, box=box, chars=chars, polygon=line.polygon and tuple(map(point, line.polygon)))


def _split(page: Page, line: Line, edit: SplitEdit) -> Page:
    _refuse_taken(page, edit.new_line)
    chars = spelled(line).chars
    if not 0 < edit.at < len(chars):
        raise EditError(f"The line {line.id!r} can be split between its characters only.")
    start, end = along(line.box, line.direction)
    before, behind = (along(chars[k].box, line.direction) for k in (edit.at - 1, edit.at))
    cut = min(max((before[1] + behind[0]) / 2, start), end)
    boxes = [stretch(line.box, line.direction, *part) for part in ((start, cut), (cut, end))]
    first = _spell(line, chars[: edit.at], box=boxes[0], polygon=None)
    second = _spell(replace(line, id=edit.new_line), chars[edit.at :], box=boxes[1], polygon=None)
    at = page.lines.index(line)
    return replace(page, lines=(*page.lines[:at], first, second, *page.lines[at + 1 :]))


def _join(page: Page, line: Line, behind: Line) -> Page:
    if line.id == behind.id:
        raise EditError("A line cannot be joined to itself.")
    chars = (*spelled(line).chars, *spelled(behind).chars)
    joined = _spell(line, chars, box=union((line.box, behind.box)), polygon=None)
    return _with_line(_without(page, behind.id), joined)


def _restore(page: Page, edit: RestoreEdit) -> Page:
    lines = tuple(_from_data(page, data) for data in edit.lines)
    if len({line.id for line in lines}) < len(lines):
        raise EditError("Two lines have one id.")
    return replace(page, lines=lines)
