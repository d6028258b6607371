"""`tongguocr lines`: a page's image in; its lines, their kinds and order out (paper 3.1, docs/layout.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import DIRECTIONS, add_no_turn, add_reading_device
from tongguocr.cli.in_vain import check_detector_weights
from tongguocr.errors import InputError
from tongguocr.formats import format_of

HELP = "find a page's lines, their kinds and their order"
TEXT_ALONE = ("txt", "md", "epub", "csv")
"""Formats in which nothing is left of lines without text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("image", type=Path, metavar="IMAGE")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="LINES", help=".json, .xml (PAGE)"
    )
    parser.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the lines, with order arrows")
    parser.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    add_no_turn(parser)
    parser.add_argument("--detector", default="tongguocr", metavar="NAME", help="tongguocr, rapidocr")
    parser.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of our detector")
    add_reading_device(parser)


def run(args: argparse.Namespace) -> None:
    from tongguocr.formats import write_page
    from tongguocr.formats.picture import draw_lines, save_picture
    from tongguocr.page import bare_page
    from tongguocr.reader import Setup, open_reader
    from tongguocr.sources import load_pixels

    check_detector_weights(args, "weights")
    if format_of(args.output).name in TEXT_ALONE:
        raise InputError(f"{args.output}: lines have no text yet; take .json or .xml, or the command read.")
    page = bare_page(args.image.name, load_pixels(args.image))
    setup = Setup(
        engine=None,
        detector=args.detector,
        detector_weights=args.weights,
        direction=args.direction,
        turn=args.turn,
        device=args.device,
    )
    found = open_reader(setup).read(page)
    write_page(found, args.output)
    if args.picture:
        save_picture(draw_lines(found), args.picture)
    print(f"{len(found.lines)} lines: {args.output}")
