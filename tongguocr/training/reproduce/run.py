"""One table from beginning to end: what is trained already stays, what is read already is not read again.

In: an order. Out: its files table-N.md, .tex and .csv, written anew after each row, so that an interrupted
table shows the rows that are done. All else lies beside them: runs/, a folder for each training run with
its log and stage file; predictions/, the text of every test page for each row, and the references as text;
lines/, what the layout module found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import METRICS
from tongguocr.evaluate.protocols import PROTOCOLS, check_installed
from tongguocr.files import make_folder, write_bytes
from tongguocr.training.datasets.sources import Source
from tongguocr.training.reproduce.chain import Workshop, run_folder, short_digest, train_row
from tongguocr.training.reproduce.families import Showing
from tongguocr.training.reproduce.layout import Result, Sheet, to_csv, to_latex, to_markdown
from tongguocr.training.reproduce.paper import published
from tongguocr.training.reproduce.reading import Manner, read_all, read_whole
from tongguocr.training.reproduce.score import Scored, score
from tongguocr.training.reproduce.scored_pages import (
    Layout,
    ScoredPage,
    list_pages,
    name_of,
    write_references,
)
from tongguocr.training.reproduce.switches import Switches
from tongguocr.training.reproduce.systems import SYSTEMS, open_system
from tongguocr.training.reproduce.tables import MAIN_CHAIN, OCCURRENCES, TITLES, Row, make_table

MAIN_ROW = Row(("TongGuOCR",), MAIN_CHAIN, ())
"""The model of the paper's tables 3 and 4."""
TRAINED, GIVEN = "TongGuOCR, trained here", "TongGuOCR, the weights of --model"


@dataclass(frozen=True)
class Order:
    """What is wanted: a table, on which pages, read in which way."""

    table: int
    shop: Workshop
    tests: tuple[Source, ...]
    switches: Switches = field(default_factory=Switches)
    seeds: tuple[int, ...] = (1,)
    systems: tuple[str, ...] | None = None
    """Readers for tables 3 and 4; None: all that are installed."""
    model: str | None = None
    """Trained weights for tables 3 and 4, which are only read with."""
    most: int | None = None
    """Test pages at most."""


def reproduce(order: Order) -> str:
    """Make the table; it in Markdown."""
    check_installed(PROTOCOLS[order.switches.protocol])
    make_folder(order.shop.out)
    pages = list_pages(order.tests, order.shop.say, order.most)
    desk = Desk(order, pages)
    write_references(pages, desk.predictions / "reference")
    return _main_table(desk) if order.table in (3, 4) else _ablation(desk)


@dataclass(frozen=True)
class Desk:
    """An order and its test pages."""

    order: Order
    pages: Sequence[ScoredPage]

    @property
    def test(self) -> str:
        """The name of this test among others in the same folder."""
        return f"{self.order.tests[0][0]}-{name_of(self.pages)}"

    @property
    def predictions(self) -> Path:
        """Where the text of its pages is kept."""
        return self.order.shop.out / "predictions" / self.test

    @property
    def layout(self) -> Layout:
        """Where the lines of its pages come from."""
        found = self.order.shop.out / "lines" / self.test
        return Layout(found if self.order.switches.lines == "found" else None)


def _ablation(desk: Desk) -> str:
    """Tables 5 to 9: row by row, seed by seed."""
    order = desk.order
    table = make_table(order.table, order.switches)
    results = [Result(row.cells, {}, dict(zip(table.columns, row.paper, strict=True))) for row in table.rows]
    markdown, lost = "", 0
    for seed in order.seeds:
        for number, row in enumerate(table.rows):
            scored = score_row(desk, row, seed)
            lost = max(lost, scored.lost)
            seeds = {**results[number].seeds, seed: scored.figures}
            results[number] = replace(results[number], seeds=seeds)
            sheet = Sheet(
                table.number, table.title, table.heads, table.columns, tuple(results), _notes(desk, lost)
            )
            markdown = _write(sheet, order.shop.out)
            order.shop.say(f"{row.name}, seed {seed}: {_in_short(scored, table.columns)}.")
    return markdown


def score_row(desk: Desk, row: Row, seed: int) -> Scored:
    """Train, read and score one row, as far as that is not done."""
    shop = desk.order.shop
    weights = train_row(shop, row, seed)
    trained = run_folder(shop, row, len(row.chain), seed)
    showing = showing_of(desk.order, row)
    # What else the text depends on, beside the weights.
    manner = short_digest([row.read, row.weights, showing, desk.order.switches.lines])
    folder = desk.predictions / f"{trained.name}-{row.read}-{manner}"
    return _read_and_score(desk, row, weights, showing, folder)


def showing_of(order: Order, row: Row) -> Showing:
    """How a row's model is shown test pages."""
    switches, last = order.switches, order.shop.stage_files[2].pages
    return Showing(
        row.read,
        square=True if switches.canvas == "square" else None,
        side=last.longest_side if switches.side == "same" else None,
        longest=last.longest,
        guard=switches.guard == "on",
    )


def _read_and_score(desk: Desk, row: Row, weights: str, showing: Showing, folder: Path) -> Scored:
    order = desk.order
    read_all(
        desk.pages,
        lambda: order.shop.family.open(weights, showing, order.shop.device),
        Manner(row.read, row.weights),
        desk.layout,
        folder,
        order.shop.say,
    )
    added = order.shop.characters if order.table == 8 else ()
    return score(desk.pages, folder, order.switches.protocol, added)


def _main_table(desk: Desk) -> str:
    """Tables 3 and 4: a model trained here or given, readers that anybody can run, and the paper's rows."""
    order = desk.order
    paper = tuple(Result((row.method,), {}, row.figures) for row in published(order.table))
    here: dict[str, dict[int, dict[str, float]]] = {}
    markdown, lost = "", 0
    for title, seed, scored in _main_rows(desk):
        here.setdefault(title, {})[seed] = scored.figures
        lost = max(lost, scored.lost)
        results = tuple(Result((name,), seeds, {}) for name, seeds in here.items())
        sheet = Sheet(
            order.table, TITLES[order.table], ("Method",), METRICS, results + paper, _notes(desk, lost)
        )
        markdown = _write(sheet, order.shop.out)
        order.shop.say(f"{title}: {_in_short(scored, METRICS)}.")
    if not here:
        raise InputError("There is nothing to read with: give --start, --model or --systems.")
    return markdown


def _main_rows(desk: Desk) -> Iterator[tuple[str, int, Scored]]:
    """Every row of ours with its seed."""
    order = desk.order
    if order.shop.start:
        for seed in order.seeds:
            yield TRAINED, seed, score_row(desk, MAIN_ROW, seed)
    if order.model is not None:
        yield GIVEN, 0, _score_model(desk, order.model)
    given = order.switches.lines == "given"
    for name in SYSTEMS if order.systems is None else order.systems:
        folder = desk.predictions / f"{name}-{order.switches.lines}"
        try:
            read = open_system(name, given)
        except InputError as error:
            if order.systems is not None:
                raise
            order.shop.say(f"{name} is absent: {error}")
            continue
        read_whole(desk.pages, read, folder, order.shop.say)
        yield SYSTEMS[name].title, 0, score(desk.pages, folder, order.switches.protocol, ())


def _score_model(desk: Desk, model: str) -> Scored:
    """What trained weights read, their blocks shown as the switches say."""
    order = desk.order
    shop = replace(order.shop, start=model)
    showing = showing_of(replace(order, shop=shop), MAIN_ROW)
    name = short_digest([model, showing, order.switches.lines])
    lent = replace(desk, order=replace(order, shop=shop))
    return _read_and_score(lent, MAIN_ROW, model, showing, desk.predictions / f"model-{name}")


def _notes(desk: Desk, lost: int) -> tuple[str, ...]:
    """What a reader of the table has to know."""
    order, switches = desk.order, desk.order.switches
    which = ", ".join(f"{kind}" for kind, _ in order.tests)
    counted = f"{lost} of them lost in the worst row and counted as such" if lost else "none of them lost"
    length = f" Every stage was trained for {order.shop.minutes:g} minutes." if order.shop.minutes else ""
    seeds = f" {len(order.seeds)} seeds." if len(order.seeds) > 1 else ""
    differing = switches.differing()
    other = f" Not as by default: {differing}." if differing else ""
    wanted = "mthv2" if order.table == 3 else "m5hisdoc"
    if any(kind.partition("-")[0] != wanted for kind, _ in order.tests):
        other += (
            f" The paper's rows are of {wanted}: these are other pages, so only directions can be compared."
        )
    here = f"Here: {len(desk.pages)} test pages of {which}, {counted}; protocol {switches.protocol}."
    return (f"{here}{length}{seeds}{other}",)


def _in_short(scored: Scored, columns: Sequence[str]) -> str:
    names = [name for name in ("AR", "CR", "RO-ED", *OCCURRENCES[:3]) if name in columns]
    return ", ".join(f"{name} {scored.figures.get(name, 0.0):.2f}" for name in names)


def _write(sheet: Sheet, out: Path) -> str:
    """The table's three files; it in Markdown."""
    markdown = to_markdown(sheet)
    for suffix, text in (("md", markdown), ("tex", to_latex(sheet)), ("csv", to_csv(sheet))):
        write_bytes(text.encode(), out / f"table-{sheet.number}.{suffix}")
    return markdown
