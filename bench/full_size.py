"""Training steps of the full-size model: `python -m bench.full_size [--added 20000] [--batch 16]`.

Random weights of the published sizes and random pages of a stage's sizes: forward, backward, AdamW. Printed
are tokens a second, memory, the share of the GPU's peak, and what that makes of the paper's three stages on
eight such GPUs; with `--read N` also how fast such a model reads. `--stage full-drawn-1` times the network
and the canvases of that stage instead (painting and the losses of a beginner left out), `--tiny` a toy on
any machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from bench.machine import machine, wait
from tongguocr.engines.glm.config import MERGE, PUBLISHED, GlmSize
from tongguocr.engines.glm.decoding import generate
from tongguocr.engines.glm.processor import patch_pictures
from tongguocr.errors import InputError
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.glm.estimate import (
    PEAK,
    SampleSize,
    count_parameters,
    forward_operations,
    step_operations,
)
from tongguocr.training.glm.from_scratch import byte_tokenizer, random_model
from tongguocr.training.glm.network import GlmTrainingNetwork, compile_layers
from tongguocr.training.glm.samples import GlmBatch, GlmSample, collate
from tongguocr.training.glm.stage import GlmBlockStage
from tongguocr.training.glm.task import GlmPageTask
from tongguocr.training.glm.trainer import GlmTrainer
from tongguocr.training.optimisers import make_optimisers, take_step
from tongguocr.training.run import Limits, Run
from tongguocr.training.stage import find_stage, load_stage

TINY = GlmSize(64, 1, 2, 1, 32, 64, 64, 1, 2, 64, rows=400)
TRANSITIONS = 24
GPUS = 8
COLUMNS = ("samples", "pixels", "answer", "ms a step", "samples/s", "tokens/s")
COLUMNS += ("GiB", "T operations/s", "of the peak")
FILLED = 0.8
"""The share of a canvas that text fills."""
DRAWN_ROWS = 18_816
"""Of the tables with the characters that `train-data` gathers."""


@dataclass(frozen=True)
class Shape:
    """A batch of pictures and answers of one size."""

    rows: int
    height: int
    width: int
    answer: int


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


def random_batch(trainer: GlmTrainer, shape: Shape) -> GlmBatch:
    """Pictures of noise with answers of noise."""
    rng, prompt, stride = np.random.default_rng(0), trainer.prompt, trainer.processor.patch * MERGE
    sides = tuple(side // stride * stride for side in (shape.height, shape.width))
    samples = []
    for _ in range(shape.rows):
        picture = rng.integers(0, 256, (*sides, 3)).astype(np.uint8)
        ids = tuple(rng.integers(0, len(prompt.spellings) - TRANSITIONS, shape.answer).tolist())
        tokens = len(prompt.ids(sides[0] * sides[1] // stride**2)) + shape.answer
        samples.append(GlmSample(picture, "", ids, tokens))
    return collate(samples, prompt, trainer.processor)


def make_trainer(size: GlmSize, run: Run, checkpointing: bool) -> GlmTrainer:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with device:
        pretrained = random_model(size, byte_tokenizer())
    network = GlmTrainingNetwork(pretrained.model).to(device).train()
    if checkpointing:
        pretrained.model.gradient_checkpointing_enable({"use_reentrant": False})
    if run.compile:
        compile_layers(pretrained.model)
    return GlmTrainer(network, network, pretrained, run, ProcessGroup(device))


def time_steps(trainer: GlmTrainer, shape: Shape, repeats: int) -> tuple[float, float]:
    """Seconds of a step, after three to warm up, and the largest memory in bytes."""
    device, task, batch = trainer.group.device, GlmPageTask(trainer, ()), random_batch(trainer, shape)
    optimisers = make_optimisers(trainer.network, trainer.run)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = 0.0
    for step in range(repeats + 3):
        if step == 3:
            start = wait(device)
        loss, _ = task.loss(batch.to(device), 0.5)
        take_step(trainer.network, optimisers, loss, trainer.run.clip, 1.0)
    seconds = (wait(device) - start) / repeats
    return seconds, float(torch.cuda.max_memory_allocated() if device.type == "cuda" else 0)


def measure(size: GlmSize, trainer: GlmTrainer, shape: Shape, repeats: int) -> tuple[list[str], float]:
    """A row of the table, and operations a second that count towards the peak."""
    seconds, memory = time_steps(trainer, shape, repeats)
    sample = SampleSize(shape.height * shape.width // size.stride**2, shape.answer)
    # Computing layers a second time is no progress, so it does not count.
    useful = shape.rows * step_operations(size, sample, checkpointing=False) / seconds
    tokens = shape.rows * sample.tokens / seconds
    shown = [f"{shape.rows}", f"{shape.height} x {shape.width}", f"{shape.answer}", f"{1000 * seconds:.0f}"]
    shown += [f"{shape.rows / seconds:.1f}", f"{tokens:.0f}", f"{memory / 2**30:.1f}"]
    return [*shown, f"{useful / 1e12:.1f}", f"{useful / PEAK:.1%}"], useful


def time_reading(trainer: GlmTrainer, shape: Shape) -> str:
    """How fast these pictures are read together, in the precision and by the loop of the engine hf."""
    device, batch = trainer.group.device, random_batch(trainer, shape)
    pictures = [picture.to(device) for picture in batch.pictures]
    network = trainer.network.eval().to(torch.bfloat16 if device.type == "cuda" else torch.float32)
    for longest in (2, shape.answer):
        start = wait(device)
        patches, grids = patch_pictures(pictures, trainer.processor)
        with torch.compiler.set_stance("force_eager"):
            written = generate(network, patches, grids, trainer.prompt, longest, alternatives=4)
        seconds = wait(device) - start
    count = sum(len(text.tokens) for text in written)
    what = (
        f"{shape.rows} pictures of {shape.height} x {shape.width} together, {count // shape.rows} tokens each"
    )
    rates = f"{shape.rows / seconds:.1f} pictures/s, {count / seconds:.0f} tokens/s"
    return f"Reading {what}: {seconds:.2f} s, {rates}"


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


def shapes_of(chosen: argparse.Namespace, stage: GlmBlockStage | None) -> list[Shape]:
    """What to time: a stage's canvases, with about as much text as they have room for; or squares."""
    if stage is None:
        return [Shape(rows, chosen.side, chosen.side, chosen.answer) for rows in chosen.batch or [8, 16]]
    recipe = stage.recipe
    room = (sum(recipe.size) / 2) ** 2 / FILLED
    return [Shape(c.blocks, c.height, c.width, int(c.height * c.width / room)) for c in recipe.canvases]


def what_to_time(chosen: argparse.Namespace) -> tuple[GlmSize, Run, GlmBlockStage | None]:
    """Sizes of the network, how it is trained, and the stage it is trained in if one is named."""
    if chosen.stage:
        stage = load_stage(find_stage(chosen.stage))
        if not isinstance(stage, GlmBlockStage):
            raise InputError(f"{chosen.stage}: this is no stage of the full-size model on synthetic blocks.")
        size = replace(stage.size, rows=DRAWN_ROWS)
        return size, replace(stage.run, compile=chosen.compile), stage
    run = Run(Limits(epochs=1), learning_rate=1e-5, matrix_rate=0.0, betas=(0.9, 0.999), weight_decay=0.0)
    rows = PUBLISHED.rows + chosen.added + TRANSITIONS
    size = TINY if chosen.tiny else replace(PUBLISHED, rows=-(-rows // 64) * 64)
    return size, replace(run, compile=chosen.compile), None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time training steps of the full-size model.")
    parser.add_argument("--batch", type=int, action="append", help="samples (default: 8, 16)")
    parser.add_argument("--side", type=int, default=1024, help="of the square pictures, pixels")
    parser.add_argument("--answer", type=int, default=150, help="tokens")
    parser.add_argument("--added", type=int, default=20_000, help="characters added to the vocabulary")
    parser.add_argument("--blocks", type=int, default=8, help="of a page, for stage 3")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-checkpointing", action="store_true", help="faster, with more memory")
    parser.add_argument("--compile", action="store_true", help="layers compiled")
    parser.add_argument("--read", type=int, default=0, metavar="N", help="also read N pictures together")
    parser.add_argument("--stage", help="the network and canvases of a stage on drawn blocks instead")
    parser.add_argument("--tiny", action="store_true", help="a toy network, to try this script")
    chosen = parser.parse_args(arguments)
    size, run, stage = what_to_time(chosen)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else machine()
    ways = ["layers compiled"] * chosen.compile + ["checkpointing"] * (not chosen.no_checkpointing)
    table = Table(
        title=f"{count_parameters(size).total / 1e6:.0f} M parameters, {', '.join(ways) or 'plain'}; {card}"
    )
    for name in COLUMNS:
        table.add_column(name, justify="right")
    trainer, best = make_trainer(size, run, not chosen.no_checkpointing), 0.0
    for shape in shapes_of(chosen, stage):
        try:
            shown, useful = measure(size, trainer, shape, chosen.repeats)
        except torch.OutOfMemoryError:
            table.add_row(f"{shape.rows}", "too little memory")
            continue
        table.add_row(*shown)
        best = max(best, useful)
    console = Console(width=110)
    console.print(table)
    if not best:
        raise InputError("No batch fits into the device's memory.")
    if stage is None:
        console.print(extrapolate(size, best, chosen.blocks))
    if chosen.read:
        console.print(time_reading(trainer, Shape(chosen.read, chosen.side, chosen.side, chosen.answer)))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"bench.full_size: {error}")
