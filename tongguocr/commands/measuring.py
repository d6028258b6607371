"""`tongguocr eval`: how good transcriptions are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tongguocr.commands import Subparsers


def add(commands: Subparsers) -> None:
    evaluate = commands.add_parser("eval", help="score transcriptions against references")
    evaluate.add_argument("prediction", type=Path, metavar="PRED", help="a file or a folder")
    evaluate.add_argument("reference", type=Path, metavar="REF", help="a file or a folder")
    evaluate.add_argument("--protocol", choices=("paper", "mcs", "omnidoc", "strict"), default="paper")
    evaluate.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    evaluate.add_argument("--fold-variants", action="store_true", help="also with graphic variants as one")
    evaluate.add_argument("--added", type=Path, metavar="ADDED.txt", help="score these characters apart")
    evaluate.set_defaults(run=_eval)


def _eval(args: argparse.Namespace) -> None:
    import json
    import os

    from tongguocr.evaluate.files import evaluate
    from tongguocr.evaluate.tables import print_tables

    result = evaluate(
        args.prediction,
        args.reference,
        args.protocol,
        fold_variants=args.fold_variants,
        added=args.added,
        workers=os.cpu_count() or 1,
        warn=lambda sentence: print(f"tongguocr: {sentence}", file=sys.stderr),
    )
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)
