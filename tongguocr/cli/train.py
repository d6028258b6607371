"""`tongguocr train`: a stage file, and data or labelled pages, in; a checkpoint and a log out.

It trains the small recogniser, the full-size model or the detector: its file says which (docs/training.md).
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import add_device, is_full_size, need_full_size, read_glm_pages
from tongguocr.errors import InputError, need

if TYPE_CHECKING:
    import torch

    from tongguocr.training.recogniser.labelled import Say

HELP = "train a recogniser, small or full size, or the detector: one stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stage", metavar="STAGE", help="0, 1, 2, 3, tune, full-1 ..., or a file; see docs/training.md"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="what train-data gathered")
    parser.add_argument("--pages", action="append", metavar="KIND=DIR", help="labelled pages (1, 2, 3, tune)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="log and checkpoint go here")
    parser.add_argument("--start", type=Path, metavar="WEIGHTS", help="go on from this folder or model.pt")
    add_device(parser)
    parser.add_argument(
        "--dry-run", type=int, nargs="?", const=1, metavar="GPUS", help="full size: say what the run needs"
    )


def run(args: argparse.Namespace) -> None:
    need("Training", "train", "torch")
    from tongguocr.engines.devices import pick_device
    from tongguocr.training.detector.stage import is_detector_stage
    from tongguocr.training.settings import read_tables
    from tongguocr.training.stage import find_stage

    args.stage, device = find_stage(args.stage), pick_device(args.device)
    on_pages = "pages" in read_tables(args.stage)
    if on_pages and (args.data or not args.pages):
        raise InputError(f"{args.stage}: this stage needs labelled pages: --pages KIND=DIR, and no --data.")
    if not on_pages and (args.pages or not args.data):
        raise InputError(f"{args.stage}: this stage needs what train-data made: --data DIR, and no --pages.")
    if is_detector_stage(args.stage):
        _train_detector(args, device)
    elif is_full_size(args.stage):
        need_full_size("Training the full-size model")
        (_train_glm_on_pages if on_pages else _train_glm_on_blocks)(args, device)
        if args.dry_run is not None:
            return
    else:
        (_train_on_pages if on_pages else _train_on_blocks)(args, device)
    _draw_log(args.out)


def _draw_log(folder: Path) -> None:
    from tongguocr.training.distributed import my_number

    if find_spec("matplotlib") and my_number() == 0:
        from tongguocr.training.plot import draw_runs

        draw_runs([folder], folder / "log.png")


def _first_process_says() -> Say:
    from tongguocr.training.distributed import my_number

    return print if my_number() == 0 else lambda sentence: None


def _train_on_blocks(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.loop import train
    from tongguocr.training.recogniser.feed import load_data
    from tongguocr.training.stage import load_stage

    data = load_data(args.data)
    stage = load_stage(args.stage, len(data.codec))
    train(data, stage.run, stage.size, args.out, args.start, device)


def _train_on_pages(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.epochs import train_pages
    from tongguocr.training.recogniser.labelled import parse_source, read_pages
    from tongguocr.training.recogniser.restore import find_start, open_model
    from tongguocr.training.stage import load_page_stage

    stage = load_page_stage(args.stage)
    sources = [parse_source(written) for written in args.pages]
    say = _first_process_says()
    pages = read_pages(sources, stage.pages.kinds, stage.pages.judged, stage.mapping, say)
    model, codec = open_model(find_start(args.start, args.out))
    train_pages(pages, stage.pages, stage.run, model, codec, args.out, device, say)


def _train_detector(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.detector.feed import load_source
    from tongguocr.training.detector.loop import train_detector
    from tongguocr.training.detector.stage import load_detector_stage

    stage = load_detector_stage(args.stage)
    source = load_source(args.data, stage.recipe)
    train_detector(source, stage.run, stage.size, args.out, args.start, device)


def _train_glm_on_blocks(args: argparse.Namespace, device: torch.device) -> None:
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


def _train_glm_on_pages(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.engines.glm.pretrained import load_pretrained
    from tongguocr.training.glm.plan import plan_pages
    from tongguocr.training.glm.stage import load_glm_stage
    from tongguocr.training.glm.train import find_glm_start, train_glm_pages

    stage = load_glm_stage(args.stage)
    start = find_glm_start(str(args.start) if args.start else None, args.out)
    if start is None:
        raise InputError(
            f"{args.stage}: say with --start which model to begin with: `tongguocr expand` makes it."
        )
    say = _first_process_says()
    pages = read_glm_pages(args.pages, args.stage, say)
    if args.dry_run is not None:
        print(plan_pages(stage, pages, start, args.dry_run))
        return
    train_glm_pages(pages, stage, load_pretrained(start), args.out, device, say)
