"""`tongguocr train-data`: fonts, text and counts in; one folder that a training run reads out."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.errors import need

HELP = "gather what a training run reads into one folder"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="text or real columns")
    parser.add_argument(
        "--counts", type=Path, required=True, metavar="TSV", help="how often characters occur"
    )
    parser.add_argument("--lines", type=Path, metavar="TSV", help="line images: archive, member, text")
    parser.add_argument("--char-pages", type=Path, metavar="DIR", help="pages with character boxes")
    parser.add_argument("--line-pages", type=Path, metavar="DIR", help="pages with labelled lines")
    parser.add_argument("--min-count", type=int, default=20, metavar="N", help="rarer ones go out as bytes")
    parser.add_argument("--most", type=int, metavar="N", help="only the N commonest characters")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


def run(args: argparse.Namespace) -> None:
    need("Training", "train", "torch")
    from tongguocr.training.recogniser.train_data import gather_data

    sources = (args.fonts, args.text, args.counts, args.lines, args.min_count)
    for sentence in gather_data(args.out, *sources, args.char_pages, args.line_pages, args.most):
        print(sentence)
