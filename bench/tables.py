"""The paper's tables 5 to 9 on drawn pages, with a model from nothing: `python -m bench.tables WORK ...`.

WORK is a folder that everything goes to, and from which the same command goes on after an interruption:
drawn pages to train on, the frozen benchmark to test on, the stand-in for GLM-OCR's weights (stage full-
drawn-base), the mined characters, and one folder for all tables. Every step is one of the package's own
commands, printed before it is run, so that any of them can be run by hand. `--prepare` stops before what
needs a GPU. docs/reproduce.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.machine import machine

STAGES = "full-table-1,full-table-2,full-table-3"
COMMON = 1500
"""Characters that the stand-in has tokens for: they cover 89 % of classical text, as GLM-OCR's own cover 88 %
of M5HisDoc by the counts of the paper's table 8."""


def step(done: Path, *words: object) -> None:
    """One command, unless what it makes is there."""
    if done.exists():
        return
    command = [*map(str, words)]
    print(f"tongguocr {' '.join(command)}", flush=True)
    begun = time.perf_counter()
    if subprocess.run([sys.executable, "-m", "tongguocr.cli", *command], check=False).returncode:
        sys.exit(f"bench.tables: tongguocr {command[0]} did not end well.")
    print(f"... {(time.perf_counter() - begun) / 60:.1f} minutes", flush=True)
    if done.suffix == ".done":
        done.touch()


def prepare(chosen: argparse.Namespace) -> None:
    """What needs no GPU: pages to train on and to test on, and the data of the stand-in."""
    work: Path = chosen.work
    drawn = ("--fonts", chosen.fonts, "--text", chosen.text)
    pages = ("-n", chosen.count, "--seed", 5, "--size", chosen.size, "--format", "json")
    step(work / "drawn.done", "synth", *pages, *drawn, "--out", work / "drawn")
    if chosen.test is None:
        step(work / "test.done", "synth", "--bench", *drawn, "--format", "json", "--out", work / "test")
    data = ("--counts", chosen.counts, "--most", chosen.common, "--out", work / "data")
    step(work / "data.done", "train-data", *drawn, *data)


def train_base(chosen: argparse.Namespace) -> None:
    """The stand-in for published weights, and the characters that it has no tokens for."""
    work: Path = chosen.work
    device = ("--device", chosen.device)
    step(work / "base.done", "train", chosen.base, "--data", work / "data", "--out", work / "base", *device)
    step(work / "corpus.txt", "corpus", f"folder={work / 'drawn'}", "-o", work / "corpus.txt")
    tokenizer = ("--tokenizer", work / "base" / "model")
    step(work / "added.txt", "vocab", work / "corpus.txt", *tokenizer, "-o", work / "added.txt")


def make_tables(chosen: argparse.Namespace) -> None:
    """The tables, one after the other; they share runs."""
    work: Path = chosen.work
    for table in chosen.tables.split(","):
        more = ["--most", chosen.most] if chosen.most else []
        # Seven models for table 6 would take as long as all others together.
        more += ["--lambdas", "reading"] if table == "6" else []
        step(
            work / f"never-{table}",
            *(
                "reproduce",
                table,
                "--pages",
                f"folder={work / 'drawn'}",
                "--test",
                f"folder={chosen.test or work / 'test'}",
            ),
            *("--start", work / "base" / "model", "--added", work / "added.txt", "--stages", chosen.stages),
            *("--minutes", chosen.minutes, "--seeds", chosen.seeds, "--device", chosen.device),
            *("--lines", chosen.lines, "--out", work / "tables", *more),
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Tables 5 to 9 on drawn pages, from nothing.")
    parser.add_argument("work", type=Path, metavar="WORK")
    parser.add_argument("--fonts", type=Path, metavar="DIR")
    parser.add_argument("--text", type=Path, metavar="FILE")
    parser.add_argument("--counts", type=Path, metavar="TSV")
    parser.add_argument("--test", type=Path, metavar="DIR", help="pages to test on, not the frozen benchmark")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="pages to train on")
    parser.add_argument("--size", default="1200x1200", metavar="WxH", help="they fit into so many pixels")
    parser.add_argument("--common", type=int, default=COMMON, metavar="N", help="characters with tokens")
    parser.add_argument("--base", default="full-drawn-base", metavar="STAGE")
    parser.add_argument("--stages", default=STAGES, metavar="A,B,C")
    parser.add_argument("--minutes", type=float, default=1.5, metavar="X", help="of each stage of a row")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--tables", default="5,7,8,9,6", metavar="A,B")
    parser.add_argument("--most", type=int, default=60, metavar="N", help="test pages, 0: all 200")
    parser.add_argument("--lines", choices=("found", "given"), default="given")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prepare", action="store_true", help="only what needs no GPU")
    chosen = parser.parse_args(arguments)
    chosen.work.mkdir(parents=True, exist_ok=True)
    print(machine(), flush=True)
    prepare(chosen)
    if not chosen.prepare:
        train_base(chosen)
        make_tables(chosen)


if __name__ == "__main__":
    main()
