"""Two processes on the CPU train one network, on labelled pages and on drawn blocks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from labelled_pages import write_pages
from tiny_fonts import write_sources
from two_processes import run_two

from tongguocr.errors import InputError
from tongguocr.training import distributed
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.training.recogniser.train_data import gather_data

TOGETHER = """
import os, sys
from pathlib import Path

import torch
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser import task
from tongguocr.training.recogniser.stage import BlockStage, PageStage
from tongguocr.training.datasets import Mapping
from tongguocr.training.recogniser.recipe import Canvas, Recipe
from tongguocr.training.recogniser.block_feed import load_data
from tongguocr.training.recogniser.labelled import read_pages
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.distributed import AccelerateGroup
from tongguocr.training.run import Limits, Run

# Two runs one after another: the processes part after the last one.
close, AccelerateGroup.close = AccelerateGroup.close, lambda self: self.accelerator.wait_for_everyone()
root = Path(sys.argv[1])
number, cpu = int(os.environ["RANK"]), torch.device("cpu")
torch.manual_seed(number)
layers = {"encoder_layers": 1, "decoder_layers": 1}
small = {"width": 32, "heads": 2, "feed_forward": 32, "stem": (8, 16), **layers}
trained = []


def remember(model, *rest):
    trained.append(model)
    return prepare(model, *rest)


prepare, task.prepare = task.prepare, remember
codec = Codec(tuple("一丨田口十乚"))
run = Run(Limits(epochs=2), matrix_rate=0.0, workers=0, compile=False, warm_up=0.1)
pages = read_pages([("folder", root / "mine")], say=lambda sentence: None)
model = Recogniser(ModelSize(len(codec), **small))
stage = PageStage(run, PageRecipe(batch_pixels=1), Mapping())
task.train_pages(pages, stage, model, codec, root / "pages", cpu)
AccelerateGroup.close = close
data = load_data(root / "data")
recipe = Recipe((Canvas(160, 96, 4), Canvas(96, 96, 4)), (18.0, 24.0), (14.0, 18.0), longest=60)
run = Run(Limits(steps=12), warm_up=5.0, validate_every=0.0, workers=1, compile=False)
task.train_blocks(data, BlockStage(run, recipe, ModelSize(0, **small)), root / "blocks", None, cpu)
for name, model in zip(("pages", "blocks"), trained, strict=True):
    torch.save(model.state_dict(), root / f"{name}{number}.pt")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes have learned from pages, and then from drawn blocks."""
    root = tmp_path_factory.mktemp("together")
    write_pages(root / "mine", 6, columns=2, length=3)
    write_sources(root, "天地玄黃宇宙洪荒日月盈昃")
    gather_data(root / "data", root / "fonts", root / "text.txt", root / "counts.tsv")
    (root / "together.py").write_text(TOGETHER, encoding="utf-8")
    run_two(root / "together.py", root)
    return root


def records(what: str, root: Path) -> list[dict[str, float]]:
    """The records of a run of two processes, whose parameters are the same in the end."""
    first, second = (torch.load(root / f"{what}{number}.pt") for number in (0, 1))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    return [json.loads(row) for row in (root / what / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_two_processes_share_pages_and_parameters(folder: Path) -> None:
    rows = records("pages", folder)
    assert [row["epoch"] for row in rows if "AR" in row] == [0, 1, 2], "only one of them writes"
    assert rows[-1]["step"] == 6, "three pages for one, two for the other, which repeats one; twice"


@pytest.mark.slow
def test_two_processes_share_drawn_blocks_and_the_clock(folder: Path) -> None:
    rows = records("blocks", folder)
    assert len([row for row in rows if "AR" in row]) >= 2 and rows[-1]["step"] > 2


def test_a_process_alone_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    alone = distributed.join_group(torch.device("cpu"))
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=1))
    assert alone.wrap(model) is model, "no wrapper, nothing slower"
    assert alone.is_main and alone.broadcast(0.5) == 0.5 and not alone.any(False)
    assert (distributed.process_rank(), distributed.world_size()) == (0, 1)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert (distributed.process_rank(), distributed.world_size()) == (1, 2)
    with pytest.raises(InputError, match=r"tongguocr\[train\]"):
        distributed.join_group(torch.device("cpu"))


def test_calling_the_network_is_encoding_and_decoding() -> None:
    torch.manual_seed(0)
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=2, stem=(8, 16)))
    images, tokens, places = torch.rand(2, 1, 64, 48), torch.randint(0, 300, (2, 5)), torch.rand(2, 5, 2)
    with torch.no_grad():
        seen, states, pointed = model(images, tokens, places)
        expected = model.keys_values(model.encode(images))
        wanted = model.decode(tokens, places, expected)
    assert torch.equal(seen.dense, expected.dense)
    assert torch.equal(states, wanted[0]) and torch.equal(pointed, wanted[1])
