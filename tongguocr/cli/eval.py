"""`tongguocr eval`: transcriptions and references in; metrics out (docs/metrics.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import add_protocol, complain
from tongguocr.errors import need

HELP = "score transcriptions against references"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prediction", type=Path, metavar="PRED", help="a file or a folder")
    parser.add_argument("reference", type=Path, metavar="REF", help="a file or a folder")
    add_protocol(parser)
    parser.add_argument(
        "--no-fold", action="store_true", help="without running titles and folio numbers, on both sides"
    )
    parser.add_argument("--added", type=Path, metavar="ADDED.txt", help="score these characters apart")


def run(args: argparse.Namespace) -> None:
    import json
    import os

    need("Scoring", "eval", "rapidfuzz", "rich", "scipy")
    from tongguocr.evaluate.files import evaluate
    from tongguocr.evaluate.report import print_tables

    result = evaluate(
        args.prediction,
        args.reference,
        args.protocol,
        fold_variants=args.fold_variants,
        added=args.added,
        fold=not args.no_fold,
        workers=os.cpu_count() or 1,
        warn=complain,
    )
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)
