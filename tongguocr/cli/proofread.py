"""`tongguocr proofread`: a book in the browser, corrected and kept (docs/proofread.md)."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from tongguocr.cli.arguments import (
    DIRECTIONS,
    add_language_model,
    add_no_turn,
    add_reading_device,
    add_reread,
    language_folder,
)
from tongguocr.cli.in_vain import check_engine_options, check_nothing_read
from tongguocr.engines import ENGINES
from tongguocr.errors import InputError, need

HELP = "proofread a book in the browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "book", metavar="BOOK", help="a folder of images or one that read wrote, a PDF, an IIIF manifest"
    )
    parser.add_argument("--images", metavar="SOURCE", help="where the pictures are, if BOOK has none")
    parser.add_argument("--port", type=int, metavar="N", help="8001 if it is free; 0 for any")
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="this machine only, unless told")
    parser.add_argument("--token", metavar="WORD", help="what all must show; made for you if --host is given")
    parser.add_argument("--no-browser", dest="browser", action="store_false", help="do not open a browser")
    reading = parser.add_argument_group("how pages are read that were not read yet")
    reading.add_argument("--no-read", dest="read", action="store_false", help="read nothing")
    reading.add_argument("--engine", metavar="NAME", help=", ".join(ENGINES))
    reading.add_argument(
        "--weights", type=Path, metavar="DIR", help="exported weights of the engine tongguocr"
    )
    reading.add_argument("--url", metavar="URL", help="the engine server's address")
    reading.add_argument("--model", metavar="NAME", help="server: its model; hf: a folder or a hub's name")
    reading.add_argument("--detector", metavar="NAME", help="what finds lines: tongguocr, rapidocr")
    reading.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    add_no_turn(reading)
    add_language_model(reading)
    add_reread(reading)
    add_reading_device(reading)
    reading.add_argument("--workers", type=int, default=0, metavar="N", help="processes that read")


def run(args: argparse.Namespace) -> int:
    need("The command proofread", "serve", "fastapi", "uvicorn", "python_multipart", "filelock")
    from tongguocr.devices import check_device
    from tongguocr.engines import find_engine
    from tongguocr.engines.weights import load_weights
    from tongguocr.layout.detect import check_detector
    from tongguocr.proofread.proofreading import Means
    from tongguocr.proofread.run import Desk, proofread
    from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE, Setup
    from tongguocr.weights import warn_of_card

    if args.workers < 0:
        raise InputError("--workers must be 0 or more.")
    if args.token is not None and not (args.token.isascii() and args.token.isalnum()):
        raise InputError("--token must be ASCII letters and digits.")
    if not args.read:
        check_nothing_read(args)
    find_engine(args.engine or DEFAULT_ENGINE)
    # In the browser another engine may be chosen, with the weights or the model that are given.
    check_engine_options(args, [args.engine or DEFAULT_ENGINE], ("url",))
    check_detector(args.detector or DEFAULT_DETECTOR)
    if args.weights is not None:
        load_weights(args.weights)
    if args.engine != "hf":
        check_device(args.device)
        warn_of_card(args.device)
    setup = Setup(
        engine=args.engine or DEFAULT_ENGINE,
        weights=args.weights,
        url=args.url,
        model=args.model,
        detector=args.detector or DEFAULT_DETECTOR,
        language=language_folder(args),
        direction=args.direction,
        turn=args.turn,
        reread=args.reread,
        threads=1,
        device=args.device,
    )
    desk = Desk(
        source=args.book,
        images=args.images,
        host=args.host,
        port=args.port,
        token=args.token,
        browser=args.browser,
        means=Means(setup, args.read, args.workers),
    )
    try:
        proofread(desk, partial(print, flush=True))
    except KeyboardInterrupt:
        return 0
    return 0
