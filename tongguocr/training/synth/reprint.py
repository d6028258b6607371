"""The facsimile reprint (影印本): leaves of an older book, reduced, in two or three registers of a page.

In: a `LayoutContext`. Out: a `PageBuilder`. Each register holds columns of any sort (verse.py has them) and
is read from right to left before the next. Between registers there is a rule, whole or broken, or only a gap.
What the publisher added stands outside of the frame and is read after everything else: running title, volume
and page number in a strip at one edge, or in a line at the head or the foot. So are the small leaf numbers
that old prints of the canon have between two columns. All of these are of the kind `fold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from tongguocr.geometry import Box
from tongguocr.training.synth import verse
from tongguocr.training.synth.composition import Patch, Stroke
from tongguocr.training.synth.page_builder import LayoutContext, PageBuilder
from tongguocr.training.synth.verse import Setting, Source, set_register

NUMERALS = "〇一二三四五六七八九"

SOURCES: tuple[tuple[Source, float], ...] = (
    (verse.plain_columns, 0.24),
    (verse.mixed_columns, 0.16),
    (verse.verse_columns, 0.18),
    (verse.chapter_end, 0.14),
    (verse.gloss_columns, 0.06),
    (verse.annotated_columns, 0.08),
    (verse.lifted_columns, 0.06),
    (verse.list_columns, 0.08),
)
"""What a register is filled with, and how often."""
UNRULED_GAP = (0.8, 2.4)
"""Cells between registers without a rule: a reader must see that it is no gap between characters."""
LEAST_SIZE = 13.0
"""Pixels: nothing is printed smaller, or nobody could read it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The measures of one page, in pixels."""

    how_many: int
    """Registers."""
    rows: int
    xs: tuple[float, ...]
    """The middles of the columns, from right to left."""
    folds: tuple[tuple[float, float], ...]
    """Where the old leaves met: the middle and the width of wider gaps between columns."""
    tops: tuple[float, ...]
    """Where the columns of each register begin."""
    box: Box
    """The frame's inner edge."""
    rule: str
    """Between registers: "whole", "broken" or "none"."""
    strip: float
    """Width of the strip outside of the frame; 0 for none."""
    strip_side: int
    """1: at the right, -1: at the left."""


def reprint(context: LayoutContext) -> PageBuilder:
    """Two or three registers of an older print, with the publisher's titles and numbers around them."""
    rng = context.rng
    how_many = int(rng.choice([2, 3], p=[0.75, 0.25]))
    rows = int(rng.choice([10, 12, 14, 15, 17, 17, 17, 20]))
    pitch = min(max(rng.uniform(1100, 1900) / (how_many * (rows + 1.5)), 19.0), 46.0)
    page = context.new_page(0, 0, pitch)
    page.style = replace(
        page.style,
        ruled=bool(rng.random() < 0.35),
        frame_width=max(pitch * float(rng.uniform(0.05, 0.14)), 1.5),
    )
    plan = _plan(context, page, how_many, rows)
    filled = _set_text(context, page, plan)
    _rule_registers(context, page, plan)
    framed = _frame(context, page, plan)
    _leaf_numbers(context, page, plan, filled)
    _head_line(context, page, plan)
    if plan.strip:
        _strip(context, page, plan, framed)
    _foot_line(context, page, plan)
    return page


def _plan(context: LayoutContext, page: PageBuilder, how_many: int, rows: int) -> Plan:
    """Measure the page, and set its size."""
    rng, pitch, across = context.rng, page.style.pitch, page.style.column_pitch
    wanted = how_many * (rows + 1.5) * pitch / rng.uniform(1.05, 1.75)
    count = min(max(round(wanted / across), 7), 28)
    leaf, extra = int(rng.integers(4, 8)), pitch * rng.uniform(0.3, 0.9) * bool(rng.random() < 0.4)
    strip = pitch * rng.uniform(1.0, 1.7) if rng.random() < 0.75 else 0.0
    left, right = rng.uniform(50, 150, 2)
    top, bottom = rng.uniform(90, 190, 2)
    side = int(rng.choice([-1, 1]))
    left, right = left + strip * (side < 0), right + strip * (side > 0)
    w = count * across + (count - 1) // leaf * extra
    rule = str(rng.choice(["whole", "broken", "none"], p=[0.5, 0.15, 0.35]))
    gap = pitch * (rng.uniform(0.6, 3.0) if rule != "none" else rng.uniform(*UNRULED_GAP))
    clear = pitch * rng.uniform(0.3, 1.8)
    tops = [top + clear + k * (rows * pitch + gap) for k in range(how_many)]
    foot = tops[-1] + rows * pitch + clear
    page.width, page.height = left + w + right, foot + bottom
    xs = [left + w - (k + 0.5) * across - k // leaf * extra for k in range(count)]
    meets = range(leaf - 1, count - 1, leaf) if extra else ()
    folds = [((xs[k] + xs[k + 1]) / 2, xs[k] - xs[k + 1] - page.main_size()[0]) for k in meets]
    box = (float(left), float(top), float(left + w), float(foot))
    return Plan(how_many, rows, tuple(xs), tuple(folds), tuple(tops), box, rule, float(strip), side)


def _set_text(context: LayoutContext, page: PageBuilder, plan: Plan) -> list[int]:
    """Fill the registers: one text that runs on, or another for each; how many columns each got."""
    filled = list[int]()
    runs_on = bool(context.rng.random() < 0.6)
    columns = _columns(context, page, plan)
    for k, top in enumerate(plan.tops):
        if k and not runs_on:
            columns = _columns(context, page, plan)
        count = len(plan.xs)
        if context.rng.random() < 0.15:
            count = int(context.rng.integers(1, count + 1))
        filled.append(set_register(page, columns, plan.xs[:count], top, plan.rows))
        if count < len(plan.xs) and runs_on and context.rng.random() < 0.6:
            break
    return filled


def _columns(context: LayoutContext, page: PageBuilder, plan: Plan) -> Iterator[Setting]:
    """The columns of one text. Without a rule, halves of verses could not be told from short registers."""
    sources = [s for s in SOURCES if plan.rule != "none" or s[0] is not verse.verse_columns]
    total = sum(share for _, share in sources)
    picked = int(context.rng.choice(len(sources), p=[share / total for _, share in sources]))
    return sources[picked][0](context, plan.rows, page.style.note_pitch)


def _rule_registers(context: LayoutContext, page: PageBuilder, plan: Plan) -> None:
    """The rules between registers, and between columns where the old print has them."""
    x0, y0, x1, y1 = plan.box
    high, width = plan.rows * page.style.pitch, page.style.rule_width * context.rng.uniform(0.8, 2.0)
    share = context.rng.uniform(0.3, 0.7)
    between = [a + high + share * (b - a - high) for a, b in pairwise(plan.tops)]
    for y in between if plan.rule != "none" else ():
        parts = [(x0, x1)] if plan.rule == "whole" else _broken(context, x0, x1)
        page.strokes += [Stroke((a, y), (b, y), width) for a, b in parts]
    if not page.style.ruled:
        return
    clear = 0.25 * page.style.pitch
    edges = [(t - clear, t + high + clear) for t in plan.tops]
    if plan.rule != "none":
        bounds = [y0, *between, y1]
        edges = list(pairwise(bounds))
    for a, b in edges:
        for x, after in pairwise(plan.xs):
            page.add_rule((x + after) / 2, a, (x + after) / 2, b)


def _broken(context: LayoutContext, x0: float, x1: float) -> list[tuple[float, float]]:
    """A rule in pieces: gaps of some hundredths to a fifth of its length."""
    parts, x = [], x0
    while x < x1:
        end = min(x + (x1 - x0) * context.rng.uniform(0.05, 0.5), x1)
        parts.append((x, end))
        x = end + (x1 - x0) * context.rng.uniform(0.02, 0.2)
    return parts


def _frame(context: LayoutContext, page: PageBuilder, plan: Plan) -> bool:
    """A single or double frame, with ornaments in its corners, or none at all; whether there is one."""
    if context.rng.random() < 0.15:
        page.frame = plan.box
        return False
    ornate = bool(context.rng.random() < 0.3)
    page.style = replace(page.style, double_frame=ornate or page.style.double_frame)
    page.add_frame(plan.box)
    if ornate:
        x0, y0, x1, y1 = page.frame
        size = page.style.pitch * context.rng.uniform(0.6, 1.3)
        corners = [(x0, y0, 1, 1), (x1, y0, -1, 1), (x1, y1, -1, -1), (x0, y1, 1, -1)]
        kept = {0: corners, 1: corners[::3], 2: corners[1:3]}[int(context.rng.integers(3))]
        for x, y, right, down in kept:
            _ornament(context, page, x, y, right * size, down * size)
    return True


def _ornament(context: LayoutContext, page: PageBuilder, x: float, y: float, w: float, h: float) -> None:
    """Leaves in a corner of the frame: thin ones along its sides, and a bow between them."""
    for along in context.rng.uniform(0.15, 0.9, 5):
        thick = context.rng.uniform(0.08, 0.2)
        for a, b in ((along, 0.1), (0.1, along)):
            tip = (x + w * a, y + h * b)
            page.patches.append(
                Patch((tip, (x + w * (a + thick), y + h * b), (x + w * (a + thick), y + h * (b + thick))))
            )
    ends = ((0.0, 0.95), (0.4, 0.75), (0.75, 0.4), (0.95, 0.0))
    for (a, b), (c, d) in pairwise(ends):
        page.strokes.append(
            Stroke((x + w * a, y + h * b), (x + w * c, y + h * d), page.style.rule_width, "frame")
        )


def _leaf_numbers(context: LayoutContext, page: PageBuilder, plan: Plan, filled: list[int]) -> None:
    """Small numbers of the old leaves in some of the wider gaps: the case's character, and the leaf."""
    size = max(page.style.pitch * context.rng.uniform(0.36, 0.5), LEAST_SIZE)
    if page.style.ruled or context.rng.random() < 0.3:
        return
    for top, count in zip(plan.tops, filled, strict=False):
        for x, gap in plan.folds:
            if gap < 1.1 * size or not count or x < plan.xs[count - 1] or context.rng.random() < 0.3:
                continue
            y = top + page.style.pitch * context.rng.uniform(2, 0.4 * plan.rows)
            page.add_line(context.take_text(1) + number(context, 20), x, y, (size, size), size, "fold")
            y = top + page.style.pitch * plan.rows * context.rng.uniform(0.65, 0.75)
            page.add_line(number(context, 40), x, y, (size, size), size, "fold")


def number(context: LayoutContext, most: int) -> str:
    """A number in Chinese: 十七 or, as modern printers write it, 一七."""
    n = int(context.rng.integers(1, most + 1))
    if context.rng.random() < 0.5 or n > 99:
        return "".join(NUMERALS[int(digit)] for digit in str(n))
    return below_hundred(n)


def below_hundred(n: int) -> str:
    """A number from 1 to 99 as it is spoken: 十七, 二十."""
    tens, ones = divmod(n, 10)
    head = ("" if tens == 1 else NUMERALS[tens]) + "十" if tens else ""
    return head + (NUMERALS[ones] if ones else "")


def _head_line(context: LayoutContext, page: PageBuilder, plan: Plan) -> None:
    """A running title in one line above the frame."""
    if context.rng.random() < (0.15 if plan.strip else 0.6):
        y = plan.box[1] - 4 * page.style.frame_width - page.style.pitch * context.rng.uniform(0.6, 1.2)
        text = context.take_text(int(context.rng.integers(3, 10)))
        _lying(context, page, plan, text + number(context, 99) * bool(context.rng.random() < 0.4), y)


def _foot_line(context: LayoutContext, page: PageBuilder, plan: Plan) -> None:
    """A page number in one line below the frame."""
    if context.rng.random() < (0.2 if plan.strip else 0.6):
        y = plan.box[3] + 4 * page.style.frame_width + page.style.pitch * context.rng.uniform(0.6, 1.2)
        arabic = str(int(context.rng.integers(1, 1000)))
        _lying(context, page, plan, arabic if context.rng.random() < 0.6 else number(context, 999), y)


def _lying(context: LayoutContext, page: PageBuilder, plan: Plan, text: str, y: float) -> None:
    """A small line in the middle or towards one side; numbers in digits run from left to right."""
    size = max(page.style.pitch * context.rng.uniform(0.5, 0.8), LEAST_SIZE)
    digits = text.isascii()
    step = size * (0.72 if digits else context.rng.uniform(1.05, 1.3))
    x0, _, x1, _ = plan.box
    start = x0 + (x1 - x0 - len(text) * step) * context.rng.choice([0.02, 0.5, 0.5, 0.98])
    box = (0.9 * size, size) if digits else (size, size)
    if digits or context.rng.random() < 0.5:
        page.add_line(text, start, y, box, step, "fold", "left-to-right")
    else:
        page.add_line(text, start + len(text) * step, y, box, step, "fold", "right-to-left")


def _strip(context: LayoutContext, page: PageBuilder, plan: Plan, framed: bool) -> None:
    """Running title, volume, page number and publisher's mark in a strip beside the frame."""
    rng, (_, y0, _, y1) = context.rng, page.frame
    inner = page.frame[2] if plan.strip_side > 0 else page.frame[0]
    if not framed:
        # Nothing else parts the strip from the text than paper.
        inner += plan.strip_side * page.style.pitch * rng.uniform(0.5, 0.9)
    outer = inner + plan.strip_side * plan.strip
    x, high = (inner + outer) / 2, y1 - y0
    most = min(0.8 * plan.strip, page.style.pitch * (0.85 if framed else 0.7))
    size = max(min(page.style.pitch * rng.uniform(0.55, 0.85), most), LEAST_SIZE)
    lined = framed and bool(rng.random() < 0.5)
    y, limit = y0 + high * rng.uniform(0.02, 0.1), y0 + 0.55 * high
    y += _series(context, page, x, y, plan.strip)
    for text in _titles(context):
        text = text[: max(int((limit - y) / (1.1 * size)), 0)]
        page.add_line(text, x, y, (size, size), 1.1 * size, "fold")
        y += (len(text) + rng.uniform(0.8, 2.0)) * 1.1 * size
    if rng.random() < 0.5:
        tail = min(y + rng.uniform(0.2, 1.5) * size, y0 + 0.62 * high)
        page.patches.append(Patch(_bar(inner, outer, tail, 0.45 * size)))
    _page_number(context, page, x, y0 + high * rng.uniform(0.66, 0.78), size)
    if rng.random() < 0.4:
        _mark(context, page, (inner, outer), y1 - 4.2 * size, size)
    if lined:
        for y in (y0, y1):
            page.strokes.append(Stroke((inner, y), (outer, y), page.style.frame_width, "frame"))
        if rng.random() < 0.5:
            page.strokes.append(Stroke((outer, y0), (outer, y1), page.style.rule_width, "frame"))


def _series(context: LayoutContext, page: PageBuilder, x: float, y: float, strip: float) -> float:
    """On some pages the edition, in two rows of two small characters, at the strip's head; its height."""
    size = max(0.34 * page.style.pitch, LEAST_SIZE)
    if context.rng.random() < 0.75 or 2.1 * size > strip:
        return 0.0
    for side in (0.52, -0.52):
        page.add_line(context.take_text(2), x + side * size, y, (size, size), 1.05 * size, "fold")
    return 2.6 * size


def _titles(context: LayoutContext) -> list[str]:
    """One to three short texts: the series, the book with its chapter, the volume."""
    rng = context.rng
    book = context.take_text(int(rng.integers(3, 10)))
    if rng.random() < 0.5:
        book += "卷" + number(context, 120)
    volume = "第" + number(context, 99) + "冊"
    return [[book], [volume, book], [book, volume]][int(rng.integers(3))]


def _bar(inner: float, outer: float, y: float, high: float) -> tuple[tuple[float, float], ...]:
    """A black bar over the strip, higher at the frame: what is left of a fish-tail."""
    return ((inner, y), (outer, y), (outer, y + high), (inner, y + 1.4 * high))


def _page_number(context: LayoutContext, page: PageBuilder, x: float, y: float, size: float) -> None:
    """Numerals one below the other, Arabic digits likewise, or digits in a lying line."""
    way = context.rng.random()
    if way < 0.6:
        page.add_line(number(context, 999), x, y, (size, size), 1.1 * size, "fold")
        return
    digits = str(int(context.rng.integers(1, 1000)))
    if way < 0.75:
        page.add_line(digits, x, y, (size, size), size, "fold")
        return
    step = 0.72 * size
    page.add_line(digits, x - len(digits) * step / 2, y, (0.9 * size, size), step, "fold", "left-to-right")


def _mark(
    context: LayoutContext, page: PageBuilder, sides: tuple[float, float], y: float, size: float
) -> None:
    """The publisher's name at the strip's foot, two characters far apart, in a box or not."""
    x, bottom = sum(sides) / 2, page.frame[3]
    page.add_line(context.take_text(2), x, y, (size, size), 1.9 * size, "fold")
    if context.rng.random() < 0.6:
        width = page.style.rule_width
        page.strokes.append(Stroke((sides[0], y - 0.4 * size), (sides[1], y - 0.4 * size), width, "frame"))
        page.strokes.append(Stroke((sides[1], y - 0.4 * size), (sides[1], bottom), width, "frame"))
