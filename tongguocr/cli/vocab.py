"""`tongguocr vocab`: a corpus and a tokenizer in; the characters that deserve a token of their own out."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

HELP = "find the characters that deserve a token of their own"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "corpus", nargs="+", metavar="CORPUS", help="text, .txt folder, count .tsv, or data set as KIND=DIR"
    )
    parser.add_argument(
        "--tokenizer", type=Path, required=True, metavar="PATH", help="tokenizer.json, folder"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="ADDED.txt")
    parser.add_argument("--min-count", type=int, default=1, metavar="N", help="drop rarer characters")


def run(args: argparse.Namespace) -> None:
    from tongguocr.tokens.vocabulary import check_request, make_vocabulary

    check_request(args.output, args.min_count)
    with TemporaryDirectory(prefix="tongguocr-") as folder:
        corpora = [_as_text(written, Path(folder) / f"{k}.txt") for k, written in enumerate(args.corpus)]
        print(make_vocabulary(corpora, args.tokenizer, args.output, args.min_count))


def _as_text(written: str, text: Path) -> Path:
    """The corpus itself; of a data set, the text of its training split, written here."""
    from tongguocr.training.datasets.corpus import write_corpus
    from tongguocr.training.datasets.sources import DATASETS, parse_source, recognise

    path, named = Path(written), written.partition("=")[0] in DATASETS and "=" in written
    kind = None if named else recognise(path)
    if not named and kind is None:
        return path
    write_corpus([parse_source(written) if named else (kind or "", path)], text)
    return text
