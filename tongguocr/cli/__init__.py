"""The program `tongguocr`: arguments in, a command called, an exit code out.

Bad input ends in one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tongguocr.cli import full_size, layout, making, measuring, read, serve, training
from tongguocr.errors import InputError
from tongguocr.version import __version__

GROUPS = (read, serve, layout, making, measuring, training, full_size)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tongguocr", description="OCR for Chinese historical documents.")
    parser.add_argument("--version", action="version", version=f"tongguocr {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = make_parser().parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except InputError as error:
        print(f"tongguocr: {error}", file=sys.stderr)
        return 2
