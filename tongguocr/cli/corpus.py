"""`tongguocr corpus`: data sets in; the text of their training splits out, for mining characters."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "write the text of data sets' training splits into one file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="KIND=DIR", help="mthv2, m5hisdoc, hisdoc1b ...")
    parser.add_argument(
        "--split", choices=["train", "val", "test"], default="train", help="vocab refuses the text of others"
    )
    parser.add_argument(
        "--stage", metavar="STAGE", help="a stage file whose table [hisdoc1b] names that data set's fields"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="CORPUS.txt")


def run(args: argparse.Namespace) -> None:
    from tongguocr.training.datasets import Mapping
    from tongguocr.training.datasets.corpus import write_corpus
    from tongguocr.training.datasets.sources import parse_source
    from tongguocr.training.settings import fill, read_tables

    sources, mapping = [parse_source(written) for written in args.sources], Mapping()
    if args.stage:
        path = Path(args.stage)
        mapping = fill(Mapping, read_tables(path).get("hisdoc1b", {}), "hisdoc1b", path)
    write_corpus(sources, args.output, args.split, mapping)
