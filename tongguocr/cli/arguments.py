"""What several commands share: choices, options and checks of their arguments. Nothing heavy is imported."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.devices import AUTO, DEVICES
from tongguocr.errors import InputError, need
from tongguocr.formats import ENDINGS, FORMATS, Style, ending_of, find_format
from tongguocr.stdout import complain as complain

if TYPE_CHECKING:
    from tongguocr.training.glm.stage import GlmPageStage
    from tongguocr.training.recogniser.labelled import Labelled, Say
    from tongguocr.training.recogniser.stage import PageStage

DIRECTIONS = ("vertical-rl", "vertical-lr", "horizontal")
"""How lines follow each other: columns from the right, columns from the left, rows from the top."""
PROTOCOLS = ("paper", "mcs", "omnidoc", "strict")
"""Whose rules metrics follow (docs/metrics.md)."""


def check_positive(args: argparse.Namespace, *names: str) -> None:
    """Refuse a number that is not more than 0; options that were not given are None and pass."""
    for name in names:
        value = getattr(args, name)
        # Written so that it refuses what is no number, too.
        if value is not None and not value > 0:
            raise InputError(f"{option(name)}: {value} is not more than 0.")


def add_no_turn(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """The option of commands that find lines."""
    parser.add_argument(
        "--no-turn",
        dest="turn",
        action="store_false",
        help="do not turn pages that lie on their side or upside down, or lean",
    )


def add_language_model(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """The options of commands that read: another language model, or none."""
    parser.add_argument(
        "--language-model", type=Path, metavar="DIR", help="another one than the package's (docs/language.md)"
    )
    parser.add_argument(
        "--no-language-model",
        action="store_true",
        help="take what the picture says where it leaves characters open, too",
    )


def add_reread(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """The option of commands that read: doubtful lines twice."""
    parser.add_argument(
        "--reread",
        action="store_true",
        help="read doubtful lines again, larger: for hard pages, which then take half as long again",
    )


def language_folder(args: argparse.Namespace) -> Path | None:
    """The folder of the language model that is asked for; None for none."""
    from tongguocr.engines.language_model import SHIPPED_LANGUAGE

    if args.no_language_model and args.language_model:
        raise InputError("--language-model and --no-language-model do not go together.")
    return None if args.no_language_model else args.language_model or SHIPPED_LANGUAGE


def add_text(text: argparse._ArgumentGroup) -> None:
    """The options of commands that write pages: what the style says."""
    styled = " and ".join(format.ending for format in FORMATS.values() if format.styled)
    text.add_argument(
        "--notes",
        choices=("lines", "inline", "omit"),
        help=f"double-row notes in {styled}: lines of their own, in brackets, left out",
    )
    text.add_argument("--flow", action="store_true", help=f"join lines that read on, in {styled}")
    text.add_argument(
        "--fold",
        action="store_true",
        help=f"running titles and folio numbers too, in {styled}; other formats always have them",
    )
    text.add_argument(
        "--script", choices=("keep", "simplified"), default="keep", help="simplified: one for one, everywhere"
    )
    text.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="X",
        help="characters less sure than this, from 0 to 1, are not written as read",
    )
    text.add_argument(
        "--doubtful", choices=("mark", "omit"), default="mark", help="what is written for them: 〓, nothing"
    )
    text.add_argument(
        "--base-url",
        default=Style().base_url,
        metavar="URL",
        help="of a IIIF manifest: the address at which its folder will lie (%(default)s)",
    )


def text_style(args: argparse.Namespace) -> Style:
    """How text is written; without the table of characters that it needs, nothing is begun."""
    from tongguocr.formats.style import simplify

    if args.script == "simplified":
        simplify("學")
    written = (args.notes, args.flow, args.script, args.fold, args.min_confidence, args.doubtful)
    return Style(*written, base_url=args.base_url)


def option(name: str) -> str:
    """An argument as it is typed."""
    return f"--{name.replace('_', '-')}"


def is_folder(written: str) -> bool:
    """Whether `-o` names a folder: one that is there, or a name that ends with a slash or has no ending."""
    return written.endswith(("/", "\\")) or Path(written).is_dir() or not Path(written).suffix


def is_file(written: str, formats: str | None) -> bool:
    """Whether `-o` names a file of one of our formats; `--format` must not say another."""
    ending = "" if is_folder(written) else ending_of(Path(written))
    if ending and formats and {find_format(f.strip()) for f in formats.split(",")} != {ENDINGS[ending]}:
        named = f"its name says {ENDINGS[ending].name}, and --format {formats}"
        raise InputError(f"{written}: {named}; end the name of a folder with a slash.")
    return bool(ending)


def warn_of_fonts(formats: Iterable[str]) -> None:
    """Say it if the text of an overlay cannot be drawn, before the work begins."""
    if "overlay" in formats:
        from tongguocr.formats.fonts import NO_FONT, find_faces

        if not find_faces():
            complain(NO_FONT)


def add_device(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--device", default="auto", metavar="DEVICE", help="cuda, npu, cpu (default: what is there)"
    )


def add_reading_device(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """The option of commands that read: where our models compute."""
    parser.add_argument(
        "--device",
        default=AUTO,
        choices=DEVICES,
        metavar="DEVICE",
        help=f"where our models compute: {', '.join(DEVICES)} (docs/devices.md)",
    )


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """The options of commands that score: the protocol, variants taken as one, JSON instead of a table."""
    parser.add_argument("--protocol", choices=PROTOCOLS, default="paper")
    parser.add_argument("--fold-variants", action="store_true", help="also with graphic variants as one")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def need_full_size(what: str) -> None:
    """Say now that the packages of the full-size model are missing."""
    need(what, "glm", "torch", "transformers", "tokenizers")


def read_stage_pages(written: list[str], stage: PageStage | GlmPageStage, say: Say) -> Labelled:
    """The labelled pages of `--pages KIND=DIR …` as a stage wants them."""
    from tongguocr.training.recogniser.labelled import parse_source, read_pages

    sources = [parse_source(one) for one in written]
    return read_pages(sources, stage.pages.kinds, stage.pages.validated_on, stage.mapping, say)
