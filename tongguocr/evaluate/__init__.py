"""Scores of transcriptions: pages in, the paper's eight figures out, with the protocol's name."""

from __future__ import annotations

from tongguocr.evaluate.files import evaluate
from tongguocr.evaluate.protocols import PROTOCOLS, PageScore, Protocol, score_lines

__all__ = ["PROTOCOLS", "PageScore", "Protocol", "evaluate", "score_lines"]
