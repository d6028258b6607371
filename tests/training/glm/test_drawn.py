"""A model of GLM-OCR's class from nothing on drawn blocks: the dense loss, the codec's tokens, the stages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_fonts import write_sources

from tongguocr.cli import main
from tongguocr.engines.glm.image_settings import load_image_settings
from tongguocr.engines.glm.pretrained import PretrainedModel, load_pretrained
from tongguocr.engines.glm.processor import read_processor_config, to_patches
from tongguocr.errors import InputError
from tongguocr.tokens.codec import FIXED, Codec
from tongguocr.training.distributed import ProcessGroup
from tongguocr.training.glm.estimate import count_parameters
from tongguocr.training.glm.from_scratch import new_model
from tongguocr.training.glm.network import GlmTrainingNetwork
from tongguocr.training.glm.stage import GlmBlockStage
from tongguocr.training.glm.task import GlmBlockTask, back_loss, model_tokens
from tongguocr.training.glm.trainer import DENSE, MODEL, GlmTrainer
from tongguocr.training.recogniser.block_feed import Data, load_data
from tongguocr.training.recogniser.train_data import gather_data
from tongguocr.training.stage import find_stage, load_stage

pytestmark = pytest.mark.usefixtures("one_thread")

CHARS = "天地玄黃宇宙洪荒日月盈昃"
STAGE = """
[run]
steps = {steps}
learning_rate = 1e-3
matrix_rate = 3e-3
warm_up = 5
gentle = 0.0
validate_every = 60.0
workers = 1
compile = false
[recipe]
canvases = [[168, 112, 4], [112, 112, 4]]
size = [24.0, 28.0]
small = [18.0, 24.0]
longest = 60
most_columns = 3
tight = 0.0
tight_lines = 0.0
[glm]
checkpointing = false
saved = "float32"
[model]
text_width = 64
text_layers = 1
heads = 2
key_value_heads = 1
head = 32
feed_forward = 64
vision_width = 64
vision_layers = 1
vision_heads = 2
vision_feed_forward = 64
rows = 64
tied = true
"""


def load_block_stage(path: Path) -> GlmBlockStage:
    stage = load_stage(path)
    assert isinstance(stage, GlmBlockStage)
    return stage


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drawn")
    write_sources(root, CHARS)
    gather_data(root / "data", root / "fonts", root / "text.txt", root / "counts.tsv")
    (root / "stage.toml").write_text(STAGE.format(steps=6), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def data(root: Path) -> Data:
    return load_data(root / "data")


def from_scratch(data: Data, stage: GlmBlockStage) -> PretrainedModel:
    return new_model(stage.size, data.codec.characters, stage.run.seed)


def test_every_token_of_the_codec_is_one_of_the_model(root: Path, data: Data) -> None:
    stage = load_block_stage(root / "stage.toml")
    pretrained = from_scratch(data, stage)
    table = model_tokens(data.codec, pretrained.prompt)
    assert len(table) == len(data.codec) and len(set(table[2:].tolist())) == len(table) - 2
    for token in range(3, len(data.codec)):
        (line, *more) = pretrained.prompt.decode([int(table[token])])
        name = data.codec.tokens[token]
        if name in data.codec.characters:
            assert line.text == name
        else:
            assert bool(more) is (line.transition == name or name == "<0x0A>") and name in FIXED
    with pytest.raises(InputError, match="no single token for 龜"):
        model_tokens(Codec((*data.codec.characters, "龜")), pretrained.prompt)


def test_without_transitions_a_line_ends_with_a_newline(root: Path, data: Data) -> None:
    stage = load_block_stage(root / "stage.toml")
    bare = new_model(stage.size, data.codec.characters, stage.run.seed, transitions=False)
    assert not bare.prompt.transitions
    table = model_tokens(data.codec, bare.prompt, transitions=False)
    first, last = FIXED.index("<left>"), FIXED.index("<far_right|far_down>")
    assert len(set(table[first : last + 1].tolist())) == 1
    ids = [*data.codec.encode("天"), last, *data.codec.encode("地")]
    assert [line.text for line in bare.prompt.decode(table[ids].tolist())] == ["天", "地"]
    network = GlmTrainingNetwork(bare.model, dense=True)
    trainer = GlmTrainer(network, network, bare, stage.run, ProcessGroup(torch.device("cpu")))
    task = GlmBlockTask(trainer, data.codec, table, None)
    back = {token: k for k, token in reversed(list(enumerate(table.tolist())))}
    assert [line.text for line in data.codec.decode(task._back(table[ids].tolist(), back))] == ["天", "地"]


def test_the_commonest_characters_alone(root: Path) -> None:
    gather_data(root / "few", root / "fonts", root / "text.txt", root / "counts.tsv", most=4)
    few, all_of_them = load_data(root / "few").codec.characters, load_data(root / "data").codec.characters
    assert 4 <= len(few) < len(all_of_them) and set(few) < set(all_of_them)


def test_two_stages_one_after_another(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = ["train", str(root / "stage.toml"), "--data", str(root / "data"), "--device", "cpu"]
    assert main([*first, "--out", str(root / "one")]) == 0
    records = [json.loads(row) for row in (root / "one" / "log.jsonl").read_text().splitlines()]
    assert {"loss", "dense", "ahead", "back", "accuracy", "rate"} <= records[-2].keys()
    assert "AR" in records[-1]
    assert records[-2]["step"] > 2 and records[-2]["loss"] < 7
    folder = root / "one" / MODEL
    assert (folder / DENSE).exists() and (root / "one" / "log.png").exists()
    image_settings = load_image_settings(folder)
    assert (image_settings.square, image_settings.character, image_settings.side) == (False, 26.0, 168)
    assert read_processor_config(folder).mean == (0.75, 0.75, 0.75), "who reads with it must know"
    assert main([*first, "--out", str(root / "two"), "--start", str(folder)]) == 0
    start, end = (load_pretrained(str(root / name / MODEL)).model.state_dict() for name in ("one", "two"))
    assert start.keys() == end.keys() and any(not torch.equal(start[name], end[name]) for name in start)
    assert main([*first, "--out", str(root / "three"), "--dry-run"]) == 0
    assert "Drawn blocks" in capsys.readouterr().out and not (root / "three").exists()


def test_the_shipped_stages_are_of_a_hundred_million() -> None:
    stages = [load_block_stage(find_stage(f"full-drawn-{number}")) for number in (1, 2, 3)]
    assert sum(stage.run.limits.minutes for stage in stages) <= 25
    assert len({stage.size for stage in stages}) == 1
    total = count_parameters(replace(stages[0].size, rows=19_000)).total
    assert 90e6 < total < 110e6
    assert stages[2].recipe.built == 1.0


def test_stages_that_do_not_fit(root: Path) -> None:
    text = STAGE.format(steps=1)
    bad = {
        "multiples of 56": text.replace("[168, 112, 4]", "[140, 112, 4]"),
        "no narrow canvases": text.replace("tight = 0.0", "tight = 0.1"),
        "multiple of 16": text.replace("head = 32", "head = 20"),
        "needs minutes": text.replace("steps = 1", "epochs = 1"),
        "shard is for labelled pages": text.replace('saved = "float32"', "shard = true"),
    }
    for sentence, content in bad.items():
        (root / "bad.toml").write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=rf"bad\.toml: .*{sentence}"):
            load_block_stage(root / "bad.toml")


def test_spots_are_the_image_tokens_around_a_character(root: Path, data: Data) -> None:
    stage = load_block_stage(root / "stage.toml")
    pretrained = from_scratch(data, stage)
    table = model_tokens(data.codec, pretrained.prompt)
    network = GlmTrainingNetwork(pretrained.model, dense=True)
    trainer = GlmTrainer(network, network, pretrained, stage.run, ProcessGroup(torch.device("cpu")))
    task = GlmBlockTask(trainer, data.codec, table, None)
    rows, columns, token = 6, 4, len(FIXED) + 3
    for row, column in ((0, 0), (2, 3), (5, 1)):
        image = torch.ones(2, 1, 28 * rows, 28 * columns)
        image[1, :, 28 * row : 28 * row + 28, 28 * column : 28 * column + 28] = 0
        dark = to_patches(image, trainer.processor).reshape(2 * rows * columns, -1).amin(1) < 0
        place = torch.tensor([[column + 0.5, row + 0.5]])
        places = task._places(torch.tensor([token]), place, torch.tensor([1]), (rows, columns))
        middle = places.around[0, places.weights[0].argmax()]
        assert places.weights.max() == 1 and dark.nonzero().flatten().tolist() == [middle]
        assert places.targets.tolist() == [table[token]]
    far = torch.tensor([[-0.1, 0.2], [columns + 0.1, 0.2]])
    lost = task._places(torch.tensor([token, token]), far, torch.tensor([0, 0]), (rows, columns))
    assert lost.targets.tolist() == [-100, -100], "characters that the page's bend took out of the picture"


def test_a_character_looks_back_at_the_one_before_it() -> None:
    """Two blocks of 3 x 2 image tokens: a column of three, and two columns of one each."""
    at = torch.tensor([[1.5, 0.5], [1.5, 1.5], [1.5, 2.5], [1.5, 0.5], [0.5, 0.5]])
    of_block = torch.tensor([0, 0, 0, 1, 1])
    scores = torch.zeros(2, 6, 6)
    even = back_loss(scores, at, of_block, (3, 2))
    assert float(even) == pytest.approx((np.log(4) + np.log(6)) / 2), "what lies behind is not seen"
    scores[0, 3, 1], scores[0, 5, 3] = 50.0, 50.0
    assert float(back_loss(scores, at, of_block, (3, 2))) == pytest.approx(0.0, abs=1e-5)
    assert float(back_loss(scores.roll(1, 2), at, of_block, (3, 2))) > 20
    alone = back_loss(scores[1:], at[3:], of_block[3:] - 1, (3, 2))
    assert float(alone) == 0, "a column's first character has nothing above it"
    between = torch.zeros(1, 6, 6, requires_grad=True)
    back_loss(between, torch.tensor([[1.2, 0.9], [1.2, 1.6]]), torch.tensor([0, 0]), (3, 2)).backward()
    assert between.grad is not None and between.grad.isfinite().all()
    assert between.grad[0, 3, :4].abs().min() > 0 and not between.grad[0, 3, 4:].any()


def test_fresh_tokens_differ_from_the_beginning(root: Path, data: Data) -> None:
    stage = load_block_stage(root / "stage.toml")
    models = [from_scratch(data, stage).model for _ in range(2)]
    rows = models[0].get_input_embeddings().weight.detach()
    close = torch.nn.functional.normalize(rows, dim=1) @ torch.nn.functional.normalize(rows, dim=1).T
    assert float(close.fill_diagonal_(0).abs().max()) < 0.7
    assert all(torch.equal(rows, model.lm_head.weight) for model in models)
    gains = models[0].model.language_model.layers[0].post_mlp_layernorm.weight
    assert gains.tolist() == pytest.approx([0.1] * len(gains))
