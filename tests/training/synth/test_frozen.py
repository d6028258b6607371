"""The benchmark is frozen: the composer's choices for a seed must never change without saying so.

What is pinned is what the composer decides and no rounding can blur: which characters, in which lines, of
which kind, on a page of which size. Figures from before a change cannot be compared with figures after it; if
one is meant all the same, run this file as a program, commit what it writes, and measure anew.
"""

from __future__ import annotations

import hashlib
import json

from font_books import Book
from paths import GOLDEN

from tongguocr.training.synth.kinds import BENCHMARK_KINDS, SECOND_BENCHMARK_KINDS, compose_page
from tongguocr.training.synth.text import load_text

COMPOSITIONS = GOLDEN / "compositions.json"


def digests() -> dict[str, str]:
    text = load_text(None)
    found = {}
    for kind in (*BENCHMARK_KINDS, *SECOND_BENCHMARK_KINDS):
        for seed in (0, 7):
            page = compose_page(kind, text, Book(), seed)  # type: ignore[arg-type]
            lines = [(line.start, line.stop, line.kind, line.direction) for line in page.lines]
            decided = json.dumps([page.width, page.height, "".join(page.text), lines, len(page.strokes)])
            found[f"{kind} {seed}"] = hashlib.sha256(decided.encode()).hexdigest()[:16]
    return found


def test_compositions_are_the_same_as_ever() -> None:
    assert digests() == json.loads(COMPOSITIONS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    COMPOSITIONS.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")
