"""Training steps of the full-size model: `python -m bench.full_size [--added 20000] [--batch 16]`.

Random weights of the published sizes and random pages of a stage's sizes: forward, backward, AdamW. Printed
are tokens a second, memory, the share of the GPU's peak, and what that makes of the paper's three stages on
eight such GPUs. `--tiny` does the same with a toy on any machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from tongguocr.errors import InputError
from tongguocr.glm.estimate import PEAK, SampleSize, count_parameters, forward_operations, step_operations
from tongguocr.glm.fresh import fresh_foundation, fresh_tokenizer
from tongguocr.glm.lesson import PageLesson, Pupil
from tongguocr.glm.network import GlmNetwork
from tongguocr.glm.samples import GlmBatch, GlmSample, stack_glm
from tongguocr.glm.sizes import PUBLISHED, GlmSize
from tongguocr.glm.wording import Wording
from tongguocr.train.run import Run, make_optimisers, take_step
from tongguocr.train.team import Team

TINY = GlmSize(64, 1, 2, 1, 32, 64, 64, 1, 2, 64, rows=400)
TRANSITIONS = 24
GPUS = 8


@dataclass(frozen=True)
class PaperStage:
    """A stage of the paper by its data sets' published figures."""

    samples: int
    epochs: int
    side: int
    """Of square pictures."""
    answer: int
    """Tokens: a page's or block's characters and lines."""


def paper_stages(blocks: int) -> dict[str, PaperStage]:
    """The three stages; a page is cut into so many blocks."""
    ours, all_pages = 2399 + 2000, 3_163_330 + 2399 + 2000
    answer = (2399 * 371 + 2000 * 1193) // ours
    return {
        "1": PaperStage(all_pages, 3, 768, 365),
        "2": PaperStage(ours, 10, 1024, answer),
        "3": PaperStage(ours * blocks, 15, 1024, answer // blocks),
    }


def random_batch(
    size: GlmSize, wording: Wording, rows: int, side: int, answer: int, pupil: Pupil
) -> GlmBatch:
    """Pictures of noise with answers of noise."""
    dice = np.random.default_rng(0)
    whole = side // size.stride * size.stride
    samples = []
    for _ in range(rows):
        picture = dice.integers(0, 256, (whole, whole, 3)).astype(np.uint8)
        ids = tuple(dice.integers(0, len(wording.spellings) - TRANSITIONS, answer).tolist())
        tokens = len(wording.prompt(whole**2 // size.stride**2)) + answer
        samples.append(GlmSample(picture, "", ids, tokens))
    return stack_glm(samples, wording, pupil.vision)


def make_pupil(size: GlmSize, device: torch.device, checkpointing: bool) -> Pupil:
    with device:
        foundation = fresh_foundation(size, fresh_tokenizer())
    network = GlmNetwork(foundation.model).to(device).train()
    if checkpointing:
        foundation.model.gradient_checkpointing_enable({"use_reentrant": False})
    run = Run(epochs=1, learning_rate=1e-5, matrix_rate=0.0, betas=(0.9, 0.999), weight_decay=0.0)
    return Pupil(network, network, foundation.wording, foundation.vision, run, Team(device))


def time_steps(pupil: Pupil, batch: GlmBatch, repeats: int) -> tuple[float, float]:
    """Seconds of a step, after two to warm up, and the largest memory in bytes."""
    device, lesson = pupil.team.device, PageLesson(pupil, ())
    optimisers = make_optimisers(pupil.network, pupil.run)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = 0.0
    for step in range(repeats + 2):
        if step == 2:
            if device.type == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
        loss, _ = lesson.study(batch.to(device), 0.5)
        take_step(pupil.network, optimisers, loss, pupil.run, 1.0)
    if device.type == "cuda":
        torch.cuda.synchronize()
    used = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return (time.perf_counter() - start) / repeats, float(used)


def measure(size: GlmSize, chosen: argparse.Namespace, rows: int) -> tuple[list[str], float]:
    """A row of the table, and operations a second that count towards the peak."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pupil = make_pupil(size, device, not chosen.no_checkpointing)
    batch = random_batch(size, pupil.wording, rows, chosen.side, chosen.answer, pupil)
    seconds, memory = time_steps(pupil, batch, chosen.repeats)
    sample = SampleSize((chosen.side // size.stride) ** 2, chosen.answer)
    # Computing layers a second time is no progress, so it does not count.
    useful = rows * step_operations(size, sample, checkpointing=False) / seconds
    tokens = rows * sample.tokens / seconds
    shown = [f"{rows}", f"{1000 * seconds:.0f}", f"{rows / seconds:.2f}", f"{tokens:.0f}"]
    shown += [f"{memory / 2**30:.1f}", f"{useful / 1e12:.1f}", f"{useful / PEAK:.1%}"]
    return shown, useful


def extrapolate(size: GlmSize, useful: float, blocks: int) -> Table:
    table = Table(title=f"The paper's stages on {GPUS} such GPUs at that rate, {blocks} blocks a page")
    for name in ("stage", "samples", "epochs", "image tokens", "answer", "hours"):
        table.add_column(name, justify="right")
    total = 0.0
    for name, stage in paper_stages(blocks).items():
        sample = SampleSize(stage.side**2 // size.stride**2, stage.answer)
        work = 3 * forward_operations(size, sample) * stage.samples * stage.epochs
        hours = work / (useful * GPUS) / 3600
        total += hours
        values = (
            f"{stage.samples:,}",
            f"{stage.epochs}",
            f"{sample.image}",
            f"{stage.answer}",
            f"{hours:.1f}",
        )
        table.add_row(name, *values)
    table.add_row("all", "", "", "", "", f"{total:.1f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time training steps of the full-size model.")
    parser.add_argument("--batch", type=int, action="append", help="samples (default: 8, 16)")
    parser.add_argument("--side", type=int, default=1024, help="of the square pictures, pixels")
    parser.add_argument("--answer", type=int, default=150, help="tokens")
    parser.add_argument("--added", type=int, default=20_000, help="characters added to the vocabulary")
    parser.add_argument("--blocks", type=int, default=8, help="of a page, for stage 3")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-checkpointing", action="store_true", help="faster, with more memory")
    parser.add_argument("--tiny", action="store_true", help="a toy network, to try this script")
    chosen = parser.parse_args(arguments)
    rows = PUBLISHED.rows + chosen.added + TRANSITIONS
    size = TINY if chosen.tiny else replace(PUBLISHED, rows=-(-rows // 64) * 64)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else machine()
    title = f"{count_parameters(size).total / 1e6:.0f} M parameters, {chosen.side} px, answers of"
    table = Table(title=f"{title} {chosen.answer}; {card}")
    for name in ("samples", "ms a step", "samples/s", "tokens/s", "GiB", "T operations/s", "of the peak"):
        table.add_column(name, justify="right")
    best = 0.0
    for number in chosen.batch or [8, 16]:
        try:
            shown, useful = measure(size, chosen, number)
        except torch.OutOfMemoryError:
            table.add_row(f"{number}", "too little memory")
            continue
        table.add_row(*shown)
        best = max(best, useful)
    console = Console(width=110)
    console.print(table)
    if not best:
        raise InputError("No batch fits into the device's memory.")
    console.print(extrapolate(size, best, chosen.blocks))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.full_size: {error}")
