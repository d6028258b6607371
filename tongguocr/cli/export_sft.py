"""`tongguocr export-sft`: labelled pages in; a stage's samples as LLaMA-Factory reads them out."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.cli.arguments import need_full_size, read_stage_pages

HELP = "write a stage's samples for LLaMA-Factory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", nargs="?", default="full-3", metavar="STAGE", help="(default: full-3)")
    parser.add_argument("--pages", action="append", required=True, metavar="KIND=DIR", help="labelled pages")
    parser.add_argument("--model", required=True, metavar="DIR", help="the expanded model that is trained")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")


def run(args: argparse.Namespace) -> None:
    need_full_size("Writing samples for LLaMA-Factory")
    from tongguocr.training.glm.sharegpt import export_sft
    from tongguocr.training.stage import find_stage, load_glm_page_stage

    stage = load_glm_page_stage(find_stage(args.stage))
    print(export_sft(read_stage_pages(args.pages, stage, print), stage, args.model, args.output))
