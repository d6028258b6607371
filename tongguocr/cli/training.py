"""`tongguocr train-data`, `train`, `plot` and `export`: what a run reads, the run, its log as a picture, the
files that reading needs."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import Subparsers
from tongguocr.errors import InputError, need

if TYPE_CHECKING:
    import torch


def add(commands: Subparsers) -> None:
    data = commands.add_parser("train-data", help="gather what a training run reads into one folder")
    data.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    data.add_argument("--text", type=Path, required=True, metavar="FILE", help="text or real columns")
    data.add_argument("--counts", type=Path, required=True, metavar="TSV", help="how often characters occur")
    data.add_argument("--lines", type=Path, metavar="TSV", help="line images: archive, member, text")
    data.add_argument("--char-pages", type=Path, metavar="DIR", help="pages with character boxes")
    data.add_argument("--min-count", type=int, default=20, metavar="N", help="rarer ones go out as bytes")
    data.add_argument("--out", type=Path, required=True, metavar="DIR")
    data.set_defaults(run=_train_data)

    train = commands.add_parser(
        "train", help="train a recogniser, small or full size, or the detector: one stage"
    )
    train.add_argument(
        "stage", metavar="STAGE", help="0, 1, 2, 3, tune, full-1 ..., or a file; see docs/training.md"
    )
    train.add_argument("--data", type=Path, metavar="DIR", help="what train-data gathered")
    train.add_argument("--pages", action="append", metavar="KIND=DIR", help="labelled pages (1, 2, 3, tune)")
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="log and checkpoint go here")
    train.add_argument("--start", type=Path, metavar="WEIGHTS", help="go on from this folder or model.pt")
    train.add_argument(
        "--device", default="auto", metavar="DEVICE", help="cuda, cpu (default: what is there)"
    )
    train.add_argument(
        "--dry-run", type=int, nargs="?", const=1, metavar="GPUS", help="full size: say what the run needs"
    )
    train.set_defaults(run=_train)

    plot = commands.add_parser("plot", help="the logs of runs as one picture, the stages one after the other")
    plot.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="what train wrote")
    plot.add_argument("-o", "--output", type=Path, required=True, metavar="PICTURE")
    plot.set_defaults(run=_plot)

    export = commands.add_parser("export", help="trained weights as the files that reading needs")
    export.add_argument("model", type=Path, metavar="MODEL.pt")
    export.add_argument(
        "--codec", type=Path, metavar="CODEC.json", help="(default: the one beside the model)"
    )
    export.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    export.set_defaults(run=_export)


def _torch_or_sentence() -> None:
    need("Training", "train", "torch")


def _train_data(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.training.recogniser.gather import gather_data

    sources = (args.fonts, args.text, args.counts, args.lines, args.min_count, args.char_pages)
    for sentence in gather_data(args.out, *sources):
        print(sentence)


def _train(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.cli.full_size import is_full_size, train_full_size
    from tongguocr.training.detector.stage import is_detector_stage
    from tongguocr.training.distributed import my_number, pick_device
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
        if not train_full_size(args, device, on_pages):
            return
    else:
        (_train_on_pages if on_pages else _train_on_blocks)(args, device)
    if find_spec("matplotlib") and my_number() == 0:
        from tongguocr.training.plot import draw_runs

        draw_runs([args.out], args.out / "log.png")


def _train_on_blocks(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.loop import train
    from tongguocr.training.recogniser.feed import load_data
    from tongguocr.training.stage import load_stage

    data = load_data(args.data)
    stage = load_stage(args.stage, len(data.codec))
    train(data, stage.run, stage.size, args.out, args.start, device)


def _train_on_pages(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.training.distributed import my_number
    from tongguocr.training.epochs import train_pages
    from tongguocr.training.recogniser.labelled import parse_source, read_pages
    from tongguocr.training.recogniser.restore import find_start, open_model
    from tongguocr.training.stage import load_page_stage

    stage = load_page_stage(args.stage)
    sources = [parse_source(written) for written in args.pages]
    say = print if my_number() == 0 else lambda sentence: None
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


def _plot(args: argparse.Namespace) -> None:
    from tongguocr.training.plot import draw_runs

    draw_runs(args.runs, args.output)


def _export(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.training.detector.loop import is_detector, load_detector

    if is_detector(args.model):
        from tongguocr.training.detector.export import export_detector

        export_detector(load_detector(args.model), args.output)
        return
    from tongguocr.training.recogniser.export import export
    from tongguocr.training.recogniser.restore import open_model

    export(*open_model(args.model, args.codec), args.output)
