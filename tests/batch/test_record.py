"""What results were made from: another book or other settings never count as done."""

from __future__ import annotations

import json
import random
import shutil
from functools import partial
from pathlib import Path

import pytest
from job_readers import do, files, open_refused, open_shades, pages_of, write_pages

from tongguocr.batch import RECORD, Job, describe_setup
from tongguocr.batch.locks import PageLocks
from tongguocr.errors import InputError
from tongguocr.formats import Style
from tongguocr.reader import Setup
from tongguocr.sources import MemoryFile

TXT = ("txt",)


def test_another_book_of_the_same_names_is_not_done_before(tmp_path: Path) -> None:
    one, two = (
        write_pages(tmp_path / name, {"p1": k, "p2": k + 2}) for k, name in ((1, "vol1"), (2, "vol2"))
    )
    out = tmp_path / "out"
    do(pages_of(one), Job(out))
    before = files(out)
    with pytest.raises(InputError) as refused:
        do(pages_of(two), Job(out))
    sentence = str(refused.value)
    assert (
        "p1 and 1 more pages" in sentence
        and str(one / "p1.png") in sentence
        and str(two / "p1.png") in sentence
    )
    assert "--again" in sentence and "\n" not in sentence and files(out) == before
    assert {end.state for end in do(pages_of(one), Job(out), open_refused).values()} == {"done"}
    # A third book, whose names are its own, is welcome, and so is the second once it is to replace the first.
    do(pages_of(write_pages(tmp_path / "vol3", {"p9": 9})), Job(out))
    assert {end.state for end in do(pages_of(two), Job(out, again=True)).values()} == {"read"}
    assert {end.state for end in do(pages_of(two), Job(out), open_refused).values()} == {"done"}
    with pytest.raises(InputError, match="vol2"):
        do(pages_of(one), Job(out))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"style": Style(script="simplified")}, "script keep, not simplified"),
        ({"style": Style(notes="inline", flow=True)}, "notes as ever, not inline; flow no, not yes"),
        (
            {"settings": {"engine": "rapidocr", "weights": "../w"}},
            "engine tongguocr, not rapidocr; weights the package's, not ../w",
        ),
    ],
)
def test_other_settings_are_not_done_before(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    pages, out = pages_of(write_pages(tmp_path / "in", {"p1": 1})), tmp_path / "out"
    usual = Job(out, TXT, settings={"engine": "tongguocr", "weights": "the package's"})
    other = Job(**{"out": out, "formats": TXT, "settings": usual.settings, **changes})  # type: ignore[arg-type]
    do(pages, usual)
    with pytest.raises(InputError, match=said):
        do(pages, other)
    assert {end.state for end in do(pages, usual, open_refused).values()} == {"done"}
    # Where there is nothing to be skipped or overwritten, settings may be others.
    (out / "p1.txt").unlink()
    assert do(pages, other)["p1"].state == "read"
    with pytest.raises(InputError, match="not"):
        do(pages, usual)


def test_each_format_has_a_record_of_its_own(tmp_path: Path) -> None:
    pages, out = pages_of(write_pages(tmp_path / "in", {"p1": 1})), tmp_path / "out"
    inline = Style(notes="inline")
    do(pages, Job(out, ("txt", "json")))
    # JSON holds notes in any case.
    assert do(pages, Job(out, ("json",), style=inline), open_refused)["p1"].state == "done"
    do(pages, Job(out, ("md",), style=inline))
    assert do(pages, Job(out, ("txt", "json")), open_refused)["p1"].state == "done"
    with pytest.raises(InputError, match="notes"):
        do(pages, Job(out, ("json", "md")))


def test_the_folders_may_be_moved_and_the_record_may_be_missing(tmp_path: Path) -> None:
    write_pages(tmp_path / "a" / "in", {"p1": 1})
    do(pages_of(tmp_path / "a" / "in"), Job(tmp_path / "a" / "out"))
    shutil.move(tmp_path / "a", tmp_path / "b")
    pages, out = pages_of(tmp_path / "b" / "in"), tmp_path / "b" / "out"
    assert do(pages, Job(out), open_refused)["p1"].state == "done"
    # Results of earlier versions count as done, and are not said to be of this job.
    (out / RECORD).unlink()
    other = pages_of(write_pages(tmp_path / "c", {"p1": 2, "p2": 3}))
    assert {name: end.state for name, end in do(other, Job(out)).items()} == {"p1": "done", "p2": "read"}
    assert do(pages, Job(out), open_refused)["p1"].state == "done"
    (out / RECORD).write_text("{}")
    with pytest.raises(InputError, match=RECORD):
        do(pages, Job(out))


def test_files_in_memory_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    from tongguocr.batch.listing import list_source

    folder, out = write_pages(tmp_path / "in", {"a": 1, "b": 2}), tmp_path / "out"
    one, two = (
        list(list_source(MemoryFile("standard input", "stdin", (folder / name).read_bytes())).pages)
        for name in ("a.png", "b.png")
    )
    assert (
        do(one, Job(out))["stdin"].state == "read"
        and do(one, Job(out), open_refused)["stdin"].state == "done"
    )
    with pytest.raises(InputError, match="standard input"):
        do(two, Job(out))


def test_another_process_of_other_settings_is_told(tmp_path: Path) -> None:
    pages, out = pages_of(write_pages(tmp_path / "in", {"p1": 1})), tmp_path / "out"
    do(pages, Job(out))
    (out / "p1.txt").unlink()
    (out / "p1.json").unlink()
    with PageLocks(out), pytest.raises(InputError, match="script keep, not simplified"):
        do(pages, Job(out, style=Style(script="simplified")))


def test_the_record_does_not_hang_on_how_often_a_job_was_stopped(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "in", {f"p{k}": 30 + k for k in range(8)})
    pages, read = pages_of(folder), partial(open_shades, tmp_path / "log")
    do(pages, Job(tmp_path / "one"), read)
    chance = random.Random(3)
    for _ in range(3):
        do(chance.sample(pages, 4), Job(tmp_path / "two"), read)
    do(pages, Job(tmp_path / "two"), read)
    one, two = (json.loads((tmp_path / name / RECORD).read_bytes()) for name in ("one", "two"))
    assert one == two and len(one["jobs"]) == 1


def test_settings_in_words(tmp_path: Path) -> None:
    usual = describe_setup(Setup(), tmp_path)
    assert describe_setup(Setup(reread=True), tmp_path) == usual | {"reread": "yes"}
    assert usual == describe_setup(Setup(threads=3, url="http://localhost:1"), tmp_path), (
        "these change nothing"
    )
    assert usual["engine"] == "tongguocr" and usual["weights"] == usual["language"] == "the package's"
    other = describe_setup(
        Setup(weights=tmp_path / "w", language=None, turn=False, direction="horizontal"), tmp_path
    )
    assert {key: other[key] for key in other if other[key] != usual[key]} == {
        "weights": "w",
        "language": "none",
        "turn": "no",
        "direction": "horizontal",
    }
