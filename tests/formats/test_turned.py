"""A page whose scan lay on its side or upside down: each format has its boxes where they are looked for."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from lying_pages import draw, scan_of, shade_in
from page_strategies import example_page
from PIL import Image

from tongguocr.formats import FORMATS, read_page, render_page
from tongguocr.formats.alto_read import parse_alto
from tongguocr.formats.page_json import parse_json
from tongguocr.formats.page_xml_read import parse_page_xml
from tongguocr.formats.xml import parse_xml
from tongguocr.geometry import Box, Point, bounds, turn_point
from tongguocr.page import ANGLES, Line, Page, Pixels

UPRIGHT = draw(
    replace(
        example_page(),
        lines=(*example_page().lines, Line("l7", (20, 600, 40, 700), direction="bottom-to-top")),
    )
)
TURNED = ANGLES[1:]
PATH = Path("page")


def turned_page(angle: int) -> Page:
    """The page as a reader has it: upright, with the angle by which its scan was turned."""
    return replace(UPRIGHT, angle=angle)


def written(format: str, angle: int) -> bytes:
    return render_page(turned_page(angle), PATH, format)


def tree(format: str, angle: int) -> etree._Element:
    """The file without its namespace."""
    return etree.fromstring(re.sub(rb' xmlns="[^"]*"', b"", written(format, angle), count=1))


def check(boxes: list[Box], pixels: Pixels) -> None:
    """Each line's box is full of the line's own grey."""
    assert [shade_in(pixels, box) for box in boxes] == list(range(len(UPRIGHT.lines)))


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", text)]


def points(text: str) -> list[Point]:
    found = numbers(text)
    return list(zip(found[::2], found[1::2], strict=True))


def upright_points(text: str, angle: int, scan: Pixels) -> list[Point]:
    """Points of a file on the page as it is read."""
    return [turn_point(point, scan.shape[::-1], angle) for point in points(text)]


@pytest.mark.parametrize("angle", TURNED)
@pytest.mark.parametrize("format", ["json", "page", "alto"])
def test_a_turned_page_comes_back(format: str, angle: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(written(format, angle))
    assert read_page(tmp_path / "a") == turned_page(angle)


@pytest.mark.parametrize("angle", TURNED)
def test_json_has_boxes_of_the_upright_picture(angle: int) -> None:
    data = written("json", angle)
    assert f'"angle": {angle}' in data.decode() and b"angle" not in written("json", 0)
    page = parse_json(data, PATH)
    assert UPRIGHT.pixels is not None
    check([line.box for line in page.lines], UPRIGHT.pixels)


@pytest.mark.parametrize(("angle", "orientation"), [(90, "90"), (180, "180"), (270, "-90")])
def test_page_xml_has_boxes_of_the_scan(angle: int, orientation: str) -> None:
    scan, page = scan_of(UPRIGHT, angle), tree("page", angle).find("Page")
    assert page is not None and page.get("orientation") == orientation
    assert (page.get("imageHeight"), page.get("imageWidth")) == tuple(map(str, scan.shape))
    lines = page.findall(".//TextLine")
    outlines = [line.find("Coords").get("points", "") for line in lines]
    check([bounds(points(outline)) for outline in outlines], scan)
    expected = [line.find("Baseline").get("points", "") for line in tree("page", 0).iterfind(".//TextLine")]
    for line, upright in zip(lines, expected, strict=True):
        found = upright_points(line.find("Baseline").get("points", ""), angle, scan)
        assert np.abs(np.subtract(found, points(upright))).max() <= 1, "halves are rounded"


@pytest.mark.parametrize("angle", TURNED)
def test_alto_has_boxes_of_the_scan(angle: int) -> None:
    scan, page = scan_of(UPRIGHT, angle), tree("alto", angle).find("Layout/Page")
    assert page is not None and page.get("ROTATION") == str(angle)
    assert (page.get("HEIGHT"), page.get("WIDTH")) == tuple(map(str, scan.shape))
    lines = page.findall(".//TextLine")
    places = [[float(line.get(name, "")) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")] for line in lines]
    check([(x, y, x + wide, y + high) for x, y, wide, high in places], scan)
    expected = [line.get("BASELINE", "") for line in tree("alto", 0).iterfind(".//TextLine")]
    for line, upright in zip(lines, expected, strict=True):
        assert upright_points(line.get("BASELINE", ""), angle, scan) == points(upright)


@pytest.mark.parametrize("angle", TURNED)
def test_hocr_has_boxes_of_the_scan_and_the_angle_of_its_glyphs(angle: int) -> None:
    scan, root = scan_of(UPRIGHT, angle), tree("hocr", angle)
    titles = {
        name: [e.get("title", "") for e in root.iter() if e.get("class") == name]
        for name in ("ocr_page", "ocr_line")
    }
    assert f"bbox 0 0 {scan.shape[1]} {scan.shape[0]}" in titles["ocr_page"][0]
    check([tuple(numbers(title)[:4]) for title in titles["ocr_line"]], scan)  # type: ignore[misc]
    angles = [re.search(r"textangle (\d+)", title) for title in titles["ocr_line"]]
    leaning = [int(found[1]) if found else 0 for found in angles]
    assert leaning == [angle] * 6 + [(angle + 90) % 360], "the last line climbs even on the upright page"


@pytest.mark.parametrize("angle", TURNED)
def test_tei_has_zones_of_the_scan_and_the_upright_pages_text(angle: int) -> None:
    scan, root = scan_of(UPRIGHT, angle), tree("tei", angle)
    surface = root.find("facsimile/surface")
    assert surface is not None and (surface.get("lry"), surface.get("lrx")) == tuple(map(str, scan.shape))
    zones = surface.findall("zone")
    check([tuple(float(zone.get(n, "")) for n in ("ulx", "uly", "lrx", "lry")) for zone in zones], scan)  # type: ignore[misc]
    assert {zone.get("rotate") for zone in zones} == {str(360 - angle)}, "clockwise, from upright to the scan"
    texts = [etree.tostring(found.find("text/body")) for found in (root, tree("tei", 0))]
    assert texts[0] == texts[1], "columns and places are those of the upright page"


@pytest.mark.parametrize("angle", TURNED)
def test_doubtful_characters_are_found_in_the_scan(angle: int) -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv", angle).decode())))
    boxes = [tuple(float(row[name]) for name in ("x0", "y0", "x1", "y1")) for row in rows]
    assert [shade_in(scan_of(UPRIGHT, angle), box) for box in boxes] == [0]  # type: ignore[arg-type]


@pytest.mark.parametrize("angle", TURNED)
@pytest.mark.parametrize(
    "format", [format.name for format in FORMATS.values() if format.styled or format.image]
)
def test_text_and_pictures_are_those_of_the_upright_page(format: str, angle: int) -> None:
    assert written(format, angle) == written(format, 0)


@pytest.mark.parametrize("angle", TURNED)
def test_a_pdf_turns_the_image_that_lies_beside_it(angle: int, tmp_path: Path) -> None:
    Image.fromarray(scan_of(UPRIGHT, angle)).save(tmp_path / UPRIGHT.image)
    without_pixels = replace(turned_page(angle), pixels=None)
    assert render_page(without_pixels, tmp_path / "a.pdf") == written("pdf", 0)


def page_xml(attributes: str) -> Page:
    line = '<TextLine id="a"><Coords points="10,20 90,20 90,40 10,40"/></TextLine>'
    region = f'<TextRegion id="r"><Coords points="0,0 9,0 9,9"/>{line}</TextRegion>'
    page = f'<Page imageFilename="" imageWidth="100" imageHeight="200" {attributes}>{region}</Page>'
    text = f"<PcGts>{page}</PcGts>"
    return parse_page_xml(parse_xml(text.encode(), PATH), PATH)


def alto(attributes: str) -> Page:
    line = '<TextLine ID="a" HPOS="10" VPOS="20" WIDTH="80" HEIGHT="20"><String CONTENT=""/></TextLine>'
    space = f"<PrintSpace><TextBlock>{line}</TextBlock></PrintSpace>"
    text = f'<alto><Layout><Page WIDTH="100" HEIGHT="200" {attributes}>{space}</Page></Layout></alto>'
    return parse_alto(parse_xml(text.encode(), PATH), PATH)


@pytest.mark.parametrize("degrees", ["90", "90.0", "-270", "91.5"])
def test_files_of_others_may_lie_too(degrees: str) -> None:
    for page in (page_xml(f'orientation="{degrees}"'), alto(f'ROTATION="{degrees}"')):
        assert (page.angle, page.width, page.height) == (90, 200, 100)
        assert page.lines[0].box == (160, 10, 180, 90)
        assert page.lines[0].direction == "top-to-bottom", "it is guessed on the upright page"


@pytest.mark.parametrize("degrees", ["0", "-1.5", "359.2", ""])
def test_a_skew_is_no_turn(degrees: str) -> None:
    for page in (page_xml(f'orientation="{degrees}"'), alto(f'ROTATION="{degrees}"')):
        assert page.skew == {"-1.5": -1.5, "359.2": -0.8}.get(degrees, 0)
        assert (page.angle, page.width, page.height) == (0, 100, 200)
        assert (page.lines[0].box, page.lines[0].direction) == ((10, 20, 90, 40), "left-to-right")


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("skew", [-15.25, 8.0])
def test_a_page_that_leans_comes_back_too(angle: int, skew: float, tmp_path: Path) -> None:
    page = replace(turned_page(angle), skew=skew)
    for format in ("json", "page", "alto"):
        (tmp_path / "a").write_bytes(render_page(page, PATH, format))
        assert read_page(tmp_path / "a") == page
    whole = (angle + skew) % 360
    files = {f: render_page(page, PATH, f).decode() for f in ("json", "page", "alto", "hocr")}
    assert f'"skew": {skew}' in files["json"] and ("angle" in files["json"]) == bool(angle)
    assert f'orientation="{whole if whole <= 180 else whole - 360:g}"' in files["page"]
    assert f'ROTATION="{whole:g}"' in files["alto"] and f"textangle {whole:g}" in files["hocr"]


def test_what_is_said_against_a_page_is_in_our_json(tmp_path: Path) -> None:
    page = replace(example_page(), inverted=True, warnings=("its reading cannot be trusted: noise.",))
    (tmp_path / "a").write_bytes(data := render_page(page, PATH, "json"))
    assert read_page(tmp_path / "a") == page
    plain = render_page(example_page(), PATH, "json")
    assert b"inverted" in data and b"inverted" not in plain and b"warnings" not in plain


def test_the_drawn_lines_can_be_told_apart() -> None:
    assert UPRIGHT.pixels is not None and len(np.unique(UPRIGHT.pixels)) == len(UPRIGHT.lines) + 1
