"""`tongguocr export`: a trained checkpoint in; the weights that reading needs out (docs/training.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tongguocr.errors import InputError, need

HELP = "trained weights as the files that reading needs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL.pt")
    parser.add_argument(
        "--codec", type=Path, metavar="CODEC.json", help="(default: the one beside the model)"
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="a twentieth faster on processors, not for graphics cards, a little less right",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")


def run(args: argparse.Namespace) -> None:
    need("Training", "train", "torch")
    from tongguocr.training.detector.model import is_detector, load_detector

    if is_detector(args.model):
        from tongguocr.training.detector.export import export_detector

        if args.fast:
            raise InputError("--fast is for recognisers, and this is a detector.")
        export_detector(load_detector(args.model), args.output)
        return
    from tongguocr.training.calibration import give_calibration
    from tongguocr.training.recogniser.export import export
    from tongguocr.training.recogniser.restore import open_model

    export(*open_model(args.model, args.codec), args.output, fast=args.fast)
    give_calibration(args.model, args.output)
