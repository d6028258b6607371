"""`tongguocr plot`: the logs of training runs in; one picture, the stages one after the other, out."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "the logs of runs as one picture, the stages one after the other"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="what train wrote")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="PICTURE")


def run(args: argparse.Namespace) -> None:
    from tongguocr.training.plot import draw_runs

    draw_runs(args.runs, args.output)
