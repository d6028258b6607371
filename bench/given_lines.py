"""Readers of pages whose lines are known, as their users have them: what benches are told in, readers out.

Our own engine hears its language model, unless `--no-language-model` says that the picture alone is measured;
other engines never do. With `--reread` it reads doubtful lines twice. Characters outside of all lines are
settled as for users. `--weights` are those of our own engine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tongguocr.engines import ENGINES
from tongguocr.engines.language_model import SHIPPED_LANGUAGE
from tongguocr.reader import Reader, Setup, open_reader

OURS, PEER = "tongguocr", "rapidocr"


def add_reader_arguments(parser: argparse.ArgumentParser) -> None:
    """Which engines read, and with what."""
    parser.add_argument("--engine", action="append", choices=ENGINES, help=f"default: {OURS} and {PEER}")
    parser.add_argument("--weights", type=Path, metavar="DIR", help="of our own engine")
    parser.add_argument("--no-language-model", action="store_true", help="what the picture alone says")
    parser.add_argument("--reread", action="store_true", help="doubtful lines twice")
    parser.add_argument("--threads", type=int, default=2)


def open_readers(chosen: argparse.Namespace) -> Iterator[tuple[str, Reader]]:
    """The engines that were asked for, one after the other, each opened when the one before has read."""
    for name in dict.fromkeys(chosen.engine or (OURS, PEER)):
        yield name, open_given(name, chosen)


def open_given(name: str, chosen: argparse.Namespace) -> Reader:
    """One engine, for pages that have their lines."""
    weights = chosen.weights if name == OURS else None
    language = None if chosen.no_language_model else SHIPPED_LANGUAGE
    return open_reader(
        Setup(name, weights, language=language, detector=None, reread=chosen.reread, threads=chosen.threads)
    )
