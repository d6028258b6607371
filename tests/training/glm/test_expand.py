"""New tokens and their rows: what is added, what stays, and that nothing is lost on the way to a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from commands import run_here
from glm_models import COMMON, RARE, SIZE, make_pretrained

from tongguocr.cli import main
from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.errors import InputError
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.glm.expand import expand, read_added

OTHERS = "永和九年abc 。，\u8c48"


def same(first: object, second: object) -> bool:
    a, b = (model.state_dict() for model in (first, second))  # type: ignore[attr-defined]
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_added_characters_are_one_token_and_others_as_before() -> None:
    before = make_pretrained()
    old = {char: before.prompt.encode(char) for char in COMMON + RARE + OTHERS}
    assert all(len(old[char]) == 1 for char in COMMON) and all(len(old[char]) > 1 for char in RARE)
    after, added = expand(before, [*COMMON, *RARE])
    assert (added.characters, added.known, added.transitions) == (len(RARE), len(COMMON), 24)
    for char in RARE:
        assert len(after.prompt.encode(char)) == 1
    for char in [*COMMON, *OTHERS]:
        assert after.prompt.encode(char) == old[char]
    mixed = "".join(RARE) + "<left|far_up>" + OTHERS + "<down>"
    ids = after.prompt.encode(mixed)
    assert after.prompt.tokenizer.decode(ids, skip_special_tokens=True) == mixed, "nothing is special"
    assert sum(token in after.prompt.transitions for token in ids) == 2
    again, more = expand(after, [*RARE, "永"])
    assert (more.characters, more.transitions) == (1, 0) and len(again.prompt.transitions) == 24


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rows", [0, 400])
def test_rows_grow_and_old_ones_stay(tied: bool, rows: int, tmp_path: Path) -> None:
    before = make_pretrained(replace(SIZE, tied=tied, rows=rows))
    had, tokens = before.rows, len(before.prompt.spellings)
    old_in = before.model.get_input_embeddings().weight.detach().clone()
    after, added = expand(before, RARE)
    count = tokens + 24 + len(RARE)
    assert added.tokens == (tokens, count) and after.rows >= count
    assert added.spare == max(min(had, count) - tokens, 0)
    assert after.rows == had if had >= count else after.rows % 64 == 0
    for table in (after.model.get_input_embeddings(), after.model.get_output_embeddings()):
        assert table.weight.shape[0] == after.rows
    assert torch.equal(after.model.get_input_embeddings().weight[:had], old_in)
    assert (
        after.model.config.text_config.vocab_size == after.rows == after.model.model.language_model.vocab_size
    )
    save_pretrained(after, tmp_path / "m")
    back = load_pretrained(str(tmp_path / "m"))
    assert same(after.model, back.model) and back.size == after.size and back.prompt.encode(RARE)
    assert back.model.config.tie_word_embeddings is tied
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"], "nothing is left beside it"


def test_default_rows_are_all_but_equal_and_spread_ones_are_not() -> None:
    close, apart = (
        expand(make_pretrained(replace(SIZE, rows=0)), RARE, start=way)[0] for way in ("default", "spread")
    )
    ids = [close.prompt.tokenizer.token_to_id(token) for token in (*RARE, *TRANSITIONS)]
    cosines = []
    for model in (close.model, apart.model):
        rows = model.get_input_embeddings().weight[ids].detach()
        cosine = torch.corrcoef(rows)
        cosines.append(cosine[~torch.eye(len(ids), dtype=torch.bool)])
    assert cosines[0].min() > 0.999 and cosines[1].min() < 0.5
    before = make_pretrained(replace(SIZE, rows=0))
    for side in ("get_input_embeddings", "get_output_embeddings"):
        old, new = (getattr(f.model, side)().weight.detach() for f in (before, apart))
        pieces = before.prompt.encode(RARE[0])
        mean, row = old[pieces].mean(0), new[apart.prompt.tokenizer.token_to_id(RARE[0])]
        assert torch.nn.functional.cosine_similarity(mean, row, dim=0) > 0.95
        newline = old[before.prompt.encode("\n")[0]]
        assert torch.nn.functional.cosine_similarity(newline, new[ids[-1]], dim=0) > 0.95


def test_lists_of_characters(tmp_path: Path) -> None:
    path = tmp_path / "added.txt"
    path.write_bytes("㫖\r\n䟽\n㫖\n".encode())
    assert read_added(path) == ["㫖", "䟽"]
    for content, sentence in (("㫖䟽\n", "line 1"), ("㫖\na\n", "line 2"), ("\n\n", "no characters")):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=rf"added\.txt: .*{sentence}"):
            read_added(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pretrained(make_pretrained(), tmp_path / "m")
    (tmp_path / "added.txt").write_text("".join(f"{char}\n" for char in RARE), encoding="utf-8")
    command = ["expand", tmp_path / "m", "--added", tmp_path / "added.txt", "-o", tmp_path / "out"]
    result = run_here(*command)
    assert result.returncode == 0, result.stderr
    assert "4 characters and 24 transitions added" in result.stdout and not result.stderr
    assert load_pretrained(str(tmp_path / "out")).prompt.encode(RARE[:2])
    bad = {
        "there is no such file": [
            "expand",
            tmp_path / "m",
            "--added",
            tmp_path / "no",
            "-o",
            tmp_path / "o2",
        ],
        "nothing to add": ["expand", tmp_path / "m", "--no-transitions", "-o", tmp_path / "o2"],
        "one of default, spread": ["expand", tmp_path / "m", "--start", "x", "-o", tmp_path / "o2"],
        "no such folder": ["expand", tmp_path / "none", "-o", tmp_path / "o2"],
    }
    for sentence, arguments in bad.items():
        assert main([str(a) for a in arguments]) == 2
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "o2").exists()
