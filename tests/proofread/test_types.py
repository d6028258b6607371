"""The types of the page in the browser are those of the models: what is committed is what they give."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from paths import ROOT

from tongguocr.proofread.openapi import openapi

FRONTEND = ROOT / "frontend"
TOOL = FRONTEND / "node_modules" / ".bin" / "openapi-typescript"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("node") is None or not TOOL.exists(),
    reason="Node or openapi-typescript is not installed: run `npm ci` in frontend/.",
)
def test_the_types_are_made_of_the_models(tmp_path: Path) -> None:
    described, made = tmp_path / "openapi.json", tmp_path / "api.d.ts"
    described.write_text(json.dumps(openapi(), sort_keys=True), encoding="utf-8")
    subprocess.run([TOOL, described, "-o", made], check=True, capture_output=True, cwd=FRONTEND)
    committed = (FRONTEND / "src" / "api.d.ts").read_text(encoding="utf-8")
    assert without_comments(made.read_text(encoding="utf-8")) == without_comments(committed), (
        "run `npm run types` in frontend/"
    )


def without_comments(types: str) -> list[str]:
    """The types alone: how they are described may hang on FastAPI's version."""
    return re.sub(r"/\*.*?\*/", "", types, flags=re.DOTALL).split()
