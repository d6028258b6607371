"""The command `tongguocr`: arguments in, one call into the package, a table or files out.

Each command's work is imported inside it, so that starting the program stays quick. Bad input ends in one
sentence on standard error and exit code 2.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr import __version__
from tongguocr.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import torch

    from tongguocr.jobs import ReadPage
    from tongguocr.page import Block, Page
    from tongguocr.sources import SourcePage


DIRECTIONS = ("vertical-rl", "vertical-lr", "horizontal")
_SUFFIXES = ".txt, .json, .xml (PAGE), .alto.xml, .tei.xml, .hocr, .md, .pdf, .csv"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tongguocr", description="OCR for Chinese historical documents.")
    parser.add_argument("--version", action="version", version=f"tongguocr {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    read = commands.add_parser("read", help="read images, folders, PDFs, IIIF manifests")
    read.add_argument("source", nargs="+", metavar="SOURCE", help="image, folder, PDF, IIIF manifest")
    read.add_argument("-o", "--output", metavar="OUT", help="a folder, or for one page a file: " + _SUFFIXES)
    read.add_argument(
        "--format", metavar="F,...", help="txt, json, page, alto, tei, hocr, md, pdf, csv (doubts)"
    )
    read.add_argument("--pages", metavar="RANGE", help="pages of each source, as in 1-3,7,12-")
    read.add_argument("--lines", type=Path, metavar="FILE", help="one page's lines: our JSON, PAGE XML, ALTO")
    read.add_argument(
        "--detector", default="tongguocr", metavar="NAME", help="what finds lines: tongguocr, rapidocr"
    )
    read.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    read.add_argument("--engine", metavar="NAME", help="rapidocr, tongguocr (default: what reads best)")
    read.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of the engine tongguocr")
    read.set_defaults(run=_read)

    lines = commands.add_parser("lines", help="find a page's lines, their kinds and their order")
    lines.add_argument("image", type=Path, metavar="IMAGE")
    lines.add_argument("-o", "--output", type=Path, required=True, metavar="LINES", help=".json, .xml (PAGE)")
    lines.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the lines, with order arrows")
    lines.add_argument("--direction", choices=DIRECTIONS, help="how lines follow each other")
    lines.add_argument("--detector", default="tongguocr", metavar="NAME", help="tongguocr, rapidocr")
    lines.add_argument("--weights", type=Path, metavar="DIR", help="exported weights of our detector")
    lines.set_defaults(run=_lines)

    blocks = commands.add_parser("blocks", help="cut a page with known lines into recognition blocks")
    blocks.add_argument("page", type=Path, metavar="PAGE", help="our JSON, PAGE XML or ALTO")
    blocks.add_argument("-o", "--output", type=Path, required=True, metavar="BLOCKS.json")
    blocks.add_argument("--picture", type=Path, metavar="OUT.png", help="draw the blocks, with order arrows")
    blocks.set_defaults(run=_blocks)

    vocab = commands.add_parser("vocab", help="find the characters that deserve a token of their own")
    vocab.add_argument("corpus", type=Path, nargs="+", metavar="CORPUS", help="text, .txt folder, count .tsv")
    vocab.add_argument("--tokenizer", type=Path, required=True, metavar="PATH", help="tokenizer.json, folder")
    vocab.add_argument("-o", "--output", type=Path, required=True, metavar="ADDED.txt")
    vocab.add_argument("--min-count", type=int, default=1, metavar="N", help="drop rarer characters")
    vocab.set_defaults(run=_vocab)

    evaluate = commands.add_parser("eval", help="score transcriptions against references")
    evaluate.add_argument("prediction", type=Path, metavar="PRED", help="a file or a folder")
    evaluate.add_argument("reference", type=Path, metavar="REF", help="a file or a folder")
    evaluate.add_argument("--protocol", choices=("paper", "mcs", "omnidoc", "strict"), default="paper")
    evaluate.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    evaluate.add_argument("--fold-variants", action="store_true", help="also with graphic variants as one")
    evaluate.add_argument("--added", type=Path, metavar="ADDED.txt", help="score these characters apart")
    evaluate.set_defaults(run=_eval)

    synth = commands.add_parser("synth", help="make synthetic pages with their ground truth")
    synth.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    synth.add_argument("--out", type=Path, required=True, metavar="DIR")
    synth.add_argument("-n", type=int, metavar="N", help="how many pages (default: 1)")
    synth.add_argument("--seed", type=int, metavar="N", help="another seed, other pages (default: 0)")
    synth.add_argument("--kind", nargs="+", metavar="KIND", help="only these kinds of page, in turn")
    synth.add_argument("--text", type=Path, metavar="FILE", help="text or real columns (default: 千字文)")
    synth.add_argument("--chars", type=Path, metavar="FILE", help="draw these characters instead of a text")
    synth.add_argument("--format", default="json,page", metavar="F,...", help="json, page, mthv2, m5hisdoc")
    synth.add_argument("--size", metavar="WxH", help="scale pages to fit into so many pixels")
    synth.add_argument("--png", action="store_true", help="PNG images instead of JPEG")
    synth.add_argument("--clean", action="store_true", help="new pages, without wear")
    synth.add_argument("--bench", action="store_true", help="the frozen benchmark of 200 pages")
    synth.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    synth.set_defaults(run=_synth)

    data = commands.add_parser("train-data", help="gather what a training run reads into one folder")
    data.add_argument("--fonts", type=Path, required=True, metavar="DIR", help="see docs/fonts.md")
    data.add_argument("--text", type=Path, required=True, metavar="FILE", help="text or real columns")
    data.add_argument("--counts", type=Path, required=True, metavar="TSV", help="how often characters occur")
    data.add_argument("--lines", type=Path, metavar="TSV", help="line images: archive, member, text")
    data.add_argument("--char-pages", type=Path, metavar="DIR", help="pages with character boxes")
    data.add_argument("--min-count", type=int, default=20, metavar="N", help="rarer ones go out as bytes")
    data.add_argument("--out", type=Path, required=True, metavar="DIR")
    data.set_defaults(run=_train_data)

    train = commands.add_parser("train", help="train the small recogniser or the detector: one stage")
    train.add_argument("stage", metavar="STAGE", help="0, 1, 2, 3, tune, or a file; see docs/training.md")
    train.add_argument("--data", type=Path, metavar="DIR", help="what train-data gathered")
    train.add_argument("--pages", action="append", metavar="KIND=DIR", help="labelled pages (1, 2, 3, tune)")
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="log and checkpoint go here")
    train.add_argument("--start", type=Path, metavar="WEIGHTS", help="go on from this folder or model.pt")
    train.add_argument(
        "--device", default="auto", metavar="DEVICE", help="cuda, cpu (default: what is there)"
    )
    train.set_defaults(run=_train)

    export = commands.add_parser("export", help="trained weights as the files that reading needs")
    export.add_argument("model", type=Path, metavar="MODEL.pt")
    export.add_argument(
        "--codec", type=Path, metavar="CODEC.json", help="(default: the one beside the model)"
    )
    export.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    export.set_defaults(run=_export)
    return parser


def _read(args: argparse.Namespace) -> int:
    from itertools import chain, islice

    from tongguocr.formats import write_page
    from tongguocr.jobs import list_pages, load_page
    from tongguocr.pipeline import DEFAULT_ENGINE, line_finder, read_lines
    from tongguocr.recognise import SHIPPED, open_engine

    find = line_finder(args.lines, args.detector, args.direction)
    engine = open_engine(args.engine or DEFAULT_ENGINE, args.weights or SHIPPED)
    pages = list_pages(args.source, args.pages)
    first = list(islice(pages, 2))
    if args.lines and len(first) > 1:
        raise InputError(f"{args.lines}: lines can be given for one page, and there are several.")
    every = chain(first, pages)
    if args.output and (args.format or len(first) > 1 or _is_folder(args.output)):
        return _read_many(every, lambda page: read_lines(find(page), engine), args)
    for page in every:
        result = read_lines(find(load_page(page)), engine)
        if args.output:
            write_page(result, Path(args.output))
        else:
            print(result.text, flush=True)
    return 0


def _is_folder(written: str) -> bool:
    return written.endswith(("/", "\\")) or Path(written).is_dir() or not Path(written).suffix


def _read_many(pages: Iterator[SourcePage], read: ReadPage, args: argparse.Namespace) -> int:
    """A job, with a line for each page that failed and a summary; 1 if there were such."""
    from tongguocr.jobs import parse_formats, run_job

    counts: Counter[str] = Counter()
    for outcome in run_job(pages, read, Path(args.output), parse_formats(args.format or "txt,json")):
        counts[outcome.state] += 1
        counts["characters"] += outcome.characters
        if outcome.reason:
            print(f"tongguocr: {outcome.reason}", file=sys.stderr, flush=True)
    print(
        f"Pages: {counts['read']} read ({counts['characters']} characters), {counts['done']} done before,"
        f" {counts['failed']} failed: {args.output}"
    )
    return 1 if counts["failed"] else 0


def _lines(args: argparse.Namespace) -> None:
    from tongguocr.formats import write_page
    from tongguocr.formats.picture import draw_lines, save_picture
    from tongguocr.layout.detect import find_lines, open_detector
    from tongguocr.page import Page
    from tongguocr.sources import load_pixels

    pixels = load_pixels(args.image)
    page = Page(args.image.name, pixels.shape[1], pixels.shape[0], pixels=pixels)
    found = find_lines(page, open_detector(args.detector, args.weights), args.direction)
    write_page(found, args.output)
    if args.picture:
        save_picture(draw_lines(found), args.picture)
    print(f"{len(found.lines)} lines: {args.output}")


def _blocks(args: argparse.Namespace) -> None:
    from tongguocr.blocks import cut_blocks
    from tongguocr.files import write_bytes
    from tongguocr.formats import read_page
    from tongguocr.formats.blocks_json import blocks_to_json

    page = read_page(args.page)
    if args.page.suffix.lower() == ".txt":
        raise InputError(f"{args.page}: plain text has no line boxes to make blocks of.")
    blocks = cut_blocks(page)
    write_bytes(blocks_to_json(page, blocks).encode(), args.output)
    if args.picture:
        _draw(page, blocks, args)
    print(f"{len(page.lines)} lines in {len(blocks)} blocks: {args.output}")


def _draw(page: Page, blocks: tuple[Block, ...], args: argparse.Namespace) -> None:
    from tongguocr.formats.picture import draw_blocks, save_picture
    from tongguocr.sources import find_image, load_pixels

    image = find_image(page.image, args.page)
    pixels = load_pixels(image) if image else None
    save_picture(draw_blocks(replace(page, pixels=pixels), blocks), args.picture)


def _vocab(args: argparse.Namespace) -> None:
    from tongguocr.tokens.vocab import make_vocabulary

    print(make_vocabulary(args.corpus, args.tokenizer, args.output, args.min_count))


def _eval(args: argparse.Namespace) -> None:
    import json
    import os

    from tongguocr.evaluate.files import evaluate
    from tongguocr.evaluate.tables import print_tables

    result = evaluate(
        args.prediction,
        args.reference,
        args.protocol,
        fold_variants=args.fold_variants,
        added=args.added,
        workers=os.cpu_count() or 1,
        warn=lambda sentence: print(f"tongguocr: {sentence}", file=sys.stderr),
    )
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)


def _synth(args: argparse.Namespace) -> None:
    from tongguocr.synth.command import make_order, make_with_progress

    make_with_progress(make_order(vars(args)))


def _torch_or_sentence() -> None:
    if find_spec("torch") is None:
        raise MissingExtraError("Training", "train")


def _train_data(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.train.gather import gather_data

    sources = (args.fonts, args.text, args.counts, args.lines, args.min_count, args.char_pages)
    for sentence in gather_data(args.out, *sources):
        print(sentence)


def _train(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.train.detector.stage import is_detector_stage
    from tongguocr.train.settings import read_tables
    from tongguocr.train.stage import find_stage
    from tongguocr.train.team import my_number, pick_device

    args.stage, device = find_stage(args.stage), pick_device(args.device)
    on_pages = "pages" in read_tables(args.stage)
    if on_pages and (args.data or not args.pages):
        raise InputError(f"{args.stage}: this stage needs labelled pages: --pages KIND=DIR, and no --data.")
    if not on_pages and (args.pages or not args.data):
        raise InputError(f"{args.stage}: this stage needs what train-data made: --data DIR, and no --pages.")
    if is_detector_stage(args.stage):
        _train_detector(args, device)
        return
    (_train_on_pages if on_pages else _train_on_blocks)(args, device)
    if find_spec("matplotlib") and my_number() == 0:
        from tongguocr.train.plot import draw_log

        draw_log(args.out / "log.jsonl", args.out / "log.png")


def _train_on_blocks(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.train.feed import load_data
    from tongguocr.train.loop import train
    from tongguocr.train.stage import load_stage

    data = load_data(args.data)
    stage = load_stage(args.stage, len(data.codec))
    train(data, stage.run, stage.size, args.out, args.start, device)


def _train_on_pages(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.train.epochs import train_pages
    from tongguocr.train.labelled import parse_source, read_pages
    from tongguocr.train.restore import find_start, open_model
    from tongguocr.train.stage import load_page_stage
    from tongguocr.train.team import my_number

    stage = load_page_stage(args.stage)
    sources = [parse_source(written) for written in args.pages]
    say = print if my_number() == 0 else lambda sentence: None
    pages = read_pages(sources, stage.pages.kinds, stage.pages.judged, stage.mapping, say)
    model, codec = open_model(find_start(args.start, args.out))
    train_pages(pages, stage.pages, stage.run, model, codec, args.out, device, say)


def _train_detector(args: argparse.Namespace, device: torch.device) -> None:
    from tongguocr.train.detector.feed import load_source
    from tongguocr.train.detector.loop import train_detector
    from tongguocr.train.detector.stage import load_detector_stage

    stage = load_detector_stage(args.stage)
    source = load_source(args.data, stage.recipe)
    train_detector(source, stage.run, stage.size, args.out, args.start, device)


def _export(args: argparse.Namespace) -> None:
    _torch_or_sentence()
    from tongguocr.train.detector.loop import is_detector, load_detector

    if is_detector(args.model):
        from tongguocr.train.detector.export import export_detector

        export_detector(load_detector(args.model), args.output)
        return
    from tongguocr.train.export import export
    from tongguocr.train.restore import open_model

    export(*open_model(args.model, args.codec), args.output)


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except InputError as error:
        print(f"tongguocr: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
