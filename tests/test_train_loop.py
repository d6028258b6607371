"""A tiny run on the CPU, from fonts and text to a checkpoint, by the commands a user types."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_fonts import write_sources

from tongguocr.errors import InputError
from tongguocr.formats import write_page
from tongguocr.page import Line, Page
from tongguocr.synth.gpu import GlyphAtlas
from tongguocr.synth.gpu.lines import LineStore
from tongguocr.synth.real_ink import Lines, gather, make_line
from tongguocr.synth.wear import Wear
from tongguocr.tokens.codec import Codec
from tongguocr.train.blocks import IGNORED, BlockMaker, Work
from tongguocr.train.feed import Data, load_data
from tongguocr.train.judge import Judge
from tongguocr.train.loop import Painter, load
from tongguocr.train.losses import at_places, corrupt, pointer_loss, tell_places
from tongguocr.train.model import ModelSize, Recogniser
from tongguocr.train.plot import read_log
from tongguocr.train.recipe import NARROW, Canvas, Recipe
from tongguocr.train.run import Run, keep, make_optimisers, take_step
from tongguocr.train.stage import load_stage
from tongguocr.train.tight import spare_ends

CHARS = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往"
STAGE = """
[run]
minutes = 0.12
warm_up = 5
judge_every = 60.0
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


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two faces, one of them held out, and the data of a run."""
    root = tmp_path_factory.mktemp("train")
    sources = write_sources(root, CHARS)
    (root / "stage.toml").write_text(STAGE, encoding="utf-8")
    result = run("train-data", *sources, "--out", root / "data")
    assert result.returncode == 0, result.stderr
    assert "22 characters, 2 faces; 2 cannot be drawn: ○〇" in result.stdout
    return root


def test_a_run_leaves_weights_that_load_and_can_be_resumed(folder: Path) -> None:
    result = run(
        "train", folder / "stage.toml", "--data", folder / "data", "--out", folder / "out", "--device", "cpu"
    )
    assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert records[-1]["AR"] <= 1 and records[-2]["step"] > 5
    first = np.log(305)
    assert records[-2]["loss"] < first, "it should at least have learned which tokens occur"
    size, state = load(folder / "out" / "model.pt")
    Recogniser(size).load_state_dict(state)
    with Image.open(folder / "out" / "log.png") as plot:
        assert plot.width > 800
    exported = run(
        *("export", folder / "out" / "model.pt", "--codec", folder / "data" / "codec.json"),
        *("-o", folder / "weights"),
    )
    assert exported.returncode == 0, exported.stderr
    image, lines = folder / "page.png", folder / "page.json"
    Image.effect_noise((200, 300), 60).save(image)
    write_page(Page("page.png", 200, 300, (Line("a", (120, 20, 160, 280)),)), lines)
    read = run("read", image, "--lines", lines, "--engine", "tongguocr", "--weights", folder / "weights")
    assert read.returncode == 0, read.stderr
    longer = STAGE.replace("minutes = 0.12", "minutes = 0.17")
    (folder / "longer.toml").write_text(longer, encoding="utf-8")
    resumed = run(
        *("train", folder / "longer.toml", "--data", folder / "data", "--out", folder / "out"),
        *("--device", "cpu"),
    )
    assert resumed.returncode == 0, resumed.stderr
    more = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    assert more[: len(records)] == records and more[-1]["step"] > records[-1]["step"]
    (folder / "out" / "resume.pt").write_bytes(b"junk")
    broken = run(
        *("train", folder / "longer.toml", "--data", folder / "data", "--out", folder / "out"),
        *("--device", "cpu"),
    )
    assert broken.returncode == 2 and "resume.pt" in broken.stderr
    on = run(
        *("train", folder / "stage.toml", "--data", folder / "data", "--out", folder / "more"),
        *("--device", "cpu", "--start", folder / "out" / "model.pt"),
    )
    assert on.returncode == 0, on.stderr


def test_blocks_fit_their_canvases_and_say_what_they_show(folder: Path) -> None:
    data = load_data(folder / "data")
    recipe = Recipe(
        canvases=(Canvas(160, 96, 3), Canvas(96, 96, 3)), size=(18, 24), small=(14, 18), longest=60
    )
    batches = data.maker(5, recipe).batches()
    again = data.maker(5, recipe).batches()
    for _ in range(4):
        work, same = next(batches), next(again)
        assert torch.equal(work.tokens, same.tokens) and work.seed == same.seed
        assert (work.batch.height, work.batch.width) == (work.canvas.height, work.canvas.width)
        assert len(work.characters) == len(work.batch.boxes)
        start = 0
        for row, block in zip(work.tokens.tolist(), range(3), strict=True):
            count = int((work.batch.of_block == block).sum())
            text = "".join(line.text for line in data.codec.decode(row))
            shown = "".join(data.codec.tokens[k] for k in work.characters[start : start + count].tolist())
            assert text == shown and text
            start += count


SMALL = Recipe(canvases=(Canvas(160, 96, 3), Canvas(96, 96, 3)), size=(18, 24), small=(14, 18), longest=60)
SLIM = (Canvas(32, 32, 3), Canvas(64, 32, 3), Canvas(128, 32, 3), Canvas(128, 64, 3))


def real_lines(count: int = 12) -> Lines:
    """Columns of dark squares, five characters each."""
    lines = []
    for k in range(count):
        grey = np.full((100, 22), 210, np.uint8)
        for at in range(5):
            grey[20 * at + 3 : 20 * at + 17, 4:18] = 40
        text = "".join(CHARS[(k + j) % len(CHARS)] for j in range(5))
        lines.append(make_line(f"B__p{k}_1.png", text, grey))
    return gather(lines)


def said_and_shown(data: Data, work: Work) -> list[tuple[str, str]]:
    """For each block of a batch the text of its target, and of its characters."""
    pairs, start = [], 0
    for row, tokens in enumerate(work.tokens.tolist()):
        count = int((work.batch.of_block == row).sum())
        shown = "".join(data.codec.tokens[k] for k in work.characters[start : start + count].tolist())
        pairs.append(("".join(line.text for line in data.codec.decode(tokens)), shown))
        start += count
    return pairs


def test_tight_blocks_fill_narrow_canvases(folder: Path) -> None:
    data = load_data(folder / "data")
    maker: BlockMaker = data.maker(5, replace(SMALL, tight=1.0))
    maker.narrow = SLIM
    seen, lengths = set(), list[int]()
    for work, _ in zip(maker.batches(), range(12), strict=False):
        assert all(said == shown and said for said, shown in said_and_shown(data, work))
        if work.canvas not in SLIM:
            continue
        seen.add(work.canvas)
        for row in range(3):
            boxes = work.batch.boxes[work.batch.of_block == row]
            lengths.append(len(boxes))
            (left, top), (right, bottom) = boxes[:, :2].amin(0).tolist(), boxes[:, 2:].amax(0).tolist()
            assert left >= 0 and top >= 0 and right <= work.canvas.width and bottom <= work.canvas.height
            character = float((boxes[:, 3] - boxes[:, 1]).median())
            across, down = work.canvas.width - (right - left), work.canvas.height - (bottom - top)
            assert min(across, down) <= 0.2 * character + 0.1, "tight from side to side or from top to foot"
            assert (right - left) * (bottom - top) > 0.4 * work.canvas.width * work.canvas.height
    assert len(seen) > 1 and min(lengths) == 1


def test_real_blocks_are_patchwork_and_tight_if_asked(folder: Path) -> None:
    data = replace(load_data(folder / "data"), lines=real_lines())
    assert data.lines is not None
    for patchwork, tight in ((0.0, 0.0), (1.0, 0.0), (0.5, 1.0)):
        recipe = replace(SMALL, real=1.0, patchwork=patchwork, tight_lines=tight)
        maker = data.maker(3, recipe)
        maker.narrow = SLIM
        batches = maker.batches()
        for _ in range(3):
            work = next(batches)
            assert (work.canvas in SLIM) == bool(tight)
            assert all(said == shown and said for said, shown in said_and_shown(data, work))
            lines = [line.text for row in work.tokens.tolist() for line in data.codec.decode(row)]
            whole = sum(line in data.lines.texts for line in lines)
            assert whole == len(lines) if not patchwork else whole < len(lines)
            images, points, _ = Painter(
                GlyphAtlas.load(data.atlas, "cpu"), LineStore.load(data.lines, "cpu")
            ).paint(work)
            assert images.shape[-2:] == (work.canvas.height, work.canvas.width)
            assert len(points) == len(work.characters)


def test_the_painter_shapes_glyphs_and_leaves_places(folder: Path) -> None:
    data = load_data(folder / "data")
    work = next(data.maker(5, SMALL).batches())
    work = replace(work, tokens=work.tokens.long())
    atlas = GlyphAtlas.load(data.atlas, "cpu")
    plain, shaped, again = (Painter(atlas, None, s).paint(work) for s in (0.0, 1.0, 1.0))
    assert torch.equal(plain[1], shaped[1]) and torch.equal(shaped[0], again[0])
    assert (plain[0] - shaped[0]).abs().mean() > 0.005


def test_kept_parts_stay_as_they_are_and_the_others_learn() -> None:
    torch.manual_seed(0)
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=1, stem=(8, 16)))
    run = Run(minutes=1.0, kept=("stem", "encoder"))
    keep(model, run.kept)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    seen, states, _ = model(torch.rand(2, 1, 64, 48), torch.randint(0, 300, (2, 5)), torch.rand(2, 5, 2))
    loss = model.score(states).square().mean() + seen.dense.square().mean()
    take_step(model, make_optimisers(model, run), loss, run, 1.0)
    changed = {
        name.split(".")[0] for name, value in model.state_dict().items() if (value != before[name]).any()
    }
    assert not changed & {"stem", "encoder"} and {"decoder", "dense", "embedding"} <= changed
    with pytest.raises(InputError, match="no part neck, only stem"):
        keep(model, ("neck",))


def test_exams_stay_the_same_however_hard_training_is(folder: Path) -> None:
    data = replace(load_data(folder / "data"), held_out_lines=real_lines())
    atlas, cpu = GlyphAtlas.load(data.atlas, "cpu"), torch.device("cpu")
    hard = replace(SMALL, shaping=1.0, patchwork=1.0, tight=1.0, tight_lines=1.0)
    easy = SMALL.easy
    one, two = (Judge.prepare(data, recipe, atlas, cpu) for recipe in (hard, easy))
    for a, b in zip((*one.drawn, *one.real), (*two.drawn, *two.real), strict=True):
        assert torch.equal(a.images, b.images) and a.tokens == b.tokens
    assert len(one.drawn) == len(one.real) == len(SMALL.canvases)


def test_tight_text_is_not_turned_off_its_canvas() -> None:
    for canvas in NARROW:
        wear = spare_ends(Wear(skew=-2.5, curl=0.018), canvas)
        astray = np.tan(np.deg2rad(abs(wear.skew))) * max(canvas.height, canvas.width) / 2
        assert astray <= 0.07 * min(canvas.height, canvas.width) and wear.curl * canvas.height <= 2.6
        assert canvas.height % 16 == 0 and canvas.width % 16 == 0, "whole features"
    mild = Wear(skew=0.1)
    assert spare_ends(mild, Canvas(64, 48, 1)) == mild


def test_transitions_measure_the_block_and_not_its_canvas(folder: Path) -> None:
    data = load_data(folder / "data")
    maker = data.maker(5, Recipe(canvases=(Canvas(400, 400, 1),), size=(18, 24), small=(14, 18), longest=60))
    _, block = next(
        placed for _ in range(100) for placed in maker._blocks_of_a_page() if len(placed[1].lines) > 2
    )
    larger = replace(block, width=4 * block.width, height=3 * block.height)
    assert maker._target(larger) == maker._target(block)


def test_blocks_begin_small_and_grow(folder: Path) -> None:
    data = load_data(folder / "data")
    canvases = (Canvas(400, 400, 4),)
    lengths = []
    for level in (0.0, 1.0):
        maker = data.maker(3, Recipe(canvases=canvases, size=(14, 16), small=(10, 14), longest=300))
        maker.level = lambda level=level: level
        batches = maker.batches()
        lengths.append(np.mean([(next(batches).tokens != 0).sum(1).float().mean() for _ in range(6)]))
    assert lengths[0] < 0.6 * lengths[1]


def test_held_out_blocks_use_the_held_out_face(folder: Path) -> None:
    data = load_data(folder / "data")
    keys = [face.key for face in data.atlas.faces]
    for held_out, key in ((True, "cwTeXMing"), (False, "one")):
        maker = data.maker(1, Recipe(), held_out)
        assert {keys[maker.fonts.pick(maker.rng, held_out)] for _ in range(5)} == {key}


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
    still = Run(minutes=1, corrupted=0.0, jitter=0.0)
    told = tell_places(points, work.places.long(), (10, 6), still)
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
    run_ = Run(minutes=1, warm_up=10, flat=0.5)
    assert run_.rate(0, 0.0) == pytest.approx(0.1)
    assert run_.rate(99, 0.4) == 1.0
    assert run_.rate(99, 0.75) == pytest.approx(0.51)
    assert run_.rate(99, 1.0) == pytest.approx(0.02)


def test_reading_step_by_step_equals_reading_at_once() -> None:
    torch.manual_seed(0)
    model = Recogniser(ModelSize(300, width=32, heads=2, encoder_layers=1, decoder_layers=2, stem=(8, 16)))
    with torch.no_grad():
        seen = model.look(model.encode(torch.rand(2, 1, 64, 48)))
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
    ],
)
def test_stage_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "stage.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_stage(tmp_path / "stage.toml", 100)


def test_shipped_stage_loads() -> None:
    import tongguocr.train

    stage = load_stage(Path(tongguocr.train.__file__).parent / "stages" / "0.toml", 300)
    assert stage.size.tokens == 300 and stage.run.minutes == 26
    recipe = stage.run.recipe
    assert (recipe.shaping, recipe.patchwork, recipe.tight, recipe.tight_lines) == (1.0, 0.6, 0.1, 0.15)


def test_a_log_that_is_none_gives_one_sentence(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"minutes": 1, "loss": 2}\n{"minutes": 2, "lo')
    assert read_log(log) == [{"minutes": 1, "loss": 2}], "the run may be writing still"
    for text in ("", "[]\n{}", "nothing\n{}"):
        log.write_text(text)
        with pytest.raises(InputError, match=r"log\.jsonl"):
            read_log(log)


def test_bad_weights_and_missing_data(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(b"junk")
    with pytest.raises(InputError, match="these are not weights"):
        load(tmp_path / "x.pt")
    with pytest.raises(InputError, match="no text"):
        load_data(tmp_path)
    assert IGNORED < 0 and Codec.pad == 0, "losses leave out token 0"
