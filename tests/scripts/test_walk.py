"""The way of one page through the packages stays short."""

from __future__ import annotations

import subprocess
import sys

from paths import ROOT


def test_a_page_changes_package_a_dozen_times_at_most() -> None:
    # In a process of its own: here, other tests may have opened models that the walk should enter.
    command = [sys.executable, str(ROOT / "scripts" / "walk.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    *rooms, summary = printed.splitlines()
    entered = [room.split()[0] for room in rooms]
    modules, changes = int(summary.split()[0]), int(summary.split()[2])
    assert modules == sum(len(room.split()) - 1 for room in rooms) and changes == len(rooms) - 1
    assert {"sources", "layout", "blocks", "crops", "engines", "tokens", "reader"} <= set(entered)
    assert "training" not in entered and changes <= 12
