"""Options that would be given in vain -> one sentence of refusal, before anything is read.

An option is refused if nothing that the command does would obey it. One that is given for several files, of
which some obey it, is not; nor one that asks for what happens anyway.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import option
from tongguocr.devices import AUTO
from tongguocr.engines import ENGINES, find_engine
from tongguocr.errors import InputError

if TYPE_CHECKING:
    from tongguocr.sources import MemoryFile

_OURS = "tongguocr"


def check_reading(args: argparse.Namespace, engines: Sequence[str]) -> None:
    """Refuse what these engines do not take, and what finds lines where they are known."""
    check_lines_found(args)
    check_detector_weights(args, "detector_weights")
    check_engine_options(args, engines)
    if args.model is not None and args.weights is not None and set(engines) == {"hf"}:
        raise InputError("--weights and --model both say which model the engine hf has: give one of them.")
    check_language(args.language_model, engines)
    check_reread(args.reread, engines)


def check_lines_found(args: argparse.Namespace) -> None:
    """With `--lines`, refuse what is for lines that are looked for."""
    given = [name for name in ("detector", "detector_weights", "direction") if getattr(args, name)]
    given += [] if args.turn else ["no_turn"]
    if args.lines and given:
        raise InputError(f"{option(given[0])} is for lines that are looked for; with --lines they are known.")


def check_detector_weights(args: argparse.Namespace, weights: str) -> None:
    """Refuse weights for another detector than ours; `weights` is their option."""
    if getattr(args, weights) and args.detector not in (None, _OURS):
        raise InputError(f"{option(weights)} is for our own detector, and {args.detector} is to find lines.")


def check_engine_options(
    args: argparse.Namespace, engines: Sequence[str], names: Sequence[str] = ("weights", "url", "model")
) -> None:
    """Refuse those of the options that none of the engines takes."""
    for name in names:
        takers = [engine for engine in engines if name in find_engine(engine).takes]
        if getattr(args, name) is not None and not takers:
            known = ", ".join(engine for engine, entry in ENGINES.items() if name in entry.takes)
            asked = " and ".join(engines)
            raise InputError(f"{option(name)} is for an engine that takes it ({known}), and not for {asked}.")


def check_language(folder: Path | None, engines: Sequence[str]) -> None:
    """Refuse a language model that nobody would hear."""
    from tongguocr.reader import speaks_to_context

    if folder and not speaks_to_context(*engines):
        asked = " and ".join(engines)
        raise InputError(f"--language-model is heard by the engine {_OURS} alone, and not with {asked}.")


def check_reread(reread: bool, engines: Sequence[str]) -> None:
    """Refuse `--reread` where no line would be read again."""
    from tongguocr.reader import speaks_to_context

    if reread and not speaks_to_context(*engines):
        asked = " and ".join(engines)
        raise InputError(f"--reread is for the engine {_OURS} alone, and not for {asked}.")


def check_nothing_read(args: argparse.Namespace) -> None:
    """With `--no-read`, refuse what says how pages are read."""
    names = ("engine", "weights", "url", "model", "detector", "direction", "language_model", "workers")
    given = [name for name in names if getattr(args, name)]
    given += [] if args.turn else ["no_turn"]
    given += ["no_language_model"] if args.no_language_model else []
    given += ["reread"] if args.reread else []
    given += ["device"] if args.device != AUTO else []
    if given:
        raise InputError(f"{option(given[0])} says how pages are read, and with --no-read none is.")


def check_password(password: str | None, sources: Sequence[str | MemoryFile]) -> None:
    """Refuse a password where there is surely no PDF; folders may have anything in them."""
    from tongguocr.sources import takes_password

    if password is None or any(map(takes_password, sources)):
        return
    named = f"{sources[0]} is none" if len(sources) == 1 else "none of the sources is one"
    raise InputError(f"--password is for PDFs, and {named}.")
