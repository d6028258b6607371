"""A page as read -> what is to be said of it: no text at all, or text that its own engine does not believe.

Noise, a photograph, another script or a page that lies on its side may give text as fluent as any. It shows
in the confidence of all characters together. Or nothing is found there, as on a blank leaf, and only who
sees the page can tell which it is. In: a page that was read. Out: a sentence for each thing to be said, for
the terminal, the report of a batch and our JSON.
"""

from __future__ import annotations

from tongguocr.page import Page

NO_TEXT = "no text was found on it: it is blank, or cannot be read."
"""Said of a blank leaf, too, which a book may well have: it is no failure."""


def find_warnings(page: Page, least: float | None) -> tuple[str, ...]:
    """That the page has no text; or why it should not be trusted, by the mean confidence that is the least.

    Nothing is said of text without confidence, or if the engine's was not measured (`least` is None).
    """
    if not any(line.text for line in page.lines):
        return (NO_TEXT,)
    mean = mean_confidence(page)
    if mean is None or least is None or mean >= least:
        return ()
    return (
        f"its reading cannot be trusted: the characters have a mean confidence of {mean:.2f},"
        f" where pages that can be read have {least} or more.",
    )


def mean_confidence(page: Page) -> float | None:
    """The mean over all characters whose confidence is known; None without any."""
    known = [c.confidence for line in page.lines for c in line.chars if c.text and c.confidence is not None]
    return sum(known) / len(known) if known else None
