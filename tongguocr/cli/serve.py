"""`tongguocr serve`: reading for others, over HTTP (docs/serve.md)."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from tongguocr.cli.arguments import (
    add_language_model,
    add_no_turn,
    add_reading_device,
    add_reread,
    language_folder,
)
from tongguocr.cli.in_vain import check_language, check_reread
from tongguocr.engines import ENGINES
from tongguocr.errors import InputError, need

HELP = "read pages for others, over HTTP"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="this machine only, unless told")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="8000; 0 for any that is free")
    served = (name for name, entry in ENGINES.items() if not entry.remote)
    parser.add_argument("--engine", metavar="NAME", help=", ".join(served))
    parser.add_argument("--model", metavar="DIR", help="the engine's weights; hf: a folder or a hub's name")
    parser.add_argument("--detector", metavar="NAME", help="what finds lines: tongguocr, rapidocr, none")
    add_no_turn(parser)
    add_language_model(parser)
    add_reread(parser)
    add_reading_device(parser)
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help="pages read at a time (one a core, 8 at most; hf: 1)",
    )
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="of each model (the workers share the cores)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=300.0,
        metavar="S",
        help="seconds a request (300), waiting included",
    )
    parser.add_argument(
        "--api-key-env", metavar="NAME", help="the environment variable with the key that clients must have"
    )
    parser.add_argument(
        "--jobs",
        type=Path,
        metavar="DIR",
        help="keep jobs and their results here (without it: until the end)",
    )
    parser.add_argument(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages in browsers from there use the server; * for any",
    )
    parser.add_argument("--log", action="store_true", help="a line on standard error for each request")


def run(args: argparse.Namespace) -> int:
    need("The command serve", "serve", "fastapi", "uvicorn", "python_multipart", "prometheus_client")
    from tongguocr.reader import DEFAULT_DETECTOR, DEFAULT_ENGINE
    from tongguocr.serve import Bounds, Service, serve
    from tongguocr.weights import warn_of_card

    # Written so that it refuses what is no number, too.
    if not args.time_limit > 0 or args.threads < 0 or args.workers < 0:
        raise InputError("--time-limit must be more than 0, --threads and --workers 0 or more.")
    check_language(args.language_model, [args.engine or DEFAULT_ENGINE])
    check_reread(args.reread, [args.engine or DEFAULT_ENGINE])
    service = Service(
        args.host,
        args.port,
        args.engine or DEFAULT_ENGINE,
        args.model,
        args.detector or DEFAULT_DETECTOR,
        args.threads,
        args.api_key_env,
        Bounds(seconds=args.time_limit),
        args.turn,
        language_folder(args),
        args.workers,
        args.jobs,
        tuple(args.cors),
        args.log,
        args.device,
        args.reread,
    )
    warn_of_card(args.device)
    try:
        serve(service, partial(print, flush=True))
    except KeyboardInterrupt:
        return 130
    return 0
