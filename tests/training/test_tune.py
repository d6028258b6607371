"""A tiny network that learns from labelled pages, by the commands a user types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from commands import run_here
from labelled_pages import CODEC, SIZE, draw_page, on_disk, write_pages
from PIL import Image

from tongguocr.cli import main
from tongguocr.errors import InputError
from tongguocr.proofread.book import open_book
from tongguocr.proofread.store import Store
from tongguocr.training.datasets import Mapping
from tongguocr.training.recogniser.labelled import Labelled, read_pages
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.page_feed import PageFeed, PageMaker
from tongguocr.training.recogniser.pages import PageRecipe
from tongguocr.training.recogniser.restore import save_model
from tongguocr.training.recogniser.stage import PageStage
from tongguocr.training.recogniser.task import train_pages
from tongguocr.training.run import Limits, Run
from tongguocr.weights import SHIPPED

pytestmark = pytest.mark.usefixtures("one_thread")

STAGE = """
[run]
epochs = {epochs}
learning_rate = 3e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
warm_up = 0.1
flat = 0.1
corrupted = 0.0
smoothing = 0.0
workers = {workers}
compile = false
[pages]
batch_pixels = 60_000
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    write_pages(root / "mine", 4)
    return root


def records(out: Path) -> list[dict[str, float]]:
    return [json.loads(row) for row in (out / "log.jsonl").read_text().splitlines()]


def test_a_book_teaches_with_its_proofread_pages(folder: Path) -> None:
    book, stage, start = folder / "book", folder / "one.toml", folder / "untaught"
    write_pages(book, 4)
    start.mkdir()
    save_model(Recogniser(SIZE), start / "model.pt")
    CODEC.save(start / "codec.json")
    stage.write_text(STAGE.format(epochs=1, workers=0))
    common = ("--pages", f"folder={book}", "--out", folder / "taught", "--device", "cpu")
    store = Store(open_book(str(book)))
    store.mark(1, False, "")
    refused = run_here("train", stage, *common, "--start", start / "model.pt")
    assert refused.returncode == 2
    assert "no page of this book is marked as proofread yet" in refused.stderr
    for number in (1, 2, 4):
        store.mark(number, True, "")
    result = run_here("train", stage, *common, "--start", start / "model.pt")
    assert result.returncode == 0, result.stderr
    # Of three pages the first is for validation.
    assert "2 samples an epoch" in result.stdout


@pytest.mark.slow
def test_fine_tuning_by_the_commands_a_user_types(folder: Path) -> None:
    torch.manual_seed(0)
    start, out, stage = folder / "start", folder / "run", folder / "stage.toml"
    start.mkdir()
    save_model(Recogniser(SIZE), start / "model.pt")
    CODEC.save(start / "codec.json")
    stage.write_text(STAGE.format(epochs=16, workers=1))
    common = ("--pages", f"folder={folder / 'mine'}", "--out", out, "--device", "cpu")
    result = run_here("train", stage, *common, "--start", start / "model.pt")
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert said[1] == "3 samples an epoch; left out: nothing left out." and "Epoch 16 of 16" in said[-1]
    first = records(out)
    assert first[0]["AR"] < 0.5, "it cannot read yet"
    losses_ = [record["loss"] for record in first if "loss" in record]
    assert losses_[-1] < 0.5 * losses_[0]
    assert [record["epoch"] for record in first if "AR" in record] == list(range(17))
    assert {"dense", "pointer", "accuracy", "rate"} <= first[1].keys()
    with Image.open(out / "log.png") as plot:
        assert plot.width > 800

    stage.write_text(STAGE.format(epochs=18, workers=0))
    resumed = run_here("train", stage, *common)
    assert resumed.returncode == 0, resumed.stderr
    more = records(out)
    assert more[: len(first)] == first
    assert [record["epoch"] for record in more[len(first) :] if "AR" in record] == [17, 18]

    codec = ("--codec", start / "codec.json")
    exported = run_here("export", out / "model.pt", *codec, "-o", folder / "weights")
    assert exported.returncode == 0, exported.stderr
    read = run_here(
        *("read", folder / "mine" / "p0.png", "--lines", folder / "mine" / "p0.json"),
        *("--engine", "tongguocr", "--weights", folder / "weights"),
    )
    assert read.returncode == 0, read.stderr
    stage.write_text(STAGE.format(epochs=1, workers=0))
    again = run_here(
        *("train", stage, "--pages", f"folder={folder / 'mine'}", "--out", folder / "again"),
        *("--device", "cpu", "--start", folder / "weights"),
    )
    assert again.returncode == 0, again.stderr
    best = max(record["AR"] for record in more if "AR" in record)
    assert records(folder / "again")[0]["AR"] == pytest.approx(best, abs=0.2), "eight bits read about as well"


def test_the_run_is_reproducible(folder: Path) -> None:
    pages = read_pages([("folder", folder / "mine")])
    run = Run(Limits(epochs=2), workers=0, compile=False, matrix_rate=0.0, warm_up=0.1)
    stage = PageStage(run, PageRecipe(batch_pixels=60_000), Mapping())
    logs = []
    for name in ("first", "second"):
        torch.manual_seed(3)
        train_pages(
            pages, stage, Recogniser(SIZE), CODEC, folder / name, torch.device("cpu"), lambda sentence: None
        )
        clock = {"minutes", "samples a second"}
        logs.append([{k: v for k, v in r.items() if k not in clock} for r in records(folder / name)])
    assert logs[0] == logs[1]


def test_an_interrupted_epoch_goes_on_at_its_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.training.recogniser.page_feed.WINDOW", 1)
    feed = PageFeed(PageMaker(read_pages([("folder", folder / "mine")]), PageRecipe(), CODEC, 1), 0)
    whole = list(feed.epoch(0))
    rest = list(feed.epoch(0, window=1))
    assert [d.window for d in whole] == [0, 1, 2]
    assert [d.share for d in rest] == [d.share for d in whole[1:]]
    assert all(torch.equal(a.content[1][0], b.content[1][0]) for a, b in zip(rest, whole[1:], strict=True))


def test_nothing_to_learn_from_gives_one_sentence(tmp_path: Path) -> None:
    write_pages(tmp_path / "mine", 3)
    pages = read_pages([("folder", tmp_path / "mine")])
    run = Run(Limits(epochs=1), workers=0, compile=False)
    given = (PageStage(run, PageRecipe(longest=2), Mapping()), Recogniser(SIZE), CODEC)
    with pytest.raises(
        InputError, match=r"p0\.png: no validation page gives a sample: 1 samples that are too"
    ):
        train_pages(pages, *given, tmp_path / "out", torch.device("cpu"))
    good = on_disk(draw_page(tmp_path / "tiny.ttf", 9, columns=1, length=1, name="short.png"), tmp_path)
    some = Labelled(pages.train, [good])
    with pytest.raises(InputError, match=r"p1\.png: no page gives a sample: 2 samples that are too long"):
        train_pages(some, *given, tmp_path / "out", torch.device("cpu"), lambda sentence: None)


def test_commands_with_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = ("--pages", f"folder={folder / 'mine'}")
    mistakes = {
        ("tune", "--data", folder): "needs labelled pages",
        ("0", *pages): "needs what train-data made",
        ("tune", *pages, "--start", tmp_path / "none.pt"): "none.pt: these are not weights",
        ("nothing", *pages): "nothing: there is no such file",
        ("3", *pages): "not on folder",
        ("tune", "--pages", f"folder={tmp_path / 'none'}"): "no such folder",
    }
    if not SHIPPED.exists():
        mistakes["tune", *pages] = "--start"
    for arguments, said in mistakes.items():
        assert main(["train", *map(str, arguments), "--out", str(tmp_path / "out"), "--device", "cpu"]) == 2
        printed = capsys.readouterr().err
        assert said in printed and printed.count("\n") == 1
