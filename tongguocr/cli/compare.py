"""`tongguocr compare`: images with references in; how good each engine is out (docs/compare.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import add_no_turn, add_protocol, add_reading_device, complain
from tongguocr.engines import ENGINES
from tongguocr.errors import need

HELP = "read pages with several engines and score them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="images, each with a reference beside it")
    parser.add_argument("--engines", metavar="E,...", help=", ".join(ENGINES))
    parser.add_argument("--given-lines", action="store_true", help="take the references' lines and order")
    parser.add_argument("--detector", metavar="NAME", help="what finds lines for us: tongguocr, rapidocr")
    add_no_turn(parser)
    parser.add_argument("--weights", type=Path, metavar="DIR", help="weights of the engine tongguocr")
    parser.add_argument("--url", metavar="URL", help="the server's address, for the engine server")
    parser.add_argument("--model", metavar="NAME", help="the server's model")
    add_reading_device(parser)
    add_protocol(parser)


def run(args: argparse.Namespace) -> None:
    import json

    need("Comparing", "eval", "rapidfuzz", "rich", "scipy")
    from tongguocr.evaluate.compare import Comparing, compare
    from tongguocr.evaluate.compare_table import print_comparison
    from tongguocr.progress import follow
    from tongguocr.reader import DEFAULT_DETECTOR

    comparing = Comparing(
        tuple(name.strip() for name in args.engines.split(",")) if args.engines else (),
        args.given_lines,
        args.detector or DEFAULT_DETECTOR,
        args.weights,
        args.url,
        args.model,
        args.protocol,
        args.fold_variants,
        args.turn,
        args.device,
    )
    result = compare(args.folder, comparing, warn=complain, follow=follow)
    if args.json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        print_comparison(result)
