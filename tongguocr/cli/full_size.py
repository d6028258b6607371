"""`tongguocr expand`, `export-sft` and `ablate`, and `train` for stages of the full-size model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import Subparsers
from tongguocr.errors import InputError, need

if TYPE_CHECKING:
    import torch

    from tongguocr.training.recogniser.labelled import Labelled, Say


def add(commands: Subparsers) -> None:
    expand = commands.add_parser("expand", help="add characters and transitions to GLM-OCR")
    expand.add_argument("model", metavar="MODEL", help="a folder, or a name on the hub: zai-org/GLM-OCR")
    expand.add_argument("--added", type=Path, metavar="ADDED.txt", help="what `tongguocr vocab` wrote")
    expand.add_argument("--no-transitions", action="store_true", help="characters alone")
    expand.add_argument(
        "--start", default="default", metavar="WAY", help="values of new rows: default, spread"
    )
    expand.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    expand.set_defaults(run=_expand)

    sft = commands.add_parser("export-sft", help="write a stage's samples for LLaMA-Factory")
    sft.add_argument("stage", nargs="?", default="full-3", metavar="STAGE", help="(default: full-3)")
    sft.add_argument("--pages", action="append", required=True, metavar="KIND=DIR", help="labelled pages")
    sft.add_argument("--model", required=True, metavar="DIR", help="the expanded model that is trained")
    sft.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    sft.set_defaults(run=_export_sft)

    ablate = commands.add_parser("ablate", help="train and score variants of the full-size model: one table")
    ablate.add_argument("grid", type=Path, metavar="GRID.toml", help="see docs/full_size.md")
    ablate.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for each run")
    ablate.add_argument(
        "--device", default="auto", metavar="DEVICE", help="cuda, cpu (default: what is there)"
    )
    ablate.set_defaults(run=_ablate)


def _need(what: str) -> None:
    need(what, "glm", "torch", "transformers", "tokenizers")


def _expand(args: argparse.Namespace) -> None:
    _need("Expanding a model")
    from tongguocr.engines.glm.pretrained import load_foundation, save_foundation
    from tongguocr.training.glm.expand import STARTS, expand, read_added

    start = next((way for way in STARTS if way == args.start), None)
    if start is None:
        raise InputError(f"New rows start as one of {', '.join(STARTS)}, not {args.start!r}.")
    if args.added is None and args.no_transitions:
        raise InputError("There is nothing to add: no --added, and --no-transitions.")
    characters = read_added(args.added) if args.added else []
    foundation, added = expand(load_foundation(args.model), characters, not args.no_transitions, start)
    save_foundation(foundation, args.output)
    print(f"{added.tell()}\n{args.output}")


def _export_sft(args: argparse.Namespace) -> None:
    _need("Writing samples for LLaMA-Factory")
    from tongguocr.training.glm.sharegpt import export_sft
    from tongguocr.training.glm.stage import load_glm_stage
    from tongguocr.training.stage import find_stage

    path = find_stage(args.stage)
    if not is_full_size(path):
        raise InputError(f"{path}: this is not a stage of the full-size model, it has no table [glm].")
    stage = load_glm_stage(path)
    print(export_sft(_read_pages(args, path, print), stage, args.model, args.output))


def _ablate(args: argparse.Namespace) -> None:
    _need("Ablation")
    from tongguocr.training.distributed import pick_device
    from tongguocr.training.glm.ablate import run_grid

    print(run_grid(args.grid, args.out, pick_device(args.device), print))


def is_full_size(stage: Path) -> bool:
    from tongguocr.training.settings import read_tables

    return "glm" in read_tables(stage)


def train_full_size(args: argparse.Namespace, device: torch.device, on_pages: bool) -> bool:
    """A stage of the full-size model; whether there was a run, and not only an estimate of it."""
    _need("Training the full-size model")
    (_on_pages if on_pages else _on_blocks)(args, device)
    return args.dry_run is None


def _on_blocks(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.glm.plan import plan_drawn
    from tongguocr.training.glm.stage import load_glm_drawn_stage
    from tongguocr.training.glm.train import find_glm_start, train_glm_drawn
    from tongguocr.training.recogniser.feed import load_data

    stage, data = load_glm_drawn_stage(args.stage), load_data(args.data)
    if args.dry_run is not None:
        print(plan_drawn(stage, data.codec, args.dry_run))
        return
    start = find_glm_start(str(args.start) if args.start else None, args.out)
    train_glm_drawn(data, stage, start, args.out, device)


def _on_pages(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.engines.glm.pretrained import load_foundation
    from tongguocr.training.distributed import my_number
    from tongguocr.training.glm.plan import plan_pages
    from tongguocr.training.glm.stage import load_glm_stage
    from tongguocr.training.glm.train import find_glm_start, train_glm_pages

    stage = load_glm_stage(args.stage)
    start = find_glm_start(str(args.start) if args.start else None, args.out)
    if start is None:
        raise InputError(
            f"{args.stage}: say with --start which model to begin with: `tongguocr expand` makes it."
        )
    say = print if my_number() == 0 else lambda sentence: None
    pages = _read_pages(args, args.stage, say)
    if args.dry_run is not None:
        print(plan_pages(stage, pages, start, args.dry_run))
        return
    train_glm_pages(pages, stage, load_foundation(start), args.out, device, say)


def _read_pages(args: argparse.Namespace, path: Path, say: Say) -> Labelled:
    from tongguocr.training.glm.stage import load_glm_stage
    from tongguocr.training.recogniser.labelled import parse_source, read_pages

    stage = load_glm_stage(path).stage
    sources = [parse_source(written) for written in args.pages]
    return read_pages(sources, stage.pages.kinds, stage.pages.judged, stage.mapping, say)
