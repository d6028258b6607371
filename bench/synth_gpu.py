"""How many training blocks a second the GPU path makes: `python -m bench.synth_gpu`.

First, on a machine with fonts: `--prepare OUT --fonts DIR [--text FILE] [--lines TABLE]` writes an atlas,
blocks and, from a table of line images, real lines. Then, on the machine with the GPU: `--atlas OUT/atlas.npz
--compositions OUT/blocks.json.gz [--real OUT/lines.npz] [--sheet FILE.png]`. The peer in the same run is the
straightforward way: a Python loop that scales every glyph with F.interpolate and pastes it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from tongguocr.training.synth.composition import (
    ComposedLine,
    Composition,
    Mark,
    Patch,
    Stroke,
    cut_out,
    to_page,
)
from tongguocr.training.synth.degradation import Degradation, sample_degradation
from tongguocr.training.synth.gpu import degrade as gpu_degrade
from tongguocr.training.synth.gpu.degradation import DegradationBatch, stack_degradations
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.pack import Batch, pack
from tongguocr.training.synth.gpu.render import GlyphAtlas, paint, render_batch, unpack_bits
from tongguocr.training.synth.gpu.warp import warp_layers
from tongguocr.training.synth.real_blocks import (
    LineBlockComposer,
    LineBlockSettings,
    for_real_ink,
    pack_lines,
)
from tongguocr.training.synth.real_ink import gather, load_lines, read_lines, save_lines, split

SIZE = 512
TALL = (896, 320)
"""Height and width of the other canvas: five columns of 21 characters of 40 px."""
FACES, CHARACTERS, BLOCKS, LINES = 3, 6000, 512, 2500
PADDING = 1.05
"""A block's canvas over its longer side, as in crops."""


def prepare(out: Path, fonts: Path, text: Path | None, table: Path | None) -> None:
    from tongguocr.training.synth.atlas import build_atlas, save_atlas
    from tongguocr.training.synth.fonts import FontBook, load_fonts
    from tongguocr.training.synth.text import load_text

    out.mkdir(parents=True, exist_ok=True)
    book = load_fonts(fonts)
    training = [face for face in book.faces if not face.held_out and len(face.codepoints) >= CHARACTERS]
    faces = sorted(training, key=lambda face: -face.weight)[:FACES]
    source = load_text(text)
    blocks = list(islice(compose_blocks(source, FontBook(tuple(faces))), BLOCKS))
    chars = dict.fromkeys(char for block in blocks for char in block.text)
    rng = np.random.default_rng(1)
    for _ in range(300):
        if len(chars) < CHARACTERS:
            chars |= dict.fromkeys(islice(source.stream(rng), 2000))
    chars = dict.fromkeys(islice(chars, CHARACTERS))
    save_atlas(build_atlas(FontBook(tuple(faces)), chars, workers=2), out / "atlas.npz")
    document = json.dumps([_as_plain(block) for block in blocks], ensure_ascii=False)
    (out / "blocks.json.gz").write_bytes(gzip.compress(document.encode("utf-8"), mtime=0))
    if table is not None:
        chosen = islice(read_lines(table, lambda name: split(name) == "train"), LINES)
        save_lines(gather(list(chosen)), out / "lines.npz")
    total = sum(path.stat().st_size for path in out.iterdir())
    print(f"{out}: {len(blocks)} blocks, {len(chars)} characters in {len(faces)} faces, {total / 1e6:.1f} MB")


def compose_blocks(source: Any, book: Any) -> Iterator[Composition]:
    """Blocks of pages of all kinds by their shares, as the recogniser will see them."""
    from tongguocr.blocks import cut_blocks
    from tongguocr.training.synth.kinds import compose_page, pick_kind

    rng = np.random.default_rng(7)
    for seed in range(10_000):
        page = compose_page(pick_kind(rng), source, book, seed)
        for block in cut_blocks(to_page(page)):
            x0, y0, x1, y1 = block.box
            pad = (PADDING - 1) / 2 * max(x1 - x0, y1 - y0)
            box = (x0 - pad, y0 - pad, x1 + pad, y1 + pad)
            yield cut_out(page, box, range(block.start, block.stop), SIZE, SIZE)


def tall_blocks(
    blocks: list[Composition], columns: int = 5, rows: int = 21, em: int = 40
) -> list[Composition]:
    """As many tall blocks, full of the same characters in the same faces, with rules between columns."""
    height, width = TALL
    chars = [char for block in blocks for char in block.text]
    faces = np.concatenate([block.faces for block in blocks])
    x = width - (np.arange(columns) + 0.5) * width / columns
    y = (np.arange(rows) + 0.5) * height / rows
    middles = np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)
    count = columns * rows
    boxes = np.concatenate([middles - em / 2, middles + em / 2], 1).astype(np.float32)
    empty = replace(
        blocks[0],
        height=height,
        width=width,
        boxes=boxes,
        angles=np.zeros(count, np.float32),
        white=np.zeros(count, np.bool_),
        lines=tuple(ComposedLine(k, k + rows) for k in range(0, count, rows)),
        strokes=tuple(
            Stroke((k * width / columns, 0), (k * width / columns, height), 1.5) for k in range(1, columns)
        ),
        patches=(),
        marks=(),
    )
    picks = (np.arange(k * count, (k + 1) * count) % len(chars) for k in range(len(blocks)))
    return [replace(empty, text=tuple(chars[j] for j in pick), faces=faces[pick]) for pick in picks]


def _as_plain(block: Composition) -> dict[str, Any]:
    plain = asdict(block)
    return {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in plain.items()}


def _as_block(plain: dict[str, Any]) -> Composition:
    count = len(plain["text"])
    arrays: dict[str, Any] = {
        "faces": np.array(plain["faces"], np.int16),
        "boxes": np.array(plain["boxes"], np.float32).reshape(count, 4),
        "angles": np.array(plain["angles"], np.float32),
        "white": np.array(plain["white"], np.bool_),
    }
    parts: dict[str, Any] = {
        "text": tuple(plain["text"]),
        "lines": tuple(ComposedLine(**line) for line in plain["lines"]),
        "strokes": tuple(Stroke(**stroke) for stroke in plain["strokes"]),
        "patches": tuple(Patch(tuple(map(tuple, patch["points"]))) for patch in plain["patches"]),
        "marks": tuple(Mark(**mark) for mark in plain["marks"]),
        "frame": tuple(plain["frame"]),
    }
    return Composition(**{**plain, **arrays, **parts})


def seconds(task: Callable[[int], object], device: torch.device, repeats: int) -> float:
    """The median time of a task after two runs to warm up; the task gets the number of the run."""
    times = []
    for run in range(repeats + 2):
        _wait(device)
        start = time.perf_counter()
        task(run)
        _wait(device)
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def paint_by_loop(block: Composition, cells: Any, atlas: GlyphAtlas) -> Tensor:
    """The peer: glyph after glyph, upright ones only, no strokes."""
    canvas = torch.zeros(SIZE, SIZE, device=atlas.bits.device)
    room = atlas.side / atlas.em
    for cell, (x0, y0, x1, y1) in zip(cells, block.boxes.tolist(), strict=True):
        w, h = max(round((x1 - x0) * room), 1), max(round((y1 - y0) * room), 1)
        left, top = round((x0 + x1 - w) / 2), round((y0 + y1 - h) / 2)
        if cell < 0 or left < 0 or top < 0 or left + w > SIZE or top + h > SIZE:
            continue
        glyph = F.interpolate(unpack_bits(atlas.bits[cell : cell + 1])[:, None], size=(h, w), mode="area")
        region = canvas[top : top + h, left : left + w]
        torch.maximum(region, glyph[0, 0], out=region)
    return canvas


def draw_degradations(count: int, seed: int) -> list[Degradation]:
    rng = np.random.default_rng(seed)
    return [sample_degradation(rng, photographed=False) for _ in range(count)]


def report(name: str, blocks: int, taken: float) -> None:
    print(f"{name:<48}{blocks / taken:>10,.0f} blocks/s{taken / blocks * 1e6:>10,.0f} us a block", flush=True)


def compare_painters(
    blocks: list[Composition], batch: Batch, cells_of: Any, atlas: GlyphAtlas, repeats: int
) -> None:
    """The painter against the loop on the same glyphs."""
    device = atlas.bits.device
    ours = seconds(lambda _: paint(batch.to(device), atlas), device, repeats)
    report("painting alone", batch.blocks, ours)
    few = blocks[: 8 if device.type == "cuda" else 2]
    cells = [cells_of(block.faces, block.text) for block in few]

    def by_loop(_: int) -> None:
        for block, numbers in zip(few, cells, strict=True):
            paint_by_loop(block, numbers, atlas)

    peer = seconds(by_loop, device, 3) / len(few)
    report("peer: one glyph after another", 1, peer)
    print(f"{'ratio':<48}{peer * batch.blocks / ours:>10,.1f} times")


def time_stages(batch: Batch, degradation: DegradationBatch, atlas: GlyphAtlas, repeats: int) -> None:
    """Where the time goes, grey."""
    device = atlas.bits.device
    batch, degradation = batch.to(device), degradation.to(device)
    generator = torch.Generator(device).manual_seed(1)
    ink = paint(batch, atlas, waver=degradation.flat("rule_waver"))
    density = gpu_degrade.press(ink, degradation, generator)
    layers = torch.stack([density.float(), ink.red], 1)
    seen = warp_layers(layers, degradation).to(density.dtype)
    sheet = partial(gpu_degrade._on_paper, seen[:, 0], seen[:, 1], degradation, False, generator)
    images = sheet()
    stages: dict[str, Callable[[], object]] = {
        "paint": lambda: paint(batch, atlas, waver=degradation.flat("rule_waver")),
        "impression": lambda: gpu_degrade.press(ink, degradation, generator),
        "warp": lambda: warp_layers(layers, degradation),
        "paper": sheet,
        "camera": lambda: gpu_degrade._photograph(images, degradation, generator),
    }
    for name, stage in stages.items():
        taken = seconds(lambda _, stage=stage: stage(), device, repeats)  # type: ignore[misc]
        print(f"  stage {name:<40}{taken * 1e3:>10.2f} ms for {batch.blocks} blocks", flush=True)


def measure(
    name: str,
    batch: Batch,
    degradations: list[Degradation],
    atlas: GlyphAtlas | None,
    store: LineStore | None,
    device: torch.device,
    repeats: int,
) -> None:
    """From a packed batch on the host to finished images on the device."""
    start = time.perf_counter()
    degradation = stack_degradations(degradations, batch.em, batch.height, batch.width, 3)
    taken = 1e3 * (time.perf_counter() - start) / len(degradations)
    print(f"{name}: degradation on the host {taken:.2f} ms a block")
    for colour in (False, True):
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)

        def task(run: int, colour: bool = colour) -> object:
            return render_batch(batch.to(device), atlas, degradation, run, store, colour)

        report(f"{name}, {'colour' if colour else 'grey'}", batch.blocks, seconds(task, device, repeats))
        if device.type == "cuda":
            print(f"  peak memory {torch.cuda.max_memory_allocated(device) / 2**30:.2f} GiB")


def contact_sheet(path: Path, images: list[Tensor]) -> None:
    """24 colour blocks, six a row."""
    pixels = torch.cat(images)[:24].permute(0, 2, 3, 1).cpu().numpy()
    rows = [np.concatenate(list(pixels[k : k + 6]), axis=1) for k in range(0, len(pixels), 6)]
    width = max(row.shape[1] for row in rows)
    rows = [np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0))) for row in rows]
    Image.fromarray(np.concatenate(rows)).save(path)


def run(arguments: argparse.Namespace) -> None:
    from tongguocr.training.synth.atlas import load_atlas

    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    print(f"{card}, torch {torch.__version__}, Python {platform.python_version()}")
    on_gpu, count, repeats = device.type == "cuda", arguments.batch, arguments.repeats
    host_atlas = load_atlas(arguments.atlas)
    atlas = GlyphAtlas.load(host_atlas, device)
    plain = json.loads(gzip.decompress(arguments.compositions.read_bytes()))
    blocks = [_as_block(block) for block in plain[:count]]
    start = time.perf_counter()
    batch = pack(blocks, host_atlas.cells)
    taken = time.perf_counter() - start
    glyphs = len(batch.boxes) / len(blocks)
    print(
        f"{len(blocks)} blocks of {SIZE} px, {glyphs:.0f} glyphs of {np.median(batch.em):.0f} px a block; "
        f"packed on the host in {1e3 * taken / len(blocks):.2f} ms a block"
    )
    few = pack(blocks[:4], host_atlas.cells)
    same = paint(few.to(device), atlas).all_black.cpu()
    on_host = paint(few, GlyphAtlas.load(host_atlas, "cpu")).all_black
    print(f"ink here and on the CPU differ by {(same - on_host).abs().mean():.5f} on average")
    batch = batch.pinned() if on_gpu else batch
    degradations = draw_degradations(len(blocks), 11)
    compare_painters(blocks, batch, host_atlas.cells, atlas, repeats)
    measure("painting and degradation", batch, degradations, atlas, None, device, repeats)
    time_stages(batch, stack_degradations(degradations, batch.em, SIZE, SIZE, 3), atlas, repeats)
    tall = pack(tall_blocks(blocks), host_atlas.cells)
    tall = tall.pinned() if on_gpu else tall
    measure(
        f"painting and degradation, {TALL[0]} x {TALL[1]}", tall, degradations, atlas, None, device, repeats
    )
    time_stages(tall, stack_degradations(degradations, tall.em, *TALL, 3), atlas, repeats)
    sheets = [
        render_batch(pack(blocks[:16], host_atlas.cells).to(device), atlas, degradations[:16], 1, colour=True)
    ]
    if arguments.real:
        sheets.append(run_real(arguments.real, device, count, repeats, on_gpu))
    if arguments.sheet:
        contact_sheet(arguments.sheet, [sheet.images for sheet in sheets])


def run_real(
    path: Path, device: torch.device, count: int, repeats: int, on_gpu: bool
) -> gpu_degrade.Rendered:
    lines = load_lines(path)
    composer, rng = (
        LineBlockComposer(lines, LineBlockSettings(height=SIZE, width=SIZE)),
        np.random.default_rng(5),
    )
    start = time.perf_counter()
    blocks = [composer.compose(rng) for _ in range(count)]
    batch = pack_lines(blocks)
    print(f"real ink: composed and packed in {1e3 * (time.perf_counter() - start) / count:.2f} ms a block")
    store = LineStore.load(lines, device)
    degradations = [for_real_ink(degradation) for degradation in draw_degradations(count, 12)]
    measure(
        "real ink and degradation",
        batch.pinned() if on_gpu else batch,
        degradations,
        None,
        store,
        device,
        repeats,
    )
    return render_batch(pack_lines(blocks[:8]).to(device), None, degradations[:8], 1, store, colour=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--prepare", type=Path, metavar="OUT", help="write the files that the bench reads")
    for name in ("--fonts", "--text", "--lines", "--atlas", "--compositions", "--real", "--sheet"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--device", help="cuda or cpu; the GPU if there is one")
    parser.add_argument("--batch", type=int, default=256, help="blocks rendered at once (256)")
    parser.add_argument("--repeats", type=int, default=10, help="timed runs of each task (10)")
    arguments = parser.parse_args()
    if arguments.prepare:
        if not arguments.fonts:
            parser.error("--prepare needs --fonts")
        prepare(arguments.prepare, arguments.fonts, arguments.text, arguments.lines)
    elif arguments.atlas and arguments.compositions:
        run(arguments)
    else:
        parser.error("give --prepare and --fonts, or --atlas and --compositions")


if __name__ == "__main__":
    main()
