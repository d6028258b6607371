"""A program that runs in two processes on the CPU, which know of each other as those of a launcher do.

The launchers of accelerate and torch would import torch once more, only to start these two.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paths import ROOT


def run_two(program: Path, *arguments: object) -> None:
    """Run it twice at once; if one fails the other is ended, and the assertion shows what both have said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        **os.environ,
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, str(program), *map(str, arguments)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        both = [
            subprocess.Popen(command, stdout=said, stderr=said, env={**shared, "RANK": k, "LOCAL_RANK": k})
            for k in "01"
        ]
        while any(process.poll() is None for process in both) and not any(process.poll() for process in both):
            time.sleep(0.05)
        for process in both:
            process.kill()
        codes = [process.wait() for process in both]
        said.seek(0)
        assert codes == [0, 0], said.read()[-4000:]
