"""The table of engines: opened by name, and open to new ones."""

from __future__ import annotations

import pytest
from paths import EXAMPLES
from recognise_pages import FakeEngine, read_as

from tongguocr import cli
from tongguocr.engines import ENGINES, EngineEntry, EngineOptions, open_engine
from tongguocr.engines.base import Engine
from tongguocr.errors import InputError, MissingExtraError


def test_engines_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no engine 'abbyy'"):
        open_engine("abbyy")
    monkeypatch.setitem(__import__("sys").modules, "rapidocr", None)
    with pytest.raises(MissingExtraError, match=r"tongguocr\[rapidocr\]"):
        open_engine("rapidocr")


def test_hf_asks_for_its_model_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"^The engine hf needs --model: a folder, or a name on the hub\.$"):
        open_engine("hf")
    assert cli.main(["read", str(EXAMPLES / "page.jpg"), "--engine", "hf"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "tongguocr: The engine hf needs --model: a folder, or a name on the hub."
    ]


def test_an_entry_is_all_that_the_commands_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[EngineOptions] = []

    def open_echo(options: EngineOptions) -> Engine:
        told.append(options)
        return FakeEngine(lambda block: read_as(block, {line.id: line.id for line in block.lines}))

    monkeypatch.setitem(ENGINES, "echo", EngineEntry(open_echo))
    image, lines = str(EXAMPLES / "page.jpg"), str(EXAMPLES / "page.json")
    assert cli.main(["read", image, "--lines", lines, "--engine", "echo", "--model", "m"]) == 0
    assert "l1\nl2\n" in capsys.readouterr().out
    assert told == [EngineOptions(model="m")]
    with pytest.raises(SystemExit):
        cli.main(["read", "--help"])
    assert "echo" in capsys.readouterr().out
