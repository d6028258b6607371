"""`tongguocr synth`: the same pages for the same seed, every format, one sentence for every mistake."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fontTools.ttLib import TTCollection
from tiny_fonts import build_font, make_font, many

from tongguocr.errors import InputError
from tongguocr.formats import read_page
from tongguocr.training.datasets import read_m5hisdoc, read_mthv2
from tongguocr.training.synth.generate import (
    BENCHMARK,
    SynthOptions,
    compose,
    load_resources,
    make_pages,
    page_kind,
    page_seed,
    parse_options,
    parse_size,
    summary,
)
from tongguocr.training.synth.kinds import BENCHMARK_KINDS, KINDS, SECOND_BENCHMARK_KINDS
from tongguocr.training.synth.text import load_text

THOUSAND = "".join(line for document in load_text(None).documents for line in document.lines)
RARE = "\U00020000"


@pytest.fixture(scope="module")
def fonts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fonts")
    make_font(folder / "tiny.ttf", many(THOUSAND))
    return folder


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tongguocr.cli", "synth", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_command_writes_pages_in_every_format(fonts: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    options = ("--kind", "commentary", "title", "--size", "300x400", "--workers", "2")
    formats = "json,page,mthv2,m5hisdoc"
    done = run("-n", "3", "--seed", "7", *options, "--fonts", fonts, "--out", out, "--format", formats)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 pages, ") and "  commentary" in done.stdout
    names = ["00001-commentary", "00002-title", "00003-commentary"]
    for name, mthv2, m5hisdoc in zip(
        names, read_mthv2(out / "mthv2", "train"), read_m5hisdoc(out / "m5hisdoc", "train"), strict=True
    ):
        page = read_page(out / f"{name}.json")
        assert page.image == f"{name}.jpg" and (out / page.image).is_file()
        texts = {p.full_text for p in (page, read_page(out / f"{name}.xml"), mthv2, m5hisdoc)}
        assert texts == {page.full_text} != {""}
        assert (page.width, page.height) == (mthv2.width, mthv2.height)
    rows = (out / "pages.tsv").read_text("utf-8").splitlines()
    assert [row.split("\t")[0] for row in rows] == ["name", *names]


def test_a_page_hangs_on_seed_and_number_alone(fonts: Path, tmp_path: Path) -> None:
    options = SynthOptions(fonts, tmp_path / "a", count=3, seed=4, size=(200, 260), png=True)
    make_pages(options)
    make_pages(replace(options, out=tmp_path / "b", workers=2))
    make_pages(replace(options, out=tmp_path / "c", count=1))
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert a == b and len(a) == 10, "images, JSON and PAGE, byte for byte"
    assert len(c) == 4 and c["pages.tsv"] == b"".join(a.pop("pages.tsv").splitlines(keepends=True)[:2])
    assert {name: data for name, data in c.items() if name != "pages.tsv"}.items() <= a.items()
    assert len({page_seed(seed, k) for seed in range(50) for k in range(50)}) == 2500


def test_kinds_come_by_share_or_in_turn(fonts: Path) -> None:
    options = SynthOptions(fonts, fonts)
    drawn = [page_kind(options, k) for k in range(600)]
    assert set(drawn) == set(KINDS) and drawn.count("half-leaf") > drawn.count("horizontal")
    asked = replace(options, kinds=("table", "title"))
    assert [page_kind(asked, k) for k in range(3)] == ["table", "title", "table"]


def test_a_page_fits_the_size(fonts: Path) -> None:
    resources, _ = load_resources(SynthOptions(fonts, fonts, size=(300, 400)))
    for number in range(6):
        page = compose(resources, number)
        assert page.width <= 300 and page.height <= 400
        assert page.width in (299, 300) or page.height in (399, 400)


def test_clean_pages_are_not_degraded(fonts: Path, tmp_path: Path) -> None:
    options = SynthOptions(
        fonts, tmp_path / "clean", kinds=("half-leaf",), size=(300, 400), degraded=False, png=True
    )
    make_pages(options)
    make_pages(replace(options, out=tmp_path / "degraded", degraded=True))
    clean, degraded = (contents(tmp_path / name)["00001-half-leaf.png"] for name in ("clean", "degraded"))
    assert clean != degraded and len(clean) < len(degraded)


def test_characters_of_a_list_and_those_that_cannot_be_drawn(fonts: Path, tmp_path: Path) -> None:
    chars = tmp_path / "chars.txt"
    chars.write_text(f"天\n地玄\n{RARE}鬭{RARE}\n", encoding="utf-8")
    options = SynthOptions(fonts, tmp_path / "out", chars=chars, size=(200, 260), formats=("json",))
    report = make_pages(options)
    assert set(report.characters) == set("天地玄") and report.missing == (RARE, "鬭")
    assert (tmp_path / "out" / "missing.tsv").read_text("utf-8") == f"{RARE}\tU+20000\n鬭\tU+9B2D\n"
    assert any(RARE in line and "2 characters" in line for line in summary(report, options))


def test_characters_of_a_text_that_cannot_be_drawn(fonts: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("天地玄黃鬭天地玄黃", encoding="utf-8")
    assert load_resources(SynthOptions(fonts, tmp_path, text=text))[1] == ["鬭"]


def bench_fonts(folder: Path) -> Path:
    """The faces that the benchmark wants, and one that it must not take."""
    folder.mkdir()
    for name in ("cwming", "dejima-mincho-r227", "HanaMinB", "TW-Kai-98_1", "TW-Kai-Ext-B-98_1", "other"):
        make_font(folder / f"{name}.ttf", many(THOUSAND[:500]))
    make_font(folder / "HanaMinA.ttf", many(THOUSAND))
    collection = TTCollection()
    collection.fonts = [build_font(many(THOUSAND[: 100 + k])).font for k in range(3)]
    collection.save(folder / "ukai.ttc")
    return folder


def arguments(**changes: object) -> dict[str, object]:
    given = dict.fromkeys(("n", "seed", "kind", "text", "chars", "size", "workers"))
    return {**given, "format": "json", "png": False, "clean": False, "bench": False, **changes}


def test_the_benchmark_is_the_same_whatever_else_is_installed(tmp_path: Path) -> None:
    fonts = bench_fonts(tmp_path / "fonts")
    options = parse_options(arguments(fonts=fonts, out=tmp_path, bench=True))
    resources, missing = load_resources(options)
    assert options.count == BENCHMARK[1].pages == 200 and missing == []
    keys = [face.key for face in resources.fonts.faces]
    assert keys == ["DejimaMincho", "HanaMinA", "HanaMinB", "TW-Kai", "TW-Kai-ExtB", "UKai-TW", "cwTeXMing"]
    assert len(resources.fonts.faces[5].codepoints) == len(set(THOUSAND[:102]))
    assert tuple(page_kind(options, k) for k in range(len(BENCHMARK_KINDS))) == BENCHMARK_KINDS
    second = parse_options(arguments(fonts=fonts, out=tmp_path, bench=2))
    assert second.count == 120 and second.kinds == SECOND_BENCHMARK_KINDS and second.seed != options.seed
    pages = [compose(resources, k) for k in range(4)]
    (fonts / "other.ttf").unlink()
    again, _ = load_resources(options)
    for number, page in enumerate(pages):
        other = compose(again, number)
        assert page.text == other.text and (page.boxes == other.boxes).all()
        assert (page.faces == other.faces).all()
    (fonts / "ukai.ttc").unlink()
    with pytest.raises(InputError, match=r"needs the face UKai-TW \(package: deb fonts-arphic-ukai\)"):
        load_resources(options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bench": 3}, "--bench: there is no part 3; take one of 1, 2."),
        ({"bench": True, "n": 5}, "--bench is the same everywhere; leave out -n."),
        ({"bench": True, "seed": 0}, "leave out --seed"),
        ({"bench": True, "clean": True}, "leave out --clean"),
        ({"n": 0}, "-n: 0 is less than 1."),
        ({"seed": -1}, "--seed: -1 is less than 0."),
        ({"workers": -2}, "--workers: -2 is less than 1."),
        ({"size": "big"}, "--size: 'big' is no size"),
        ({"size": "0x100"}, "--size: '0x100' is no size"),
        ({"format": " , "}, "--format: at least one"),
        ({"text": Path("a"), "chars": Path("b")}, "--text and --chars"),
    ],
)
def test_orders_that_make_no_sense(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_options(arguments(fonts=Path("f"), out=Path("o"), **changes))
    assert message in str(caught.value)


def test_sizes() -> None:
    assert parse_size("1200x1600") == (1200, 1600) and parse_size("64X10000") == (64, 10000)


def test_mistakes_end_in_one_sentence(fonts: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_text("no Chinese here")
    (tmp_path / "rare.txt").write_text(RARE, encoding="utf-8")
    out = ("--out", tmp_path / "out")
    for given, message in [
        (("--fonts", tmp_path / "nowhere", *out), "nowhere: there is no such folder."),
        (("--fonts", tmp_path / "none", *out), "no font here has Chinese characters"),
        (("--fonts", fonts, *out, "--kind", "scroll"), "There is no kind of page 'scroll'"),
        (("--fonts", fonts, *out, "--text", tmp_path / "empty.txt"), "empty.txt: "),
        (("--fonts", fonts, *out, "--text", tmp_path / "latin.txt"), "latin.txt: "),
        (("--fonts", fonts, *out, "--chars", tmp_path / "rare.txt"), "no font draws any"),
        (("--fonts", fonts, *out, "--chars", tmp_path), "this is a folder"),
        (("--fonts", fonts, *out, "--format", "tei"), "no format 'tei'"),
        (("--fonts", fonts, "--out", tmp_path / "empty.txt"), "the folder cannot be written"),
        (("--fonts", fonts, *out, "--bench"), "the benchmark needs the face"),
    ]:
        done = run(*given)
        assert done.returncode == 2 and message in done.stderr, (given, done.stderr)
        assert done.stderr.startswith("tongguocr: ") and done.stderr.count("\n") == 1, done.stderr
