"""The three-stage trainer on a toy: it learns, comes back the same, goes on, and fails in sentences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from commands import run_here
from glm_models import make_pretrained, write_model
from labelled_pages import CHARS, draw_page, write_pages

from tongguocr.cli import main
from tongguocr.engines.glm.engine import HfEngine
from tongguocr.engines.glm.image_settings import ImageSettings, load_image_settings
from tongguocr.engines.glm.network import GlmNetwork
from tongguocr.engines.glm.pretrained import load_pretrained
from tongguocr.engines.glm.processor import patch_pictures
from tongguocr.engines.guard import Guarded
from tongguocr.errors import InputError
from tongguocr.reader import Reader
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.samples import GlmMaker, collate, write_answer
from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.glm.task import GlmPageTask
from tongguocr.training.glm.train import find_glm_start, train_glm_pages
from tongguocr.training.glm.trainer import MODEL
from tongguocr.training.recogniser.labelled import read_pages
from tongguocr.training.recogniser.page_feed import PageFeed
from tongguocr.training.run import Limits
from tongguocr.training.stage import SHIPPED_STAGES, find_stage, load_glm_page_stage

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
STAGE = """
[run]
epochs = {epochs}
learning_rate = 3e-3
matrix_rate = 0.0
betas = [0.9, 0.999]
weight_decay = 0.0
warm_up = 0.1
flat = 0.1
least = 0.0
workers = 0
compile = false
[pages]
longest_side = 128
augment = false
[glm]
batch_tokens = 300
checkpointing = false
saved = "float32"
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("glm")
    write_pages(root / "mine", 12, columns=2, length=3)
    write_model(root / "model", CHARS)
    (root / "stage.toml").write_text(STAGE.format(epochs=14), encoding="utf-8")
    return root


def records(folder: Path) -> list[dict[str, float]]:
    return [json.loads(row) for row in (folder / "log.jsonl").read_text().splitlines()]


def quiet(_: str) -> None:
    pass


def with_epochs(stage: GlmPageStage, epochs: int) -> GlmPageStage:
    return replace(stage, run=replace(stage.run, limits=Limits(epochs=epochs)))


def test_it_learns_and_comes_back_and_reads(root: Path) -> None:
    pretrained = expand(make_pretrained(), CHARS)[0]
    assert sum(p.numel() for p in pretrained.model.parameters()) < 20_000_000
    pages = read_pages([("folder", root / "mine")], say=quiet)
    stage = load_glm_page_stage(root / "stage.toml")
    train_glm_pages(pages, stage, pretrained, root / "run", CPU, quiet)
    losses = [record["loss"] for record in records(root / "run") if "loss" in record]
    assert losses[-1] < losses[0] / 2
    judged = [record["AR"] for record in records(root / "run") if "AR" in record]
    assert len(judged) == 15 and max(judged) > judged[0]

    back = load_pretrained(str(root / "run" / MODEL))
    assert load_image_settings(root / "run" / MODEL) == ImageSettings(True, 128)
    trained = torch.load(root / "run" / "resume.pt", weights_only=True)
    if judged[-1] == max(judged):
        kept = {name.removeprefix("model."): value for name, value in trained["model"].items()}
        assert all(torch.equal(kept[name], value) for name, value in back.model.state_dict().items())
    again = load_pretrained(str(root / "run" / MODEL))
    batch = collate(
        GlmMaker(pages, stage.pages, stage.settings, back.prompt, back.processor, 1).make("train", 0, 0)[0],
        *(back.prompt, back.processor),
    )
    patches, grids = patch_pictures(batch.pictures, back.processor)
    with torch.no_grad():
        first, second = (
            f.model(
                input_ids=batch.ids,
                pixel_values=patches,
                image_grid_thw=torch.tensor([(1, *grid) for grid in grids]),
                mm_token_type_ids=(batch.ids == f.prompt.image).int(),
            ).logits
            for f in (back, again)
        )
    assert torch.equal(first, second)

    page = draw_page(root / "tiny.ttf", 99, columns=2, length=3)
    engine = Guarded(HfEngine(str(root / "run" / MODEL), device="cpu"))
    read, twice = Reader(engine).read(page), Reader(engine).read(page)
    assert read == twice, "greedy reading is the same every time"
    assert [line.id for line in read.lines][:1] == ["l1"] and all(
        0 <= (x.confidence or 0) <= 1 for x in read.lines
    )
    assert set("".join(line.text for line in read.lines)) <= set(CHARS)


def test_a_finished_run_has_nothing_left_to_do(root: Path) -> None:
    pages = read_pages([("folder", root / "mine")], say=quiet)
    pages.train = pages.train[:2]
    stage = load_glm_page_stage(root / "stage.toml")
    stage = with_epochs(stage, 1)
    train_glm_pages(pages, stage, load_pretrained(str(root / "model")), root / "done", CPU, quiet)
    before = records(root / "done")
    train_glm_pages(pages, stage, load_pretrained(str(root / "done" / MODEL)), root / "done", CPU, quiet)
    assert records(root / "done") == before


def test_a_killed_run_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = read_pages([("folder", root / "mine")], say=quiet)
    stage = load_glm_page_stage(root / "stage.toml")
    stage = with_epochs(stage, 3)
    start, validate, seen = str(root / "model"), GlmPageTask.validate, list[int]()

    def killed(self: GlmPageTask) -> dict[str, float]:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return validate(self)

    monkeypatch.setattr(GlmPageTask, "validate", killed)
    with pytest.raises(KeyboardInterrupt):
        train_glm_pages(pages, stage, load_pretrained(start), root / "killed", CPU, quiet)
    monkeypatch.undo()
    found = find_glm_start(start, root / "killed")
    assert found == str(root / "killed" / MODEL)
    train_glm_pages(pages, stage, load_pretrained(found), root / "killed", CPU, quiet)
    train_glm_pages(pages, stage, load_pretrained(start), root / "whole", CPU, quiet)
    states = [
        torch.load(root / name / "resume.pt", weights_only=True)["model"] for name in ("killed", "whole")
    ]
    assert all(torch.allclose(states[0][name], states[1][name], atol=1e-6) for name in states[0])


def test_the_last_weights_are_kept_where_the_stage_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = read_pages([("folder", root / "mine")], say=quiet)
    pages.train = pages.train[:2]
    stage = with_epochs(load_glm_page_stage(root / "stage.toml"), 2)
    saved = list[tuple[str, float]]()
    for keep in ("best", "last"):
        figures = iter((0.5, 0.9, 0.1))
        monkeypatch.setattr(GlmPageTask, "validate", lambda _, left=figures: {"AR": next(left)})
        monkeypatch.setattr(
            GlmPageTask, "save", lambda task, _, k=keep: saved.append((k, task.trainer.network.training))
        )
        kept = replace(stage, run=replace(stage.run, keep=keep))
        train_glm_pages(pages, kept, load_pretrained(str(root / "model")), root / f"keep-{keep}", CPU, quiet)
    assert [name for name, _ in saved] == ["best"] * 2 + ["last"] * 2, (
        "what is not kept needs no validation before"
    )
    state = torch.load(root / "keep-last" / "resume.pt", weights_only=True)
    assert state["progress"]["best"] == 0.9


def test_validation_takes_every_page_anew_each_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongguocr.training.recogniser.page_feed.WINDOW", 2)
    pages = read_pages([("folder", root / "mine")], say=quiet)
    pages.validation = pages.train[:5]
    stage, pretrained = load_glm_page_stage(root / "stage.toml"), load_pretrained(str(root / "model"))
    for most, wanted in ((0, range(5)), (3, (0, 2, 4))):
        recipe = replace(stage.pages, granularity="page", validation_pages=most)
        maker = GlmMaker(pages, recipe, stage.settings, pretrained.prompt, pretrained.processor, 1)
        feed = PageFeed(maker, 0)
        read = [[s.text for batch in feed.validation_sets(CPU) for s in batch] for _ in range(2)]
        texts = [
            write_answer(p.lines, p.width, p.height, True) for p in (pages.train[k].page for k in wanted)
        ]
        assert sorted(read[0]) == sorted(texts) and read[0] == read[1]
        sizes = [len(batch) for batch in feed.validation_sets(CPU)]
        assert max(sizes) <= 2, "no more than a window's pages are in memory"


def test_the_shipped_stages_are_the_paper_s() -> None:
    table = {
        1: (("hisdoc1b", "mthv2", "m5hisdoc"), "page", 768, 6144, 3e-5, 3),
        2: (("mthv2", "m5hisdoc"), "page", 1024, 8192, 1e-5, 10),
        3: (("mthv2", "m5hisdoc"), "block", 1024, 8192, 1e-5, 15),
    }
    for number, (kinds, granularity, side, longest, rate, epochs) in table.items():
        assert find_stage(f"full-{number}") == SHIPPED_STAGES / f"full-{number}.toml"
        held = load_glm_page_stage(find_stage(f"full-{number}"))
        run, pages = held.run, held.pages
        assert (pages.kinds, pages.granularity, pages.longest_side, pages.longest) == (
            kinds,
            granularity,
            side,
            longest,
        )
        assert (run.learning_rate, run.limits.epochs, run.betas, run.clip) == (
            rate,
            epochs,
            (0.9, 0.999),
            1.0,
        )
        assert (run.warm_up, run.matrix_rate, run.least, pages.validated_on) == (0.1, 0.0, 0.0, ("m5hisdoc",))
        assert (run.loss_mean, pages.validation_pages) == ("sequences", 0)
        assert run.keep == ("last" if number == 1 else "best")
        assert held.settings.transitions and held.settings.saved == "bfloat16" and not pages.augment
        assert run.rate(0, 0.05) == pytest.approx(0.5) and run.rate(9, 0.1) == 1.0 and run.rate(9, 1.0) < 1e-9


def test_weights_are_saved_in_half_precision_and_say_so(root: Path) -> None:
    from safetensors import safe_open

    stage = load_glm_page_stage(root / "stage.toml")
    half = replace(with_epochs(stage, 1), settings=replace(stage.settings, saved="bfloat16"))
    pages = read_pages([("folder", root / "mine")], say=quiet)
    pages.train = pages.train[:2]
    train_glm_pages(pages, half, load_pretrained(str(root / "model")), root / "half", CPU, quiet)
    folder = root / "half" / MODEL
    with safe_open(folder / "model.safetensors", "pt") as held:
        assert {held.get_tensor(name).dtype for name in held.keys()} == {torch.bfloat16}  # noqa: SIM118
    config = json.loads((folder / "config.json").read_text())
    assert config["dtype"] == "bfloat16"
    assert GlmNetwork(load_pretrained(str(folder)).model).model.dtype == torch.float32


def test_too_little_memory_is_a_sentence(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(GlmPageTask, "loss", full)
    pages = read_pages([("folder", root / "mine")], say=quiet)
    stage = load_glm_page_stage(root / "stage.toml")
    with pytest.raises(InputError, match="batch_tokens smaller than 300, or set checkpointing"):
        train_glm_pages(pages, stage, load_pretrained(str(root / "model")), root / "full", CPU, quiet)
    assert (root / "full" / MODEL / "config.json").exists(), "what was kept before stays"


def test_the_command(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "short.toml").write_text(STAGE.format(epochs=1), encoding="utf-8")
    command = ["train", root / "short.toml", "--pages", f"folder={root / 'mine'}", "--start", root / "model"]
    command += ["--out", root / "cli", "--device", "cpu"]
    result = run_here(*command)
    assert result.returncode == 0, result.stderr
    assert "Epoch 1 of 1: AR" in result.stdout and (root / "cli" / "log.png").exists()
    assert main([*map(str, command), "--dry-run", "8"]) == 0
    told = capsys.readouterr().out
    assert "on 8 GPUs" in told and "GiB" in told and " h at " in told
    bad = {
        "say with --start": [*command[:4], "--out", root / "none", "--device", "cpu"],
        "no such folder": [*command[:4], "--start", root / "no", "--out", root / "none", "--device", "cpu"],
        "needs labelled pages": ["train", root / "short.toml", "--out", root / "none"],
    }
    for sentence, arguments in bad.items():
        assert main([str(a) for a in arguments]) == 2
        assert sentence in capsys.readouterr().err
    for change, sentence in (("[glm]\nx = 1", "has no setting x"), ('[glm]\nsaved = "int8"', "saved is")):
        (root / "bad.toml").write_text(STAGE.format(epochs=1).split("[glm]")[0] + change, encoding="utf-8")
        assert main(["train", str(root / "bad.toml"), *map(str, command[2:])]) == 2
        assert sentence in capsys.readouterr().err


def test_a_model_without_transitions_is_told_so(root: Path, tmp_path: Path) -> None:
    stage = load_glm_page_stage(root / "stage.toml")
    pages = read_pages([("folder", root / "mine")], say=quiet)
    with pytest.raises(InputError, match="has no transitions; `tongguocr expand`"):
        train_glm_pages(pages, stage, make_pretrained(), tmp_path / "out", CPU, quiet)
    assert not (tmp_path / "out").exists()
    off = replace(stage, settings=replace(stage.settings, transitions=False))
    pages.train = pages.train[:1]
    train_glm_pages(pages, with_epochs(off, 1), make_pretrained(), tmp_path / "out", CPU, quiet)
