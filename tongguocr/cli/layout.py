"""`tongguocr lines` and `tongguocr blocks`: a page's lines and their order; its recognition blocks."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import Subparsers
from tongguocr.errors import InputError

if TYPE_CHECKING:
    from tongguocr.page import Block, Page

DIRECTIONS = ("vertical-rl", "vertical-lr", "horizontal")


def add(commands: Subparsers) -> None:
    lines = commands.add_parser("lines", help="find a page's lines, their kinds and their order")
    lines.add_argument("image", type=Path, metavar="IMAGE")
    lines.add_argument("-o", "--output", type=Path, required=True, metavar="LINES", help=".json, .xml (PAGE)")
    lines.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the lines, with order arrows")
    lines.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    lines.add_argument("--detector", default="tongguocr", metavar="NAME", help="tongguocr, rapidocr")
    lines.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of our detector")
    lines.set_defaults(run=_lines)

    blocks = commands.add_parser("blocks", help="cut a page with known lines into recognition blocks")
    blocks.add_argument("page", type=Path, metavar="PAGE", help="our JSON, PAGE XML or ALTO")
    blocks.add_argument("-o", "--output", type=Path, required=True, metavar="BLOCKS.json")
    blocks.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the blocks, with order arrows")
    blocks.set_defaults(run=_blocks)


def _lines(args: argparse.Namespace) -> None:
    from tongguocr.formats import write_page
    from tongguocr.formats.picture import draw_lines, save_picture
    from tongguocr.layout.detect import find_lines, open_detector
    from tongguocr.page import bare_page
    from tongguocr.sources import load_pixels

    page = bare_page(args.image.name, load_pixels(args.image))
    found = find_lines(page, open_detector(args.detector, args.weights), args.direction)
    write_page(found, args.output)
    if args.picture:
        save_picture(draw_lines(found), args.picture)
    print(f"{len(found.lines)} lines: {args.output}")


def _blocks(args: argparse.Namespace) -> None:
    from tongguocr.blocks import cut_blocks
    from tongguocr.files import write_bytes
    from tongguocr.formats import read_page
    from tongguocr.formats.blocks_json import blocks_to_json

    page = read_page(args.page)
    if args.page.suffix.lower() == ".txt":
        raise InputError(f"{args.page}: plain text has no line boxes to make blocks of.")
    blocks = cut_blocks(page)
    write_bytes(blocks_to_json(page, blocks).encode(), args.output)
    if args.picture:
        _draw(page, blocks, args)
    print(f"{len(page.lines)} lines in {len(blocks)} blocks: {args.output}")


def _draw(page: Page, blocks: tuple[Block, ...], args: argparse.Namespace) -> None:
    from tongguocr.formats.picture import draw_blocks, save_picture
    from tongguocr.sources import find_image, load_pixels

    image = find_image(page.image, args.page)
    pixels = load_pixels(image) if image else None
    save_picture(draw_blocks(replace(page, pixels=pixels), blocks), args.picture)
