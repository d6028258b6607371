"""Whether the weights lambda of the block penalties recut pages: `python -m bench.lambdas --real FOLDER`.

Pages of three sources, lines and order known and text not: the made-up layouts of bench.layouts; pages that
`tongguocr synth` composes of real columns (--fonts, --text), no ink needed; the labelled line boxes of real
woodblock pages (--real, a folder with pages.jsonl). First table: how many pages are cut otherwise than with
the paper's default (2,2,1), for each setting of its table 6. Second: what the default segmentation still
pays, by group. Third: the pages recut where one term is left out; a term whose absence changes nothing has
no say. Fourth: other constants of ours, each with the pages that any setting of the grid recuts, and
(4,4,1) alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.layouts import KINDS as LAYOUTS
from bench.layouts import pages as layout_pages
from tongguocr.blocks import BlockSettings
from tongguocr.blocks.candidates import Candidates, enumerate_candidates
from tongguocr.blocks.features import measure_features
from tongguocr.blocks.merge import merge_tiny
from tongguocr.blocks.penalties import AdjacentPenalty, BlockPenalty, PagePenalty, page_penalty
from tongguocr.blocks.segment import Objective, segment, spell_out
from tongguocr.errors import InputError
from tongguocr.files import decode_utf8, read_bytes
from tongguocr.geometry import make_box
from tongguocr.page import Line, Page
from tongguocr.reader import without_text
from tongguocr.training.reproduce.tables import DEFAULT, LAMBDAS, Weights

GRID: tuple[Weights, ...] = tuple(weights for weights, _ in LAMBDAS if tuple(weights) != DEFAULT)
WORST: Weights = (4, 4, 1)
"""The setting that the paper finds worst, by 5 points of AR."""
FREE = BlockPenalty(
    large_area=0.0,
    full_fill=1.0,
    long_aspect=1.0,
    strip_aspect=1.0,
    free_gap=0.0,
    free_gap_characters=0.0,
    whole_overlap=1.0,
    free_waste=0.0,
    free_shift=0.0,
)
"""Every term costs from the first bit on: no range is free."""
FREE_PAIRS = AdjacentPenalty(free_overlap=0.0, free_containment=0.0, tiny_ratio=1.0)


@dataclass(frozen=True, slots=True)
class FixedCount(PagePenalty):
    """One preferred number of blocks for all pages, whatever they hold: the plainest reading of S1.6."""

    def preferred(self, columns: int) -> tuple[int, int, int]:
        return 3, 3, 6


@dataclass(frozen=True)
class Variant:
    """Other constants of ours."""

    name: str
    settings: BlockSettings


def variants() -> list[Variant]:
    """The shipped constants, and what might let the weights speak."""
    usual = Objective()
    narrow = PagePenalty(fewest_columns=6, most_columns=6)
    settings = BlockSettings()
    return [
        Variant("as shipped", settings),
        Variant("no merge step", replace(settings, merging=replace(settings.merging, tiny_columns=0))),
        Variant("one preferred count, six columns a block", _with(replace(usual, page=narrow))),
        Variant("three blocks a page preferred", _with(replace(usual, page=FixedCount()))),
        Variant("page terms ten times", _with(replace(usual, page=scaled(usual.page, 10)))),
        Variant("no free ranges in blocks", _with(replace(usual, block=FREE))),
        Variant("no free ranges in pairs", _with(replace(usual, adjacent=FREE_PAIRS))),
        Variant(
            "no free ranges, one preferred count",
            _with(Objective(block=FREE, adjacent=FREE_PAIRS, page=narrow)),
        ),
        Variant(
            "parting columns costs 1 and not 0.5",
            _with(replace(usual, adjacent=AdjacentPenalty(sibling_split=1.0))),
        ),
        Variant(
            "parting columns costs nothing",
            _with(replace(usual, adjacent=AdjacentPenalty(sibling_split=0.0))),
        ),
    ]


def scaled(page: PagePenalty, factor: float) -> PagePenalty:
    """The page terms, heavier."""
    return replace(
        page,
        weight_range=factor * page.weight_range,
        weight_cap=factor * page.weight_cap,
        weight_single=factor * page.weight_single,
    )


def _with(objective: Objective) -> BlockSettings:
    return BlockSettings(objective=objective)


def weighted(settings: BlockSettings, weights: Weights) -> BlockSettings:
    """The settings with these lambdas."""
    block, adjacent, page = map(float, weights)
    objective = replace(settings.objective, weight_block=block, weight_adjacent=adjacent, weight_page=page)
    return replace(settings, objective=objective)


def boundaries(candidates: Candidates, settings: BlockSettings) -> tuple[int, ...]:
    """Where a page is cut."""
    costs = spell_out(candidates, settings.objective)
    return tuple(merge_tiny(segment(costs)[0], candidates, costs, settings.merging))


def moved(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many cuts stand in one of them alone."""
    return len(set(one) ^ set(other))


def payments(candidates: Candidates, settings: BlockSettings) -> tuple[float, float, float]:
    """What the segmentation costs by group, without the lambdas."""
    ones = replace(settings.objective, weight_block=1.0, weight_adjacent=1.0, weight_page=1.0)
    costs, at = spell_out(candidates, ones), boundaries(candidates, settings)
    lengths = [stop - start for start, stop in pairwise(at)]
    block = sum(float(costs.block[start, m - 1]) for start, m in zip(at, lengths, strict=False))
    pairs = zip(at[1:-1], lengths, lengths[1:], strict=False)
    adjacent = sum(float(costs.adjacent[i, a - 1, b - 1]) for i, a, b in pairs)
    return block, adjacent, page_penalty(len(lengths), candidates.features.columns, ones.page)


def without_terms() -> Iterator[Variant]:
    """The objective with each term left out."""
    usual = Objective()
    for group, penalty in (("block", usual.block), ("adjacent", usual.adjacent), ("page", usual.page)):
        for name in type(penalty).__dataclass_fields__:
            if name.startswith("weight_"):
                less = replace(penalty, **{name: 0.0})  # type: ignore[type-var]
                term = name.removeprefix("weight_")
                yield Variant(f"{group}: {term}", _with(replace(usual, **{group: less})))


def drawn_pages(count: int) -> Iterator[Page]:
    """So many of each made-up layout."""
    for kind in LAYOUTS:
        yield from layout_pages(kind, count)


def composed_pages(fonts: Path, text: Path, count: int) -> Iterator[Page]:
    """Pages that synth composes of real columns."""
    from tongguocr.training.synth.composition import to_page
    from tongguocr.training.synth.fonts import load_fonts
    from tongguocr.training.synth.kinds import compose_page, pick_kind
    from tongguocr.training.synth.text import load_text

    dice, book, source = np.random.default_rng(1), load_fonts(fonts), load_text(text)
    for seed in range(count):
        yield to_page(compose_page(pick_kind(dice), source, book, seed))


def real_pages(folder: Path, step: int) -> Iterator[Page]:
    """The labelled lines of real pages; every so manieth page."""
    path = folder / "pages.jsonl"
    for number, row in enumerate(decode_utf8(read_bytes(path), path).splitlines()):
        if number % step:
            continue
        try:
            entry = json.loads(row)
            wide, high = map(int, entry["size"])
            boxes = [make_box(*map(float, line["box"])) for line in entry["lines"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: row {number + 1} has no size or no boxes ({error!r}).") from None
        yield Page(str(entry["image"]), wide, high, tuple(Line(f"l{k}", box) for k, box in enumerate(boxes)))


def measure(pages: Iterator[Page]) -> list[Candidates]:
    """The candidates of each page that has lines, whose text is not known."""
    return [enumerate_candidates(measure_features(without_text(page))) for page in pages if page.lines]


def grid_table(sources: dict[str, list[Candidates]]) -> Table:
    """Pages recut for each setting."""
    table = Table(title="pages cut otherwise than at (2,2,1), percent (cuts moved a page that is recut)")
    table.add_column("setting")
    for name, pages in sources.items():
        table.add_column(f"{name}, {len(pages)} pages", justify="right")
    usual = {name: [boundaries(page, BlockSettings()) for page in pages] for name, pages in sources.items()}
    for weights in GRID:
        cells = []
        for name, pages in sources.items():
            settings = weighted(BlockSettings(), weights)
            found = [moved(was, boundaries(p, settings)) for was, p in zip(usual[name], pages, strict=True)]
            cells.append(_recut(found))
        table.add_row(f"({','.join(f'{w:g}' for w in weights)})", *cells)
    return table


def _recut(found: Sequence[int]) -> str:
    changed = [count for count in found if count]
    mean = f" ({np.mean(changed):.1f})" if changed else ""
    return f"{100 * len(changed) / max(len(found), 1):.1f}{mean}"


def term_table(sources: dict[str, list[Candidates]]) -> Table:
    """Pages recut where a term is left out."""
    table = Table(title="pages cut otherwise without a term, at (2,2,1), percent")
    table.add_column("term")
    for name in sources:
        table.add_column(name, justify="right")
    usual = {name: [boundaries(page, BlockSettings()) for page in pages] for name, pages in sources.items()}
    for variant in without_terms():
        cells = [
            _recut(
                [moved(w, boundaries(p, variant.settings)) for w, p in zip(usual[name], pages, strict=True)]
            )
            for name, pages in sources.items()
        ]
        table.add_row(variant.name, *cells)
    return table


def payment_table(sources: dict[str, list[Candidates]]) -> Table:
    """What is left to pay at the default, and how often a group is free."""
    table = Table(title="what the segmentation at (2,2,1) pays: mean (percent of pages that pay nothing)")
    for name in ("source", "block", "adjacent", "page", "blocks"):
        table.add_column(name, justify="left" if name == "source" else "right")
    for name, pages in sources.items():
        paid = np.array([payments(page, BlockSettings()) for page in pages])
        cells = [f"{paid[:, k].mean():.2f} ({100 * (paid[:, k] < 1e-9).mean():.0f})" for k in range(3)]
        blocks = np.mean([len(boundaries(page, BlockSettings())) - 1 for page in pages])
        table.add_row(name, *cells, f"{blocks:.1f}")
    return table


def variant_table(sources: dict[str, list[Candidates]]) -> Table:
    """Pages that any setting recuts, for other constants of ours."""
    table = Table(
        title="pages recut by any setting of the grid, by (4,4,1), percent (blocks a page at the default)"
    )
    table.add_column("our constants")
    for name in sources:
        table.add_column(name, justify="right")
    for variant in variants():
        cells = []
        for pages in sources.values():
            usual = [boundaries(page, variant.settings) for page in pages]
            recut = {weights: _changed(pages, usual, weighted(variant.settings, weights)) for weights in GRID}
            blocks = np.mean([len(at) - 1 for at in usual])
            shares = np.any(list(recut.values()), axis=0).mean(), np.mean(recut[WORST])
            cells.append(f"{100 * shares[0]:.1f}, {100 * shares[1]:.1f} ({blocks:.1f})")
        table.add_row(variant.name, *cells)
    return table


def _changed(
    pages: Sequence[Candidates], usual: Sequence[tuple[int, ...]], settings: BlockSettings
) -> list[bool]:
    """Which pages these settings cut otherwise."""
    return [boundaries(page, settings) != was for was, page in zip(usual, pages, strict=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Whether the weights lambda recut pages.")
    parser.add_argument("--count", type=int, default=8, metavar="N", help="pages of each made-up layout")
    parser.add_argument("--fonts", type=Path, metavar="DIR", help="with --text: composed pages, too")
    parser.add_argument("--text", type=Path, metavar="FILE")
    parser.add_argument("--composed", type=int, default=100, metavar="N")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="with pages.jsonl: real pages, too")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="every Nth of them")
    chosen = parser.parse_args(arguments)
    sources = {"made-up layouts": measure(drawn_pages(chosen.count))}
    if chosen.fonts and chosen.text:
        sources["composed"] = measure(composed_pages(chosen.fonts, chosen.text, chosen.composed))
    if chosen.real:
        sources["real"] = measure(real_pages(chosen.real, chosen.step))
    console = Console(width=120)
    for table in (grid_table, payment_table, term_table, variant_table):
        console.print(table(sources))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.lambdas: {error}")
