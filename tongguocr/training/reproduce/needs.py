"""What a table needs before it is begun, and what of it is missing: `tongguocr reproduce N --dry-run`.

In: an order, of which everything but the table may be missing. Out: a few lines of text. Hours are arithmetic
by the data sets' published sizes (paper, tables 1 and 2) and what this package reaches on an H200
(docs/full_size.md); with --minutes they are those minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tongguocr.engines.glm.config import GlmSize
from tongguocr.training.glm.estimate import Estimate, SampleSize
from tongguocr.training.glm.samples import GlmSettings
from tongguocr.training.recogniser.pages import Granularity
from tongguocr.training.reproduce.chain import is_trained
from tongguocr.training.reproduce.run import MAIN_ROW, Order
from tongguocr.training.reproduce.systems import SYSTEMS
from tongguocr.training.reproduce.tables import LARGE, TITLES, Row, StageUse, make_table

PAGES = {"hisdoc1b": 3_163_330, "mthv2": 2_399, "m5hisdoc": 2_000}
"""Pages to train on (paper, table 1)."""
CHARACTERS = {"hisdoc1b": 342, "mthv2": 338, "m5hisdoc": 1_092}
"""Of a page, by the data sets' published totals."""
TEST_PAGES = {"mthv2": 800, "m5hisdoc": 1_000}
VALIDATION_PAGES = 1_000
BLOCKS = 8
"""Of a page of MTHv2 or M5HisDoc, about."""
SIDES, EPOCHS = (768, 1024, 1024), (3, 10, 15)
"""Of stages 1 to 3 (paper, table 2)."""
ADDED_ROWS = 20_000
"""Rows of added characters, about."""
TOKEN_PIXELS = 28
"""Pixels a side that an image token of GLM-OCR stands for."""
SECONDS_A_BLOCK, SECONDS_A_PAGE = 0.09, 1.4
"""To read one with the published sizes on an H200 (docs/full_size.md): 32 blocks of 150 tokens in 2.8 s; half
as many pages of 1,160 tokens together, each step as long."""


@dataclass(frozen=True, slots=True)
class RunNeed:
    """One training run, and how long it takes."""

    name: str
    hours: float


def describe_needs(order: Order) -> str:
    """All that the table needs, line by line."""
    lines = [f"Table {order.table}: {TITLES[order.table]}."]
    rows = rows_of(order)
    lines += ["", "Data:", *_data(order, rows), "", "Weights and tools:", *_weights(order, rows)]
    runs = list(_runs(order, rows))
    reading = _reading_hours(order, rows)
    if runs:
        lines += ["", f"Training runs: {len(runs)}. Rows that they are for: {len(rows)} (stages are shared)."]
        lines += [f"  {run.name}: {run.hours:.1f} GPU hours" for run in runs]
    total = sum(run.hours for run in runs) + reading
    lines += ["", f"Reading: {reading:.1f} GPU hours. Together about {total:.1f} GPU hours of an H200."]
    if order.shop.minutes is None:
        lines.append("By the paper's sizes of data and of GLM-OCR; a smaller model takes less.")
    return "\n".join(lines)


def rows_of(order: Order) -> tuple[Row, ...]:
    """The rows that are trained for a table."""
    if order.table in (3, 4):
        return (MAIN_ROW,) if order.shop.start or order.model is None else ()
    return make_table(order.table, order.switches).rows


def _data(order: Order, rows: tuple[Row, ...]) -> Iterator[str]:
    """Each data set, where it is, or that it is missing."""
    given = {kind.partition("-")[0]: folder for kind, folder in order.shop.sources}
    tested = {kind.partition("-")[0]: folder for kind, folder in order.tests}
    judge = "mthv2" if order.table == 3 else "m5hisdoc"
    for kind in PAGES:
        used = [f"{PAGES[kind]:,} pages to train on"] if _trains_on(kind, rows) else []
        used += ["its validation split"] if kind == "m5hisdoc" and rows else []
        used += [f"{TEST_PAGES[kind]:,} test pages"] if kind == judge else []
        if not used:
            continue
        folder = given.get(kind) or tested.get(kind)
        yield f"  {kind}: {', '.join(used)}; {_where(folder, f'give --pages {kind}=DIR')}"
    for kind, folder in given.items():
        if kind not in PAGES:
            yield f"  {kind}: pages of one's own to train on; {_where(folder, '')}"
    for kind, folder in tested.items():
        if kind not in PAGES:
            yield f"  {kind}: pages of one's own to test on; {_where(folder, '')}"


def _trains_on(kind: str, rows: tuple[Row, ...]) -> bool:
    if kind != LARGE:
        return bool(rows)
    return any(use.large and use.number == 1 for row in rows for use in row.chain)


def _where(path: Path | None, advice: str) -> str:
    if path is None:
        return f"MISSING, {advice}."
    return f"{path}." if path.exists() else f"MISSING, there is no {path}."


def _weights(order: Order, rows: tuple[Row, ...]) -> Iterator[str]:
    shop = order.shop
    if order.model is not None:
        yield f"  trained weights: {_named(order.model)}"
    elif rows:
        advice = "MISSING, give --start (the paper: zai-org/GLM-OCR, or a folder with it)."
        yield f"  start weights: {_named(shop.start) if shop.start else advice}"
    if any(row.vocabulary for row in rows) or order.table == 8:
        advice = "give --added; `tongguocr corpus` and `tongguocr vocab` make it of the training text"
        yield f"  added characters: {_where(shop.added, advice)}"
    for package, extra in (("torch", "train"), ("transformers", "glm"), ("rapidfuzz", "eval")):
        if find_spec(package) is None:
            yield f"  {package}: MISSING, pip install 'tongguocr[{extra}]'."
    if order.table in (3, 4):
        names = SYSTEMS if order.systems is None else order.systems
        yield f"  readers beside it: {', '.join(names)}; those that are not installed are left out."


def _named(weights: str) -> str:
    """Weights by a path, or by a name on the hub."""
    path = Path(weights)
    if path.exists():
        return f"{weights}."
    looks_like_path = path.is_absolute() or weights.startswith(".") or weights.count("/") != 1
    return f"MISSING, there is no {weights}." if looks_like_path else f"{weights}, of the hub."


def _runs(order: Order, rows: tuple[Row, ...]) -> Iterator[RunNeed]:
    """Each run once, whatever number of rows begin with it."""
    seen = set()
    for row in rows:
        for count, use in enumerate(row.chain, start=1):
            key = (row.vocabulary, row.transitions, row.chain[:count])
            if key in seen:
                continue
            seen.add(key)
            hours = stage_hours(use) if order.shop.minutes is None else order.shop.minutes / 60
            left = sum(not _is_done(order, row, count, seed) for seed in order.seeds)
            name = f"stage {use.number} on {use.granularity}s, first for the row {row.name}"
            seeds = "" if len(order.seeds) == 1 else f", {left} of {len(order.seeds)} seeds left"
            yield RunNeed(name + (seeds if left else ", done"), hours * left)


def _is_done(order: Order, row: Row, count: int, seed: int) -> bool:
    """Whether a run lies in --out already; without start weights nobody can tell."""
    shop = order.shop
    known = shop.start and (shop.added is None or shop.added.exists())
    return bool(known) and is_trained(shop, row, count, seed)


def stage_hours(use: StageUse) -> float:
    """Hours of one GPU for a stage of the paper, its validations included, by the published sizes."""
    kinds = [kind for kind in PAGES if kind != LARGE or (use.large and use.number == 1)]
    pages = sum(PAGES[kind] for kind in kinds)
    characters = sum(PAGES[kind] * CHARACTERS[kind] for kind in kinds) / pages
    parts = BLOCKS if use.granularity == "block" else 1
    seen = (SIDES[use.number - 1] // TOKEN_PIXELS) ** 2
    # A line break for about fifteen characters, and the end.
    sample = SampleSize(seen, round(characters / parts * 16 / 15) + 1)
    size = GlmSize(rows=GlmSize().rows + ADDED_ROWS)
    settings = GlmSettings(batch_tokens=32_768)
    epochs = EPOCHS[use.number - 1]
    trained = Estimate("", size, sample, pages * parts, epochs, settings).hours()
    return trained + (epochs + 1) * reading_hours(use.granularity, VALIDATION_PAGES)


def reading_hours(granularity: Granularity, pages: int) -> float:
    """Hours of one GPU to read so many pages whole or in blocks."""
    each = SECONDS_A_PAGE if granularity == "page" else BLOCKS * SECONDS_A_BLOCK
    return each * pages / 3600


def _reading_hours(order: Order, rows: tuple[Row, ...]) -> float:
    """Hours to read the test pages for all rows; table 8 reads nothing that table 7 has not read."""
    pages = order.most or TEST_PAGES["mthv2" if order.table == 3 else "m5hisdoc"]
    return sum(reading_hours(row.read, pages) for row in rows) * len(order.seeds)
