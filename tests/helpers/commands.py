"""The command line without a process of its own, which would import torch anew each time."""

from __future__ import annotations

import io
import subprocess
from contextlib import redirect_stderr, redirect_stdout

from tongguocr.cli import main


def run_here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command with these arguments, run in this process: its exit code, and what it printed."""
    command, said, complaints = [*map(str, arguments)], io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(complaints):
        code = main(command)
    return subprocess.CompletedProcess(command, code, said.getvalue(), complaints.getvalue())
