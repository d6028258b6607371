"""The command as a process: killed, ended, twice on one book, for others."""

from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from paths import ROOT
from proofread_books import read_page_of, typed, write_book
from proofread_server import Desk, open_desk, run_proofread

from tongguocr.formats import read_page
from tongguocr.proofread.journal import open_journal

WORDS = "一二三四五六七八九十"


def edits_until_killed(desk: Desk, client: str, answered: list[str], sent: list[str]) -> None:
    """Lines added one after the other, whose ids tell which were answered."""
    for k in range(10_000):
        line = {"id": f"{client}-{k}", "box": [0, 0, 20, 20], "text": WORDS[k % 10] * (1 + k % 50)}
        call = {"base": 0, "client": client, "id": line["id"], "edits": [{"op": "add", "line": line}]}
        sent.append(str(line["id"]))
        try:
            status, _ = desk.ask("/api/pages/1/edits", call)
        except (OSError, HTTPException):
            return
        assert status == 200
        answered.append(str(line["id"]))


@pytest.mark.slow
def test_whatever_was_answered_outlives_a_killed_server(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book")
    answered: dict[str, list[str]] = {}
    sent: dict[str, list[str]] = {}
    dice = random.Random(7)
    for attempt in range(4):
        with open_desk(folder, "--no-read") as desk:
            clients = [f"{attempt}{name}" for name in "ab"]
            threads = [
                threading.Thread(
                    target=edits_until_killed,
                    args=(desk, name, answered.setdefault(name, []), sent.setdefault(name, [])),
                )
                for name in clients
            ]
            for thread in threads:
                thread.start()
            while not all(len(answered[name]) > 3 for name in clients):
                time.sleep(0.01)
            time.sleep(dice.random())
            desk.kill()
            for thread in threads:
                thread.join()
    with open_desk(folder, "--no-read") as desk:
        page = desk.ask("/api/pages/1")[1]["page"]
        there = {line["id"] for line in page["lines"]}
        for name, ids in answered.items():
            assert set(ids) <= there, "an edit that was answered is lost"
            # At most the one that was under way may be there without an answer.
            assert {one for one in there if one.startswith(f"{name}-")} <= set(sent[name])
        # What was under way is sent again, and is there once.
        for name, ids in sent.items():
            line = {"id": ids[-1], "box": [0, 0, 20, 20], "text": "末"}
            call = {"base": 0, "client": name, "id": ids[-1], "edits": [{"op": "add", "line": line}]}
            assert desk.ask("/api/pages/1/edits", call)[0] == 200
        desk.process.send_signal(signal.SIGTERM)
        assert desk.process.wait(60) == 0
    stored = read_page(folder / "p1.json")
    assert {line.id for line in stored.lines} == there | {ids[-1] for ids in sent.values()}
    assert [line.id for line in stored.lines[:3]] == ["l1", "l2", "l3"]
    assert read_page(folder / "machine" / "p1.json").text == read_page_of("p1").text
    assert read_page(folder / "p1.page.xml").text == stored.text
    journal = open_journal(folder / "p1.journal.jsonl")
    assert [row["v"] for row in journal.rows] == list(range(1, journal.version + 1))


def test_files_are_written_within_the_second_and_at_the_end(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book", 2)
    with open_desk(folder, "--no-read") as desk:
        call = {"base": 0, "client": "a", "who": "某", "edits": [typed("l1", 0, "甲")]}
        assert desk.ask("/api/pages/1/edits", call)[0] == 200
        assert (folder / "p1.journal.jsonl").read_bytes().count(b"\n") == 2
        while not (folder / "changes.tsv").exists():
            time.sleep(0.02)
        assert read_page(folder / "p1.json").text.startswith("甲地")
        # The latest edits are written on the way out.
        assert desk.ask("/api/pages/2/edits", call)[0] == 200
        desk.process.send_signal(signal.SIGINT)
        assert desk.process.wait(60) == 0
    assert read_page(folder / "p2.json").text.startswith("甲地")
    assert (folder / "changes.tsv").read_text().count("甲") == 2
    assert not (folder / ".proofread" / "address").exists()


def test_events_reach_everybody_and_end_with_the_server(tmp_path: Path) -> None:
    with open_desk(write_book(tmp_path / "book"), "--no-read") as desk:
        listening = HTTPConnection(urlsplit(desk.address).netloc, timeout=60)
        listening.request("GET", "/api/events")
        stream = listening.getresponse()
        assert stream.headers.get_content_type() == "text/event-stream"
        assert stream.readline() == b"retry: 1000\n"
        call = {"base": 0, "client": "a", "who": "某", "edits": [typed("l1", 0, "甲")]}
        desk.ask("/api/pages/2/edits", call)
        events = []
        while not any(event["type"] == "changed" and event["version"] == 2 for event in events):
            row = stream.readline()
            if row.startswith(b"data: "):
                events.append(json.loads(row[6:]))
        assert (events[-1]["page"], events[-1]["client"], events[-1]["who"]) == (2, "a", "某")
        desk.process.send_signal(signal.SIGTERM)
        assert desk.process.wait(60) == 0
        stream.read()
        listening.close()


@pytest.mark.slow
def test_a_book_has_one_server_at_a_time(tmp_path: Path) -> None:
    folder = write_book(tmp_path / "book")
    with open_desk(folder, "--no-read") as desk:
        second = run_proofread(folder, "--port", 0, "--no-browser")
        assert second.returncode == 2
        assert f"this book is open already, at {desk.address}" in second.stderr
        desk.kill()
    with open_desk(folder, "--no-read") as desk:
        assert desk.ask("/api/book")[0] == 200


def test_for_others_there_is_a_token(tmp_path: Path) -> None:
    with open_desk(write_book(tmp_path / "book"), "--no-read", "--host", "0.0.0.0") as desk:
        path, _, query = desk.address.partition("?")
        assert query.startswith("token=") and len(query) > 30
        assert desk.ask("/api/book")[0] == 401
        assert desk.ask(f"/?{query}")[0] == 303
        assert path.startswith("http://127.0.0.1:")


@pytest.mark.slow
def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    folder, locked = (write_book(tmp_path / name) for name in ("book", "locked"))
    # As in a folder that can only be read.
    (locked / ".proofread" / "lock").mkdir(parents=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        wrong: list[tuple[object, ...]] = [
            (tmp_path / "gone",),
            (folder, "--port", taken.getsockname()[1]),
            (folder, "--weights", tmp_path),
            (folder, "--engine", "none"),
            (folder, "--token", "two words"),
            (locked,),
        ]
        for arguments in wrong:
            done = run_proofread(*arguments, "--no-browser")
            assert done.returncode == 2, arguments
            assert done.stderr.startswith("tongguocr: ") and done.stderr.count("\n") == 1, done.stderr
            assert done.stdout == ""


@pytest.mark.slow
def test_pages_are_read_in_the_background_and_again(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    for name in ("p1", "p2"):
        shutil.copy(ROOT / "examples" / "page.jpg", folder / f"{name}.jpg")
    (folder / "p3.jpg").write_bytes(b"no picture")
    with open_desk(folder) as desk:
        # A page that nobody read yet has its size and no lines.
        page = desk.ask("/api/pages/2")[1]
        assert page["page"]["width"] > 0

        def states() -> list[str]:
            return [page["state"] for page in desk.ask("/api/book")[1]["pages"]]

        while states() != ["read", "read", "failed"]:
            time.sleep(0.1)
        assert "p3.jpg" in desk.ask("/api/book")[1]["pages"][2]["message"]
        assert read_page(folder / "p1.json").text.startswith("大學之道")
        call = {"base": 0, "client": "a", "edits": [typed("l1", 0, "太"), {"op": "delete", "line": "l2"}]}
        assert desk.ask("/api/pages/1/edits", call)[0] == 200
        assert desk.ask("/api/pages/1/read", {"keepLines": True})[0] == 202
        while (page := desk.ask("/api/pages/1")[1])["version"] < 3:
            time.sleep(0.1)
        assert page["page"]["lines"][0]["text"].startswith("大學之道")
        assert "l2" not in {line["id"] for line in page["page"]["lines"]}
        assert desk.ask("/api/pages/1/read", {"keepLines": False})[0] == 202
        while (page := desk.ask("/api/pages/1")[1])["version"] < 4:
            time.sleep(0.1)
        assert "l2" in {line["id"] for line in page["page"]["lines"]}
        assert [record["kind"] for record in desk.ask("/api/pages/1/history")[1]] == [
            "read",
            "edits",
            "read",
            "read",
        ]


if sys.platform == "win32":
    pytestmark = pytest.mark.skip("Windows has no such signals.")
