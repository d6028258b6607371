"""The ablation grid: rows trained and scored, and one table of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from glm_models import SHORT_STAGE, make_pretrained
from labelled_pages import CHARS, write_pages

from tongguocr.cli import main
from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.evaluate.metrics import METRICS
from tongguocr.training.glm.ablate import read_grid

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("grid")
    write_pages(root / "mine", 3, columns=2, length=3)
    (root / "stage.toml").write_text(SHORT_STAGE, encoding="utf-8")
    return root


def test_a_grid_gives_the_paper_s_table(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pretrained(make_pretrained(), root / "bare")
    (root / "added.txt").write_text("".join(f"{char}\n" for char in CHARS), encoding="utf-8")
    pages = f"folder={root / 'mine'}"
    grid = f"""
[base]
model = "{root / "bare"}"
added = "{root / "added.txt"}"
pages = ["{pages}"]
test = ["{pages}"]
stages = ["{root / "stage.toml"}"]
[[row]]
name = "neither"
vocabulary = false
transitions = false
[[row]]
name = "page-page"
train = "page"
read = "page"
weights = [1.0, 2.0, 1.0]
"""
    (root / "grid.toml").write_text(grid, encoding="utf-8")
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()[-3:]
    assert head.split() == ["Row", "Vocab.", "Trans.", "SFT", "Infer.", "Weights", "Stages", *METRICS]
    assert first.split()[:5] == ["neither", "--", "--", "block", "block"]
    assert second.split()[:6] == ["page-page", "yes", "yes", "page", "page", "(1,2,1)"]
    assert len(first.split()) == len(head.split()) and float(first.split()[-1]) >= 0
    model = load_pretrained(str(root / "grid" / "page-page" / "1" / "model"))
    assert model.prompt.transitions and len(model.prompt.encode(CHARS)) == len(CHARS)
    assert not load_pretrained(str(root / "grid" / "neither" / "1" / "model")).prompt.transitions
    result = (root / "grid" / "neither" / "result.json").read_bytes()
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 0
    assert (root / "grid" / "neither" / "result.json").read_bytes() == result
    assert "Epoch" not in capsys.readouterr().out, "what is done is not done again"
    (root / "grid.toml").write_text(grid.replace("[1.0, 2.0, 1.0]", "[4.0, 2.0, 1.0]"), encoding="utf-8")
    assert main(["ablate", str(root / "grid.toml"), "--out", str(root / "grid"), "--device", "cpu"]) == 2
    assert "result of another grid" in capsys.readouterr().err


def test_grids_that_are_none(tmp_path: Path) -> None:
    base = '[base]\nmodel = "m"\nadded = "a"\npages = ["folder=x"]\ntest = ["folder=x"]\n'
    bad = {
        "a table .base.": "[[row]]\nname = 'a'\n",
        "model is missing": "[base]\n[[row]]\nname = 'a'\n",
        "name of letters": base + "[[row]]\nname = 'a/b'\n",
        "a name of its own": base + "[[row]]\nname = 'a'\n[[row]]\nname = 'a'\n",
        "page or block": base + "[[row]]\nname = 'a'\nread = 'line'\n",
        "has no setting": base + "[[row]]\nname = 'a'\nvocab = true\n",
        "protocol is one of": base.replace("[base]", "[base]\nprotocol = 'x'") + "[[row]]\nname = 'a'\n",
    }
    for sentence, content in bad.items():
        (tmp_path / "grid.toml").write_text(content)
        with pytest.raises(InputError, match=rf"grid\.toml: .*{sentence}"):
            read_grid(tmp_path / "grid.toml")
