"""`tongguocr ablate`: a grid of variants of the full-size model in; one table of their figures out."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import add_device, need_full_size

HELP = "train and score variants of the full-size model: one table"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grid", type=Path, metavar="GRID.toml", help="see docs/full_size.md")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for each run")
    add_device(parser)


def run(args: argparse.Namespace) -> None:
    need_full_size("Ablation")
    from tongguocr.engines.devices import pick_device
    from tongguocr.training.glm.ablate import run_grid

    print(run_grid(args.grid, args.out, pick_device(args.device), print))
