"""`tongguocr train`: a stage file, and data or labelled pages, in; a checkpoint and a log out.

It trains the small recogniser, the full-size model or the detector: its file says which (docs/training.md).
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import add_device, need_full_size, read_stage_pages
from tongguocr.errors import InputError, need

if TYPE_CHECKING:
    import torch

    from tongguocr.training.detector.stage import DetectorStage
    from tongguocr.training.glm.stage import GlmBlockStage, GlmPageStage
    from tongguocr.training.recogniser.labelled import Say
    from tongguocr.training.recogniser.stage import BlockStage, PageStage

HELP = "train a recogniser, small or full size, or the detector: one stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stage", metavar="STAGE", help="0, 1, 2, 3, tune, full-1 ..., or a file; see docs/training.md"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="what train-data gathered")
    parser.add_argument("--pages", action="append", metavar="KIND=DIR", help="labelled pages (1, 2, 3, tune)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="log and checkpoint go here")
    parser.add_argument("--start", type=Path, metavar="WEIGHTS", help="go on from this folder or model.pt")
    parser.add_argument(
        "--backbone", type=Path, metavar="FILE", help="PP-OCRv6 small's recogniser, safetensors, as the stem"
    )
    add_device(parser)
    parser.add_argument(
        "--dry-run", type=int, nargs="?", const=1, metavar="GPUS", help="full size: say what the run needs"
    )


def run(args: argparse.Namespace) -> None:
    need("Training", "train", "torch")
    from tongguocr.engines.torch_devices import pick_device
    from tongguocr.training.detector.stage import DetectorStage
    from tongguocr.training.glm.stage import GlmBlockStage, GlmPageStage
    from tongguocr.training.recogniser.stage import PageStage
    from tongguocr.training.stage import find_stage, load_stage

    args.stage, device = find_stage(args.stage), pick_device(args.device)
    stage = load_stage(args.stage)
    on_pages = isinstance(stage, PageStage | GlmPageStage)
    if on_pages and (args.data or not args.pages):
        raise InputError(f"{args.stage}: this stage needs labelled pages: --pages KIND=DIR, and no --data.")
    if not on_pages and (args.pages or not args.data):
        raise InputError(f"{args.stage}: this stage needs what train-data made: --data DIR, and no --pages.")
    if isinstance(stage, GlmPageStage | GlmBlockStage):
        need_full_size("Training the full-size model")
        _train_glm(args, stage, device)
    elif isinstance(stage, PageStage):
        _train_on_pages(args, stage, device)
    elif isinstance(stage, DetectorStage):
        _train_detector(args, stage, device)
    else:
        _train_on_blocks(args, stage, device)
    if args.dry_run is None:
        _draw_log(args.out)


def _draw_log(folder: Path) -> None:
    from tongguocr.training.distributed import process_rank

    if find_spec("matplotlib") and process_rank() == 0:
        from tongguocr.training.plot import draw_runs

        draw_runs([folder], folder / "log.png")


def _main_process_says() -> Say:
    from tongguocr.training.distributed import process_rank

    return print if process_rank() == 0 else lambda sentence: None


def _train_on_blocks(args: argparse.Namespace, stage: BlockStage, device: torch.device) -> None:
    from tongguocr.training.recogniser.block_feed import load_data
    from tongguocr.training.recogniser.task import train_blocks

    train_blocks(load_data(args.data), stage, args.out, args.start, device, args.backbone)


def _train_on_pages(args: argparse.Namespace, stage: PageStage, device: torch.device) -> None:
    from tongguocr.training.calibration import carry_calibration
    from tongguocr.training.distributed import process_rank
    from tongguocr.training.recogniser.restore import find_start, open_model
    from tongguocr.training.recogniser.task import train_pages

    say = _main_process_says()
    pages = read_stage_pages(args.pages, stage, say)
    start = find_start(args.start, args.out)
    model, codec = open_model(start)
    if process_rank() == 0:
        carry_calibration(start, args.out)
    train_pages(pages, stage, model, codec, args.out, device, say)


def _train_detector(args: argparse.Namespace, stage: DetectorStage, device: torch.device) -> None:
    from tongguocr.training.detector.feed import load_source
    from tongguocr.training.detector.task import train_detector

    train_detector(load_source(args.data, stage.recipe), stage, args.out, args.start, device)


def _train_glm(args: argparse.Namespace, stage: GlmPageStage | GlmBlockStage, device: torch.device) -> None:
    from tongguocr.training.glm.stage import GlmPageStage
    from tongguocr.training.glm.train import find_glm_start

    start = find_glm_start(str(args.start) if args.start else None, args.out)
    if not isinstance(stage, GlmPageStage):
        _train_glm_on_blocks(args, stage, start, device)
    elif start is None:
        raise InputError(
            f"{args.stage}: say with --start which model to begin with: `tongguocr expand` makes it."
        )
    else:
        _train_glm_on_pages(args, stage, start, device)


def _train_glm_on_blocks(
    args: argparse.Namespace, stage: GlmBlockStage, start: str | None, device: torch.device
) -> None:
    from tongguocr.training.glm.estimate import estimate_blocks
    from tongguocr.training.glm.train import train_glm_blocks
    from tongguocr.training.recogniser.block_feed import load_data

    data = load_data(args.data)
    if args.dry_run is not None:
        print(estimate_blocks(stage, data.codec, args.dry_run))
        return
    train_glm_blocks(data, stage, start, args.out, device)


def _train_glm_on_pages(
    args: argparse.Namespace, stage: GlmPageStage, start: str, device: torch.device
) -> None:
    from tongguocr.engines.glm.pretrained import load_pretrained
    from tongguocr.training.glm.estimate import estimate_pages
    from tongguocr.training.glm.train import train_glm_pages

    say = _main_process_says()
    pages = read_stage_pages(args.pages, stage, say)
    if args.dry_run is not None:
        print(estimate_pages(stage, pages, start, args.dry_run))
        return
    train_glm_pages(pages, stage, load_pretrained(start), args.out, device, say)
