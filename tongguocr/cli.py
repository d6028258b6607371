"""The command `tongguocr`: arguments in, one call into the package, a table or files out.

Each command's work is imported inside it, so that starting the program stays quick. Bad input ends in one
sentence on standard error and exit code 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tongguocr import __version__
from tongguocr.errors import InputError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tongguocr", description="OCR for Chinese historical documents.")
    parser.add_argument("--version", action="version", version=f"tongguocr {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    blocks = commands.add_parser("blocks", help="cut a page with known lines into recognition blocks")
    blocks.add_argument("page", type=Path, metavar="PAGE", help="our JSON, PAGE XML or ALTO")
    blocks.add_argument("-o", "--output", type=Path, required=True, metavar="BLOCKS.json")
    blocks.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the blocks, with order arrows")
    blocks.set_defaults(run=_blocks)

    vocab = commands.add_parser("vocab", help="find the characters that deserve a token of their own")
    vocab.add_argument("corpus", type=Path, nargs="+", metavar="CORPUS")
    vocab.add_argument("--tokenizer", type=Path, required=True, metavar="PATH")
    vocab.add_argument("-o", "--output", type=Path, required=True, metavar="ADDED.txt")
    vocab.set_defaults(run=_vocab)

    evaluate = commands.add_parser("eval", help="score transcriptions against references")
    evaluate.add_argument("prediction", type=Path, metavar="PRED", help="a file or a folder")
    evaluate.add_argument("reference", type=Path, metavar="REF", help="a file or a folder")
    evaluate.set_defaults(run=_eval)
    return parser


def _blocks(args: argparse.Namespace) -> None:
    raise NotImplementedError


def _vocab(args: argparse.Namespace) -> None:
    raise NotImplementedError


def _eval(args: argparse.Namespace) -> None:
    raise NotImplementedError


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        args.run(args)
    except InputError as error:
        print(f"tongguocr: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
