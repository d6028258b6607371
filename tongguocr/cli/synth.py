"""`tongguocr synth`: fonts and a text in; synthetic pages with their ground truth out (docs/synth.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "make synthetic pages with their ground truth"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("-n", type=int, metavar="N", help="how many pages (default: 1)")
    parser.add_argument("--seed", type=int, metavar="N", help="another seed, other pages (default: 0)")
    parser.add_argument("--kind", nargs="+", metavar="KIND", help="only these kinds of page, in turn")
    parser.add_argument("--text", type=Path, metavar="FILE", help="text or real columns (default: 千字文)")
    parser.add_argument("--chars", type=Path, metavar="FILE", help="draw these characters instead of a text")
    parser.add_argument("--format", default="json,page", metavar="F,...", help="json, page, mthv2, m5hisdoc")
    parser.add_argument("--size", metavar="WxH", help="scale pages to fit into so many pixels")
    parser.add_argument("--png", action="store_true", help="PNG images instead of JPEG")
    parser.add_argument("--clean", action="store_true", help="new pages, without degradation")
    parser.add_argument(
        "--bench",
        nargs="?",
        type=int,
        const=1,
        default=0,
        metavar="PART",
        help="the frozen benchmark: 200 pages, or with 2 its second part of 120",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")


def run(args: argparse.Namespace) -> None:
    from tongguocr.training.synth.generate import generate, parse_options

    generate(parse_options(vars(args)))
