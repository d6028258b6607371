"""The rows of the paper's tables 5 to 9 (4.5): what each is trained and read with, and the paper's figures.

In: the switches. Out: rows, each a chain of stages from the start weights, a way to read, and published
figures. Rows with the same chain share its runs, within a table and between tables: block/block of table 5 is
the last row of tables 6 and 7, and table 8 counts characters in what the rows of table 7 read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from tongguocr.evaluate.metrics import METRICS
from tongguocr.training.recogniser.pages import Granularity
from tongguocr.training.reproduce.switches import Switches

Weights: TypeAlias = tuple[float, float, float]
DEFAULT: Weights = (2.0, 2.0, 1.0)
"""Lambda of block, adjacent-block and page-level penalties (paper 4.3)."""
OCCURRENCES = ("added P", "added R", "added F1", "added FP", "added FN", "other P", "other R", "other F1")
"""The columns of table 8."""
TICK, DASH = "yes", "--"
LARGE = "hisdoc1b"
"""The data set that only table 9 and the main model are trained on."""


@dataclass(frozen=True, slots=True)
class StageUse:
    """One stage of a row's chain."""

    number: int
    """Which of the three stage files."""
    granularity: Granularity
    large: bool = False
    """Whether it is trained on HisDoc1B, too, where its file asks for that."""
    weights: Weights = DEFAULT
    """How pages are cut into blocks to train on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    cells: tuple[str, ...]
    """What stands in front of its figures."""
    chain: tuple[StageUse, ...]
    paper: tuple[float, ...]
    read: Granularity = "block"
    weights: Weights = DEFAULT
    """How test pages are cut into blocks."""
    vocabulary: bool = True
    transitions: bool = True

    @property
    def name(self) -> str:
        """The row in a word."""
        return "/".join(self.cells).replace(" ", "")


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its heads, its columns and its rows."""

    number: int
    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: tuple[str, ...] = METRICS
    test: str = "m5hisdoc"
    """The data set whose test split the paper reports."""


MAIN_CHAIN = (StageUse(1, "page", True), StageUse(2, "page", True), StageUse(3, "block", True))
"""The paper's three stages (table 2)."""
TITLES = {
    3: "Performance on MTHv2",
    4: "Performance on M5HisDoc",
    5: "Input granularity in training and in reading",
    6: "Weights of the block penalties",
    7: "Vocabulary expansion and transition modelling",
    8: "Added and other characters, occurrences after alignment",
    9: "Stages of training",
}
TABLES = tuple(TITLES)
"""Those that there is a command for; 1 and 2 are data and settings."""

GRANULARITIES: tuple[tuple[Granularity, Granularity, tuple[float, ...]], ...] = (
    ("page", "page", (83.50, 86.66, 14.00, 84.86, 85.98, 84.03, 73.37, 5.24)),
    ("page", "block", (75.43, 87.19, 13.93, 85.55, 86.15, 85.08, 74.10, 5.26)),
    ("block", "page", (68.47, 74.11, 29.83, 86.34, 88.10, 85.44, 72.61, 26.60)),
    ("block", "block", (89.69, 90.88, 9.79, 90.17, 90.32, 90.07, 82.30, 4.93)),
)
LAMBDAS: tuple[tuple[Weights, tuple[float, ...]], ...] = (
    ((1, 1, 1), (85.44, 90.06, 10.75, 89.18, 89.31, 89.11, 80.46, 5.29)),
    ((2, 1, 1), (85.94, 89.92, 11.06, 89.33, 89.85, 89.02, 80.47, 5.38)),
    ((1, 2, 1), (86.75, 90.17, 10.66, 89.55, 89.92, 89.29, 80.87, 5.10)),
    ((4, 2, 1), (87.96, 89.89, 10.82, 89.16, 89.51, 88.92, 80.50, 5.07)),
    ((2, 4, 1), (86.93, 89.74, 10.95, 89.09, 89.62, 88.78, 80.35, 5.48)),
    ((4, 4, 1), (84.57, 88.91, 11.87, 87.95, 88.46, 87.64, 78.54, 5.34)),
    ((2, 2, 1), (89.69, 90.88, 9.79, 90.17, 90.32, 90.07, 82.30, 4.93)),
)
TOKENS: tuple[tuple[bool, bool, tuple[float, ...], tuple[float, ...]], ...] = (
    (
        *(False, False),
        (80.89, 89.67, 11.23, 88.92, 89.12, 89.05, 80.44, 5.56),
        (75.17, 78.73, 76.91, 33270, 27219, 79.26, 91.21, 84.82),
    ),
    (
        *(True, False),
        (86.12, 90.13, 10.65, 89.47, 90.01, 89.23, 81.10, 5.23),
        (84.39, 78.43, 81.30, 18567, 27602, 84.55, 92.17, 88.19),
    ),
    (
        *(False, True),
        (87.89, 90.12, 10.65, 89.18, 89.14, 89.36, 80.94, 5.24),
        (81.66, 79.21, 80.42, 22758, 26605, 88.56, 92.00, 90.25),
    ),
    (
        *(True, True),
        (89.69, 90.88, 9.79, 90.17, 90.32, 90.07, 82.30, 4.93),
        (85.43, 80.42, 82.85, 17547, 25057, 91.42, 92.80, 92.11),
    ),
)
STAGES: tuple[tuple[float, ...], ...] = (
    (90.29, 91.55, 9.57, 93.08, 92.95, 93.28, 84.32, 6.42),
    (90.03, 93.56, 7.47, 93.75, 94.18, 93.42, 86.93, 4.07),
    (93.76, 94.46, 6.15, 94.44, 94.79, 94.14, 88.92, 3.49),
)


def make_table(number: int, switches: Switches = Switches()) -> Table:
    """One of tables 5 to 9."""
    title = TITLES[number]
    if number == 5:
        return Table(5, title, ("SFT", "Infer."), tuple(_granularity_rows(switches)))
    if number == 6:
        return Table(6, title, ("Setting",), tuple(_lambda_rows(switches)))
    if number in (7, 8):
        rows = tuple(_token_rows(switches, occurrences=number == 8))
        columns = OCCURRENCES if number == 8 else METRICS
        return Table(number, title, ("Vocab.", "Trans."), rows, columns)
    return Table(9, title, ("Stage 1", "Stage 2", "Stage 3"), tuple(_stage_rows()))


def module_chain(switches: Switches, granularity: Granularity = "block") -> tuple[StageUse, ...]:
    """What a row of the module ablations is trained by: without HisDoc1B (paper 4.5)."""
    last = StageUse(3, granularity)
    return (StageUse(1, "page"), StageUse(2, "page"), last) if switches.chain == "all" else (last,)


def _granularity_rows(switches: Switches) -> list[Row]:
    return [
        Row((train.capitalize(), read.capitalize()), module_chain(switches, train), paper, read)
        for train, read, paper in GRANULARITIES
    ]


def _lambda_rows(switches: Switches) -> list[Row]:
    rows = []
    for weights, paper in LAMBDAS:
        *before, last = module_chain(switches)
        trained = weights if switches.lambdas == "both" else DEFAULT
        chain = (*before, replace(last, weights=_floats(trained)))
        setting = f"({','.join(f'{weight:g}' for weight in weights)})"
        rows.append(Row((setting,), chain, paper, weights=_floats(weights)))
    return rows


def _floats(weights: Weights) -> Weights:
    block, adjacent, page = map(float, weights)
    return block, adjacent, page


def _token_rows(switches: Switches, occurrences: bool) -> list[Row]:
    rows = []
    for vocabulary, transitions, figures, counts in TOKENS:
        cells = tuple(TICK if on else DASH for on in (vocabulary, transitions))
        paper = counts if occurrences else figures
        row = Row(cells, module_chain(switches), paper, vocabulary=vocabulary, transitions=transitions)
        rows.append(row)
    return rows


def _stage_rows() -> list[Row]:
    rows = []
    for count, paper in enumerate(STAGES, start=1):
        cells = (TICK,) * count + (DASH,) * (3 - count)
        rows.append(Row(cells, MAIN_CHAIN[:count], paper))
    return rows
