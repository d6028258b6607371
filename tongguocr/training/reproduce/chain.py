"""The runs behind a table's rows: chains of stages, each trained once for all rows that begin with it.

In: a row and what all rows share. Out: the weights to read with. A run's folder is named by all that it
depends on: start weights, tokens, data, the stages up to it with all their settings, the seed. So a table
that is begun again finds what is done and goes on with what is not, other settings make other folders, and
tables share runs through one --out.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from tongguocr.errors import InputError
from tongguocr.files import make_folder, read_bytes, write_bytes
from tongguocr.training.datasets.sources import Source
from tongguocr.training.glm.expand import read_added
from tongguocr.training.recogniser.labelled import Say, read_pages
from tongguocr.training.reproduce.families import Family, PagesStage, fit, load_stages
from tongguocr.training.reproduce.glm_family import GlmFamily
from tongguocr.training.reproduce.small_family import SmallFamily
from tongguocr.training.reproduce.stage_file import write_stage
from tongguocr.training.reproduce.tables import LARGE, Row, StageUse
from tongguocr.weights import MANIFEST

DONE, STAGE = "done", "stage.toml"
OF_THE_MACHINE = ("workers", "compile", "checkpointing", "chunk", "shard", "batch_tokens", "batch_pixels")
"""Settings that do not make a run another one."""


@dataclass(frozen=True)
class Workshop:
    """What all rows share: data, start weights, stage files, where runs go."""

    sources: tuple[Source, ...]
    start: str
    added: Path | None
    out: Path
    device: torch.device
    say: Say
    stages: tuple[str, ...] = ()
    """Three stage files; those of the paper if none are named."""
    minutes: float | None = None
    """Every stage lasts so long, instead of what its file says."""
    gpus: int = 1

    @cached_property
    def family(self) -> Family:
        """The kind of model that the start weights are of."""
        return find_family(self.start)

    @cached_property
    def stage_files(self) -> tuple[PagesStage, ...]:
        """The settings of stages 1 to 3."""
        return load_stages(self.stages or self.family.stages, self.family)

    @cached_property
    def characters(self) -> list[str]:
        """The mined characters."""
        return read_added(self.added) if self.added is not None else []

    def stage_of(self, row: Row, use: StageUse, seed: int) -> PagesStage:
        """The settings of one stage of a row."""
        stage = self.stage_files[use.number - 1]
        kinds = [kind for kind in stage.pages.kinds if kind != LARGE or use.large]
        fitted = fit(stage, use, self.minutes, seed, kinds if self._has_kinds(kinds) else ())
        found: PagesStage = self.family.with_tokens(fitted, row.transitions)
        return found

    def _has_kinds(self, kinds: Sequence[str]) -> bool:
        """Whether any of these data sets is given; pages of one's own are trained on in all stages."""
        return any(kind.partition("-")[0] in kinds for kind, _ in self.sources)

    def data_of(self, stage: PagesStage, use: StageUse) -> list[Source]:
        """The data sets that a stage is trained on, of those that are given."""
        wanted = stage.pages.kinds
        families = [(kind.partition("-")[0], kind, folder) for kind, folder in self.sources]
        return [
            (kind, folder)
            for family, kind, folder in families
            if (family in wanted if wanted else family != LARGE or use.large)
        ]


def find_family(start: str) -> Family:
    """The kind of model that these weights are of."""
    path = Path(start)
    if path.suffix == ".pt" or (path / MANIFEST).exists():
        return SmallFamily()
    return GlmFamily()


def train_row(shop: Workshop, row: Row, seed: int) -> str:
    """Train what is not yet trained of a row's chain; the weights to read with."""
    weights = _expanded(shop, row)
    for count in range(1, len(row.chain) + 1):
        folder = run_folder(shop, row, count, seed)
        if not is_trained(shop, row, count, seed):
            _train(shop, row, count, seed, weights, folder)
        weights = shop.family.weights(folder)
    return weights


def is_trained(shop: Workshop, row: Row, count: int, seed: int) -> bool:
    """Whether the first `count` stages of a row are done."""
    return (run_folder(shop, row, count, seed) / DONE).exists()


def run_folder(shop: Workshop, row: Row, count: int, seed: int) -> Path:
    """The folder of the run of the first `count` stages of a row."""
    use = row.chain[count - 1]
    tokens = "v" * row.vocabulary + "t" * row.transitions or "plain"
    return shop.out / "runs" / f"{count}-{use.granularity}-{tokens}-{seed}-{_digest(shop, row, count, seed)}"


def _digest(shop: Workshop, row: Row, count: int, seed: int) -> str:
    """All that a run depends on, in ten letters."""
    stages = [shop.stage_of(row, use, seed) for use in row.chain[:count]]
    data = [shop.data_of(stage, use) for stage, use in zip(stages, row.chain, strict=False)]
    depends = {
        "tokens": _token_digest(shop, row),
        "stages": [_what_is_learned(asdict(stage)) for stage in stages],
        "data": [[(kind, str(folder)) for kind, folder in sources] for sources in data],
    }
    return short_digest(depends)


def _what_is_learned(settings: dict[str, Any]) -> dict[str, Any]:
    """A stage's settings without those of the machine: a run may go on with smaller batches."""
    return {
        name: _what_is_learned(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if name not in OF_THE_MACHINE
    }


def _token_digest(shop: Workshop, row: Row) -> str:
    characters = "".join(shop.characters)
    return short_digest([shop.start, characters, row.vocabulary, row.transitions])


def short_digest(value: Any) -> str:
    """Ten letters that stand for a value."""
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:10]


def _expanded(shop: Workshop, row: Row) -> str:
    """The start weights with a row's tokens, made once for all rows that have the same."""
    if row.vocabulary and shop.added is None:
        raise InputError(
            "Rows with vocabulary expansion need --added: `tongguocr corpus` gives the training text,"
            " `tongguocr vocab` mines the characters."
        )
    tokens = "v" * row.vocabulary + "t" * row.transitions or "plain"
    folder = shop.out / "starts" / f"{tokens}-{_token_digest(shop, row)}"
    note = folder / "start.json"
    if not note.exists():
        make_folder(folder)
        weights = shop.family.expand(shop.start, shop.characters, row.vocabulary, row.transitions, folder)
        write_bytes(json.dumps({"weights": weights}).encode(), note)
    return str(json.loads(read_bytes(note))["weights"])


def _train(shop: Workshop, row: Row, count: int, seed: int, start: str, folder: Path) -> None:
    use = row.chain[count - 1]
    stage = shop.stage_of(row, use, seed)
    sources = shop.data_of(stage, use)
    if not sources:
        raise InputError(f"Stage {use.number} of {row.name} needs --pages {' or '.join(stage.pages.kinds)}.")
    make_folder(folder)
    write_bytes(write_stage(stage).encode(), folder / STAGE)
    shop.say(f"{row.name}: training stage {use.number} ({use.granularity}, seed {seed}) in {folder}.")
    if shop.gpus > 1:
        _launch(shop, row, sources, start, folder)
    elif shop.device.type == "cpu":
        train_here(stage, sources, start, row.transitions, folder, shop.device, shop.say)
    else:
        train_apart(stage, sources, start, row.transitions, folder, shop.device)
    (folder / DONE).touch()


def train_here(
    stage: PagesStage,
    sources: Sequence[Source],
    start: str,
    transitions: bool,
    folder: Path,
    device: torch.device,
    say: Say = print,
) -> None:
    """One run, in this process."""
    pages = read_pages(sources, stage.pages.kinds, stage.pages.validated_on, stage.mapping, say)
    find_family(start).train(stage, pages, start, transitions, folder, device, say)


def train_apart(
    stage: PagesStage,
    sources: Sequence[Source],
    start: str,
    transitions: bool,
    folder: Path,
    device: torch.device,
) -> None:
    """One run in a process of its own: what makes batches is forked, and this process has read on the GPU."""
    gc.collect()
    torch.cuda.empty_cache()
    given = (stage, sources, start, transitions, folder, device)
    process = get_context("spawn").Process(target=train_here, args=given)
    process.start()
    try:
        process.join()
    finally:
        process.terminate()
    if process.exitcode:
        raise InputError(f"{folder}: training did not end well; what it said stands above.")


def _launch(shop: Workshop, row: Row, sources: Sequence[Source], start: str, folder: Path) -> None:
    """The same run by `accelerate launch`, on several GPUs."""
    if shop.family.name == "small" and not row.transitions:
        raise InputError("Our small model is trained without transitions on one GPU only; leave --gpus out.")
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    command += ["--num_processes", str(shop.gpus), "-m", "tongguocr.cli", "train", str(folder / STAGE)]
    for kind, path in sources:
        command += ["--pages", f"{kind}={path}"]
    command += ["--start", start, "--out", str(folder)]
    if subprocess.run(command, check=False).returncode:
        raise InputError(f"{folder}: training on {shop.gpus} GPUs did not end well; see what it said above.")
