"""Tables of a stage file: TOML in, dataclasses out, with a sentence for whatever does not fit.

What a file leaves out keeps its default; a key that nothing uses is an error, because a misspelt setting
would otherwise be lost without a word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes

Settings = TypeVar("Settings")
OLD_NAMES = {
    "judge_every": "validate_every",
    "judge_pages": "validation_pages",
    "judged": "validated_on",
    "kept": "frozen",
}
"""Settings as they were once called: files that have them can still be read."""
Tables: TypeAlias = dict[str, dict[str, Any]]


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as it is written."""
    try:
        return tomllib.loads(decode_utf8(read_bytes(path), path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is not a stage file ({error}).") from None


def read_tables(path: Path) -> Tables:
    """A stage file, which is nothing but tables; settings have their new names."""
    tables = read_toml(path)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} stands outside of any table.")
        tables[name] = {OLD_NAMES.get(key, key): value for key, value in table.items()}
    return tables


def check_tables(tables: Tables, known: Sequence[str], path: Path) -> None:
    """Raise unless all tables are among those that such a stage has."""
    for name in tables.keys() - set(known):
        raise InputError(f"{path}: a stage has the tables {', '.join(known)}, not {name}.")


def fill(kind: type[Settings], table: dict[str, Any], name: str, path: Path) -> Settings:
    """The settings of one table; `name` and `path` are for the sentence."""
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{path}: [{name}] has no setting {key}.")
        # The types are strings here; one with an ellipsis is a list of any length.
        if not _is_like(value, known[key].default, "..." in str(known[key].type)):
            raise InputError(f"{path}: [{name}] has a wrong value for {key}: {value!r}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: [{name}] is not complete or not possible ({error}).") from None


def _is_like(value: Any, default: Any, any_length: bool = False) -> bool:
    """Whether a value may stand in for this default; a whole number may for a fraction."""
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, tuple) and default and isinstance(value, list):
        fits = any_length or len(value) == len(default)
        return fits and all(_is_like(part, default[min(k, len(default) - 1)]) for k, part in enumerate(value))
    if isinstance(default, tuple):
        return isinstance(value, list | tuple)
    return type(value) is type(default) if isinstance(default, bool | int | str) else True
