"""Logs of training runs as a picture: losses and accuracy over the minutes, AR where it was validated.

Runs that went on from each other, such as the stages, are drawn one after the other, a line between them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from tongguocr.errors import InputError, MissingExtraError
from tongguocr.files import decode_utf8, read_bytes, write_bytes

LOG = "log.jsonl"
"""The file of a run that has its records."""
LOSSES = ("loss", "dense", "pointer", "ahead", "back")
SHARES = ("accuracy", "AR", "real AR", "transitions", "real transitions")
DETECTOR_LOSSES = ("heat", "size", "shift", "following", "last", "first", "kind")
DETECTOR_SHARES = ("F1", "links", "real F1", "real links")


def read_log(path: Path) -> list[dict[str, float]]:
    """The records of a log.jsonl; a last line that was cut off is left out."""
    rows = decode_utf8(read_bytes(path), path).splitlines()
    records = []
    for number, row in enumerate(rows, start=1):
        try:
            record = json.loads(row)
        except ValueError:
            if number == len(rows):
                break
            raise InputError(f"{path}: line {number} is not a record of a run.") from None
        if not isinstance(record, dict) or "minutes" not in record:
            raise InputError(f"{path}: line {number} is not a record of a run.")
        records.append(record)
    if not records:
        raise InputError(f"{path}: the log is empty.")
    return records


def read_logs(paths: Sequence[Path]) -> tuple[list[dict[str, float]], list[float]]:
    """The records of runs one after the other, and the minutes at which each but the first begins."""
    records, borders = list[dict[str, float]](), list[float]()
    for path in paths:
        begun = records[-1]["minutes"] if records else 0.0
        borders.append(begun)
        records += [{**record, "minutes": begun + record["minutes"]} for record in read_log(path)]
    return records, borders[1:]


def draw_runs(runs: Sequence[Path], picture: Path) -> None:
    """Two plots of the logs in these folders side by side: losses, and shares from 0 to 1."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Drawing a plot", "train") from None
    records, borders = read_logs([run / LOG for run in runs])
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, records, borders, LOSSES + DETECTOR_LOSSES)
    _draw(right, records, borders, SHARES + DETECTOR_SHARES)
    right.set_ylim(0, 1)
    left.set_title("loss")
    right.set_title("share right")
    encoded = BytesIO()
    try:
        figure.savefig(encoded, format=picture.suffix.removeprefix(".") or "png", dpi=110)
    except ValueError:
        raise InputError(f"{picture}: a plot can be a .png, .svg or .pdf, and no {picture.suffix}.") from None
    write_bytes(encoded.getvalue(), picture)


def _draw(axes: Any, records: list[dict[str, float]], borders: list[float], names: tuple[str, ...]) -> None:
    for border in borders:
        axes.axvline(border, color="grey", linestyle="--", linewidth=1)
    for name in names:
        points = [(r["minutes"], r[name]) for r in records if name in r]
        if points:
            few = len(points) < 20
            axes.plot(*zip(*points, strict=True), label=name, marker="o" if few else None)
    axes.set_xlabel("minutes")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
