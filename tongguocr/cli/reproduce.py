"""`tongguocr reproduce`: a table of the paper made anew: data sets and weights in, the table out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import PROTOCOLS, add_device, check_positive
from tongguocr.errors import InputError, need

if TYPE_CHECKING:
    from tongguocr.training.reproduce.run import Order

HELP = "make a table of the paper anew: train, read and score its rows"
SWITCHES = {
    "chain": (("last", "all"), "tables 5 to 8: stage 3 alone, or all three stages without HisDoc1B"),
    "lambdas": (("both", "reading"), "table 6: a row's weights in training and reading, or in reading alone"),
    "canvas": (("square", "trained"), "blocks on the square canvas for all, or as a model was trained"),
    "side": (("same", "trained"), "all rows at the last stage's resolution, or each at its own"),
    "lines": (("found", "given"), "lines of test pages as our layout finds them, or as annotated"),
    "guard": (("off", "on"), "let a model write until it ends, or stop it at circles"),
}
"""The switches, the default first; docs/reproduce.md."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=int, choices=range(3, 10), metavar="TABLE", help="3 to 9")
    parser.add_argument(
        "--pages",
        action="append",
        metavar="KIND=DIR",
        help="mthv2, m5hisdoc, hisdoc1b, or a folder of your own",
    )
    parser.add_argument("--test", action="append", metavar="KIND=DIR", help="other pages to test on")
    parser.add_argument("--start", metavar="WEIGHTS", help="what rows are trained from: a folder, a hub name")
    parser.add_argument("--added", type=Path, metavar="ADDED.txt", help="the mined characters")
    parser.add_argument("--out", type=Path, metavar="DIR", help="one folder for all tables: they share runs")
    parser.add_argument("--dry-run", action="store_true", help="say what it needs and what is missing")
    length = parser.add_argument_group("how rows are trained")
    length.add_argument("--stages", metavar="A,B,C", help="three stage files instead of the paper's")
    length.add_argument(
        "--minutes", type=float, metavar="X", help="each stage so long, instead of its epochs"
    )
    length.add_argument("--seeds", type=int, default=1, metavar="N", help="each row so often (default: 1)")
    length.add_argument("--gpus", type=int, default=1, metavar="N", help="by accelerate, where more than one")
    add_device(length)
    main = parser.add_argument_group("tables 3 and 4")
    main.add_argument("--model", metavar="WEIGHTS", help="trained weights to score; nothing is trained")
    main.add_argument("--systems", metavar="A,B", help="which readers beside it, or none")
    switches = parser.add_argument_group(
        "both readings of what the paper leaves open; the default stands first"
    )
    for name, (values, help_text) in SWITCHES.items():
        switches.add_argument(f"--{name}", choices=values, default=values[0], help=help_text)
    switches.add_argument("--protocol", choices=PROTOCOLS, default="paper")
    parser.add_argument("--most", type=int, metavar="N", help="only so many test pages, evenly out of all")


def run(args: argparse.Namespace) -> None:
    need("Reproducing the paper", "train", "torch")
    need("Reproducing the paper", "eval", "rapidfuzz", "rich", "scipy")
    check_positive(args, "minutes", "seeds", "gpus", "most")
    order = _order(args)
    if args.dry_run:
        from tongguocr.training.reproduce.needs import describe_needs

        print(describe_needs(order))
        return
    if args.out is None:
        raise InputError("Say with --out where runs and tables go; --dry-run needs no folder.")
    if not order.tests:
        kind = "mthv2" if args.table == 3 else "m5hisdoc"
        raise InputError(
            f"Table {args.table} is tested on {kind}: give --pages {kind}=DIR, or --test KIND=DIR."
        )
    if args.table > 4 and not args.start:
        raise InputError("Say with --start which weights the rows are trained from.")
    from tongguocr.training.reproduce.run import reproduce

    print(reproduce(order))


def _order(args: argparse.Namespace) -> Order:
    from tongguocr.engines.torch_devices import pick_device
    from tongguocr.training.datasets.sources import parse_source
    from tongguocr.training.reproduce.chain import Workshop
    from tongguocr.training.reproduce.run import Order
    from tongguocr.training.reproduce.switches import Switches

    stages = tuple(args.stages.split(",")) if args.stages else ()
    if len(stages) not in (0, 3):
        raise InputError(f"--stages {args.stages}: three stage files are wanted, parted by commas.")
    sources = tuple(parse_source(one) for one in args.pages or ())
    tests = tuple(parse_source(one) for one in args.test or ()) or _usual_tests(args.table, sources)
    shop = Workshop(
        sources,
        args.start or "",
        args.added,
        args.out or Path(),
        pick_device(args.device),
        lambda sentence: print(sentence, flush=True),
        stages,
        args.minutes,
        args.gpus,
    )
    switches = Switches(**{name: getattr(args, name) for name in SWITCHES}, protocol=args.protocol)
    systems = _systems(args.systems)
    seeds = tuple(range(1, args.seeds + 1))
    return Order(args.table, shop, tests, switches, seeds, systems, args.model, args.most)


def _systems(written: str | None) -> tuple[str, ...] | None:
    """The readers beside ours; all of them unless some, or none, were named."""
    if written is None:
        return None
    return () if written == "none" else tuple(name for name in written.split(",") if name)


def _usual_tests(table: int, sources: tuple[tuple[str, Path], ...]) -> tuple[tuple[str, Path], ...]:
    """The test split that the paper reports, if it is given."""
    wanted = "mthv2" if table == 3 else "m5hisdoc"
    return tuple((kind, folder) for kind, folder in sources if kind.partition("-")[0] == wanted)
