"""How quick the page of `proofread` is: `python -m bench.proofread_browser [--pages N] [--chars N]`.

A book of so many pages (200) with so many characters each (1,000 in 40 columns) is drawn up and opened in a
real Chromium (Debian's, with Playwright). Measured in the browser: from the server's answer to the first
paint of a page's text; from a key press to the paint of its frame in the scan; the memory of the tab after
all pages were shown with their scans: what its process has to itself, twenty seconds later and at once.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from statistics import median
from typing import Any

from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from bench.machine import machine
from bench.proofread import serving
from tongguocr.errors import InputError
from tongguocr.formats.page_json import render_json
from tongguocr.page import Char, Line, Page

COLUMNS, CELL = 40, 60
KEYS = 60
REST = 20_000
"""Milliseconds after the last page until the memory is measured: pages are turned four a second here, and
the browser throws away what they left when it has a moment."""

# From the last byte of the page's answer to the frame that shows its text.
FIRST_PAINT = """async () => {
    const number = +document.querySelector('#page-number').value;
    const text = () => document.querySelector('.line').textContent;
    const before = text();
    document.querySelector('[aria-label="Next page"]').click();
    while (text() === before) await new Promise(requestAnimationFrame);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const painted = performance.now();
    const name = new RegExp(`/api/pages/${number + 1}$`);
    const answer = performance.getEntriesByType('resource').filter(entry => name.test(entry.name)).at(-1);
    performance.clearResourceTimings();
    return painted - answer.responseEnd;
}"""
# From the press of a key until the browser has painted the character's frame in its new place.
KEY_TO_FRAME = """key => new Promise(done => {
    const field = document.querySelector('#input');
    const frame = document.querySelector('.char-frame');
    const place = () => ['x', 'y'].map(name => frame.getAttribute(name)).join();
    const before = place();
    const start = performance.now();
    field.dispatchEvent(new KeyboardEvent('keydown', { key, code: key, bubbles: true, cancelable: true }));
    const moved = place() !== before;
    requestAnimationFrame(() => setTimeout(() => done(moved ? performance.now() - start : null)));
})"""


@dataclass(frozen=True)
class Row:
    what: str
    middle: str
    worst: str
    bar: str


def draw_up(folder: Path, pages: int, chars: int) -> None:
    """Scans with the page's columns, and our JSON of what they say."""
    rows = chars // COLUMNS
    wide, high = CELL * (COLUMNS + 1), CELL * (rows + 1)
    picture = Image.new("L", (wide, high), 225)
    pen = ImageDraw.Draw(picture)
    for k in range(chars):
        x, y = wide - CELL * (k // rows + 1), CELL * (k % rows) + CELL // 2
        pen.rectangle((x + 8, y + 8, x + CELL - 16, y + CELL - 10), outline=40, width=5)
    for number in range(1, pages + 1):
        picture.save(folder / f"p{number:04}.jpg", quality=70)
        lines = tuple(_line(k, rows, wide, number) for k in range(COLUMNS))
        page = Page(f"p{number:04}.jpg", wide, high, lines)
        (folder / f"p{number:04}.json").write_bytes(render_json(page, folder / f"p{number:04}.json"))


def _line(k: int, rows: int, wide: int, number: int) -> Line:
    x = float(wide - CELL * (k + 1))
    chars = []
    for row in range(rows):
        code = 0x4E00 + (number * 7919 + k * 131 + row * 17) % 6000
        box = (x, CELL * row + CELL / 2, x + CELL - 8, CELL * (row + 1) + CELL / 2)
        others = tuple((chr(code + n), 0.2 / n) for n in range(1, 5))
        chars.append(Char(chr(code), box, 0.5 if row % 9 == 4 else 0.97, others))
    text = "".join(char.text for char in chars)
    return Line(f"l{k}", (x, CELL / 2, x + CELL - 8, CELL * rows + CELL / 2), text, chars=tuple(chars))


def private_memory(browser: Any) -> float:
    """MB that the tab's process has to itself, as Linux counts them: the largest of all renderers."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = [_private_mb(int(one["id"])) for one in found if one["type"] == "renderer"]
    return max(sizes)


def _private_mb(process: int) -> float:
    rows = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    private = [int(row.split()[1]) for row in rows if row.startswith(("Private_Clean", "Private_Dirty"))]
    return sum(private) / 1024


def measure(page: Any, browser: Any, pages: int) -> list[Row]:
    """The figures of a book that is open in a tab."""
    paints = [page.evaluate(FIRST_PAINT) for _ in range(min(pages - 1, 15))]
    keys = ["ArrowDown", "ArrowDown", "ArrowLeft", "Tab"] * (KEYS // 4)
    frames = [time for key in keys if (time := page.evaluate(KEY_TO_FRAME, key)) is not None]
    for _ in range(pages - len(paints) - 1):
        page.evaluate(FIRST_PAINT)
        page.wait_for_timeout(60)
    at_once = private_memory(browser)
    page.wait_for_timeout(REST)
    memory = private_memory(browser)
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    return [
        Row("first paint of text after the answer", _ms(median(paints)), _ms(max(paints)), "1000 ms"),
        Row("key press to frame in the scan", _ms(median(frames)), _ms(max(frames)), "50 ms"),
        Row(f"memory of the tab after {pages} pages", f"{memory:.0f} MB", "", "300 MB"),
        Row("  of it JavaScript's heap", f"{heap:.0f} MB", "", ""),
        Row("  right after the last page, garbage included", f"{at_once:.0f} MB", "", ""),
    ]


def _ms(value: float) -> str:
    return f"{value:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--chars", type=int, default=1000)
    args = parser.parse_args()
    path = which("chromium") or which("google-chrome")
    if path is None:
        raise InputError("chromium: it is not installed.")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        draw_up(Path(name), args.pages, args.chars)
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        with (
            serving(Path(name)) as (_, client, _),
            play.chromium.launch(executable_path=path, args=options) as browser,
        ):
            page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-GB")
            page.goto(f"http://127.0.0.1:{client.port}/")
            page.wait_for_selector(".line")
            page.wait_for_timeout(1000)
            rows = measure(page, browser, args.pages)
    console = Console()
    table = Table("", "middle", "worst", "bar", title=f"{args.chars} characters a page; {machine()}")
    for row in rows:
        table.add_row(row.what, row.middle, row.worst, row.bar)
    console.print(table)


if __name__ == "__main__":
    main()
