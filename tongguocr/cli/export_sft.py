"""`tongguocr export-sft`: labelled pages in; a stage's samples as LLaMA-Factory reads them out."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import is_full_size, need_full_size, read_glm_pages
from tongguocr.errors import InputError

HELP = "write a stage's samples for LLaMA-Factory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", nargs="?", default="full-3", metavar="STAGE", help="(default: full-3)")
    parser.add_argument("--pages", action="append", required=True, metavar="KIND=DIR", help="labelled pages")
    parser.add_argument("--model", required=True, metavar="DIR", help="the expanded model that is trained")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")


def run(args: argparse.Namespace) -> None:
    need_full_size("Writing samples for LLaMA-Factory")
    from tongguocr.training.glm.sharegpt import export_sft
    from tongguocr.training.glm.stage import load_glm_stage
    from tongguocr.training.stage import find_stage

    path = find_stage(args.stage)
    if not is_full_size(path):
        raise InputError(f"{path}: this is not a stage of the full-size model, it has no table [glm].")
    stage = load_glm_stage(path)
    print(export_sft(read_glm_pages(args.pages, path, print), stage, args.model, args.output))
