"""`tongguocr vocab`: a corpus and a tokenizer in; the characters that deserve a token of their own out."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "find the characters that deserve a token of their own"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", type=Path, nargs="+", metavar="CORPUS", help="text, .txt folder, count .tsv"
    )
    parser.add_argument(
        "--tokenizer", type=Path, required=True, metavar="PATH", help="tokenizer.json, folder"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="ADDED.txt")
    parser.add_argument("--min-count", type=int, default=1, metavar="N", help="drop rarer characters")


def run(args: argparse.Namespace) -> None:
    from tongguocr.tokens.vocabulary import make_vocabulary

    print(make_vocabulary(args.corpus, args.tokenizer, args.output, args.min_count))
