"""A stage's settings -> the TOML file that `tongguocr train` would run it from: kept in each run's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.reproduce.families import PagesStage


def write_stage(stage: PagesStage) -> str:
    """The file's text, every setting named."""
    run = asdict(stage.run)
    limits = {name: value for name, value in run.pop("limits").items() if value}
    tables: dict[str, Mapping[str, Any]] = {"run": {**limits, **run}, "pages": asdict(stage.pages)}
    if isinstance(stage, GlmPageStage):
        tables["glm"] = asdict(stage.settings)
    tables["hisdoc1b"] = asdict(stage.mapping)
    return "\n".join(_table(name, table) for name, table in tables.items())


def _table(name: str, table: Mapping[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # JSON's strings, numbers and truth values are TOML's, too.
    return json.dumps(value, ensure_ascii=False)
