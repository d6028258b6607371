"""The program `tongguocr`: arguments in, a command called, an exit code out.

Each command is a module of its own: `HELP` is its line in the list of commands, `add_arguments` tells the
parser its options, `run` does the work and returns its exit code, or nothing for success. What the work needs
is imported inside `run`, so that starting the program stays quick. Bad input ends in one sentence on standard
error and exit code 2, a closed pipe in nothing but exit code 141.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise

from tongguocr.cli import (
    blocks,
    compare,
    convert,
    corpus,
    eval,
    expand,
    export,
    export_sft,
    lines,
    plot,
    proofread,
    read,
    reproduce,
    serve,
    synth,
    train,
    train_data,
    train_language,
    vocab,
)
from tongguocr.errors import InputError
from tongguocr.files import NO_ROOM, write_error
from tongguocr.stdout import CLOSED, STOPPED, complain, discard, use_utf8
from tongguocr.version import __version__

COMMANDS = {
    "read": read,
    "convert": convert,
    "proofread": proofread,
    "serve": serve,
    "lines": lines,
    "blocks": blocks,
    "corpus": corpus,
    "vocab": vocab,
    "synth": synth,
    "eval": eval,
    "compare": compare,
    "train-data": train_data,
    "train": train,
    "train-language": train_language,
    "plot": plot,
    "export": export,
    "expand": expand,
    "export-sft": export_sft,
    "reproduce": reproduce,
}


def make_parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line; what it parses holds the command's function as `run`.

    With `wanted`, only this command gets its options: the others are but named.
    """
    parser = argparse.ArgumentParser(prog="tongguocr", description="OCR for Chinese historical documents.")
    parser.add_argument("--version", action="version", version=f"tongguocr {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP)
        if wanted in (name, None):
            module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _refuse_nothing(words: Sequence[str]) -> None:
    """Refuse empty words: as a path, one would be the whole folder that we are in."""
    for before, word in pairwise(words):
        if not word.strip() and before != "--password":
            raise InputError("An argument is empty; a variable of the shell may not be set.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the exit code."""
    words = sys.argv[1:] if argv is None else argv
    use_utf8()
    args = make_parser(next((word for word in words if word in COMMANDS), None)).parse_args(words)
    try:
        _refuse_nothing(words)
        code = int(args.run(args) or 0)
        sys.stdout.flush()  # Here a full disk or a closed pipe is still ours to tell of.
        return code
    except InputError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        complain("stopped.")
        return STOPPED
    except BrokenPipeError:
        discard()
        return CLOSED
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        discard()
        complain(str(write_error(error.filename or "standard output", error)))
        return 2
