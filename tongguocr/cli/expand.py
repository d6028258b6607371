"""`tongguocr expand`: GLM-OCR in; the same with characters and transitions added to its vocabulary out."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import need_full_size
from tongguocr.errors import InputError

HELP = "add characters and transitions to GLM-OCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a folder, or a name on the hub: zai-org/GLM-OCR")
    parser.add_argument("--added", type=Path, metavar="ADDED.txt", help="what `tongguocr vocab` wrote")
    parser.add_argument("--no-transitions", action="store_true", help="characters alone")
    parser.add_argument(
        "--start", default="default", metavar="WAY", help="values of new rows: default, spread"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")


def run(args: argparse.Namespace) -> None:
    need_full_size("Expanding a model")
    from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
    from tongguocr.training.glm.expand import STARTS, expand, read_added

    start = next((way for way in STARTS if way == args.start), None)
    if start is None:
        raise InputError(f"New rows start as one of {', '.join(STARTS)}, not {args.start!r}.")
    if args.added is None and args.no_transitions:
        raise InputError("There is nothing to add: no --added, and --no-transitions.")
    characters = read_added(args.added) if args.added else []
    pretrained, added = expand(load_pretrained(args.model), characters, not args.no_transitions, start)
    save_pretrained(pretrained, args.output)
    print(f"{added.describe()}\n{args.output}")
