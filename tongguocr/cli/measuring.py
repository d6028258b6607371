"""`tongguocr eval`: how good transcriptions are. `tongguocr compare`: how good engines are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tongguocr.cli.arguments import Subparsers
from tongguocr.errors import need

_PROTOCOLS = ("paper", "mcs", "omnidoc", "strict")


def add(commands: Subparsers) -> None:
    evaluate = commands.add_parser("eval", help="score transcriptions against references")
    evaluate.add_argument("prediction", type=Path, metavar="PRED", help="a file or a folder")
    evaluate.add_argument("reference", type=Path, metavar="REF", help="a file or a folder")
    evaluate.add_argument("--protocol", choices=_PROTOCOLS, default="paper")
    evaluate.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    evaluate.add_argument("--fold-variants", action="store_true", help="also with graphic variants as one")
    evaluate.add_argument("--added", type=Path, metavar="ADDED.txt", help="score these characters apart")
    evaluate.set_defaults(run=_eval)
    _add_compare(commands)


def _add_compare(commands: Subparsers) -> None:
    compare = commands.add_parser("compare", help="read pages with several engines and score them")
    compare.add_argument(
        "folder", type=Path, metavar="FOLDER", help="images, each with a reference beside it"
    )
    compare.add_argument("--engines", metavar="E,...", help="tongguocr, rapidocr, tesseract, server")
    compare.add_argument("--given-lines", action="store_true", help="take the references' lines and order")
    compare.add_argument("--detector", metavar="NAME", help="what finds lines for us: tongguocr, rapidocr")
    compare.add_argument("--weights", type=Path, metavar="DIR", help="weights of the engine tongguocr")
    compare.add_argument("--url", metavar="URL", help="the server's address, for the engine server")
    compare.add_argument("--model", metavar="NAME", help="the server's model")
    compare.add_argument("--protocol", choices=_PROTOCOLS, default="paper")
    compare.add_argument("--fold-variants", action="store_true", help="also with graphic variants as one")
    compare.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    compare.set_defaults(run=_compare)


def _eval(args: argparse.Namespace) -> None:
    import json
    import os

    need("Scoring", "eval", "rapidfuzz", "rich")
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


def _compare(args: argparse.Namespace) -> None:
    import json

    need("Comparing", "eval", "rapidfuzz", "rich")
    from tongguocr.engines import SHIPPED
    from tongguocr.evaluate.compare import Comparing, compare
    from tongguocr.evaluate.compare_table import print_comparison
    from tongguocr.progress import follow
    from tongguocr.reader import DEFAULT_DETECTOR

    comparing = Comparing(
        tuple(name.strip() for name in args.engines.split(",")) if args.engines else (),
        args.given_lines,
        args.detector or DEFAULT_DETECTOR,
        args.weights or SHIPPED,
        args.url,
        args.model,
        args.protocol,
        args.fold_variants,
    )
    result = compare(
        args.folder,
        comparing,
        warn=lambda sentence: print(f"tongguocr: {sentence}", file=sys.stderr),
        follow=follow,
    )
    if args.json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        print_comparison(result)
