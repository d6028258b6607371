"""`tongguocr train-language`: a text in; a folder with a character model of it out (docs/language.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import check_positive

HELP = "make the language model that chooses among candidates"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", type=Path, metavar="TEXT", help="text or real columns, .xz too")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--max-bytes", type=int, default=5_000_000, metavar="N", help="of the file (5000000)")
    parser.add_argument("--min-count", type=int, default=3, metavar="N", help="rarer characters are unknown")


def run(args: argparse.Namespace) -> None:
    from tongguocr.training.language_file import Recipe, train_language

    check_positive(args, "max_bytes", "min_count")
    train_language(args.text, args.output, Recipe(args.max_bytes, args.min_count))
