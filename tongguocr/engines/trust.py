"""A page as read -> what is to be said against it: text that the engine itself does not believe.

Noise, a photograph, another script or a page that lies on its side may give text as fluent as any. It shows
in the confidence of all characters together. In: a page whose confidences mean something. Out: a sentence for
each reason not to trust it, for the terminal, the report of a batch and our JSON.
"""

from __future__ import annotations

from tongguocr.page import Page


def find_warnings(page: Page, least: float | None) -> tuple[str, ...]:
    """Why the page's text should not be trusted, by the mean confidence that it should have at least.

    Nothing is said where there is no text, or no confidence, or the engine's was not measured.
    """
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
