"""The paper's tables by the command, on made-up data sets of the published shapes and tiny models."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch
from commands import run_here
from glm_models import make_pretrained
from labelled_pages import CHARS, CODEC, SIZE
from paper_data import write_data, write_stages

from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.engines.weights import CODEC as CODEC_FILE
from tongguocr.evaluate.files import evaluate
from tongguocr.evaluate.metrics import METRICS
from tongguocr.training.glm.stage import GlmBlockStage
from tongguocr.training.loop import _Loop
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.restore import save_model
from tongguocr.training.reproduce import reading, run, scored_pages
from tongguocr.training.reproduce.chain import find_family, train_apart
from tongguocr.training.reproduce.families import load_stages
from tongguocr.training.reproduce.tables import OCCURRENCES, TABLES
from tongguocr.training.stage import find_stage, load_glm_page_stage, load_stage

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.slow]

ADDED = CHARS[3:]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_data(tmp_path_factory.mktemp("paper"))
    save_pretrained(make_pretrained(), root / "bare")
    (root / "added.txt").write_text("".join(f"{char}\n" for char in ADDED), encoding="utf-8")
    return root


def command(root: Path, table: int, out: str, *more: object, glm: bool = True) -> list[object]:
    start = root / "bare" if glm else root / "small" / "model.pt"
    data = [x for kind in ("hisdoc1b", "mthv2", "m5hisdoc") for x in ("--pages", f"{kind}={root / kind}")]
    words = ["reproduce", table, *data, "--start", start, "--added", root / "added.txt", "--device", "cpu"]
    return [*words, "--stages", write_stages(root, glm), "--lines", "given", "--out", root / out, *more]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def runs(root: Path, out: str) -> list[str]:
    return sorted(path.name.rsplit("-", 1)[0] for path in (root / out / "runs").iterdir())


def test_tables_5_to_9_share_their_runs(root: Path) -> None:
    before = list[str]()
    trained = {5: 2, 6: 6, 7: 3, 8: 0, 9: 3}
    for table, count in trained.items():
        done = run_here(*command(root, table, "all"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("training stage") == count, f"table {table} shares runs with those before"
        after = runs(root, "all")
        assert len(after) == len(before) + count
        before = after
        for suffix in ("md", "tex", "csv"):
            assert (root / "all" / f"table-{table}.{suffix}").exists()
    assert [name for name in before if name.startswith("3-")] == ["3-block-vt-1"]
    five, nine = (rows_of(root / "all" / f"table-{table}.csv") for table in (5, 9))
    assert [(row["SFT"], row["Infer."]) for row in five if row["whose"] == "here"] == [
        ("Page", "Page"),
        ("Page", "Block"),
        ("Block", "Page"),
        ("Block", "Block"),
    ]
    assert five[-1]["AR"] == "89.69" and nine[-1]["RO-ED"] == "3.49", "the paper's figures stand beside ours"
    assert all(row[name] for row in five for name in METRICS)
    shown = (root / "all" / "table-5.md").read_text(encoding="utf-8")
    assert "| Block | Page | here |" in shown and "|  |  | paper | 68.47 |" in shown
    eight = rows_of(root / "all" / "table-8.csv")
    assert {row["whose"] for row in eight} == {"here", "paper"} and all(
        row[n] for row in eight for n in OCCURRENCES
    )
    latex = (root / "all" / "table-9.tex").read_text(encoding="utf-8")
    assert r"AR$\uparrow$" in latex and latex.count(r" \\") == 7


def test_the_large_data_set_is_for_the_first_stage_of_table_9_alone(root: Path) -> None:
    run_here(*command(root, 9, "all"))
    files = [
        (path.parent.name[:7], path.read_text()) for path in (root / "all" / "runs").glob("*/stage.toml")
    ]
    assert [name for name, text in files if '"hisdoc1b"' in text] == ["1-page-"]


def test_predictions_are_kept_and_score_the_same(root: Path) -> None:
    run_here(*command(root, 7, "all"))
    (test,) = (root / "all" / "predictions").glob("m5hisdoc-*")
    model = next((root / "all" / "runs").glob("1-block-vt-1-*"))
    default = rows_of(root / "all" / "table-7.csv")[-2]
    figures = []
    for folder in test.glob(f"{model.name}-block-*"):
        found = evaluate(folder, test / "reference", "paper")
        figures.append([f"{found[name]:.3f}" for name in METRICS])
    assert [f"{float(default[name]):.3f}" for name in METRICS] in figures


def test_what_is_done_is_not_done_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(*command(root, 5, "all"))
    before = {path: path.read_bytes() for path in (root / "all").glob("table-5.*")}
    monkeypatch.setattr(reading, "inputs_of", None)
    again = run_here(*command(root, 5, "all"))
    assert again.returncode == 0 and "training stage" not in again.stdout
    assert {path: path.read_bytes() for path in (root / "all").glob("table-5.*")} == before


def test_a_killed_table_goes_on_to_the_same_figures(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of training, then in the middle of reading."""
    save, read = _Loop._validate, reading.inputs_of
    count = {"validations": 0, "pages": 0}

    def killed_in_training(self: _Loop) -> None:
        save(self)
        count["validations"] += 1
        if count["validations"] == 2:
            raise KeyboardInterrupt

    def killed_in_reading(*given: object) -> object:
        count["pages"] += 1
        if count["pages"] == 3:
            raise KeyboardInterrupt
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "TOGETHER", 1)
    with monkeypatch.context() as patched:
        patched.setattr(_Loop, "_validate", killed_in_training)
        assert run_here(*command(root, 7, "killed")).returncode == 130
    with monkeypatch.context() as patched:
        patched.setattr(reading, "inputs_of", killed_in_reading)
        assert run_here(*command(root, 7, "killed")).returncode == 130
    assert not (root / "killed" / "table-7.csv").exists()
    assert run_here(*command(root, 7, "killed")).returncode == 0
    run_here(*command(root, 7, "all"))
    ours, theirs = ((root / out / "table-7.csv").read_text() for out in ("killed", "all"))
    assert ours == theirs


def test_lost_pages_stay_in_the_mean(root: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    half = data / "m5hisdoc" / "M5HisDoc_regular"
    (half / "images" / "p9.png").unlink()
    (half / "label_textline" / "p10.txt").write_text("nonsense\n", encoding="utf-8")
    words = command(root, 5, "lost", "--test", f"m5hisdoc-regular={data / 'm5hisdoc'}")
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("counts as lost") >= 2
    assert "3 test pages of m5hisdoc-regular, 2 of them lost" in done.stdout
    row = rows_of(root / "lost" / "table-5.csv")[-2]
    assert float(row["NED"]) >= 66 and float(row["RO-ED"]) >= 66 and float(row["CR"]) <= 34


def test_other_switches_make_other_rows(root: Path) -> None:
    run_here(*command(root, 5, "all"))
    before = set((root / "all" / "runs").iterdir())
    done = run_here(*command(root, 5, "all", "--guard", "on", "--canvas", "trained", "--side", "trained"))
    assert (
        done.returncode == 0
        and "Not as by default: canvas trained, side trained, lines given, guard on" in done.stdout
    )
    assert set((root / "all" / "runs").iterdir()) == before, "how pages are shown changes no training"
    (test,) = (root / "all" / "predictions").glob("m5hisdoc-*")
    assert len(list(test.glob("*-page-vt-1-*-block-*"))) >= 2
    done = run_here(*command(root, 6, "reading", "--lambdas", "reading"))
    assert done.stdout.count("training stage") == 1, "one model reads pages cut in seven ways"
    done = run_here(*command(root, 5, "chain", "--chain", "all", "--minutes", "0.001", "--seeds", "2"))
    assert done.stdout.count("training stage") == 8, (
        "two stages shared, then one for pages and one for blocks, twice"
    )
    assert "±" in done.stdout and "2 seeds" in done.stdout and "0.001 minutes" in done.stdout


def test_tables_3_and_4_have_ours_others_and_the_paper_s(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        run, "open_system", lambda name, given: lambda page: [line.text for line in page.lines]
    )
    for table, test in ((3, "mthv2"), (4, "m5hisdoc")):
        done = run_here(*command(root, table, "all", "--systems", "tesseract"))
        assert done.returncode == 0, done.stderr
        rows = rows_of(root / "all" / f"table-{table}.csv")
        assert [row["Method"] for row in rows[:2]] == ["TongGuOCR, trained here", "Tesseract, as it comes"]
        assert (
            rows[1]["AR"] == "100.0"
            and rows[-1]["Method"] == "TongGuOCR"
            and f"pages of {test}" in done.stdout
        )
    assert len(rows) == 2 + 34
    trained = next((root / "all" / "runs").glob("3-block-*")) / "model"
    assert load_pretrained(str(trained)).prompt.transitions
    words = list(command(root, 4, "given", "--systems", "none", "--model", trained))
    done = run_here(*words[: words.index("--start")], *words[words.index("--added") :])
    assert done.returncode == 0 and "the weights of --model" in done.stdout, done.stderr


def test_the_small_recogniser_s_rows(root: Path) -> None:
    small = root / "small"
    small.mkdir(exist_ok=True)
    save_model(Recogniser(SIZE), small / "model.pt")
    CODEC.save(small / CODEC_FILE)
    done = run_here(*command(root, 7, "small-out", "--most", "1", glm=False))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("training stage") == 4
    done = run_here(*command(root, 5, "small-out", "--guard", "on", "--most", "1", glm=False))
    assert done.returncode == 0 and done.stdout.count("training stage") == 1, done.stderr


def test_the_shipped_stages_of_the_tables() -> None:
    paper = load_stages(("full-1", "full-2", "full-3"), find_family("bare"))
    drawn = load_stages(("full-table-1", "full-table-2", "full-table-3"), find_family("bare"))
    small = load_stages(("1", "2", "3"), find_family("model.pt"))
    for stages in (paper, drawn, small):
        assert [stage.pages.granularity for stage in stages] == ["page", "page", "block"]
        assert [stage.pages.longest_side for stage in stages] == [768, 1024, 1024]
    assert len({stage.run.limits for stage in drawn}) == 1 and not drawn[0].pages.kinds
    base = load_stage(find_stage("full-drawn-base"))
    assert isinstance(base, GlmBlockStage) and not base.settings.transitions


def test_a_run_of_its_own_process_is_the_same(root: Path) -> None:
    """As on a GPU, where what makes batches must be forked before the device is touched."""
    run_here(*command(root, 5, "all"))
    stage = next((root / "all" / "runs").glob("1-block-vt-1-*")) / "stage.toml"
    settings = load_glm_page_stage(stage)
    start = next((root / "all" / "starts").glob("vt-*"))
    sources = [("mthv2", root / "mthv2"), ("m5hisdoc", root / "m5hisdoc")]
    train_apart(settings, sources, str(start), True, root / "apart", torch.device("cpu"))
    runs = (stage.parent, root / "apart")
    ours, theirs = (load_pretrained(str(run / "model")).model.state_dict() for run in runs)
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in ours)


@pytest.mark.parametrize("table", TABLES)
def test_a_dry_run_says_what_is_missing(table: int, root: Path) -> None:
    bare = run_here("reproduce", table, "--dry-run")
    assert bare.returncode == 0 and "MISSING, give --pages m5hisdoc=DIR" in bare.stdout
    assert "GPU hours of an H200" in bare.stdout and "MISSING, give --start" in bare.stdout
    assert ("hisdoc1b" in bare.stdout) == (table in (3, 4, 9))
    full = run_here(*command(root, table, "dry", "--dry-run", "--minutes", "6", "--seeds", "2"))
    assert full.returncode == 0 and "MISSING" not in full.stdout and not (root / "dry").exists()
    assert "2 of 2 seeds left" in full.stdout


def test_a_dry_run_knows_what_is_done_and_settings_of_the_machine_change_nothing(root: Path) -> None:
    run_here(*command(root, 5, "all"))
    words = command(root, 5, "all", "--dry-run")
    assert run_here(*words).stdout.count(", done: 0.0 GPU hours") == 2
    for path in write_stages(root, glm=True).split(","):
        text = Path(path).read_text(encoding="utf-8")
        Path(path).write_text(text.replace("checkpointing = false", "batch_tokens = 99"), encoding="utf-8")
    assert run_here(*words).stdout.count(", done: 0.0 GPU hours") == 2


TEST_NOTHING = ("reproduce", 4, "--systems", "none", "--test")


def test_what_does_not_go_together_is_a_sentence(root: Path) -> None:
    words = command(root, 5, "bad")
    start = words.index("--start")
    added = words.index("--added")
    bad = {
        "Say with --start": words[:start] + words[start + 2 :],
        "need --added": words[:added] + words[added + 2 :],
        "Say with --out": words[:-2],
        "three stage files": [*words, "--stages", "a,b"],
        "is tested on m5hisdoc": ["reproduce", 5, "--out", root / "bad"],
        "not one on labelled pages for the weights": [*words, "--stages", write_stages(root, False)],
        "is not more than 0": [*words, "--minutes", "0"],
        "There is nothing to read with": [
            *TEST_NOTHING,
            f"m5hisdoc={root / 'm5hisdoc'}",
            "--out",
            root / "x",
        ],
    }
    for sentence, given in bad.items():
        done = run_here(*given)
        assert done.returncode == 2 and sentence in done.stderr, (sentence, done)


def test_rows_without_a_part_need_weights_without_it(root: Path) -> None:
    run_here(*command(root, 5, "all"))
    expanded = next((root / "all" / "starts").glob("vt-*"))
    words = command(root, 7, "twice")
    words[words.index("--start") + 1] = expanded
    done = run_here(*words)
    assert done.returncode == 2 and "have transitions already" in done.stderr
    assert scored_pages.SPLIT == ("mthv2", "m5hisdoc")
