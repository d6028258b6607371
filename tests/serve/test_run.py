"""`tongguocr serve` as a process: it says where it is, reads, ends cleanly, and fails in one sentence."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from paths import EXAMPLES
from serve_models import as_process, ask, complaint, form, question

from tongguocr.batch.pool import share_cores
from tongguocr.cli import main
from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.formats.page_json import render_json
from tongguocr.serve.run import MANY, Service, open_socket, read_key, share
from tongguocr.sources import load_pixels


def test_the_shipped_engine_reads_the_example() -> None:
    image = ("image", "page.jpg", (EXAMPLES / "page.jpg").read_bytes())
    lines = ("lines", "page.json", (EXAMPLES / "page.json").read_bytes())
    few = replace(page := read_page(EXAMPLES / "page.json"), lines=page.lines[:1])
    with as_process("--api-key-env", "OUR_KEY", OUR_KEY="k1") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        one_line = ("lines", "page.json", render_json(few))
        body, headers = form([image, one_line, ("format", None, b"txt"), ("flow", None, b"true")])
        assert complaint(ask(f"{url}/v1/read", body, headers))[0] == 401
        status, data = ask(f"{url}/v1/read", body, headers | {"Authorization": "Bearer k1"})
        assert status == 200 and "大學之道在明明德" in data.decode()
        status, data = ask(
            f"{url}/v1/chat/completions",
            question(load_pixels(EXAMPLES / "page.jpg")[100:1020, 830:920], max_tokens=9),
            {"Authorization": "Bearer k1"},
        )
        assert status == 200 and b"completion" in data
        last: list[tuple[int, bytes]] = []
        key = {"Authorization": "Bearer k1"}
        body, headers = form([image, lines])
        reading = threading.Thread(target=lambda: last.append(ask(f"{url}/v1/read", body, headers | key)))
        reading.start()
        while reading.is_alive() and json.loads(ask(f"{url}/health")[1])["requests"] < 1:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        reading.join()
        assert last[0][0] == 200, "what is being read is brought to its end"
        assert process.wait(300) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_control_c_ends_it_cleanly_and_an_open_door_is_mentioned() -> None:
    with as_process("--host", "0.0.0.0", "--engine", "tongguocr", "--threads", "1") as (process, url):
        assert ask(url.replace("0.0.0.0", "127.0.0.1") + "/health")[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
        assert process.stderr is not None
        assert process.stderr.read().splitlines() == [
            "tongguocr: Anyone who reaches 0.0.0.0 can use this server; --api-key-env asks for a key."
        ]


def test_by_default_it_is_a_process_a_core_that_share_them() -> None:
    assert share(Service(workers=3, threads=2)) == (3, 2)
    assert share(Service()) == (1, 0), "one reads with all cores, in this process"
    assert share(Service(engine="hf", workers=0)) == (1, 0), "one model fills a card"
    assert share(Service(engine="hf", workers=2, threads=1)) == (2, 1)
    assert share(Service(workers=0))[0] == share_cores(MANY)[0]


def test_processes_read_log_and_end_without_a_word(tmp_path: Path) -> None:
    options = ("--workers", "2", "--jobs", str(tmp_path / "jobs"), "--log", "--cors", "*")
    with as_process(*options) as (process, url):
        page = read_page(EXAMPLES / "page.json")
        lines = ("lines", "page.json", render_json(replace(page, lines=page.lines[:1])))
        image = ("image", "page.jpg", (EXAMPLES / "page.jpg").read_bytes())
        body, headers = form([image, lines, ("format", None, b"txt")])
        status, data = ask(f"{url}/v1/read", body, headers)
        assert status == 200 and "大學之道在明明德" in data.decode()
        assert b"tongguocr_workers 2.0" in ask(f"{url}/metrics")[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
        assert process.stderr is not None
        said = process.stderr.read().splitlines()
        assert [line.split(" ")[2:5] for line in said] == [
            ["POST", "/v1/read", "200"],
            ["GET", "/metrics", "200"],
        ]
        assert (tmp_path / "jobs").is_dir()


def test_a_port_in_use_is_one_sentence_before_anything_is_loaded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "tongguocr.cli", "serve", "--port", str(port), "--model", "nowhere"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    (sentence,) = found.stderr.splitlines()
    assert f"127.0.0.1:{port}" in sentence and "Traceback" not in sentence


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "70000"], "0 to 65535"),
        (["--host", "no.such.host.invalid"], "no address of this machine"),
        (["--host", "x" * 80], "no address of this machine"),
        (["--api-key-env", "TONGGUOCR_NO_SUCH_KEY"], "TONGGUOCR_NO_SUCH_KEY"),
        (["--engine", "server"], "no engine 'server' to serve with"),
        (["--engine", "hf"], "needs --model"),
        (["--detector", "nothing"], "no detector 'nothing'"),
        (["--time-limit", "nan"], "--time-limit"),
        (["--threads", "-1"], "--threads"),
        (["--workers", "-1"], "--workers"),
        (["--workers", "2", "--model", "nowhere"], "nowhere"),
        (["--cors", "library.example"], "--cors library.example"),
        (["--cors", "https://a.example/path"], "--cors https://a.example/path"),
        (["--jobs", "pyproject.toml"], "pyproject.toml"),
    ],
)
def test_bad_options_get_one_sentence(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--port", "0", *options]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert said in sentence


def test_without_its_packages_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tongguocr.errors.find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert "pip install 'tongguocr[serve]'" in capsys.readouterr().err


def test_addresses_of_both_kinds_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_socket("localhost", 0) as opened:
        assert opened.getsockname()[1] > 0
    for bad in ("", "  ", "naïve", "two\nlines"):
        monkeypatch.setenv("OUR_KEY", bad)
        with pytest.raises(InputError, match="OUR_KEY"):
            read_key("OUR_KEY")
    monkeypatch.setenv("OUR_KEY", " k1 ")
    assert (read_key("OUR_KEY"), read_key(None)) == ("k1", None)
