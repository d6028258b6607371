"""`tongguocr vocab` and `tongguocr synth`: the characters of a vocabulary; pages that never were."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import Subparsers


def add(commands: Subparsers) -> None:
    vocab = commands.add_parser("vocab", help="find the characters that deserve a token of their own")
    vocab.add_argument("corpus", type=Path, nargs="+", metavar="CORPUS", help="text, .txt folder, count .tsv")
    vocab.add_argument("--tokenizer", type=Path, required=True, metavar="PATH", help="tokenizer.json, folder")
    vocab.add_argument("-o", "--output", type=Path, required=True, metavar="ADDED.txt")
    vocab.add_argument("--min-count", type=int, default=1, metavar="N", help="drop rarer characters")
    vocab.set_defaults(run=_vocab)

    synth = commands.add_parser("synth", help="make synthetic pages with their ground truth")
    synth.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    synth.add_argument("--out", type=Path, required=True, metavar="DIR")
    synth.add_argument("-n", type=int, metavar="N", help="how many pages (default: 1)")
    synth.add_argument("--seed", type=int, metavar="N", help="another seed, other pages (default: 0)")
    synth.add_argument("--kind", nargs="+", metavar="KIND", help="only these kinds of page, in turn")
    synth.add_argument("--text", type=Path, metavar="FILE", help="text or real columns (default: 千字文)")
    synth.add_argument("--chars", type=Path, metavar="FILE", help="draw these characters instead of a text")
    synth.add_argument("--format", default="json,page", metavar="F,...", help="json, page, mthv2, m5hisdoc")
    synth.add_argument("--size", metavar="WxH", help="scale pages to fit into so many pixels")
    synth.add_argument("--png", action="store_true", help="PNG images instead of JPEG")
    synth.add_argument("--clean", action="store_true", help="new pages, without wear")
    synth.add_argument("--bench", action="store_true", help="the frozen benchmark of 200 pages")
    synth.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    synth.set_defaults(run=_synth)


def _vocab(args: argparse.Namespace) -> None:
    from tongguocr.tokens.vocabulary import make_vocabulary

    print(make_vocabulary(args.corpus, args.tokenizer, args.output, args.min_count))


def _synth(args: argparse.Namespace) -> None:
    from tongguocr.training.synth.command import make_order, make_with_progress

    make_with_progress(make_order(vars(args)))
