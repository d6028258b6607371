"""The program as a whole: its commands, and how little starting it costs."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tongguocr.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"tongguocr {command}" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["tongguocr", "tongguocr.cli"])
def test_the_list_of_commands_imports_nothing_heavy(module: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", module, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(name in result.stdout for name in COMMANDS)
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "tongguocr.cli" in imported
    assert imported.isdisjoint({"numpy", "PIL.Image", "onnxruntime", "torch", "tqdm", "httpx", "fastapi"})


@pytest.mark.parametrize("words", ["read ''", "read a.png -o ''", "read a.png --lines ''", "convert ' '"])
def test_an_empty_argument_is_not_the_whole_folder(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["-o", "out.txt"] if words.startswith("convert") else []
    assert main([*shlex.split(words), *more]) == 2
    printed = capsys.readouterr()
    assert not printed.out and printed.err.splitlines() == [
        "tongguocr: An argument is empty; a variable of the shell may not be set."
    ]
