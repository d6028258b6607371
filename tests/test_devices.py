"""Devices: the one that is asked for or a sentence, and by itself the best that can really be used.

ONNX Runtime's packages for cards are not installed here: a stand-in lists their providers and says what a
session computes with, and every session computes on the processor.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnxruntime
import pytest
from paths import EXAMPLES
from PIL import Image

import tongguocr
from tongguocr import api, cli, devices
from tongguocr.devices import AUTO, CARDS, CPU, find_devices
from tongguocr.engines import open_engine
from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.layout.detect import open_detector
from tongguocr.reader import Setup, check_device, open_reader, where_it_can
from tongguocr.weights import open_session

CUDA, DML, COREML = (CARDS[name].provider for name in ("cuda", "directml", "coreml"))
PROCESSOR = "CPUExecutionProvider"
DETECTOR = Path(tongguocr.__file__).parent / "weights" / "detector" / "detector.onnx"
IMAGE, LINES = str(EXAMPLES / "page.jpg"), str(EXAMPLES / "page.json")

Asked = list[list[Any]]
"""The providers that each session was asked to have."""
Install = Callable[..., Asked]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Let ONNX Runtime list providers of which some do not work: left out, or with an error."""
    real = onnxruntime.InferenceSession

    def put(*listed: str, missing: str = "", faults: str = "") -> Asked:
        asked: Asked = []

        def session(model: bytes, options: Any, providers: list[Any], **others: Any) -> Any:
            asked.append(providers)
            assert others == {"enable_fallback": 0}, "ONNX Runtime would fall back without a word"
            opened = real(model, options, providers=[PROCESSOR])
            names = [one if isinstance(one, str) else one[0] for one in providers]
            if faults in names:
                raise RuntimeError("CUDA failure 100: no CUDA-capable device is detected\nmore")
            has = [name for name in names if name != missing]
            return SimpleNamespace(
                run=opened.run, get_inputs=opened.get_inputs, get_providers=lambda: has, options=options
            )

        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*listed, PROCESSOR])
        monkeypatch.setattr(onnxruntime, "InferenceSession", session)
        monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: print("Failed to load libcudnn.so.9"))
        monkeypatch.setattr(devices, "_unusable", set())
        return asked

    api._open.cache_clear()
    yield put
    api._open.cache_clear()


def connect(device: str) -> Any:
    return open_session(DETECTOR.read_bytes(), DETECTOR, 1, device)


def test_auto_takes_the_best_card_that_was_installed(install: Install) -> None:
    install(COREML, DML, CUDA)
    assert find_devices() == ["cuda", "directml", "coreml", "cpu"]
    assert connect(AUTO).get_providers() == [CUDA, PROCESSOR]
    install(DML)
    opened = connect(AUTO)
    assert opened.get_providers() == [DML, PROCESSOR] and not opened.options.enable_mem_pattern


def test_auto_leaves_alone_what_every_mac_has(install: Install) -> None:
    install(COREML)
    assert connect(AUTO).get_providers() == [PROCESSOR]
    assert connect("coreml").get_providers() == [COREML, PROCESSOR]


def test_pictures_of_all_sizes_are_no_reason_to_try_everything(install: Install) -> None:
    asked = install(CUDA)
    connect("cuda")
    assert asked == [[(CUDA, {"cudnn_conv_algo_search": "HEURISTIC"}), PROCESSOR]]


@pytest.mark.parametrize("how", ["missing", "faults"])
def test_a_listed_card_that_does_not_work(
    install: Install, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    asked = install(CUDA, **{how: CUDA})
    for _ in range(3):
        assert connect(AUTO).get_providers() == [PROCESSOR]
    assert sum(CUDA in str(one) for one in asked) == 1, "it is tried once in a process"
    printed = capsys.readouterr()
    assert not printed.out, "nothing of this is a result"
    told = [line for line in printed.err.splitlines() if line.startswith("tongguocr:")]
    assert len(told) == 1 and "The device cuda cannot be used" in told[0] and "processor" in told[0]
    with pytest.raises(
        InputError, match=r"^The device cuda cannot be used: .*docs/devices\.md\.$"
    ) as refused:
        connect("cuda")
    assert ("no CUDA-capable device" in str(refused.value)) == (how == "faults")


def test_a_package_that_another_lies_over_is_told_of(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    monkeypatch.setattr(devices, "_is_installed", lambda package: package != "onnxruntime-directml")
    for _ in range(2):
        assert connect(AUTO).get_providers() == [PROCESSOR]
    (told,) = capsys.readouterr().err.splitlines()
    assert "onnxruntime lies over onnxruntime-gpu" in told and told.endswith("The processor reads instead.")


def test_a_job_says_it_too_whose_processes_are_silent(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = install(CUDA, missing=CUDA)
    monkeypatch.setattr(devices, "_is_installed", lambda package: package == "onnxruntime-gpu")
    assert cli.main(["read", str(tmp_path / "none.png"), "-o", f"{tmp_path}/out/"]) == 1
    card, image = (one for one in capsys.readouterr().err.splitlines() if one.startswith("tongguocr:"))
    assert "The device cuda cannot be used" in card and "none.png" in image
    assert len(asked) == 2, "the card once, then the processor"


def test_a_damaged_file_is_no_fault_of_the_card(install: Install) -> None:
    install(CUDA)
    for device in (AUTO, CPU, "cuda"):
        with pytest.raises(InputError, match=r"x\.onnx: ONNX Runtime cannot use this file"):
            open_session(b"no network", Path("x.onnx"), 1, device)


def test_what_is_not_there_says_how_to_get_it(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    with pytest.raises(InputError, match=r"There is no device 'gpu'; take one of auto, cpu, cuda"):
        connect("gpu")
    for device, word in (("cuda", r"tongguocr\[gpu\]"), ("directml", "Windows"), ("coreml", "macOS")):
        with pytest.raises(InputError, match=rf"^The device {device} is not there: .* has cpu; .*{word}"):
            connect(device)
    monkeypatch.setattr(devices, "_is_installed", lambda package: True)
    with pytest.raises(InputError, match=r"onnxruntime lies over onnxruntime-gpu.*pip uninstall"):
        connect("cuda")


def test_an_onnx_runtime_that_lost_its_files_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not whole; install it again"):
        connect(AUTO)


def test_every_model_of_ours_is_opened_on_the_device(install: Install) -> None:
    asked = install(CUDA)
    open_reader(Setup(device="cuda", threads=1))
    assert len(asked) == 3 and all(providers[0][0] == CUDA for providers in asked)
    asked = install(CUDA)
    open_reader(Setup(device="cpu", threads=1))
    assert asked == [[PROCESSOR]] * 3


def test_python_and_the_commands_say_where(install: Install, tmp_path: Path) -> None:
    small, out = str(tmp_path / "small.png"), str(tmp_path / "l.json")
    x, y, right, foot = (round(value) for value in read_page(Path(LINES)).lines[0].box)
    with Image.open(IMAGE) as page:
        page.crop((x - 20, y - 20, right + 20, y + (foot - y) // 3)).save(small)
    asked = install(CUDA)
    text = tongguocr.read(small, device="cuda").text
    assert text and len(asked) == 3 and all(providers[0][0] == CUDA for providers in asked)
    asked = install(CUDA)
    assert tongguocr.read(small, device="cpu").text == text
    assert asked == [[PROCESSOR]] * 3
    asked = install(CUDA)
    assert cli.main(["lines", small, "-o", out, "--device", "cuda"]) == 0
    assert cli.main(["read", small, "--device", "cuda", "-o", out]) == 0
    assert len(asked) == 4 and all(providers[0][0] == CUDA for providers in asked)


@pytest.mark.parametrize("command", ["read", "lines", "serve", "proofread", "compare"])
def test_every_command_that_reads_has_the_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    assert "auto, cpu, cuda, directml, coreml" in " ".join(capsys.readouterr().out.split())


def test_a_device_that_nothing_can_use_is_refused(install: Install) -> None:
    install(CUDA)
    with pytest.raises(InputError, match="engine tesseract cannot be told to compute on 'cuda'"):
        open_engine("tesseract", device="cuda")
    with pytest.raises(InputError, match="detector rapidocr cannot be told to compute on cuda"):
        open_detector("rapidocr", device="cuda")
    nothing = "is for our own models, and nothing that reads here"
    with pytest.raises(InputError, match=nothing):
        open_reader(Setup("tesseract", detector="rapidocr", device="cuda"))
    with pytest.raises(InputError, match=nothing):
        tongguocr.read(IMAGE, lines=LINES, engine="tesseract", device="cuda")
    with pytest.raises(ValueError, match="device must be one of auto, cpu"):
        tongguocr.read(IMAGE, device="gpu")
    with pytest.raises(ValueError, match="device must be one of auto, cpu"):
        tongguocr.read_all(IMAGE, device=1)  # type: ignore[arg-type]


def test_parts_that_cannot_use_the_device_do_without() -> None:
    whole = Setup("server", url="http://localhost:1", model="m", device="cuda")
    check_device(whole)
    finds, reads = replace(whole, engine=None), replace(whole, detector=None)
    assert (where_it_can(finds).device, where_it_can(reads).device) == ("cuda", AUTO)


@pytest.mark.skipif("cuda" in find_devices(), reason="ONNX Runtime has CUDA here")
def test_a_job_that_asks_for_an_absent_card_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tongguocr", "read", IMAGE, "--device", "cuda", "-o", f"{tmp_path}/out/"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("tongguocr: The device cuda is not there: this ONNX Runtime has ")
