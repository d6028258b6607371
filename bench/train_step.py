"""Where the time of a training step goes: `python -m bench.train_step [--canvas 896x320x192] [--tokens 110]`.

Random pictures and texts for the default network, one canvas; every part is timed by itself, forward and
backward, in the precision that training uses, and the whole step at the end. Needs no data. Works on a CPU
with a small canvas, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from bench.machine import machine, wait
from tongguocr.training.optimisers import make_optimisers, take_step
from tongguocr.training.recogniser.blocks import Targets
from tongguocr.training.recogniser.losses import losses
from tongguocr.training.recogniser.model import STRIDE, ModelSize, Recogniser
from tongguocr.training.run import Limits, Run

TOKENS = 18_729
BOS = 1


def timed(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Milliseconds of one call, after two to warm up."""
    for _ in range(2):
        work()
    start = wait(device)
    for _ in range(repeats):
        work()
    return 1000 * (wait(device) - start) / repeats


def random_batch(blocks: int, length: int, high: int, wide: int, tokens: int) -> tuple[Targets, Tensor]:
    """Targets of so many characters a block, and where each of them lies."""
    said = torch.randint(300, tokens, (blocks, length))
    places = torch.arange(blocks * length).reshape(blocks, length)
    points = torch.rand(blocks * length, 2) * torch.tensor([float(wide), float(high)])
    return Targets(said, said.flatten(), places), points


def parts(
    model: Recogniser, images: Tensor, said: Targets, points: Tensor, run: Run
) -> dict[str, Callable[[], object]]:
    """The parts of a step, each to be timed."""
    device = images.device
    of_block = torch.arange(len(images), device=device).repeat_interleave(said.tokens.shape[1])
    told = torch.rand(*said.tokens.shape, 2, device=device)
    shown = images.contiguous(memory_format=torch.channels_last)

    def half() -> AbstractContextManager[object]:
        return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")

    def stem() -> None:
        with half():
            out = model.stem(shown)
        out.float().mean().backward()

    def encode() -> None:
        with half():
            out = model.encode(shown)
        out.float().mean().backward()

    with torch.no_grad(), half():
        features = model.encode(shown).detach()

    def decode() -> None:
        with half():
            states, pointed, _ = model.decode(said.tokens, told, model.keys_values(features))
        (states.float().mean() + pointed.mean()).backward()

    def score() -> None:
        with half():
            scores = model.score(features[:, : said.tokens.shape[1]].flatten(0, 1)).float()
        torch.nn.functional.cross_entropy(scores, said.tokens.flatten()).backward()

    optimisers = make_optimisers(model, run)

    def whole() -> None:
        found = losses(model, said, (images, points, of_block), run, BOS, device)
        take_step(model, optimisers, found.text + found.dense + found.pointer, run.clip, 1e-6)

    def optimise() -> None:
        for optimiser in optimisers:
            optimiser.step()

    return {
        "stem": stem,
        "stem and encoder": encode,
        "decoder and pointer": decode,
        "scores of the tokens, once": score,
        "whole step": whole,
        "of that, the optimisers": optimise,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the parts of a training step.")
    parser.add_argument("--canvas", default="896x320x192", help="height x width x blocks")
    parser.add_argument("--tokens", type=int, default=110, help="of a block")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--compile", action="store_true", help="layers compiled, as in training")
    chosen = parser.parse_args(arguments)
    high, wide, blocks = map(int, chosen.canvas.split("x"))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Recogniser(ModelSize(TOKENS)).to(device)
    model.stem.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if chosen.compile:
        for layer in [*model.encoder, *model.decoder]:
            layer.compile(dynamic=True)
    said, points = random_batch(blocks, chosen.tokens, high, wide, TOKENS)
    said = Targets(*(part.to(device) for part in (said.tokens, said.characters, said.places)))
    images = torch.rand(blocks, 1, high, wide, device=device)
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else machine()
    table = Table(title=f"{chosen.canvas}, {high * wide // STRIDE**2} places a block; {card}")
    table.add_column("part, forward and backward")
    table.add_column("ms", justify="right")
    for name, work in parts(model, images, said, points.to(device), Run(Limits(steps=1))).items():
        table.add_row(name, f"{timed(work, device, chosen.repeats):.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
