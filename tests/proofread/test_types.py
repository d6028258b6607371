"""The page does what the server does: types, built files, edits. Skipped where Node is not."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from browser_page import FRONTEND
from proofread_books import edits, read_page_of

from tongguocr.page import Page
from tongguocr.proofread.app import STATIC
from tongguocr.proofread.edits import EditError, apply
from tongguocr.proofread.openapi import openapi
from tongguocr.proofread.page_data import page_data

TOOLS = FRONTEND / "node_modules/.bin"
needs_node = pytest.mark.skipif(
    which("node") is None or not (TOOLS / "esbuild").exists(),
    reason="Node and the packages of frontend/ (`npm ci` there) are not installed.",
)
OPS = ("text", "line", "set", "add", "delete", "split", "join", "move", "restore")


def node(*words: object, stdin: str = "") -> str:
    """What a program of Node prints."""
    run = subprocess.run(
        [str(word) for word in words], input=stdin, capture_output=True, text=True, cwd=FRONTEND
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@needs_node
def test_the_committed_types_are_those_of_the_models(tmp_path: Path) -> None:
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(openapi(), sort_keys=True, ensure_ascii=False, indent=1), encoding="utf-8")
    node(TOOLS / "openapi-typescript", source, "-o", tmp_path / "api.d.ts")
    fresh = (tmp_path / "api.d.ts").read_text(encoding="utf-8")
    assert fresh == (FRONTEND / "src/api.d.ts").read_text(encoding="utf-8"), "`npm run types` in frontend/"


@needs_node
def test_the_committed_page_is_what_its_sources_give(tmp_path: Path) -> None:
    node("node", "build.mjs", tmp_path)
    names = sorted(path.name for path in STATIC.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), "`npm run build` in frontend/"


@needs_node
def test_the_page_is_well_typed_and_its_own_tests_pass() -> None:
    node(TOOLS / "tsc")
    node("node", "test.mjs")


def some_edit(dice: random.Random, page: Page) -> dict[str, Any]:
    """An edit as a browser may send it; now and then one that does not fit."""
    names = [line.id for line in page.lines]
    line = dice.choice(page.lines)
    count = len(line.text)
    at = dice.randint(0, count)
    box = [dice.uniform(-20, page.width + 20) for _ in range(4)]
    data = [one.model_dump() for one in page_data(page).lines]
    whole = data[names.index(line.id)]
    match dice.choice(OPS):
        case "text":
            put = [dice.choice("天地他池𠀀") for _ in range(dice.randint(0, 3))]
            taken = dice.randint(0, min(3, count - at))
            keep = dice.random() < 0.3
            return {"op": "text", "line": line.id, "at": at, "count": taken, "insert": put, "keep": keep}
        case "line":
            more = (
                {"kind": "note"}
                if dice.random() < 0.5
                else {"direction": dice.choice(["left-to-right", "bottom-to-top"])}
            )
            return {"op": "line", "line": line.id, "box": dice.choice([None, box]), **more}
        case "set":
            return {"op": "set", "line": {**whole, "kind": "margin"}}
        case "add":
            fresh = {
                "id": f"n{dice.random()}",
                "box": sorted(box),
                "text": "寒來",
                "direction": line.direction,
            }
            return {"op": "add", "line": fresh, "before": dice.choice([None, *names])}
        case "delete":
            return {"op": "delete", "line": line.id}
        case "split":
            return {"op": "split", "line": line.id, "at": at, "newLine": f"s{dice.random()}"}
        case "join":
            return {"op": "join", "line": line.id, "next": dice.choice(names)}
        case "move":
            return {"op": "move", "line": line.id, "before": dice.choice([None, *names])}
    return {"op": "restore", "lines": data[::-1]}


def essence(page: Any) -> list[Any]:
    """What an edit decides of a page; columns are told by the server alone."""
    return [
        [
            (line["id"], line["kind"], line["direction"], line["text"]),
            [round(value, 3) for value in line["box"]],
            [
                (char["text"], char["confidence"], char["doubt"], [list(pair) for pair in char["candidates"]])
                for char in line["chars"]
            ],
            [[round(value, 3) for value in char["box"]] for char in line["chars"]],
        ]
        for line in page["lines"]
    ]


def without_the_absent(value: Any) -> Any:
    """What JSON has of a model: the page's side leaves nothing out."""
    if isinstance(value, dict) and value.get("op") == "add":
        filled = {"points": None, "kind": "main", "chars": [], "confidence": None, **value["line"]}
        return {**value, "line": filled}
    return value


@needs_node
def test_an_edit_does_in_the_page_what_it_does_on_the_server(tmp_path: Path) -> None:
    dice = random.Random(19)
    cases, expected = [], []
    page = read_page_of("p1", ("天地玄黃", "宇宙洪荒", "日月盈昃", "辰宿"))
    start = page
    while len(cases) < 600:
        edit = some_edit(dice, page)
        cases.append([page_data(page).model_dump(), without_the_absent(edit)])
        try:
            after = apply(page, edits(edit)[0])
        except EditError:
            expected.append(None)
            continue
        expected.append(essence(page_data(after).model_dump()))
        page = after if after.lines and len(after.lines) < 12 else start
    program = tmp_path / "mirror.mjs"
    node(
        TOOLS / "esbuild",
        "tests/mirror.ts",
        "--bundle",
        "--platform=node",
        "--format=esm",
        f"--outfile={program}",
    )
    answers = json.loads(node("node", program, stdin=json.dumps(cases)))
    for (_, edit), answer, wanted in zip(cases, answers, expected, strict=True):
        got = None if answer is None else essence(answer)
        assert json.loads(json.dumps(got)) == json.loads(json.dumps(wanted)), edit
    assert sum(wanted is None for wanted in expected) < 300
