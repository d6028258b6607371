"""A tiny run on the CPU, from fonts and text to a checkpoint, by the commands a user types."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run_here
from PIL import Image
from tiny_fonts import write_sources

from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec
from tongguocr.training.optimisers import freeze, make_optimisers, take_step
from tongguocr.training.plot import read_log, read_logs
from tongguocr.training.recogniser.block_feed import load_data
from tongguocr.training.recogniser.blocks import IGNORED
from tongguocr.training.recogniser.losses import at_places, corrupt, input_places, pointer_loss
from tongguocr.training.recogniser.model import ModelSize, Recogniser
from tongguocr.training.recogniser.recipe import Canvas, Recipe
from tongguocr.training.recogniser.restore import load_model
from tongguocr.training.recogniser.stage import BlockStage
from tongguocr.training.run import Limits, Progress, Run
from tongguocr.training.stage import find_stage, load_stage

CHARS = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往"
STAGE = """
[run]
steps = 20
warm_up = 5
validate_every = 60.0
workers = 1
compile = false
[recipe]
canvases = [[160, 96, 4], [96, 96, 4]]
size = [18.0, 24.0]
small = [14.0, 18.0]
longest = 60
most_columns = 3
[model]
width = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward = 32
stem = [8, 16]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faces, one of them held out, and the data of a run."""
    root = tmp_path_factory.mktemp("train")
    sources = write_sources(root, CHARS)
    (root / "stage.toml").write_text(STAGE, encoding="utf-8")
    result = run_here("train-data", *sources, "--out", root / "data")
    assert result.returncode == 0, result.stderr
    assert "22 characters, 2 faces; 2 cannot be drawn: ○〇" in result.stdout
    return root


@pytest.mark.slow
def test_a_run_leaves_weights_that_load_and_can_be_resumed(folder: Path) -> None:
    result = run_here(
        "train", folder / "stage.toml", "--data", folder / "data", "--out", folder / "out", "--device", "cpu"
    )
    assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert records[-1]["AR"] <= 1 and records[-2]["step"] > 5
    first = np.log(305)
    assert records[-2]["loss"] < first, "it should at least have learned which tokens occur"
    size, state = load_model(folder / "out" / "model.pt")
    Recogniser(size).load_state_dict(state)
    with Image.open(folder / "out" / "log.png") as plot:
        assert plot.width > 800
    longer = STAGE.replace("steps = 20", "steps = 22")
    (folder / "longer.toml").write_text(longer, encoding="utf-8")
    resumed = run_here(
        *("train", folder / "longer.toml", "--data", folder / "data", "--out", folder / "out"),
        *("--device", "cpu"),
    )
    assert resumed.returncode == 0, resumed.stderr
    more = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert more[: len(records)] == records and more[-1]["step"] > records[-1]["step"]
    (folder / "out" / "resume.pt").write_bytes(b"junk")
    broken = run_here(
        *("train", folder / "longer.toml", "--data", folder / "data", "--out", folder / "out"),
        *("--device", "cpu"),
    )
    assert broken.returncode == 2 and "resume.pt" in broken.stderr
    (folder / "short.toml").write_text(STAGE.replace("steps = 20", "steps = 2"), encoding="utf-8")
    on = run_here(
        *("train", folder / "short.toml", "--data", folder / "data", "--out", folder / "more"),
        *("--device", "cpu", "--start", folder / "out" / "model.pt"),
    )
    assert on.returncode == 0, on.stderr


def test_kept_parts_stay_as_they_are_and_the_others_learn() -> None:
    torch.manual_seed(0)
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=1, stem=(8, 16)))
    run = Run(Limits(steps=1), frozen=("stem", "encoder"))
    freeze(model, run.frozen)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    seen, states, _ = model(torch.rand(2, 1, 64, 48), torch.randint(0, 300, (2, 5)), torch.rand(2, 5, 2))
    loss = model.score(states).square().mean() + seen.dense.square().mean()
    take_step(model, make_optimisers(model, run), loss, run.clip, 1.0)
    changed = {
        name.split(".")[0] for name, value in model.state_dict().items() if (value != before[name]).any()
    }
    assert not changed & {"stem", "encoder"} and {"decoder", "dense", "embedding"} <= changed
    with pytest.raises(InputError, match="no part neck, only stem"):
        freeze(model, ("neck",))
    with pytest.raises(InputError, match="no part , only stem"):
        freeze(model, ("",))


def test_single_layers_can_be_kept() -> None:
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=2, decoder_layers=1, stem=(8, 16)))
    freeze(model, ("encoder.0",))
    kept = [name for name, value in model.named_parameters() if not value.requires_grad]
    assert kept and all(name.startswith("encoder.0.") for name in kept)
    assert all(value.requires_grad for name, value in model.named_parameters() if "encoder.1" in name)


def test_features_between_places() -> None:
    """A feature map that grows with x and y gives back the point it is asked at."""
    y, x = torch.meshgrid(torch.arange(4.0) + 0.5, torch.arange(3.0) + 0.5, indexing="ij")
    features = torch.stack([x, y], -1).reshape(1, 12, 2).repeat(2, 1, 1)
    features[1] += 100
    points = torch.tensor([[1.25, 1.875], [0.5, 0.5], [2.5, 3.5]])
    found = at_places(features, points, torch.tensor([0, 0, 1]), (4, 3))
    assert found.tolist() == [[1.25, 1.875], [0.5, 0.5], [102.5, 103.5]]


def test_places_are_told_with_the_token_after(folder: Path) -> None:
    """Every place of a target lies in the box of the character that its token spells."""
    data = load_data(folder / "data")
    recipe = Recipe(canvases=(Canvas(160, 96, 3),), size=(18, 24), small=(14, 18), longest=60)
    work = next(data.maker(5, recipe).batches())
    boxes = work.batch.boxes
    points = torch.stack([boxes[:, 0] + boxes[:, 2], boxes[:, 1] + boxes[:, 3]], -1) / 32
    still = Run(Limits(steps=1), corrupted=0.0, jitter=0.0)
    told = input_places(points, work.places.long(), (10, 6), still)
    assert (told[:, 0] < 0).all(), "nothing was read before the first token"
    for row, tokens in enumerate(work.tokens.tolist()):
        for at, token in enumerate(tokens):
            number = int(work.places[row, at])
            if token in (data.codec.pad, data.codec.eos):
                assert number == -1
                continue
            if data.codec.tokens[token].startswith("<"):
                assert number == int(work.places[row, at + 1]), "a transition leads to the next character"
            else:
                assert int(work.characters[number]) == token
            assert int(work.batch.of_block[number]) == row
            if at + 1 < len(tokens):
                assert told[row, at + 1].tolist() == pytest.approx(points[number].clamp(min=0).tolist())


def test_the_pointer_is_best_where_the_character_lies() -> None:
    points, places = torch.tensor([[2.25, 1.5]]), torch.tensor([[0, -1]])
    sure = torch.full((1, 2, 12), -20.0)
    sure[0, 0, 5], sure[0, 0, 6] = np.log(0.25), np.log(0.75)
    assert float(pointer_loss(sure, points, places, (3, 4))) == pytest.approx(0.5623, abs=1e-3)
    assert float(pointer_loss(sure.flip(2), points, places, (3, 4))) > 0.9
    assert float(pointer_loss(sure.roll(3, 2), points, places, (3, 4))) > 10


def test_corruption_spares_the_start() -> None:
    tokens = torch.full((50, 40), 7)
    changed = corrupt(tokens, 0.5, 1000)
    assert (changed[:, 0] == 7).all()
    assert 0.4 < float((changed[:, 1:] != 7).float().mean()) < 0.6


def test_the_rate_warms_up_stays_and_falls() -> None:
    run_ = Run(Limits(steps=1), warm_up=10, flat=0.5)
    assert run_.rate(0, 0.0) == pytest.approx(0.1)
    assert run_.rate(99, 0.4) == 1.0
    assert run_.rate(99, 0.75) == pytest.approx(0.51)
    assert run_.rate(99, 1.0) == pytest.approx(0.02)


def test_a_run_is_over_with_its_first_limit() -> None:
    limits = Limits(steps=200, minutes=1.0, epochs=4)
    assert limits.passed(Progress()) == 0
    assert limits.passed(Progress(step=50, minutes=0.1)) == 0.25
    assert limits.passed(Progress(step=50, minutes=0.5)) == 0.5
    assert limits.passed(Progress(step=50, minutes=0.5, epoch=3), share=0.5) == 0.875
    assert limits.passed(Progress(step=300)) == 1
    assert Limits(minutes=1.0).passed(Progress(step=10**6, minutes=0.1, epoch=9)) == 0.1
    with pytest.raises(ValueError, match="needs a limit"):
        Run(Limits())


def test_reading_step_by_step_equals_reading_at_once() -> None:
    torch.manual_seed(0)
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=2, stem=(8, 16)))
    with torch.no_grad():
        seen = model.keys_values(model.encode(torch.rand(2, 1, 64, 48)))
        tokens, places = torch.randint(0, 300, (2, 9)), torch.rand(2, 9, 2) * 3
        whole, pointed, _ = model.decode(tokens, places, seen)
        past, steps, pointers = None, [], []
        for k in range(9):
            state, pointer, past = model.decode(tokens[:, k : k + 1], places[:, k : k + 1], seen, past)
            steps.append(state)
            pointers.append(pointer)
    assert torch.allclose(torch.cat(steps, 1), whole, atol=1e-5)
    assert torch.allclose(torch.cat(pointers, 1), pointed, atol=1e-5)


def test_the_default_model_is_within_its_size() -> None:
    count = sum(p.numel() for p in Recogniser(ModelSize(19_300)).parameters())
    assert count < 28_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\nminuts = 3", "has no setting minuts"),
        ("[train]", "not train"),
        ("[run", "not a stage file"),
        ("[recipe]\nreal = 0.1", "is not complete"),
        ("[run]\nepochs = 1", "needs minutes or steps"),
        ("run = 1", "outside of any table"),
    ],
)
def test_stage_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_stage(tmp_path / "stage.toml")


def test_shipped_stage_loads() -> None:
    stage = load_stage(find_stage("0"))
    assert isinstance(stage, BlockStage) and stage.run.limits == Limits(minutes=26)
    recipe = stage.recipe
    assert (recipe.shaping, recipe.patchwork, recipe.tight, recipe.tight_lines) == (1.0, 0.6, 0.1, 0.15)


def test_a_log_that_is_none_gives_one_sentence(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"minutes": 1, "loss": 2}\n{"minutes": 2, "lo')
    assert read_log(log) == [{"minutes": 1, "loss": 2}], "the run may be writing still"
    for text in ("", "[]\n{}", "nothing\n{}"):
        log.write_text(text)
        with pytest.raises(InputError, match=r"log\.jsonl"):
            read_log(log)


def test_runs_that_went_on_from_each_other_are_one_picture(tmp_path: Path) -> None:
    for name, minutes in (("one", (1, 2.5)), ("two", (0.5, 4)), ("three", (3,))):
        (tmp_path / name).mkdir()
        rows = [json.dumps({"minutes": when, "loss": 1 / when, "AR": 0.5}) for when in minutes]
        (tmp_path / name / "log.jsonl").write_text("\n".join(rows))
    folders = [tmp_path / name for name in ("one", "two", "three")]
    records, borders = read_logs([folder / "log.jsonl" for folder in folders])
    assert [record["minutes"] for record in records] == [1, 2.5, 3, 6.5, 9.5] and borders == [2.5, 6.5]
    assert [record["loss"] for record in records] == [1, 0.4, 2, 0.25, 1 / 3], "all else stays as it is"
    drawn = run_here("plot", *folders, "-o", tmp_path / "all.png")
    assert drawn.returncode == 0, drawn.stderr
    with Image.open(tmp_path / "all.png") as plot:
        assert plot.width > 800
    for wrong, said in (([*folders, tmp_path / "four"], "log.jsonl"), (folders, "a plot can be")):
        failed = run_here("plot", *wrong, "-o", tmp_path / "all.gnu")
        assert failed.returncode == 2 and said in failed.stderr and failed.stderr.count("\n") == 1
    assert not (tmp_path / "all.gnu").exists()


def test_bad_weights_and_missing_data(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(b"junk")
    with pytest.raises(InputError, match="these are not weights"):
        load_model(tmp_path / "x.pt")
    with pytest.raises(InputError, match="no text"):
        load_data(tmp_path)
    assert IGNORED < 0 and Codec.pad == 0, "losses leave out token 0"
