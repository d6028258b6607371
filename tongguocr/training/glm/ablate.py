"""The paper's ablations (4.5): a grid of variants in, one row of its table each out.

A grid is a TOML file: [base] names the model, the mined characters, the pages to train on and to test; each
[[row]] says what it changes: the vocabulary, transitions, page or block at training and at reading, the
weights of the block penalties, which stages. A row's run lies in a folder of its own; what is done is not
done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from tongguocr.blocks import BlockSettings, cut_blocks
from tongguocr.blocks.segment import Objective
from tongguocr.engines.base import Engine
from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import METRICS
from tongguocr.evaluate.protocols import PROTOCOLS, check_installed, score_lines
from tongguocr.evaluate.report import summarise
from tongguocr.files import make_folder, write_bytes
from tongguocr.page import Block, Page
from tongguocr.reader import Reader, without_text
from tongguocr.training.glm.expand import expand, read_added
from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.glm.train import find_glm_start, train_glm_pages
from tongguocr.training.glm.trainer import MODEL
from tongguocr.training.recogniser.labelled import LabelledPage, Say, parse_source, read_pages, read_test
from tongguocr.training.recogniser.pages import with_pixels
from tongguocr.training.settings import fill, read_toml
from tongguocr.training.stage import find_stage, load_glm_page_stage

RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class Base:
    """What all rows share."""

    model: str = ""
    """A folder, or a name on the hub."""
    added: str = ""
    """What `tongguocr vocab` wrote."""
    pages: tuple[str, ...] = ()
    """KIND=DIR, to train on."""
    test: tuple[str, ...] = ()
    """KIND=DIR, to test on: official test splits, or all pages of a folder."""
    stages: tuple[str, ...] = ("full-3",)
    protocol: str = "paper"

    def __post_init__(self) -> None:
        for name in ("model", "added", "pages", "test", "stages"):
            if not getattr(self, name):
                raise ValueError(f"{name} is missing")
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol is one of {', '.join(PROTOCOLS)}")


@dataclass(frozen=True, slots=True)
class Row:
    """One variant."""

    name: str = ""
    vocabulary: bool = True
    transitions: bool = True
    train: str = "block"
    """Granularity of the last stage's samples."""
    read: str = "block"
    weights: tuple[float, float, float] = (2.0, 2.0, 1.0)
    stages: tuple[str, ...] = ()
    """Those of the base, unless others are given."""

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").replace("_", "").isalnum():
            raise ValueError("a row needs a name of letters, digits, - and _")
        if {self.train, self.read} - {"page", "block"}:
            raise ValueError("train and read are page or block")


def read_grid(path: Path) -> tuple[Base, list[Row]]:
    """What all rows of a grid share, and the rows."""
    tables = read_toml(path)
    rows = tables.get("row")
    if (
        set(tables) - {"base", "row"}
        or not isinstance(tables.get("base"), dict)
        or not isinstance(rows, list)
    ):
        raise InputError(f"{path}: a grid has a table [base] and tables [[row]], nothing else.")
    base = fill(Base, tables["base"], "base", path)
    made = [fill(Row, row, f"row {number}", path) for number, row in enumerate(rows, start=1)]
    if len({row.name for row in made}) < len(made) or not made:
        raise InputError(f"{path}: every row needs a name of its own, and there must be one.")
    return base, made


def run_grid(path: Path, out: Path, device: torch.device, report: Say) -> str:
    """Train and score every row that has no result yet; the table of all."""
    base, rows = read_grid(path)
    check_installed(PROTOCOLS[base.protocol])
    make_folder(out)
    results = {}
    for row in rows:
        report(f"Row {row.name}.")
        results[row.name] = _run_row(base, row, out, device, report)
    return tabulate(rows, results)


def _run_row(base: Base, row: Row, out: Path, device: torch.device, report: Say) -> dict[str, float]:
    folder, wanted = out / row.name, {"base": asdict(base), "row": asdict(row)}
    done = folder / RESULT
    if done.exists():
        held = json.loads(done.read_text(encoding="utf-8"))
        if held["of"] != json.loads(json.dumps(wanted)):
            raise InputError(f"{done}: this is the result of another grid; give another --out.")
        return dict(held["figures"])
    start = _expanded(base, row, out)
    stages = row.stages or base.stages
    for number, name in enumerate(stages, start=1):
        stage = _changed(load_glm_page_stage(find_stage(name)), row, last=number == len(stages))
        start = _train(stage, base, start, folder / f"{number}", device, report)
    figures = score(start, base, row, device, report)
    write_bytes(json.dumps({"of": wanted, "figures": figures}, indent=2).encode(), done)
    return figures


def _expanded(base: Base, row: Row, out: Path) -> str:
    """The model with this row's vocabulary, made once for all rows that share it."""
    parts = [name for name, wanted in (("v", row.vocabulary), ("t", row.transitions)) if wanted]
    if not parts:
        return base.model
    folder = out / f"expanded-{''.join(parts)}"
    if not folder.exists():
        characters = read_added(Path(base.added)) if row.vocabulary else []
        save_pretrained(expand(load_pretrained(base.model), characters, row.transitions)[0], folder)
    return str(folder)


def _changed(stage: GlmPageStage, row: Row, last: bool) -> GlmPageStage:
    """A stage with this row's changes; the granularity is that of the last stage alone."""
    pages = replace(stage.pages, weights=row.weights)
    if last:
        pages = replace(pages, granularity=row.train)  # type: ignore[arg-type]
    settings = replace(stage.settings, transitions=row.transitions)
    return replace(stage, pages=pages, settings=settings)


def _train(stage: GlmPageStage, base: Base, start: str, out: Path, device: torch.device, report: Say) -> str:
    done = out / "done"
    if not done.exists():
        sources = [parse_source(written) for written in base.pages]
        pages = read_pages(sources, stage.pages.kinds, stage.pages.validated_on, stage.mapping, report)
        train_glm_pages(
            pages, stage, load_pretrained(find_glm_start(start, out) or start), out, device, report
        )
        done.touch()
    return str(out / MODEL)


def score(model: str, base: Base, row: Row, device: torch.device, report: Say) -> dict[str, float]:
    """The figures of a model on the test pages, whose lines and order are given."""
    from tongguocr.engines.glm.engine import HfEngine
    from tongguocr.engines.guard import Guarded

    inner = HfEngine(model, device=str(device))
    inner.image_settings = replace(
        inner.image_settings, square=inner.image_settings.square and row.read == "block"
    )
    protocol, scores = PROTOCOLS[base.protocol], {}
    for number, labelled in enumerate(_test_pages(base, report)):
        page = with_pixels(labelled)
        if isinstance(page, str):
            continue
        found = read_as(page, Guarded(inner), row)
        texts = [[line.text for line in p.lines] for p in (found, page)]
        scores[f"{number} {page.image}"] = score_lines(texts[0], texts[1], protocol)
    if not scores:
        raise InputError(f"{base.test[0]}: there is no page to test on.")
    summary: dict[str, Any] = summarise(scores, protocol)
    return {name: float(summary[name]) for name in METRICS}


def read_as(page: Page, engine: Engine, row: Row) -> Page:
    """Read a page whole or in blocks."""
    bare = without_text(page)
    blocks: tuple[Block, ...] = (Block(0, len(page.lines), (0, 0, page.width, page.height)),)
    if row.read == "block":
        blocks = cut_blocks(bare, BlockSettings(objective=Objective(*row.weights)))
    return Reader(engine).read_blocks(bare, blocks)


def _test_pages(base: Base, report: Say) -> Iterator[LabelledPage]:
    for written in base.test:
        yield from read_test(parse_source(written), report)


def tabulate(rows: list[Row], results: dict[str, dict[str, float]]) -> str:
    """The paper's table: what a row had, and its figures in percent."""
    heads = ("Row", "Vocab.", "Trans.", "SFT", "Infer.", "Weights", "Stages", *METRICS)
    lines: list[tuple[str, ...]] = [heads]
    for row in rows:
        weights = ",".join(f"{weight:g}" for weight in row.weights)
        ticks = ("yes" if on else "--" for on in (row.vocabulary, row.transitions))
        stages = "+".join(row.stages) or "base"
        figures = (f"{results[row.name][name]:.2f}" for name in METRICS)
        lines.append((row.name, *ticks, row.train, row.read, f"({weights})", stages, *figures))
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines)
