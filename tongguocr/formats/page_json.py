"""Our own JSON: everything a Page holds, exactly; page.schema.json describes it.

Reading is plain code, so that an error can say where in the file it is: `lines[3].box must be four numbers`.
Keys that are not known are left alone, so that files of later programs with the same version can be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8
from tongguocr.formats.numbers import LIMIT, is_number, plain
from tongguocr.formats.txt import has_line_break
from tongguocr.geometry import Box, Point, make_box
from tongguocr.page import ANGLES, DIRECTIONS, KINDS, Block, Char, Direction, Line, Page, guess_direction

FORMAT = "tongguocr-page"
VERSION = 1
MOST_SKEW = 45
"""Degrees: what leans further lies on its side, and leans the other way there."""


def parse_json(data: bytes, path: Path) -> Page:
    """The page in a file of our JSON."""
    return _page(load_json(data, path), path)


def load_json(data: bytes, path: Path) -> Any:
    """Any JSON value; `NaN` and `Infinity`, which Python would take, are no JSON."""
    text = decode_utf8(data, path)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: this is not JSON (line {error.lineno}: {error.msg}).") from None
    except RecursionError:
        raise InputError(f"{path}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"{path}: this is not JSON ({error}).") from None


def one_line(value: object, where: str) -> str:
    """A value out of JSON that must be a text without a line break."""
    if not isinstance(value, str):
        raise InputError(f"{where} must be a text.")
    if has_line_break(value):
        raise InputError(f"{where} must hold no line break.")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise InputError(f"{where} holds half of a surrogate pair, which is no character.")
    return value


def check_page(page: Page, path: Path) -> None:
    """Refuse a page that could not be read again: line breaks, ids that come twice, numbers that are none."""
    _page({**_head(page), "lines": [_line_object(line) for line in page.lines]}, path)


def render_json(page: Page, path: Path = Path()) -> bytes:
    """The page as a file, one row a line of the page; `path` is every writer's, and not needed here."""
    members = [f"  {_dump(key)}: {_dump(value)}" for key, value in _head(page).items()]
    rows = ",\n".join(f"    {_dump(_line_object(line))}" for line in page.lines)
    members.append(f'  "lines": [\n{rows}\n  ]' if rows else '  "lines": []')
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def render_blocks(page: Page, blocks: tuple[Block, ...]) -> bytes:
    """What `tongguocr blocks` writes: blocks in reading order, by the ids of their lines and their boxes."""
    document = {
        "format": "tongguocr-blocks",
        "version": 1,
        "image": page.image,
        "width": page.width,
        "height": page.height,
        **_way_of_reading(page),
        "blocks": [
            {"lines": [line.id for line in block.lines(page)], "box": list(block.box)} for block in blocks
        ],
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _head(page: Page) -> dict[str, object]:
    head: dict[str, object] = {"format": FORMAT, "version": VERSION, "image": page.image}
    size: dict[str, object] = {"width": plain(page.width), "height": plain(page.height)}
    return head | size | _way_of_reading(page) | ({"warnings": list(page.warnings)} if page.warnings else {})


def _way_of_reading(page: Page) -> dict[str, object]:
    """How the page was turned, and whether black and white were exchanged: few pages need it."""
    told: dict[str, object] = {"angle": plain(page.angle)} if page.angle else {}
    told |= {"skew": plain(page.skew)} if page.skew else {}
    return told | ({"inverted": True} if page.inverted else {})


def _line_object(line: Line) -> dict[str, object]:
    out: dict[str, object] = {"id": line.id, "box": _numbers(line.box), "text": line.text}
    out |= {"kind": line.kind, "direction": line.direction}
    if line.confidence is not None:
        out["confidence"] = plain(line.confidence)
    if line.polygon is not None:
        out["polygon"] = [_numbers(point) for point in line.polygon]
    if line.chars:
        out["chars"] = [_char_object(char) for char in line.chars]
    return out


def _char_object(char: Char) -> dict[str, object]:
    out: dict[str, object] = {"text": char.text, "box": _numbers(char.box)}
    if char.confidence is not None:
        out["confidence"] = plain(char.confidence)
    if char.candidates:
        out["candidates"] = [[text, plain(confidence)] for text, confidence in char.candidates]
    if char.picture is not None:
        out["picture"] = char.picture
    if char.surprise is not None:
        out["surprise"] = plain(char.surprise)
    return out


def _numbers(values: tuple[float, ...]) -> list[float]:
    return [plain(value) for value in values]


def _page(data: Any, path: Path) -> Page:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{path}: this is no page of ours ("format" must be "{FORMAT}").')
    _check_version(data.get("version"), path)
    where = f"{path}: "
    lines = tuple(
        _line(item, f"{where}lines[{n}]") for n, item in enumerate(_list(data, "lines", where, required=True))
    )
    seen: set[str] = set()
    for n, line in enumerate(lines):
        if line.id in seen:
            raise InputError(f"{where}lines[{n}].id {line.id!r} is used twice.")
        seen.add(line.id)
    width, height = (_size(data.get(key), f"{where}{key}") for key in ("width", "height"))
    image, angle = one_line(data.get("image", ""), f"{where}image"), data.get("angle", 0)
    if isinstance(angle, bool) or angle not in ANGLES:
        raise InputError(f"{where}angle must be one of {', '.join(map(str, ANGLES))}.")
    skew, warnings = data.get("skew", 0), _list(data, "warnings", where)
    if not is_number(skew) or abs(skew) > MOST_SKEW:
        raise InputError(f"{where}skew must be a number from -{MOST_SKEW} to {MOST_SKEW}.")
    return Page(
        image,
        width,
        height,
        lines,
        angle=int(angle),
        skew=skew,
        inverted=_choice(data.get("inverted", False), (False, True), f"{where}inverted"),
        warnings=tuple(one_line(item, f"{where}warnings[{n}]") for n, item in enumerate(warnings)),
    )


def _check_version(version: Any, path: Path) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(f"{path}: version must be a whole number from 1.")
    if version > VERSION:
        raise InputError(f"{path}: version {version} is newer than this program reads ({VERSION}).")


def _line(data: Any, where: str) -> Line:
    data = _object(data, where)
    box = _box(data.get("box"), f"{where}.box")
    text = one_line(data.get("text", ""), f"{where}.text")
    chars = _list(data, "chars", f"{where}.")
    return Line(
        id=one_line(data.get("id"), f"{where}.id"),
        box=box,
        text=text,
        kind=_choice(data.get("kind", "main"), KINDS, f"{where}.kind"),
        direction=_direction(data.get("direction"), box, text, f"{where}.direction"),
        confidence=_confidence(data.get("confidence"), f"{where}.confidence"),
        polygon=_polygon(data.get("polygon"), f"{where}.polygon"),
        chars=tuple(_char(item, f"{where}.chars[{n}]") for n, item in enumerate(chars)),
    )


def _char(data: Any, where: str) -> Char:
    data = _object(data, where)
    return Char(
        text=one_line(data.get("text"), f"{where}.text"),
        box=_box(data.get("box"), f"{where}.box"),
        confidence=_confidence(data.get("confidence"), f"{where}.confidence"),
        candidates=tuple(
            _candidate(item, f"{where}.candidates[{n}]")
            for n, item in enumerate(_list(data, "candidates", f"{where}."))
        ),
        picture=None if data.get("picture") is None else one_line(data["picture"], f"{where}.picture"),
        surprise=_number(data.get("surprise"), f"{where}.surprise"),
    )


def _candidate(data: Any, where: str) -> tuple[str, float]:
    if not isinstance(data, list) or len(data) != 2:
        raise InputError(f"{where} must be a text and a confidence.")
    confidence = _confidence(data[1], f"{where}[1]")
    if confidence is None:
        raise InputError(f"{where}[1] must be a number from 0 to 1.")
    return one_line(data[0], f"{where}[0]"), confidence


def _object(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object.")
    return data


def _list(data: dict[str, Any], key: str, where: str, required: bool = False) -> list[Any]:
    value = data.get(key)
    if value is None and not required:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}{key} must be a list.")
    return value


def _choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value not in choices:
        raise InputError(f"{where} must be one of {', '.join(choices)}.")
    return value


def _direction(value: Any, box: Box, text: str, where: str) -> Direction:
    direction: Direction = (
        _choice(value, DIRECTIONS, where) if value is not None else guess_direction(box, text)
    )
    return direction


def _size(value: Any, where: str) -> int:
    if not is_number(value) or value < 0 or value != int(value):
        raise InputError(f"{where} must be a whole number from 0 to {LIMIT}.")
    return int(value)


def _box(value: Any, where: str) -> Box:
    if not isinstance(value, list) or len(value) != 4 or not all(map(is_number, value)):
        raise InputError(f"{where} must be four numbers.")
    return make_box(*value)


def _polygon(value: Any, where: str) -> tuple[Point, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) < 3:
        raise InputError(f"{where} must be three points or more.")
    for n, point in enumerate(value):
        if not isinstance(point, list) or len(point) != 2 or not all(map(is_number, point)):
            raise InputError(f"{where}[{n}] must be two numbers.")
    return tuple((x, y) for x, y in value)


def _number(value: Any, where: str) -> float | None:
    if value is not None and not is_number(value):
        raise InputError(f"{where} must be a number.")
    return None if value is None else value


def _confidence(value: Any, where: str) -> float | None:
    if value is not None and not (is_number(value) and 0 <= value <= 1):
        raise InputError(f"{where} must be a number from 0 to 1.")
    return None if value is None else value
