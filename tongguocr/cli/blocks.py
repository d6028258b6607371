"""`tongguocr blocks`: a page with lines in; its recognition blocks out (paper 3.1, docs/blocks.md)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.errors import InputError

if TYPE_CHECKING:
    from tongguocr.page import Block, Page

HELP = "cut a page with known lines into recognition blocks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", type=Path, metavar="PAGE", help="our JSON, PAGE XML or ALTO")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="BLOCKS.json")
    parser.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the blocks, with order arrows")


def run(args: argparse.Namespace) -> None:
    from tongguocr.blocks import cut_blocks
    from tongguocr.files import write_bytes
    from tongguocr.formats import read_page
    from tongguocr.formats.page_json import render_blocks

    page = read_page(args.page)
    if args.page.suffix.lower() == ".txt":
        raise InputError(f"{args.page}: plain text has no line boxes to make blocks of.")
    blocks = cut_blocks(page)
    write_bytes(render_blocks(page, blocks), args.output)
    if args.picture:
        _draw(page, blocks, args)
    print(f"{len(page.lines)} lines in {len(blocks)} blocks: {args.output}")


def _draw(page: Page, blocks: tuple[Block, ...], args: argparse.Namespace) -> None:
    from tongguocr.formats.picture import draw_blocks, save_picture
    from tongguocr.page import turn_pixels
    from tongguocr.sources import find_image, load_pixels

    image = find_image(page.image, args.page)
    pixels = turn_pixels(load_pixels(image), page.angle) if image else None
    save_picture(draw_blocks(replace(page, pixels=pixels), blocks), args.picture)
